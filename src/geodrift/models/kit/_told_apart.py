r"""Words that tell a component apart from the others, by relevance.

.. math:: r(w, k) = \lambda \log \phi_{kw} + (1 - \lambda) \log \frac{\phi_{kw}}{p_w}

(Sievert and Shirley, 2014, eq. 1), with :math:`p_w = \sum_k s_k \phi_{kw}` over components of sizes
:math:`s_k`: the second term is the lift. Negative weights, which unit vectors have, count as 0.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

BALANCE = 0.3  # lambda


def told_apart(
    weights: Float[np.ndarray, "K V"],
    sizes: Float[np.ndarray, " K"],
    vocabulary: Sequence[str],
    top: int,
    balance: float = BALANCE,
) -> list[list[dict[str, Any]]]:
    """The words of largest relevance in each component.

    Args:
        weights: Posterior means.
        sizes: Of the components.
        vocabulary: V words.
        top: Largest number of words.
        balance: lambda.

    Returns:
        For each component ``{"word", "relevance", "weight", "lift"}`` of each word.
    """
    positive = np.maximum(weights.astype(np.float64), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = positive / (sizes / sizes.sum() @ positive)
        relevance = balance * np.log(positive) + (1 - balance) * np.log(lift)
    relevance[np.isnan(relevance)] = -np.inf
    told = []
    for place, scores in enumerate(relevance):
        order = np.argsort(-scores, kind="stable")[:top]
        told.append(
            [
                {
                    "word": vocabulary[word],
                    "relevance": float(scores[word]),
                    "weight": float(positive[place, word]),
                    "lift": float(lift[place, word]),
                }
                for word in order
                if np.isfinite(scores[word])
            ]
        )
    return told
