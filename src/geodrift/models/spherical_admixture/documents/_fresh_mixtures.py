"""The unbiased estimate of the sums over documents from a minibatch alone, and its noise variance."""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from geodrift.models.spherical_admixture.documents._document_states import DocumentStates
from geodrift.models.spherical_admixture.documents._mixture_sampler import MixtureSampler
from geodrift.models.spherical_admixture.documents._statistics import (
    SufficientStatistics,
    add_weighted_documents,
    document_weights,
    gram_matrix,
    topic_projections,
)

NOISE_SMOOTHING = 0.05  # weight of a step's estimate of the gradient noise


def estimate_from_minibatch(
    states: DocumentStates,
    sampler: MixtureSampler,
    documents: Int[np.ndarray, " S"],
    rows: sp.csr_matrix,
    topics: Float[np.ndarray, "K V"],
    step: int,
    adaptation: float,
) -> tuple[SufficientStatistics, float]:
    """The unbiased estimate of the sums from a minibatch alone, with its noise variance.

    Eq. (10) of Liu et al. 2016: mean over N draws, times D / S. Mixtures start from those in ``states``,
    which are updated; the sums in ``states`` are not used. The arguments are those of `update_minibatch`.

    Returns:
        The estimate, and the mean acceptance rate.
    """
    num_documents, batch = states.mixtures.shape[0], documents.shape[0]
    gram, projections = gram_matrix(topics), topic_projections(rows, topics)
    new = states.mixtures[documents].astype(np.float64)
    step_sizes = states.step_sizes[documents].astype(np.float64)
    draws, acceptance = sampler.draw(new, step_sizes, projections, gram, documents, step, adaptation)
    states.mixtures[documents], states.step_sizes[documents] = new, step_sizes
    inverse_norms, factors = document_weights(draws, projections[:, None, :], gram)
    weights = (draws * inverse_norms[:, :, None]).mean(axis=1)
    curvatures = np.einsum("sn,snj,snk->sjk", factors, draws, draws, optimize=True) / draws.shape[1]
    scale = num_documents / batch
    weighted_documents = np.zeros(topics.shape[::-1])
    add_weighted_documents(rows, scale * weights, weighted_documents)
    noise = _tangent_variance(weights, curvatures, projections, gram, rows)
    noise = (sampler.concentration * num_documents) ** 2 / batch * noise * (1.0 - batch / num_documents)
    smoothing = 1.0 if not states.noise_variance.any() else NOISE_SMOOTHING
    states.noise_variance[...] += smoothing * (noise - states.noise_variance)
    statistics = SufficientStatistics(
        weighted_documents, scale * curvatures.sum(axis=0), states.noise_variance
    )
    return statistics, float(acceptance.mean())


def _tangent_variance(
    weights: Float[np.ndarray, "S K"],
    curvatures: Float[np.ndarray, "S K K"],
    projections: Float[np.ndarray, "S K"],
    gram: Float[np.ndarray, "K K"],
    rows: sp.csr_matrix,
) -> Float[np.ndarray, " K"]:
    """Variance over documents of one tangent entry of each topic's gradient, divided by kappa squared.

    A document's tangent gradient for topic k is kappa (I - beta_k beta_k')(w_k v - sum_j beta_j M_jk); its
    squared norm and that of the mean need only v'v, beta v and the Gram matrix.

    Args:
        weights: w of each document.
        curvatures: M of each document.
        projections: beta v of each document.
        gram: beta beta'.
        rows: v, unit vectors [S, V].
    """
    batch, num_topics = weights.shape
    if batch < 2:
        return np.zeros(num_topics)

    def squared_norm(
        weight_squared: np.ndarray, weight_projection: np.ndarray, curvature: np.ndarray
    ) -> np.ndarray:
        # |sum w v - beta' M_k|^2 less the radial part, per topic k; weight_projection[j, k] = beta_j' sum w_k
        # v
        from_gram = gram @ curvature
        whole = weight_squared + ((from_gram - 2 * weight_projection) * curvature).sum(axis=-2)
        radial = np.diagonal(weight_projection - from_gram, axis1=-2, axis2=-1)
        return whole - radial**2

    products = (rows @ rows.T).toarray()
    weighted = projections[:, :, None] * weights[:, None, :]
    each = squared_norm(weights**2 * np.diag(products)[:, None], weighted, curvatures).sum(axis=0)
    mean = squared_norm(
        ((products @ weights) * weights).sum(axis=0) / batch**2,
        weighted.mean(axis=0),
        curvatures.mean(axis=0),
    )
    return np.maximum(each - batch * mean, 0.0) / (batch - 1) / (rows.shape[1] - 1)
