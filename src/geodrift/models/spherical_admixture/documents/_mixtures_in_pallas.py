"""The transitions of `_mixtures_in_jax` as one kernel for GPUs, in which documents stay in registers.

A program of the GPU takes a block of documents through all their transitions, and only these wait for each
other. Of memory a transition reads a document's velocity, 4 K bytes; the Gram matrix, 4 K^2, stays in the
cache. Random numbers and law are those of `_mixtures_in_jax`; the order of some sums differs.

On an H200, 10,000 documents of 100 topics, 8 transitions of 10 leapfrog steps: 3.4 ms, of which 16 GFLOP take
.25 ms at the card's speed. With 16 documents and 8 warps a program 3.5, with 4 and 2 3.9, with 4 and 1 5.7,
with products as three of TF32 3.5; with the whole Gram matrix in registers, which spill, 16.7.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Float, Int, Key

from geodrift.models.spherical_admixture.documents._mixtures_in_jax import (
    Target,
    Walk,
    end_of_walk,
    product,
    random_numbers,
    start_of_walk,
    transition_of_walk,
)

DOCUMENTS = 8  # of a program
WARPS = 4
PARTS = 8  # of the Gram matrix


def walk_of_gpu(
    keys: Key[Array, " S"],
    mixtures: Float[Array, "S K"],
    step_sizes: Float[Array, " S"],
    target: Target,
    adaptation: Float[Array, ""],
    num_leapfrog: int,
    number: int,
    *,
    interpret: bool = False,
) -> Walk:
    """``number`` transitions of each document; see `_mixtures_in_jax.walk`."""
    num_documents, num_topics = mixtures.shape
    wide = max(16, 1 << (num_topics - 1).bit_length()) - num_topics
    long = -num_documents % DOCUMENTS
    numbers = jax.vmap(lambda n: random_numbers(keys, n, num_topics))(jnp.arange(number, dtype=jnp.int32))
    numbers = (
        jnp.pad(numbers[0], ((0, 0), (0, long), (0, wide))),
        *(jnp.pad(uniform, ((0, 0), (0, long))) for uniform in numbers[1:]),
    )
    documents = _padded(mixtures, long, wide), jnp.pad(step_sizes, (0, long), mode="edge")
    density = Target(
        _padded(target.projections, long, wide),
        jnp.pad(target.gram, ((0, wide), (0, wide))),
        target.concentration,
        jnp.pad(target.prior, (0, wide), constant_values=1.0),
    )
    rows = num_documents + long
    shapes = [(rows, num_topics + wide)] * 2 + [(rows,)] * 3
    found = pl.pallas_call(
        partial(_documents, num_leapfrog, number, num_topics),
        grid=(rows // DOCUMENTS,),
        out_shape=[jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes],
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=WARPS, num_stages=1),
    )(numbers, documents, density, jnp.asarray(adaptation))
    end = Walk(*(array[:num_documents] for array in found))
    return end._replace(mixtures=end.mixtures[:, :num_topics], force=end.force[:, :num_topics])


def _padded(rows: Float[Array, "S K"], long: int, wide: int) -> Float[Array, "Sp Kp"]:
    """So many more rows like the last, and so many more columns of 0."""
    return jnp.pad(jnp.pad(rows, ((0, long), (0, 0)), mode="edge"), ((0, 0), (0, wide)))


def _documents(
    num_leapfrog: int,
    number: int,
    num_topics: int,
    numbers: tuple[Any, Any, Any],
    documents: tuple[Any, Any],
    density: Target,
    adaptation: Any,
    *end: Any,
) -> None:
    """All transitions of one block of documents; the arguments are references to arrays in memory."""
    rows = pl.ds(pl.program_id(0) * DOCUMENTS, DOCUMENTS)
    gain, (velocities, jitters, tests) = adaptation[...], numbers
    target = density._replace(
        projections=density.projections[rows, :],
        gram=partial(_times, density.gram),
        concentration=density.concentration[...],
        prior=density.prior[...],
    )

    def transition(n: Int[Array, ""], here: Walk) -> Walk:
        uniforms = jitters[n, rows], tests[n, rows]
        velocity = velocities[n, rows, :]
        return transition_of_walk(here, velocity, uniforms, target, gain, num_leapfrog, num_topics)

    here = start_of_walk(documents[0][rows, :], documents[1][rows], target, num_topics)
    here = end_of_walk(jax.lax.fori_loop(0, number, transition, here), number)
    end[0][rows, :], end[1][rows, :] = here.mixtures, here.force
    for of_documents, values in zip(end[2:], here[2:], strict=True):
        of_documents[rows] = values


def _times(matrix: Any, mixtures: Float[Array, "S Kp"]) -> Float[Array, "S Kp"]:
    """The product with a matrix [Kp, Kp] in memory, some of its rows at a time: registers hold no more."""
    total = jnp.zeros_like(mixtures)
    for number, part in enumerate(jnp.split(mixtures, PARTS, axis=1)):
        size = part.shape[1]
        # Else the loads of all parts are moved to before the loops.
        rows = triton.load(matrix.at[pl.ds(number * size, size), :], volatile=True)
        total += product(part, rows)
    return total
