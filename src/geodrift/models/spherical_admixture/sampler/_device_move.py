"""The stochastic-gradient steps of the topics with all that they need kept on a device that is no CPU."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from geodrift.kernels._streams import SAM_SHEAR_MOVES
from geodrift.models.spherical_admixture.documents._device_rows import DeviceRows
from geodrift.models.spherical_admixture.documents._document_states import DocumentStates
from geodrift.models.spherical_admixture.documents._kept_mixtures_in_jax import (
    local_mesh,
    on_device,
    recomputed_sums,
    update_minibatch,
)
from geodrift.models.spherical_admixture.documents._shear_in_jax import DeviceShearPrior, shear
from geodrift.models.spherical_admixture.documents._statistics import SufficientStatistics
from geodrift.models.spherical_admixture.sampler._posterior import DeviceStatistics
from geodrift.models.spherical_admixture.sampler._stochastic_move import SHEARS_PER_TOPIC, StochasticMove


class DeviceMove(StochasticMove):
    """`StochasticMove` with kept mixtures, where JAX's device is no CPU.

    The law and the arguments are the same. What is left to the host: which documents a minibatch has, and
    their rows where those of all do not fit on the device; the eigenvalues of M in warm-up, 4 K^2 bytes in
    the first steps and then every 20; and the configurational temperature, 8 K V bytes every 10 steps of
    sampling.
    """

    def __init__(self, *arguments: Any) -> None:
        self.mesh = local_mesh()
        super().__init__(*arguments)
        self.rows = DeviceRows(self.source, self.mesh)
        self.device_prior = DeviceShearPrior.of(self.shear_prior, self.mesh)

    def initial_state(self, key: jax.Array, topics: Float[np.ndarray, "K V"]) -> Any:
        """State of the sampler at these topics."""
        return on_device(super().initial_state(key, topics), self.mesh)

    def placed(self, states: DocumentStates) -> DocumentStates:
        """The states where this move keeps them: a copy on the device."""
        return on_device(states, self.mesh)

    def compile(self, states: DocumentStates, topics: Float[np.ndarray, "K V"]) -> None:
        """Compile what is done once a pass, so that a pilot's time holds no compilation."""
        self._sheared(self.placed(states), jnp.asarray(topics), jnp.zeros(topics.shape, jnp.float32), 0, 0.0)

    def _renewed(
        self,
        states: DocumentStates,
        documents: Int[np.ndarray, " S"],
        topics: Float[jax.Array, "K V"],
        count: int,
        adaptation: float,
    ) -> tuple[DocumentStates, SufficientStatistics, Any]:
        rows = self.rows.padded(documents, len(documents))
        states, acceptance = update_minibatch(
            states, self.mixtures, documents, rows, topics, count, adaptation, self.mesh
        )
        no_noise = np.zeros(self.settings.n_topics)
        return states, SufficientStatistics(states.weighted_documents, states.curvature, no_noise), acceptance

    def _sums(self, statistics: SufficientStatistics) -> DeviceStatistics:
        return DeviceStatistics(statistics.weighted_documents.T, statistics.curvature, None)

    def _shear(
        self, states: DocumentStates, state: Any, count: int, adaptation: float
    ) -> tuple[DocumentStates, Any]:
        found = self._sheared(states, state.position, state.velocity, count, adaptation)
        return found[0], state._replace(position=found[1], velocity=found[2])

    def _sheared(
        self,
        states: DocumentStates,
        topics: Float[jax.Array, "K V"],
        velocities: Float[jax.Array, "K V"],
        count: int,
        adaptation: float,
    ) -> tuple[DocumentStates, Float[jax.Array, "K V"], Float[jax.Array, "K V"]]:
        """States with new sums, topics and velocities after shear moves."""
        streams = SAM_SHEAR_MOVES.family(self.mixtures.seed, self.mixtures.chain, count)
        states, topics, velocities = shear(
            states,
            topics,
            velocities,
            self.device_prior,
            streams,
            SHEARS_PER_TOPIC * self.settings.n_topics,
            adapting=adaptation > 0,
        )
        return recomputed_sums(states, self.rows), topics, velocities
