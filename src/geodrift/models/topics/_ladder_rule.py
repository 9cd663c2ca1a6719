r"""Which numbers of topics cannot be told from the best: paired differences of held-out scores.

A number K has, under the draws of chain c, the log likelihood :math:`\ell_{Kcd}` of the held-out tokens of
document d, of which there are :math:`t_d`, T in all. Its score is the mean over chains of
:math:`\sum_d \ell_{Kcd} / T`. The best has the highest score; of another one the difference to it has two
errors:

* of the documents: the same are scored for all K, so the differences are taken document by document, and
  their spread is that of a ratio of two sums over documents;
* of the chains: chains of one K rest in different modes and score differently, with variance s^2 (pooled over
  all K, since each has few chains); two means of C chains differ by 2 s^2 / C.

A number is told from the best where the difference exceeds `TOLD_APART` standard errors, both errors
together; and where some held-out word has the probability 0 under a chain of it, and under none of the best.
The smallest number that is not told from it is the one to take.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

TOLD_APART = 2.0  # standard errors
RULE = (
    f"a number of topics is told from the best where its held-out score is worse by more than {TOLD_APART:g}"
    " standard errors of the paired difference, over the same documents and over chains"
)


def compared(
    scores: Sequence[Float[np.ndarray, "C D"]], tokens: Int[np.ndarray, " D"]
) -> list[dict[str, Any]]:
    """How each number of topics compares with the best.

    Args:
        scores: Log likelihood of each document's held-out tokens under each chain, of each number of topics.
        tokens: Held-out tokens of each document.

    Returns:
        Of each number ``{"score", "chain_scores", "difference", "difference_error", "apart"}``: nats a
        held-out token, what the best is better by, the standard error of that, and whether it is told apart.
        A number under which a held-out token has no probability is worse by infinity, with the error NaN.

    Raises:
        ValueError: Under each number a held-out token has no probability.
    """
    scored = tokens > 0
    total, held = float(tokens.sum()), tokens[scored]
    of_chains = [each.sum(axis=1) / total for each in scores]
    means = [float(each.mean()) for each in of_chains]
    best = int(np.argmax(means))
    if not np.isfinite(means[best]):
        raise ValueError(
            f"under each of the {len(means)} numbers some held-out word has the probability 0, and scores"
            " must be finite to be compared: give topics a larger topic_word_prior, or take more steps"
        )
    finite = [each for each in of_chains if np.isfinite(each).all()]
    squares = sum(float(((each - each.mean()) ** 2).sum()) for each in finite)
    degrees = sum(len(each) - 1 for each in finite)
    variance = squares / degrees if degrees else 0.0
    told = []
    for place, chains in enumerate(of_chains):
        if not np.isfinite(means[place]):
            told.append(_impossible(means[place], chains))
            continue
        pairs = (scores[best].mean(axis=0) - scores[place].mean(axis=0))[scored]
        difference = means[best] - means[place]
        spread, number = ((pairs - difference * held) ** 2).sum(), len(held)
        of_documents = spread * number / max(number - 1, 1) / total**2
        of_both = variance * (1 / len(chains) + 1 / len(of_chains[best])) if place != best else 0.0
        error = float(np.sqrt(of_documents + of_both))
        told.append(
            {
                "score": means[place],
                "chain_scores": chains.tolist(),
                "difference": difference,
                "difference_error": error,
                "apart": bool(difference > TOLD_APART * error),
            }
        )
    return told


def _impossible(score: float, chains: Float[np.ndarray, " C"]) -> dict[str, Any]:
    """Of a number under a chain of which a held-out token has no probability."""
    told = {"score": score, "chain_scores": chains.tolist(), "difference": np.inf}
    return told | {"difference_error": np.nan, "apart": True}
