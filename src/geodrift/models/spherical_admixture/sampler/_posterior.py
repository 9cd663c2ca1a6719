r"""The posterior of the topics: its gradient from sums over documents, and its log density given mixtures.

The corpus mean mu is integrated out (Liu et al. 2016, Eq. 9): with :math:`\bar m = \kappa_0 m + \sigma \sum_k
\beta_k`,

.. math:: \log \pi(\beta, \theta \mid v) = - \log c_V(|\bar m|) + \kappa \sum_d
\frac{v_d'\beta\theta_d}{|\beta\theta_d|}
    + \sum_d \log \mathrm{Dir}(\theta_d \mid \alpha) + \text{const}
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from geodrift.distributions import log_normaliser, mean_resultant_length
from geodrift.estimators import Estimator


class DeviceStatistics(NamedTuple):
    """`SufficientStatistics` as JAX arrays: the batch that `TopicGradient` takes."""

    weighted_documents: Float[Array, "K V"]  # P', topics first
    curvature: Float[Array, "K K"]  # M
    noise_variance: Float[Array, "K 1"] | None  # None where all documents count


class TopicPrior(eqx.Module):
    """The prior of the topics with the corpus mean integrated out.

    Attributes:
        mean_direction: m, unit length.
        mean_concentration: kappa_0.
        topic_concentration: sigma.
    """

    mean_direction: Float[Array, " V"]
    mean_concentration: Float[Array, ""]
    topic_concentration: Float[Array, ""]

    def resultant(self, topics: Float[Array, "K V"]) -> Float[Array, " V"]:
        """The vector m-bar of Eq. (9)."""
        return self.mean_concentration * self.mean_direction + self.topic_concentration * topics.sum(axis=0)

    def log_density(self, topics: Float[Array, "K V"]) -> Float[Array, ""]:
        """Log density up to a constant, -log c_V(|m-bar|)."""
        return -log_normaliser(topics.shape[-1], jnp.linalg.norm(self.resultant(topics)))

    def gradient(self, topics: Float[Array, "K V"]) -> Float[Array, " V"]:
        """Gradient of the log density with respect to any one topic; it is the same for all."""
        resultant = self.resultant(topics)
        length = jnp.linalg.norm(resultant)
        return self.topic_concentration * mean_resultant_length(topics.shape[-1], length) * resultant / length


class TopicGradient(Estimator):
    """Gradient of the log posterior of the topics from sums over documents.

    Minus Eq. (10) of Liu et al. 2016 in its sparse plus low-rank form. The batch is `DeviceStatistics`, which
    are computed before each step.
    """

    prior: TopicPrior
    concentration: Float[Array, ""]  # kappa

    def init(self, key: Any, position: Any) -> tuple[()]:
        """No state: what is kept of the documents is in `DocumentStates`."""
        del key, position
        return ()

    def prepare(
        self, key: Any, state: Any, position: Any, batch: DeviceStatistics
    ) -> tuple[DeviceStatistics, Any]:
        """The batch itself."""
        del key, position
        return batch, state

    def gradient(self, position: Float[Array, "K V"], prepared: DeviceStatistics) -> Float[Array, "K V"]:
        """Gradient in ambient coordinates; cost O(V K^2)."""
        # In full float32 on any device: the two terms nearly cancel.
        pull = jnp.matmul(prepared.curvature, position, precision=jax.lax.Precision.HIGHEST)
        likelihood = prepared.weighted_documents - pull
        return self.concentration * likelihood + self.prior.gradient(position)

    def noise_variance(
        self, position: Float[Array, "K V"], prepared: DeviceStatistics
    ) -> Float[Array, "K V"] | None:
        """Variance of each entry of the gradient, one value a topic; None where all documents count."""
        if prepared.noise_variance is None:
            return None
        return jnp.broadcast_to(prepared.noise_variance, position.shape)


class DocumentEntries(NamedTuple):
    """Unit vectors of all documents as the coordinates and values of their entries, ordered by document."""

    documents: Int[Array, " nnz"]
    words: Int[Array, " nnz"]
    values: Float[Array, " nnz"]


def log_joint(
    topics: Float[Array, "K V"],
    prior: TopicPrior,
    concentration: Float[Array, ""],
    entries: DocumentEntries,
    mixtures: Float[Array, "N D K"],
) -> Float[Array, ""]:
    """Log joint density of topics and mixtures, Eq. (9), as a function of the topics and up to a constant.

    It is averaged over N mixtures a document; cost O(nnz K + N D K^2).

    Args:
        topics: beta.
        prior: Their prior.
        concentration: kappa.
        entries: Documents v.
        mixtures: theta.
    """
    products = entries.values[:, None] * topics.T[entries.words]
    projections = jax.ops.segment_sum(products, entries.documents, mixtures.shape[1], indices_are_sorted=True)
    squared = jnp.einsum("ndj,jk,ndk->nd", mixtures, topics @ topics.T, mixtures)
    cosines = jnp.einsum("ndk,dk->nd", mixtures, projections) / jnp.sqrt(squared)
    return concentration * cosines.sum() / mixtures.shape[0] + prior.log_density(topics)
