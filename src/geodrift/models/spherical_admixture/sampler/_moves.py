"""One move of the topics, given the documents.

Either by a stochastic-gradient sampler, or by geodesic Monte Carlo on all of the data.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from geodrift.estimators import Full
from geodrift.kernels._streams import SAM_SHEAR_MOVES, Family
from geodrift.manifolds import Sphere
from geodrift.models.spherical_admixture._settings import Settings, filled
from geodrift.models.spherical_admixture.documents._documents import DocumentSource
from geodrift.models.spherical_admixture.documents._latents import (
    Latents,
    MixtureSampler,
    Statistics,
    draw_all,
    estimate,
    renew_sums,
    visit,
)
from geodrift.models.spherical_admixture.documents._shear import shear, shear_prior
from geodrift.models.spherical_admixture.sampler._topics import (
    Rows,
    Sums,
    TopicGradient,
    TopicPrior,
    log_joint,
)
from geodrift.samplers import GMC, GSGNHT, SGGMC

STEP_FRACTION = 0.8  # h times the highest frequency; 2 is the limit of stability
FRICTION_FRACTION = 0.2  # of the critical friction of the softest direction
FRICTION_RANGE = (0.005, 0.2)  # of C h once warm and without gradient noise
EARLY_FRICTION = 0.5  # added to C h at the start
EARLY_STEPS = 200  # steps in which it falls by e
TUNING_INTERVAL = 20
SHEARS_PER_TOPIC = 200  # shear moves a pass over the corpus; each costs O(D), so a step's share O(S)
TARGET_ACCEPTANCE = 0.8  # of geodesic Monte Carlo
STEP_JITTER = 0.4  # of its tuned step, so that no soft direction comes back to where it was


class Outcome(NamedTuple):
    """What one outer step met."""

    result: int  # code of `geodrift.Result`
    kinetic_temperature: float
    acceptance: float  # of the topics' proposals; NaN without a Metropolis test
    mixture_acceptance: float
    statistics: Statistics
    topics: np.ndarray  # [K, V], where the statistics were computed


@eqx.filter_jit
def _advance(sampler: Any, root: jax.Array, state: Any, batch: Sums) -> tuple[Any, Any]:
    return sampler.step(jax.random.fold_in(root, state.count), state, batch)


class StochasticMove:
    """SGGMC or gSGNHT on the topics, the documents' sums renewed from a minibatch before each step.

    Liu et al. 2016. Step size h is the time of dx = v dt, dv = grad log p dt - C v dt + sqrt(2C) dW at unit
    mass and temperature on the product of K spheres, and friction C is 1/time; ``tuned`` holds [h, C].
    Topics are [K, V] float32.

    Args:
        source: The documents.
        settings: Resolved settings.
        prior: The topics' prior.
        mixtures: How mixtures are renewed.
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
        """Documents whose mixtures one step renews."""
        return min(self.settings.batch_size, self.source.num_documents)

    def initial_state(self, key: jax.Array, topics: Float[np.ndarray, "K V"]) -> Any:
        """The core sampler's state."""
        return self.sampler.init(key, jnp.asarray(topics, jnp.float32))

    def tune(self, tuned: Float[np.ndarray, "2"]) -> None:
        """Take step size and friction ``[h, C]``."""
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

    def _adapt(self, statistics: Statistics, count: int) -> None:
        """Step size and friction from the curvature and the gradient noise.

        The curvatures are kappa times the coupling's eigenvalues: the largest bounds the step,
        h sqrt(largest) = `STEP_FRACTION`, and the friction is a fraction of what is critical for the
        smallest, C = `FRICTION_FRACTION` sqrt(smallest). Where there is gradient noise of variance V also
        h sqrt(V) <= 1 and C h >= V h^2: the injected variance 1 - exp(-2 C h) then exceeds what is
        subtracted from it.
        """
        # Topics that start opposite to their documents meet negative curvature: its size bounds the step too.
        eigenvalues = np.abs(np.linalg.eigvalsh(statistics.coupling))
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

    def step(
        self,
        latents: Latents,
        state: Any,
        root: jax.Array,
        documents: Int[np.ndarray, " S"],
        count: int,
        adaptation: float,
    ) -> tuple[Any, Outcome]:
        """Mixtures of the minibatch, then ``num_steps`` steps of the topics.

        ``adaptation`` 0 leaves every step size as it is.
        """
        renew = visit if self.settings.latents == "kept" else estimate
        if self.settings.latents == "kept" and (count + 1) % self.shear_interval == 0:
            state = self._shear(latents, state, count, adaptation)
        rows, topics = self.source.rows(documents), np.asarray(state.position)
        statistics, acceptance = renew(latents, self.mixtures, documents, rows, topics, count, adaptation)
        # One batch held over L steps kicks L times the same way: over times longer than L h that is white
        # noise of variance L V.
        felt = self.settings.num_steps if self.settings.subtract_noise else 0
        statistics = statistics._replace(noise_variance=felt * statistics.noise_variance)
        if count == 0 or (adaptation > 0 and (count < EARLY_STEPS or count % TUNING_INTERVAL == 0)):
            self._adapt(statistics, count)
        state, info = _advance(self.sampler, root, state, _to_device(statistics))
        return state, Outcome(
            int(info.result), float(info.kinetic_temperature), float("nan"), acceptance, statistics, topics
        )

    def compile(self, latents: Latents, topics: Float[np.ndarray, "K V"]) -> None:
        """Compile what a step calls but once a pass, so that a pilot does not take it for work."""
        few = latents._replace(
            mixtures=latents.mixtures[:2].copy(),
            inverse_norms=latents.inverse_norms[:2].copy(),
            slopes=latents.slopes[:2].copy(),
            shear_scale=latents.shear_scale.copy(),
        )
        shear(few, topics.copy(), np.zeros_like(topics), self.shear_prior, Family(0, 0, 0), 1, adapting=False)

    def _shear(self, latents: Latents, state: Any, count: int, adaptation: float) -> Any:
        """Moves that mix topics while no document moves; see `shear`."""
        streams = SAM_SHEAR_MOVES.family(self.mixtures.seed, self.mixtures.chain, count)
        topics, velocities = np.array(state.position), np.array(state.velocity)
        num_moves = SHEARS_PER_TOPIC * topics.shape[0]
        shear(latents, topics, velocities, self.shear_prior, streams, num_moves, adapting=adaptation > 0)
        renew_sums(latents, self.source)
        return state._replace(position=jnp.asarray(topics), velocity=jnp.asarray(velocities))


