"""Stochastic-gradient steps of the topics: SGGMC and gSGNHT."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from geodrift.kernels._streams import SAM_SHEAR_MOVES
from geodrift.manifolds import Sphere
from geodrift.models.spherical_admixture._settings import Settings, filled
from geodrift.models.spherical_admixture.documents._document_states import (
    DocumentStates,
    on_host,
    recompute_sums,
)
from geodrift.models.spherical_admixture.documents._documents import DocumentSource
from geodrift.models.spherical_admixture.documents._fresh_mixtures import estimate_from_minibatch
from geodrift.models.spherical_admixture.documents._kept_mixtures import update_minibatch
from geodrift.models.spherical_admixture.documents._mixture_sampler import MixtureSampler
from geodrift.models.spherical_admixture.documents._shear import shear, shear_prior
from geodrift.models.spherical_admixture.documents._statistics import SufficientStatistics
from geodrift.models.spherical_admixture.sampler._outcome import Outcome, Step
from geodrift.models.spherical_admixture.sampler._posterior import (
    DeviceStatistics,
    TopicGradient,
    TopicPrior,
)
from geodrift.samplers import GSGNHT, SGGMC

STEP_FRACTION = 0.8  # h times the highest frequency; 2 is the limit of stability
FRICTION_FRACTION = 0.2  # of the critical friction of the direction of least curvature
FRICTION_RANGE = (0.005, 0.2)  # of C h after the early steps, without gradient noise
EARLY_FRICTION = 0.5  # added to C h at the start
EARLY_STEPS = 200  # steps in which it falls by a factor e
TUNING_INTERVAL = 20  # steps
SHEARS_PER_TOPIC = 200  # shear moves a pass over the corpus; each costs O(D), so a step's share O(S)


@eqx.filter_jit
def _topic_step(sampler: Any, root: jax.Array, state: Any, batch: DeviceStatistics) -> tuple[Any, Any]:
    return sampler.step(jax.random.fold_in(root, state.count), state, batch)


class StochasticMove:
    """SGGMC or gSGNHT on the topics, with mixtures of a minibatch of documents drawn before each step.

    Liu et al. 2016, Algorithm 3 (Appendix E). Step size h is the time of dx = v dt, dv = grad log p dt - C v
    dt + sqrt(2C) dW at unit mass and temperature on the product of K spheres, and friction C is 1/time.

    Args:
        source: The documents.
        settings: Resolved settings.
        prior: The prior of the topics.
        mixtures: How mixtures are drawn.

    Attributes:
        tuned: Step size and friction, [h, C].
    """

    def __init__(
        self, source: DocumentSource, settings: Settings, prior: TopicPrior, mixtures: MixtureSampler
    ) -> None:
        self.source, self.settings, self.mixtures = source, settings, mixtures
        self.estimator = TopicGradient(prior, jnp.float32(settings.document_concentration))
        self.manifold = Sphere(source.num_words)
        self.shear_prior = shear_prior(
            source.mean_direction,
            filled(settings.corpus_mean_concentration),
            filled(settings.topic_concentration),
            settings.doc_topic_prior,
            settings.n_topics,
        )
        # Once a pass over the corpus: a move costs O(D), so a step O(S) on average.
        self.shear_interval = -(-source.num_documents // self.documents_per_step)
        self.tune(np.array([1e-6, 1.0]))

    @property
    def documents_per_step(self) -> int:
        """Documents whose mixtures one step draws."""
        return min(self.settings.batch_size, self.source.num_documents)

    def initial_state(self, key: jax.Array, topics: Float[np.ndarray, "K V"]) -> Any:
        """State of the sampler at these topics."""
        return self.sampler.init(key, jnp.asarray(topics, jnp.float32))

    def tune(self, tuned: Float[np.ndarray, "2"]) -> None:
        """Set step size and friction, [h, C]."""
        make = SGGMC if self.settings.method == "sggmc" else GSGNHT
        self.tuned = tuned
        self.sampler = make(
            self.estimator,
            self.manifold,
            step_size=jnp.float32(tuned[0]),
            friction=jnp.float32(tuned[1]),
            num_steps=self.settings.num_steps,
            # Its positions are exact for a Gaussian at any stable step, and topics are nearly that.
            composition="BAOAB",
            reuse_batch=True,
        )

    def step(
        self,
        states: DocumentStates,
        state: Any,
        root: jax.Array,
        documents: Int[np.ndarray, " S"],
        count: int,
        adaptation: float,
    ) -> Step:
        """Draw mixtures of the minibatch, then make ``num_steps`` steps of the topics.

        Args:
            states: Mixtures of all documents, as `placed` returns them; they may be changed in place.
            state: Of the sampler of the topics.
            root: Random key of the chain.
            documents: Numbers of the minibatch's documents.
            count: Step index of the chain.
            adaptation: Gain of the adaptation of the mixtures' step sizes; 0 leaves every step size as it is.
        """
        if self.settings.latents == "kept" and (count + 1) % self.shear_interval == 0:
            states, state = self._shear(states, state, count, adaptation)
        topics = state.position
        states, statistics, acceptance = self._renewed(states, documents, topics, count, adaptation)
        # One batch held over L steps kicks L times the same way: over times longer than L h that is white
        # noise of variance L V.
        factor = self.settings.num_steps if self.settings.subtract_noise else 0
        statistics = statistics._replace(noise_variance=factor * statistics.noise_variance)
        if count == 0 or (adaptation > 0 and (count < EARLY_STEPS or count % TUNING_INTERVAL == 0)):
            self._adapt(statistics, count)
        state, info = _topic_step(self.sampler, root, state, self._sums(statistics))
        told = jax.device_get((info.result, info.kinetic_temperature, acceptance))
        outcome = Outcome(int(told[0]), float(told[1]), float("nan"), float(told[2]))
        return Step(states, state, topics, statistics, outcome)

    def placed(self, states: DocumentStates) -> DocumentStates:
        """The states where this move keeps them: on the host."""
        return on_host(states)

    def _renewed(
        self,
        states: DocumentStates,
        documents: Int[np.ndarray, " S"],
        topics: Float[jax.Array, "K V"],
        count: int,
        adaptation: float,
    ) -> tuple[DocumentStates, SufficientStatistics, Any]:
        """Mixtures of the minibatch drawn; the sums for the gradient, and the mean acceptance rate."""
        draw = update_minibatch if self.settings.latents == "kept" else estimate_from_minibatch
        rows = self.source.rows(documents)
        found = draw(states, self.mixtures, documents, rows, np.asarray(topics), count, adaptation)
        return states, *found

    def _sums(self, statistics: SufficientStatistics) -> DeviceStatistics:
        """The statistics as the sampler of the topics takes them."""
        return _to_device(statistics)

    def compile(self, states: DocumentStates, topics: Float[np.ndarray, "K V"]) -> None:
        """Compile the shear moves, which few steps make, so that a pilot's time holds no compilation."""
        two = states._replace(
            mixtures=states.mixtures[:2].copy(),
            inverse_norms=states.inverse_norms[:2].copy(),
            curvature_weights=states.curvature_weights[:2].copy(),
            shear_scale=states.shear_scale.copy(),
        )
        streams = SAM_SHEAR_MOVES.family(0, 0, 0)
        shear(two, topics.copy(), np.zeros_like(topics), self.shear_prior, streams, 1, adapting=False)

    def _adapt(self, statistics: SufficientStatistics, count: int) -> None:
        """Choose step size and friction by the curvature and the gradient noise.

        The curvatures of the log density are kappa times the eigenvalues of M: the largest bounds the step,
        h sqrt(largest) = `STEP_FRACTION`, and the friction is a fraction of what is critical for the
        smallest, C = `FRICTION_FRACTION` sqrt(smallest). Where there is gradient noise of variance V also
        h sqrt(V) <= 1 and C h >= V h^2: the injected variance 1 - exp(-2 C h) then exceeds what is
        subtracted from it.
        """
        # Topics that start opposite to their documents meet negative curvature: its size bounds the step too.
        eigenvalues = np.abs(np.linalg.eigvalsh(statistics.curvature))
        kappa = self.settings.document_concentration
        least, largest = kappa * eigenvalues.min(), kappa * eigenvalues.max()
        noise = float(statistics.noise_variance.max())
        step_size = self.settings.step_size
        if step_size is None:
            step_size = min(STEP_FRACTION / np.sqrt(largest), 1.0 / np.sqrt(noise) if noise > 0 else np.inf)
        friction = self.settings.friction
        if friction is None:
            damping = np.clip(FRICTION_FRACTION * np.sqrt(least) * step_size, *FRICTION_RANGE)
            early = EARLY_FRICTION * np.exp(-count / EARLY_STEPS)
            friction = (max(damping, noise * step_size**2) + early) / step_size
        self.tune(np.array([step_size, friction]))

    def _shear(
        self, states: DocumentStates, state: Any, count: int, adaptation: float
    ) -> tuple[DocumentStates, Any]:
        """Make the shear moves of one pass over the corpus; see `shear`."""
        streams = SAM_SHEAR_MOVES.family(self.mixtures.seed, self.mixtures.chain, count)
        topics, velocities = np.array(state.position), np.array(state.velocity)
        num_moves = SHEARS_PER_TOPIC * topics.shape[0]
        shear(states, topics, velocities, self.shear_prior, streams, num_moves, adapting=adaptation > 0)
        recompute_sums(states, self.source)
        return states, state._replace(position=jnp.asarray(topics), velocity=jnp.asarray(velocities))


def _to_device(statistics: SufficientStatistics) -> DeviceStatistics:
    """The statistics as float32 JAX arrays; no noise variance where it is 0."""
    noise = None
    if statistics.noise_variance.any():
        noise = jnp.asarray(statistics.noise_variance[:, None], jnp.float32)
    weighted_documents, curvature = (
        np.ascontiguousarray(x, dtype=np.float32)
        for x in (statistics.weighted_documents.T, statistics.curvature)
    )
    return DeviceStatistics(jnp.asarray(weighted_documents), jnp.asarray(curvature), noise)
