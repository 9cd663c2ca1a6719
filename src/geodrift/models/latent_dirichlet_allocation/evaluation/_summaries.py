"""Summaries of topic draws: one order of the topics, their mean, and their top words with intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from geodrift.models.kit import _alignment
from geodrift.models.kit._agreement import aligned
from geodrift.models.kit._word_intervals import component_words


def common_order(topics: Float[np.ndarray, "N K V"]) -> Int[np.ndarray, "N K"]:
    """For each draw, the topic that belongs in each place; other variables with a topic axis follow it.

    Draws are matched by Bhattacharyya's coefficient, the sum over words of sqrt(p q).
    """
    return _alignment.common_order(topics, np.sqrt)


def align(topics: Float[np.ndarray, "N K V"]) -> Float[np.ndarray, "N K V"]:
    """Topics of all draws (chains one after the other) in their `common_order`."""
    return _alignment.align(topics, np.sqrt)


def mean_topics(topics: Float[np.ndarray, "N K V"]) -> Float[np.ndarray, "K V"]:
    """Posterior mean of each aligned topic's probabilities; rows sum to 1."""
    mean = topics.mean(axis=0, dtype=np.float64)
    return (mean / mean.sum(axis=1, keepdims=True)).astype(topics.dtype)


def summarise_topics(
    topics: Float[np.ndarray, "*chain N K V"], vocabulary: Sequence[str], *, top: int = 10
) -> list[dict[str, Any]]:
    """Each topic's most probable words, with 90% intervals.

    Args:
        topics: Draws of one chain, [draw, topic, word], or of several, [chain, draw, topic, word], in any
            order of the topics.
        vocabulary: V words.
        top: Words of each topic.

    Returns:
        For each topic ``{"topic", "chains", "found", "shared", "words"}``: its number, how many chains
        there are and by how many it was found, whether it is shared, and its words, each
        ``{"word", "weight", "low", "high", "p_top10"}``: posterior mean of its weight, ends of the 90%
        interval, and the posterior probability of being among the topic's ten most probable words. The
        interval is that of the next draw of the next chain, and None where too few chains have found the
        topic; of one chain, it is that of its next draw.

    Raises:
        ValueError: The vocabulary does not have V words.
    """
    draws = topics if topics.ndim == 4 else topics[None]
    in_order, agreed = aligned({"topics": draws}, "topics", np.sqrt)
    return component_words(in_order["topics"], vocabulary, top, "topic", agreed=agreed)