def _to_device(statistics: Statistics) -> Sums:
    """The sums as float32 device arrays; no noise variance where there is none."""
    noise = None
    if statistics.noise_variance.any():
        noise = jnp.asarray(statistics.noise_variance[:, None], jnp.float32)
    pull, coupling = (
        np.ascontiguousarray(x, dtype=np.float32) for x in (statistics.pull.T, statistics.coupling)
    )
    return Sums(jnp.asarray(pull), jnp.asarray(coupling), noise)


@eqx.filter_jit
def _propose(
    key: jax.Array,
    topics: Float[Array, "K V"],
    mixtures: Float[Array, "N D K"],
    rows: Rows,
    prior: TopicPrior,
    concentration: Float[Array, ""],
    step_size: Float[Array, ""],
    num_steps: int,
    jitter: float,
) -> tuple[Any, Any]:
    key_length, key_start, key_step = jax.random.split(key, 3)
    sampler = GMC(
        Full(lambda position: log_joint(position, prior, concentration, rows, mixtures)),
        Sphere(topics.shape[-1]),
        step_size=step_size * jax.random.uniform(key_length, (), step_size.dtype, 1 - jitter, 1 + jitter),
        num_steps=num_steps,
    )
    return sampler.step(key_step, sampler.init(key_start, topics), None)


