"""Posterior summaries: expected topics, and their leading words with intervals."""

import numpy as np
from jaxtyping import Float

from geodrift.models.kit._word_intervals import component_words


def expected_topics(topics: Float[np.ndarray, "N K V"]) -> Float[np.ndarray, "K V"]:
    """Mean direction of each topic over aligned draws, unit length."""
    mean = topics.mean(axis=0, dtype=np.float64)
    return (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(topics.dtype)


def summarise_topics(
    topics: Float[np.ndarray, "N K V"], vocabulary: list[str], *, top: int = 10
) -> list[dict]:
    """The words of largest and of most negative weight in each topic, with 90% intervals.

    Args:
        topics: Aligned draws.
        vocabulary: V words.
        top: Number of words of either sign.

    Returns:
        For each topic ``{"topic", "words", "negative_words"}``, a word being ``{"word", "weight", "low",
        "high", "p_top10"}``: posterior mean, ends of the 90% interval, and the probability that its weight is
        among the ten highest (for negative words: lowest).

    Raises:
        ValueError: The vocabulary does not have V words.
    """
    return component_words(topics, vocabulary, top, "topic", signed=True)
