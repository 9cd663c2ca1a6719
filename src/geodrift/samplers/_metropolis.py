"""The Metropolis test."""

from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from geodrift import _tree
from geodrift._types import RandomKey, Scalar

Point = TypeVar("Point")


def metropolis(
    key: RandomKey, log_ratio: Scalar, valid: Bool[Array, ""], proposal: Point, current: Point
) -> tuple[Point, Scalar]:
    """The proposal with the probability ``min(1, exp(log_ratio))``, else the current point.

    Args:
        key: Random key of the test.
        log_ratio: Logarithm of the Metropolis-Hastings ratio; where it is not finite the proposal is
            rejected.
        valid: Whether the proposal may be accepted at all. It must be false where the proposal's density is
            infinite: the chain could never leave such a point.
        proposal: A pytree.
        current: A pytree of the same structure.

    Returns:
        The new point of the chain, and the probability of acceptance.
    """
    probability = jnp.where(valid & jnp.isfinite(log_ratio), jnp.exp(jnp.minimum(log_ratio, 0)), 0)
    accept = jax.random.uniform(key, dtype=probability.dtype) < probability
    return _tree.where(accept, proposal, current), probability
