"""The configurational temperature of a chain of topics."""

import numpy as np
from jaxtyping import Array, Float

from geodrift.distributions import host_mean_resultant_length
from geodrift.models.spherical_admixture._settings import Settings, filled
from geodrift.models.spherical_admixture.documents._statistics import SufficientStatistics


class TemperatureRecord:
    r"""Configurational temperature by Stein's identity on the sphere, from averages over a chain.

    With a fixed unit vector a_k for each topic,

    .. math:: T = \frac{E[\sum_k a_k'(I - \beta_k \beta_k') \nabla_k \log\pi]}{(V - 1) E[\sum_k a_k'\beta_k]}

    is 1 for a chain that samples the posterior.

    Args:
        directions: a, such as the topics before sampling began.
    """

    def __init__(self, directions: Float[np.ndarray, "K V"]) -> None:
        self.directions, self.force, self.cosine = directions, 0.0, 0.0

    def add(
        self,
        topics: Float[Array | np.ndarray, "K V"],
        statistics: SufficientStatistics,
        settings: Settings,
        mean_direction: Float[np.ndarray, " V"],
    ) -> None:
        """Add one position to the averages.

        Args:
            topics: beta, float32.
            statistics: Sums over documents at these topics.
            settings: Resolved settings.
            mean_direction: m.
        """
        # They may be on another device.
        topics, statistics = np.asarray(topics), SufficientStatistics(*map(np.asarray, statistics))
        a = self.directions
        cosines = np.einsum("kv,kv->k", a, topics)
        resultant = (
            settings.corpus_mean_concentration * mean_direction
            + settings.topic_concentration * topics.sum(axis=0)
        )
        length = float(np.linalg.norm(resultant))
        pull = (
            filled(settings.topic_concentration)
            * float(host_mean_resultant_length(topics.shape[1], length))
            / length
        )

        def gradient_along(directions: np.ndarray) -> np.ndarray:
            likelihood = np.einsum("kv,vk->k", directions, statistics.weighted_documents) - np.einsum(
                "kj,jk->k", directions @ topics.T, statistics.curvature
            )
            return settings.document_concentration * likelihood + pull * (directions @ resultant)

        self.force += float((gradient_along(a) - cosines * gradient_along(topics)).sum())
        self.cosine += float(cosines.sum()) * (topics.shape[1] - 1)

    def value(self) -> float:
        """The temperature; NaN before the first position."""
        return self.force / self.cosine if self.cosine else float("nan")

    def state(self) -> dict[str, np.ndarray]:
        """Arrays for a checkpoint."""
        return {"directions": self.directions, "sums": np.array([self.force, self.cosine])}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore the arrays returned by `state`."""
        self.directions = np.array(arrays["directions"])
        self.force, self.cosine = (float(x) for x in arrays["sums"])
