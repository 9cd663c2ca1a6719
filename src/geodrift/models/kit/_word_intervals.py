"""Leading words of components, with posterior intervals of their weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

INTERVAL = (0.05, 0.95)  # ends of the 90% intervals


def leading_words(
    draws: Float[np.ndarray, "N V"], vocabulary: Sequence[str], top: int, *, sign: float = 1.0
) -> list[dict[str, Any]]:
    """The words of largest mean weight in one component.

    Args:
        draws: The component's weights in all aligned draws.
        vocabulary: V words.
        top: Largest number of words; those whose mean has the other sign are left out.
        sign: 1, or -1 for the most negative weights.

    Returns:
        ``{"word", "weight", "low", "high", "p_top10"}`` of each: posterior mean, ends of the 90% interval,
        and the probability that the weight is among the ten highest (for negative words: lowest).
    """
    mean = draws.mean(axis=0)
    words = np.argsort(-sign * mean, kind="stable")[:top]
    words = words[sign * mean[words] > 0]
    low, high = np.quantile(draws[:, words], INTERVAL, axis=0)
    ten = min(10, draws.shape[1])
    last = -np.partition(-sign * draws, ten - 1, axis=1)[:, ten - 1]
    in_top = (sign * draws[:, words] >= last[:, None]).mean(axis=0)
    return [
        {
            "word": vocabulary[w],
            "weight": float(mean[w]),
            "low": float(a),
            "high": float(b),
            "p_top10": float(p),
        }
        for w, a, b, p in zip(words, low, high, in_top, strict=True)
    ]


def component_words(
    draws: Float[np.ndarray, "N K V"],
    vocabulary: Sequence[str],
    top: int,
    component: str,
    *,
    signed: bool = False,
) -> list[dict[str, Any]]:
    """The leading words of every component.

    Args:
        draws: Aligned draws.
        vocabulary: V words.
        top: Largest number of words of a component; where weights have a sign, of either sign.
        component: What a component is called.
        signed: Whether weights have a sign.

    Returns:
        For each component its number under ``component``, and its ``"words"`` from `leading_words`; where
        weights have a sign, ``"negative_words"`` too.

    Raises:
        ValueError: The vocabulary does not have V words.
    """
    num_words = draws.shape[2]
    if num_words != len(vocabulary):
        raise ValueError(f"{component}s have {num_words} words but the vocabulary has {len(vocabulary)}")
    signs = {"words": 1.0} | ({"negative_words": -1.0} if signed else {})
    return [
        {component: place}
        | {name: leading_words(draws[:, place], vocabulary, top, sign=sign) for name, sign in signs.items()}
        for place in range(draws.shape[1])
    ]
