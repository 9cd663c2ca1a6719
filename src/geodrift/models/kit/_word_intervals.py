"""Leading words of components, with intervals of their weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from geodrift._whole import whole
from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._component_size import component_size
from geodrift.models.kit._next_draw import weight_intervals


def leading_words(
    draws: Float[np.ndarray, "C N V"],
    vocabulary: Sequence[str],
    top: int,
    *,
    sign: float = 1.0,
    signed: bool = False,
    with_intervals: bool = True,
) -> list[dict[str, Any]]:
    """The words of largest mean weight in one component.

    Args:
        draws: The component's weights in the aligned draws of the chains that have found it.
        vocabulary: V words.
        top: Largest number of words; those whose mean has the other sign are left out.
        sign: 1, or -1 for the most negative weights.
        signed: Whether the component is a unit vector, its own direction, and not probabilities.
        with_intervals: Whether there is an interval to give.

    Returns:
        ``{"word", "weight", "low", "high", "p_top10"}`` of each: posterior mean, ends of the 90% interval or
        None, and the probability that the weight is among the ten highest (for negative words: lowest).
    """
    mean = draws.mean(axis=(0, 1))
    words = np.argsort(-sign * mean, kind="stable")[:top]
    words = words[sign * mean[words] > 0]
    low, high = np.full((2, len(words)), np.nan)
    if with_intervals:
        low, high = weight_intervals(draws, words, signed=signed)
    ten, flat = min(10, draws.shape[2]), draws.reshape(-1, draws.shape[2])
    last = -np.partition(-sign * flat, ten - 1, axis=1)[:, ten - 1]
    in_top = (sign * flat[:, words] >= last[:, None]).mean(axis=0)
    return [
        {
            "word": vocabulary[w],
            "weight": float(mean[w]),
            "low": float(a) if with_intervals else None,
            "high": float(b) if with_intervals else None,
            "p_top10": float(p),
        }
        for w, a, b, p in zip(words, low, high, in_top, strict=True)
    ]


def component_words(
    draws: Float[np.ndarray, "C N K V"],
    vocabulary: Sequence[str],
    top: int,
    component: str,
    *,
    agreed: Agreement,
    signed: bool = False,
    sizes: Float[np.ndarray, "C N K"] | None = None,
) -> list[dict[str, Any]]:
    """The leading words of every component, and its size.

    Args:
        draws: Aligned draws.
        vocabulary: V words.
        top: Largest number of words of a component; where weights have a sign, of either sign.
        component: What a component is called.
        agreed: How far the chains agree. Components that are not shared have no intervals, but where there is
            one chain: those are of its next draw.
        signed: Whether components are unit vectors, whose weights have a sign.
        sizes: The component's share of the documents in the same draws, where a model has one.

    Returns:
        For each component its number under ``component``, the number of ``chains``, by how many of them it
        was ``found``, whether it is ``shared``, and its ``"words"`` from `leading_words`; where weights have
        a sign, ``"negative_words"`` too. Where there are sizes, ``"size"``, their mean over the chains that
        have found it, with the ends ``"size_low"`` and ``"size_high"`` of its interval or None.

    Raises:
        ValueError: The vocabulary does not have V words, or ``top`` is no whole number from 1.
    """
    top, (num_chains, _, num_components, num_words) = whole("top", top), draws.shape
    if num_words != len(vocabulary):
        raise ValueError(f"{component}s have {num_words} words but the vocabulary has {len(vocabulary)}")
    signs = {"words": 1.0} | ({"negative_words": -1.0} if signed else {})
    told = []
    for place in range(num_components):
        by, shared = agreed.found[:, place], bool(agreed.shared[place])
        found = draws[by, :, place]
        counts = {component: place, "chains": num_chains, "found": int(by.sum()), "shared": shared}
        intervals = shared or num_chains == 1
        words = {
            name: leading_words(found, vocabulary, top, sign=sign, signed=signed, with_intervals=intervals)
            for name, sign in signs.items()
        }
        size = {} if sizes is None else component_size(sizes, agreed, place, intervals)
        told.append(counts | size | words)
    return told
