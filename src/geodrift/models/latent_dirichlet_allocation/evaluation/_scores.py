"""Every score of a posterior in one table."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import ArrayLike, Float

from geodrift.models.latent_dirichlet_allocation.evaluation._completion import completion_perplexity
from geodrift.models.latent_dirichlet_allocation.evaluation._summaries import align, mean_topics
from geodrift.models.topics._topic_scores import topic_scores


def evaluate(
    counts: sp.csr_matrix,
    topics: Float[np.ndarray, "N K V"],
    doc_topic_prior: ArrayLike,
    *,
    reference: sp.csr_matrix | None = None,
    held_out: float = 0.1,
    seed: int = 0,
    top: int = 10,
) -> dict[str, Any]:
    """Document completion, coherence, exclusivity and diversity, as plain values for JSON.

    Args:
        counts: Counts of documents that the model has not seen, [D, V].
        topics: Draws of all chains, in any order of topics.
        doc_topic_prior: alpha, each component's: one number, K numbers, or [N, K], one row a draw.
        reference: Counts of the documents in which coherence looks words up; None: ``counts``.
        held_out: Share of each document's tokens that is scored.
        seed: Seed of the split and of the sampling.
        top: Top words of each topic that coherence and exclusivity score.

    Returns:
        ``"completion"``, the numbers of `CompletionScore`; and the scores of `topic_scores` under the aligned
        draws.

    Raises:
        ValueError: Shapes disagree, or a value is outside what its line allows.
    """
    completion = completion_perplexity(counts, topics, doc_topic_prior, held_out=held_out, seed=seed)
    aligned = align(topics)
    scores = topic_scores(
        mean_topics(aligned),
        counts if reference is None else reference,
        draws=aligned if len(topics) > 1 else None,
        top=top,
    )
    return {"completion": completion.to_dict(), **scores}
