"""Transitions of mixtures that are part of the chain's state: a minibatch's, or all documents'."""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from geodrift.models.spherical_admixture.documents._document_states import DocumentStates, recompute_sums
from geodrift.models.spherical_admixture.documents._documents import DocumentSource
from geodrift.models.spherical_admixture.documents._mixture_sampler import MixtureSampler
from geodrift.models.spherical_admixture.documents._statistics import (
    SufficientStatistics,
    add_weighted_documents,
    document_weights,
    gram_matrix,
    topic_projections,
)


def update_minibatch(
    states: DocumentStates,
    sampler: MixtureSampler,
    documents: Int[np.ndarray, " S"],
    rows: sp.csr_matrix,
    topics: Float[np.ndarray, "K V"],
    step: int,
    adaptation: float,
) -> tuple[SufficientStatistics, float]:
    """Draw a minibatch's mixtures in place and update the sums over all documents; cost O(nnz K + S N K^2).

    The joint law of topics and mixtures is invariant: mixtures move by a Metropolis-corrected kernel given
    the topics. The norms |beta theta_d| of documents not in the minibatch are those of their last update.

    Args:
        states: Changed in place.
        sampler: How mixtures are drawn.
        documents: Numbers of the minibatch's documents.
        rows: Their unit vectors, [S, V].
        topics: beta.
        step: Step index of the chain; keys the random streams.
        adaptation: See `MixtureSampler.draw`.

    Returns:
        The sums over all documents, which share the memory of ``states``, and the mean acceptance rate.
    """
    gram, projections = gram_matrix(topics), topic_projections(rows, topics)
    old = states.mixtures[documents].astype(np.float64)
    old_inverse_norms = states.inverse_norms[documents].astype(np.float64)
    old_weights = states.curvature_weights[documents].astype(np.float64)
    new, step_sizes = old.copy(), states.step_sizes[documents].astype(np.float64)
    _, acceptance = sampler.draw(new, step_sizes, projections, gram, documents, step, adaptation)
    # What is added must be what is later subtracted: round to the stored float32 first.
    new = new.astype(np.float32).astype(np.float64)
    inverse_norms, weights = (
        factor.astype(np.float32).astype(np.float64) for factor in document_weights(new, projections, gram)
    )
    states.mixtures[documents], states.step_sizes[documents] = new, step_sizes
    states.inverse_norms[documents], states.curvature_weights[documents] = inverse_norms, weights
    change = new * inverse_norms[:, None] - old * old_inverse_norms[:, None]
    add_weighted_documents(rows, change, states.weighted_documents)
    states.curvature[...] += (new * weights[:, None]).T @ new - (old * old_weights[:, None]).T @ old
    return _statistics(states), float(acceptance.mean())


def update_all_documents(
    states: DocumentStates,
    sampler: MixtureSampler,
    source: DocumentSource,
    topics: Float[np.ndarray, "K V"],
    step: int,
    adaptation: float,
) -> tuple[SufficientStatistics, Float[np.ndarray, "D N K"], float]:
    """Draw every document's mixture in place, given the topics; see `update_minibatch` for the arguments.

    Returns:
        The sums over all documents at these mixtures, the N draws of each, and the mean acceptance rate.
    """
    all_draws = np.empty((source.num_documents, sampler.num_draws, topics.shape[0]))
    gram, accepted = gram_matrix(topics), 0.0
    for documents, rows in source.batches():
        projections = topic_projections(rows, topics)
        new = states.mixtures[documents].astype(np.float64)
        step_sizes = states.step_sizes[documents].astype(np.float64)
        draws, acceptance = sampler.draw(new, step_sizes, projections, gram, documents, step, adaptation)
        all_draws[documents] = draws
        states.mixtures[documents], states.step_sizes[documents] = new, step_sizes
        inverse_norms, weights = document_weights(new, projections, gram)
        states.inverse_norms[documents], states.curvature_weights[documents] = inverse_norms, weights
        accepted += float(acceptance.sum())
    recompute_sums(states, source)
    return _statistics(states), all_draws, accepted / source.num_documents


def _statistics(states: DocumentStates) -> SufficientStatistics:
    """The sums in ``states``; all documents count, so the gradient has no noise."""
    return SufficientStatistics(
        states.weighted_documents, states.curvature, np.zeros_like(states.noise_variance)
    )
