"""Top words of topics, and how far topics share them.

Negative weights, which topics that are unit vectors have, count as 0.
"""

import numpy as np
from jaxtyping import Float, Int


def top_words(topics: Float[np.ndarray, "K V"], top: int) -> Int[np.ndarray, "K top"]:
    """The words of largest weight in each topic, by decreasing weight; of equal weights the first word."""
    return np.argsort(-topics, axis=1, kind="stable")[:, :top]


def topic_diversity(topics: Float[np.ndarray, "K V"], top: int = 25) -> float:
    """Share of distinct words among the top words of all topics: Dieng, Ruiz and Blei (2020), section 6."""
    words = top_words(topics, top)
    return len(np.unique(words)) / words.size


def exclusivity(topics: Float[np.ndarray, "K V"], top: int = 10) -> Float[np.ndarray, " K"]:
    """Mean over a topic's top words of beta_kw / sum_j beta_jw, the topic's share of the word.

    The share is phi of Bischof and Airoldi (2012), section 3.1. The mean is 1 / K where all topics are alike,
    at most 1.
    """
    words = top_words(topics, top)
    return np.take_along_axis(_shares(topics), words, axis=1).mean(axis=1)


def frex(
    topics: Float[np.ndarray, "K V"], top: int = 10, exclusivity_weight: float = 0.5
) -> Float[np.ndarray, " K"]:
    r"""Mean FREX score of each topic's top words: Bischof and Airoldi (2012), section 3.2.

    .. math:: \mathrm{FREX}_{kw} = \Big(\frac{\omega}{F_k^\phi(\phi_{kw})}
              + \frac{1 - \omega}{F_k^\beta(\beta_{kw})}\Big)^{-1}

    The score is the weighted harmonic mean of two ranks: of the word's share (see `exclusivity`) and of its
    weight, each as the empirical distribution function F over the topic's words.

    Args:
        topics: Weights.
        top: Words of each topic.
        exclusivity_weight: omega.
    """
    weights, words = np.maximum(topics, 0.0), top_words(topics, top)
    share_rank = _distribution(_shares(topics), words)
    weight_rank = _distribution(weights, words)
    return (1.0 / (exclusivity_weight / share_rank + (1.0 - exclusivity_weight) / weight_rank)).mean(axis=1)


def _shares(topics: Float[np.ndarray, "K V"]) -> Float[np.ndarray, "K V"]:
    """Weight of each word in a topic divided by its weight in all topics; 0 for words without weight."""
    weights = np.maximum(topics, 0.0).astype(np.float64)
    total = weights.sum(axis=0)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)


def _distribution(
    values: Float[np.ndarray, "K V"], words: Int[np.ndarray, "K top"]
) -> Float[np.ndarray, "K top"]:
    """Empirical distribution function of each row's values, at the values of its ``words``."""
    at = np.take_along_axis(values, words, axis=1)
    return np.stack([(values <= column[:, None]).mean(axis=1) for column in at.T], axis=1)
