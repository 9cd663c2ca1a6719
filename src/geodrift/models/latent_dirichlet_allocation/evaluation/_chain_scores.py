"""Document completion under the draws of each chain by itself, beside that of all draws together."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import ArrayLike, Float

from geodrift.models.kit._counts import checked_counts
from geodrift.models.latent_dirichlet_allocation.evaluation._completion import (
    CompletionScore,
    held_out_probabilities,
    score_of,
)
from geodrift.models.latent_dirichlet_allocation.evaluation._fold_in import checked_prior, checked_topics
from geodrift.models.latent_dirichlet_allocation.evaluation._token_split import split_tokens

SWEEPS, BURN_IN = 50, 25  # as `completion_perplexity`


class ChainScores(NamedTuple):
    """What `completion_by_chain` returns.

    Attributes:
        together: Under the draws of all chains, what `completion_perplexity` gives.
        by_chain: Log likelihood of each document's held-out tokens under each chain's draws.
    """

    together: CompletionScore
    by_chain: Float[np.ndarray, "C D"]


def completion_by_chain(
    counts: sp.csr_matrix, topics: Float[np.ndarray, "C N K V"], doc_topic_prior: ArrayLike, *, seed: int = 0
) -> ChainScores:
    """Scores of held-out tokens; see `completion_perplexity`.

    Args:
        counts: Whole numbers, [D, V].
        topics: Draws of each chain.
        doc_topic_prior: alpha: one number, K numbers, or [C, N, K].
        seed: Seed of the split and of the sampling.

    Raises:
        ValueError: Shapes disagree, or no document has two tokens.
    """
    counts, chains, length = checked_counts(counts), *topics.shape[:2]
    flat = checked_topics(topics.reshape(-1, *topics.shape[2:]), counts.shape[1])
    alpha = np.asarray(doc_topic_prior)
    alpha = alpha.reshape(-1, alpha.shape[2]) if alpha.ndim == 3 else alpha
    prior = checked_prior(alpha, *flat.shape[:2])
    split = split_tokens(counts, seed=seed)
    if split.held_out.nnz == 0:
        raise ValueError(f"none of the {counts.shape[0]} documents has two tokens: there is nothing to score")
    places = [slice(chain * length, (chain + 1) * length) for chain in range(chains)]
    plan = int(seed), SWEEPS, BURN_IN
    found = [held_out_probabilities(split, flat[at], prior[at], plan, at.start) for at in places]
    by_chain = [score_of(counts, split, each, length).document_log_likelihood for each in found]
    return ChainScores(score_of(counts, split, np.mean(found, axis=0), len(flat)), np.stack(by_chain))
