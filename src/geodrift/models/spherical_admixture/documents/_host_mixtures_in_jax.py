"""Mixtures of documents whose arrays are on the host, drawn in JAX; see `_mixtures_in_jax`."""

from functools import partial
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key, UInt32

from geodrift.kernels._stream_kinds import Family
from geodrift.models.spherical_admixture.documents._mixtures_in_jax import (
    Target,
    Walk,
    document_keys,
    document_words,
    walk,
)


class Lengths(NamedTuple):
    """Leapfrog steps of a transition, transitions before the first draw, and draws."""

    num_leapfrog: int
    burn_in: int
    num_draws: int


def draw_mixtures(
    mixtures: Float[np.ndarray, "S K"],
    target: Target,
    step_sizes: Float[np.ndarray, " S"],
    lengths: Lengths,
    adaptation: float,
    family: Family,
    documents: Int[np.ndarray, " S"],
    draws: Float[np.ndarray, "S N K"],
) -> Float[np.ndarray, " S"]:
    """As the compiled kernel: mixtures, draws and, while adapting, step sizes are changed in place."""
    number = len(mixtures)
    if not number:
        return np.zeros(0)
    size = 1 << max(number - 1, 0).bit_length()  # powers of two: few shapes have to be compiled
    moved, found = _walk_of_host(
        family.key,
        _padded(document_words(documents), size),
        _padded(mixtures.astype(np.float32), size),
        _padded(step_sizes.astype(np.float32), size),
        Target(
            _padded(target.projections.astype(np.float32), size),
            target.gram.astype(np.float32),
            np.float32(target.concentration),
            target.prior.astype(np.float32),
        ),
        np.float32(adaptation),
        lengths,
    )
    mixtures[...] = np.asarray(moved.mixtures)[:number]
    draws[...] = np.asarray(found)[:, :number].swapaxes(0, 1)
    if adaptation:
        step_sizes[...] = np.asarray(moved.step_sizes)[:number]
    return np.asarray(moved.acceptance)[:number]


@partial(jax.jit, static_argnames="lengths")
def _walk_of_host(
    key: Key[Array, ""],
    documents: UInt32[Array, "S 2"],
    mixtures: Float[Array, "S K"],
    step_sizes: Float[Array, " S"],
    target: Target,
    adaptation: Float[Array, ""],
    lengths: Lengths,
) -> tuple[Walk, Float[Array, "N S K"]]:
    keys = document_keys(key, documents)
    return walk(keys, mixtures, step_sizes, target, adaptation, *lengths)


def _padded(rows: np.ndarray, size: int) -> np.ndarray:
    """The rows, followed by copies of the last up to ``size`` rows."""
    return rows[np.minimum(np.arange(size), len(rows) - 1)]
