"""Posterior summaries: expected topics, and their leading words with intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from geodrift.models.kit._agreement import aligned
from geodrift.models.kit._word_intervals import component_words


def expected_topics(topics: Float[np.ndarray, "N K V"]) -> Float[np.ndarray, "K V"]:
    """Mean direction of each topic over aligned draws, unit length."""
    mean = topics.mean(axis=0, dtype=np.float64)
    return (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(topics.dtype)


def summarise_topics(
    topics: Float[np.ndarray, "*chain N K V"], vocabulary: Sequence[str], *, top: int = 10
) -> list[dict[str, Any]]:
    """Each topic's words of largest and of most negative weight, with 90% intervals.

    Args:
        topics: Draws of one chain, [draw, topic, word], or of several, [chain, draw, topic, word], in any
            order of the topics.
        vocabulary: V words.
        top: Words of each topic, of either sign.

    Returns:
        For each topic ``{"topic", "chains", "found", "shared", "words", "negative_words"}``: its number, how
        many chains there are and by how many it was found, whether it is shared, and its words, each
        ``{"word", "weight", "low", "high", "p_top10"}``: posterior mean of its weight, ends of the 90%
        interval, and the probability that the weight is among the ten highest (for negative words: lowest).
        The interval is that of the next draw of the next chain, and None where too few chains have found the
        topic; of one chain, it is that of its next draw.

    Raises:
        ValueError: The vocabulary does not have V words.
    """
    draws = topics if topics.ndim == 4 else topics[None]
    in_order, agreed = aligned({"topics": draws}, "topics")
    return component_words(in_order["topics"], vocabulary, top, "topic", agreed=agreed, signed=True)
