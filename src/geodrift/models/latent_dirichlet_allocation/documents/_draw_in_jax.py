"""A draw of one of many topics in JAX: first of a group of topics, then of a topic of the group.

Topics are padded with some of weight 0 to G groups of S, both about the square root of their number. A draw
reads all weights once, to add up each group's; cumulative sums, which take several passes over what they sum,
are only made of G and of S numbers. They are short for the sake of single precision too: of 10,000 topics at
once, rounding would be a thousandth of a topic's share.

Parallel cumulative sums need not increase where a weight is 0, or very small: rounding may make two of them
differ either way. So the place of a draw is the first whose sum is above it *and* whose weight is above 0;
where rounding leaves none, it is the one with the largest weight. A topic of weight 0 is never drawn.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


def group_size(num_topics: int) -> int:
    """S: the least power of two from the square root of K on; that of K padded is the same."""
    size = 1
    while size * size < num_topics:
        size *= 2
    return size


def padded_topics(num_topics: int) -> int:
    """K padded to whole groups, G S."""
    size = group_size(num_topics)
    return -(-num_topics // size) * size


def pad_topics(array: np.ndarray) -> np.ndarray:
    """Numbers of topics, along the last axis, followed by zeros up to whole groups."""
    num_topics = array.shape[-1]
    widths = [(0, 0)] * (array.ndim - 1) + [(0, padded_topics(num_topics) - num_topics)]
    return np.pad(array, widths)


def draw_topic(
    topics: Float[Array, "W G S"],
    words: Int[Array, " B"],
    alpha: Float[Array, "G S"],
    numbers: Float[Array, "B G S"],
    uniforms: Float[Array, "B 2"],
) -> Int[Array, " B"]:
    """A topic of each document's token, with probability in proportion to (alpha_k + n_dk) phi_kw.

    Args:
        topics: phi of each word, 0 of topics that are padding.
        words: Of the tokens, as rows of ``topics``.
        alpha: The document prior.
        numbers: n_dk without the tokens themselves.
        uniforms: From 0 and below 1, of the group and of the topic.
    """
    rows = jnp.arange(len(words), dtype=jnp.int32)
    in_groups = ((alpha + numbers) * topics[words]).sum(axis=2)
    group = first_above(in_groups, uniforms[:, 0])
    # Made anew of S numbers rather than kept of all.
    weights = (alpha[group] + numbers[rows, group]) * topics[words, group]
    return group * topics.shape[2] + first_above(weights, uniforms[:, 1])


def first_above(weights: Float[Array, "B n"], uniforms: Float[Array, " B"]) -> Int[Array, " B"]:
    """A place of each row, with probability in proportion to its weight; never one of weight 0."""
    sums = jnp.cumsum(weights, axis=1)
    found = (sums > uniforms[:, None] * sums[:, -1:]) & (weights > 0)
    place = jnp.where(found.any(axis=1), found.argmax(axis=1), weights.argmax(axis=1))
    return place.astype(jnp.int32)
