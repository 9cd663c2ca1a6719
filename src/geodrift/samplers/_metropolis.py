"""The Metropolis test."""

from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from geodrift import _tree
from geodrift._types import RandomKey, Scalar

Kept = TypeVar("Kept")


def metropolis(
    key: RandomKey, log_ratio: Scalar, sound: Bool[Array, ""], proposal: Kept, current: Kept
) -> tuple[Kept, Scalar]:
    """The proposal with the probability ``min(1, exp(log_ratio))``, else the current point.

    Args:
        key: Random key of the test.
        log_ratio: Logarithm of the ratio of densities; where it is not finite the proposal is rejected.
        sound: Whether the proposal may be accepted at all. It must be false where the proposal's density is
            infinite, which no finite one could leave again.
        proposal: A pytree.
        current: A pytree of the same structure.

    Returns:
        What is kept, and the probability of acceptance.
    """
    probability = jnp.where(sound & jnp.isfinite(log_ratio), jnp.exp(jnp.minimum(log_ratio, 0)), 0)
    accept = jax.random.uniform(key, dtype=probability.dtype) < probability
    return _tree.where(accept, proposal, current), probability
