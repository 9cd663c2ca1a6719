"""Categorical draws of rows side by side, in JAX."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key


def drawn_columns(
    key: Key[Array, ""], scores: Float[Array, "B C"], allowed: Bool[Array, "B C"], numbers: Int[Array, " B"]
) -> Int[Array, " B"]:
    """For each row a column that it may have, with probability proportional to exp(score)."""
    scores = jnp.where(allowed, scores, -jnp.inf)
    p = jnp.exp(scores - jnp.max(scores, axis=1, keepdims=True))
    ends = jnp.cumsum(p, axis=1)
    uniform = jax.vmap(lambda n: jax.random.uniform(jax.random.fold_in(key, n), (), scores.dtype))(numbers)
    found = jnp.minimum(jnp.sum(ends <= uniform[:, None] * ends[:, -1:], axis=1), p.shape[1] - 1)
    # Sums that are made in parts need not increase: rounding could lead to a column of probability 0.
    likely = jnp.take_along_axis(p, found[:, None], axis=1)[:, 0] > 0
    return jnp.where(likely, found, jnp.argmax(p, axis=1)).astype(jnp.int32)
