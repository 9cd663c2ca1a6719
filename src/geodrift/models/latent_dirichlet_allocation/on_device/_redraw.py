"""New assignments of a block of documents, and the counts with them, as one program on every device.

A device has its own counts, of its own documents. All are whole numbers: their sums over devices are exact,
and the same however documents are shared out.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, UInt

from geodrift._types import RandomKey
from geodrift.models.latent_dirichlet_allocation.documents._sweeps_in_jax import redrawn
from geodrift.models.latent_dirichlet_allocation.on_device._blocks import Block
from geodrift.models.latent_dirichlet_allocation.on_device._devices import SHARED_OUT, WHOLE, on_each


@partial(
    jax.jit,
    static_argnames=("mesh", "length", "sweeps", "first"),
    donate_argnames=("assignments", "counts"),
)
def redraw(
    mesh: Mesh,
    length: int,
    sweeps: int,
    first: bool,
    key: RandomKey,
    topics: Float[Array, "Vp Kp"],
    alpha: Float[Array, " Kp"],
    words: Int[Array, "N n"],
    assignments: UInt[Array, "N n"],
    counts: Int[Array, "N Vp Kp"],
    block: Block,
) -> tuple[UInt[Array, "N n"], Int[Array, "N Vp Kp"]]:
    """Assignments and counts after sweeps over a block; those before are given up.

    Args:
        mesh: The devices.
        length: Tokens that a document of the block has at most.
        sweeps: Over each document.
        first: Whether the documents have no assignments yet, and are in no count.
        key: Of the step.
        topics: phi, on every device.
        alpha: The document prior, on every device.
        words: Of the tokens of each device.
        assignments: z of the tokens of each device.
        counts: N_kw of the documents of each device.
        block: The documents.
    """
    inputs = (WHOLE, WHOLE, WHOLE, *[SHARED_OUT] * 4)
    one = on_each(partial(_of_device, length, sweeps, first), mesh, inputs, (SHARED_OUT, SHARED_OUT))
    return one(key, topics, alpha, words, assignments, counts, block)


def _of_device(
    length: int,
    sweeps: int,
    first: bool,
    key: RandomKey,
    topics: Float[Array, "Vp Kp"],
    alpha: Float[Array, " Kp"],
    words: Int[Array, "1 n"],
    assignments: UInt[Array, "1 n"],
    counts: Int[Array, "1 Vp Kp"],
    block: Block,
) -> tuple[UInt[Array, "1 n"], Int[Array, "1 Vp Kp"]]:
    documents, begins, lengths = (rows[0] for rows in block)
    number = jnp.arange(length, dtype=jnp.int32)
    inside = number < lengths[:, None]
    places = jnp.where(inside, begins[:, None] + number, 0)
    of_tokens, old = words[0, places], assignments[0, places].astype(jnp.int32)
    new = redrawn(key, documents, of_tokens, lengths, old, topics, alpha, sweeps, first)
    # Places beyond a document's end are written to none: those at the end of an axis are dropped.
    rows = jnp.where(inside, of_tokens, counts.shape[1])
    counts = counts.at[0, rows, new].add(1, mode="drop")
    if not first:
        counts = counts.at[0, rows, old].add(-1, mode="drop")
    to = jnp.where(inside, places, words.shape[1])
    return assignments.at[0, to].set(new.astype(assignments.dtype), mode="drop"), counts