class TopicState(NamedTuple):
    """State of `GeodesicMove`: nothing but the topics, as every move draws its velocity."""

    position: jax.Array  # [K, V]


class GeodesicMove:
    """Geodesic Monte Carlo on the topics with all documents' mixtures held.

    GMC-bGibbs with one mixture a document is an exact Gibbs sampler; GMC-apprMH has several, and its
    Metropolis test uses the average over them and is biased (Liu et al. 2016, Appendix B). Step size h is
    the time of dx = v dt, dv = grad log p dt at unit mass; ``tuned`` holds [h, unused].

    Args:
        source: The documents.
        settings: Resolved settings.
        prior: The topics' prior.
        mixtures: How mixtures are renewed.
    """

    def __init__(
        self, source: DocumentSource, settings: Settings, prior: TopicPrior, mixtures: MixtureSampler
    ) -> None:
        self.source, self.settings, self.prior = source, settings, prior
        draws = 1 if settings.method == "gmc-gibbs" else mixtures.num_draws
        self.mixtures = mixtures._replace(
            num_draws=draws, burn_in=mixtures.burn_in + mixtures.num_draws - draws
        )
        self.concentration = jnp.float32(settings.document_concentration)
        everything = source.rows(np.arange(source.num_documents)).tocoo()
        self.rows = Rows(
            jnp.asarray(everything.row, jnp.int32),
            jnp.asarray(everything.col, jnp.int32),
            jnp.asarray(everything.data, jnp.float32),
        )
        self.tuned = np.array([1e-6, 0.0])

    @property
    def documents_per_step(self) -> int:
        """Documents whose mixtures one step renews: all."""
        return self.source.num_documents

    def initial_state(self, key: jax.Array, topics: Float[np.ndarray, "K V"]) -> TopicState:
        """The topics."""
        del key
        return TopicState(jnp.asarray(topics, jnp.float32))

    def compile(self, latents: Latents, topics: Float[np.ndarray, "K V"]) -> None:
        """Nothing: every step calls all that there is."""

    def tune(self, tuned: Float[np.ndarray, "2"]) -> None:
        """Take the step size ``[h, unused]``."""
        self.tuned = tuned

    def step(
        self,
        latents: Latents,
        state: TopicState,
        root: jax.Array,
        documents: Int[np.ndarray, " S"],
        count: int,
        adaptation: float,
    ) -> tuple[TopicState, Outcome]:
        """All mixtures, then one proposal of the topics; ``adaptation`` 0 leaves every step size as it is."""
        topics = np.asarray(state.position)
        statistics, mixtures, acceptance = draw_all(
            latents, self.mixtures, self.source, topics, count, adaptation
        )
        if count == 0:
            curvature = filled(self.settings.document_concentration) * float(
                np.linalg.eigvalsh(statistics.coupling)[-1]
            )
            self.tuned = np.array([self.settings.step_size or 0.1 / np.sqrt(curvature), 0.0])
        moved, info = _propose(
            jax.random.fold_in(root, count),
            state.position,
            jnp.asarray(np.moveaxis(mixtures, 1, 0), jnp.float32),
            self.rows,
            self.prior,
            self.concentration,
            jnp.float32(self.tuned[0]),
            self.settings.num_steps,
            STEP_JITTER if self.settings.step_size is None else 0.0,
        )
        accepted = float(info.acceptance)
        if adaptation > 0 and self.settings.step_size is None:
            gain = (1.0 + count) ** -0.6  # Robbins and Monro
            self.tuned = np.array([self.tuned[0] * np.exp(gain * (accepted - TARGET_ACCEPTANCE)), 0.0])
        outcome = Outcome(
            int(info.result), float(info.kinetic_temperature), accepted, acceptance, statistics, topics
        )
        return TopicState(moved.position), outcome
