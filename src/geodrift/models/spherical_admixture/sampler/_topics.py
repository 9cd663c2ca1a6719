r"""The posterior of the topics: its gradient from the documents' sums, and its log density given mixtures.

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


class Sums(NamedTuple):
    """`Statistics` on the device: what plays the part of the batch."""

    pull: Float[Array, "K V"]
    coupling: Float[Array, "K K"]
    noise_variance: Float[Array, "K 1"] | None


class TopicPrior(eqx.Module):
    """The topics' prior with the corpus mean integrated out.

    Attributes:
        mean_direction: m, [V], unit length.
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
        """Up to a constant."""
        return -log_normaliser(topics.shape[-1], jnp.linalg.norm(self.resultant(topics)))

    def gradient(self, topics: Float[Array, "K V"]) -> Float[Array, " V"]:
        """With respect to each topic: the same vector for all."""
        resultant = self.resultant(topics)
        length = jnp.linalg.norm(resultant)
        return self.topic_concentration * mean_resultant_length(topics.shape[-1], length) * resultant / length


class TopicGradient(Estimator):
    """Gradient of the topics' log posterior from the documents' sums.

    Eq. (10) of Liu et al. 2016 in its sparse plus low-rank form. The batch is `Sums`: the host renews
    mixtures and sums before each step, so there is nothing left to prepare.
    """

    prior: TopicPrior
    concentration: Float[Array, ""]

    def init(self, key: Any, position: Any) -> tuple[()]:
        """Nothing is kept here: `Latents` is the host's."""
        del key, position
        return ()

    def prepare(self, key: Any, state: Any, position: Any, batch: Sums) -> tuple[Sums, Any]:
        """The batch is prepared already."""
        del key, position
        return batch, state

    def gradient(self, position: Float[Array, "K V"], prepared: Sums) -> Float[Array, "K V"]:
        """Cost O(V K^2)."""
        likelihood = prepared.pull - prepared.coupling @ position
        return self.concentration * likelihood + self.prior.gradient(position)

    def noise_variance(self, position: Float[Array, "K V"], prepared: Sums) -> Float[Array, "K V"] | None:
        """One variance a topic, from the minibatch; None where all documents count."""
        if prepared.noise_variance is None:
            return None
        return jnp.broadcast_to(prepared.noise_variance, position.shape)


class Rows(NamedTuple):
    """All documents' unit rows as a list of entries."""

    documents: Int[Array, " nnz"]
    words: Int[Array, " nnz"]
    values: Float[Array, " nnz"]


def log_joint(
    topics: Float[Array, "K V"],
    prior: TopicPrior,
    concentration: Float[Array, ""],
    rows: Rows,
    mixtures: Float[Array, "N D K"],
) -> Float[Array, ""]:
    """Log joint density of topics and mixtures as a function of the topics, Eq. (9), up to a constant.

    It is averaged over N mixtures a document; cost O(nnz K + N D K^2).
    """
    entries = rows.values[:, None] * topics.T[rows.words]
    affinity = jax.ops.segment_sum(entries, rows.documents, mixtures.shape[1], indices_are_sorted=True)
    squared = jnp.einsum("ndj,jk,ndk->nd", mixtures, topics @ topics.T, mixtures)
    cosines = jnp.einsum("ndk,dk->nd", mixtures, affinity) / jnp.sqrt(squared)
    return concentration * cosines.sum() / mixtures.shape[0] + prior.log_density(topics)
