"""Geodesic Monte Carlo of the topics on all of the data."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from geodrift.estimators import Full
from geodrift.manifolds import Sphere
from geodrift.models.spherical_admixture._settings import Settings, filled
from geodrift.models.spherical_admixture.documents._document_states import DocumentStates, on_host
from geodrift.models.spherical_admixture.documents._documents import DocumentSource
from geodrift.models.spherical_admixture.documents._kept_mixtures import update_all_documents
from geodrift.models.spherical_admixture.documents._mixture_sampler import MixtureSampler
from geodrift.models.spherical_admixture.sampler._outcome import Outcome, Step
from geodrift.models.spherical_admixture.sampler._posterior import DocumentEntries, TopicPrior, log_joint
from geodrift.samplers import GMC
from geodrift.schedules import Constant

TARGET_ACCEPTANCE = 0.8
STEP_JITTER = 0.4  # of the tuned step, so that no direction of small curvature returns to where it was


@eqx.filter_jit
def _propose(
    key: jax.Array,
    topics: Float[Array, "K V"],
    mixtures: Float[Array, "N D K"],
    entries: DocumentEntries,
    prior: TopicPrior,
    concentration: Float[Array, ""],
    step_size: Float[Array, ""],
    num_steps: int,
    jitter: float,
) -> tuple[Any, Any]:
    """One step of GMC, its step size uniform on ``step_size`` * [1 - jitter, 1 + jitter]."""
    key_length, key_start, key_step = jax.random.split(key, 3)
    length = step_size * jax.random.uniform(key_length, (), step_size.dtype, 1 - jitter, 1 + jitter)
    sampler = GMC(
        Full(lambda position: log_joint(position, prior, concentration, entries, mixtures)),
        Sphere(topics.shape[-1]),
        step_size=Constant(length),
        num_steps=num_steps,
    )
    return sampler.step(key_step, sampler.init(key_start, topics), None)


class TopicState(NamedTuple):
    """State of `GeodesicMove`: the topics alone, as every move draws a velocity."""

    position: Float[Array, "K V"]


class GeodesicMove:
    """Geodesic Monte Carlo on the topics given all documents' mixtures.

    GMC-bGibbs (Liu et al. 2016, section 5.3) with one mixture a document is an exact Gibbs sampler.
    GMC-apprMH (Appendix B) has several, and its Metropolis test uses the average over them and is biased.
    Step size h is the time of dx = v dt, dv = grad log p dt at unit mass.

    Args:
        source: The documents.
        settings: Resolved settings.
        prior: The prior of the topics.
        mixtures: How mixtures are drawn.

    Attributes:
        tuned: Step size and a number that is not used, [h, 0].
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
        rows = source.rows(np.arange(source.num_documents)).tocoo()
        self.entries = DocumentEntries(
            jnp.asarray(rows.row, jnp.int32),
            jnp.asarray(rows.col, jnp.int32),
            jnp.asarray(rows.data, jnp.float32),
        )
        self.tuned = np.array([1e-6, 0.0])

    @property
    def documents_per_step(self) -> int:
        """Documents whose mixtures one step draws: all."""
        return self.source.num_documents

    def initial_state(self, key: jax.Array, topics: Float[np.ndarray, "K V"]) -> TopicState:
        """State at these topics; ``key`` is not used."""
        del key
        return TopicState(jnp.asarray(topics, jnp.float32))

    def placed(self, states: DocumentStates) -> DocumentStates:
        """The states where this move keeps them: on the host."""
        return on_host(states)

    def compile(self, states: DocumentStates, topics: Float[np.ndarray, "K V"]) -> None:
        """Do nothing: the first step compiles everything that later steps call."""

    def tune(self, tuned: Float[np.ndarray, "2"]) -> None:
        """Set the step size, [h, not used]."""
        self.tuned = tuned

    def step(
        self,
        states: DocumentStates,
        state: TopicState,
        root: jax.Array,
        documents: Int[np.ndarray, " D"],
        count: int,
        adaptation: float,
    ) -> Step:
        """Draw all mixtures, then propose new topics once.

        Args:
            states: Mixtures of all documents, changed in place.
            state: The topics.
            root: Random key of the chain.
            documents: Numbers of all documents; not used.
            count: Step index of the chain.
            adaptation: Gain of the adaptation of the mixtures' step sizes; 0 leaves every step size as it is.
        """
        topics = np.asarray(state.position)
        statistics, mixtures, acceptance = update_all_documents(
            states, self.mixtures, self.source, topics, count, adaptation
        )
        if count == 0:
            curvature = filled(self.settings.document_concentration) * float(
                np.linalg.eigvalsh(statistics.curvature)[-1]
            )
            self.tuned = np.array([self.settings.step_size or 0.1 / np.sqrt(abs(curvature)), 0.0])
        moved, info = _propose(
            jax.random.fold_in(root, count),
            state.position,
            jnp.asarray(np.moveaxis(mixtures, 1, 0), jnp.float32),
            self.entries,
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
        outcome = Outcome(int(info.result), float(info.kinetic_temperature), accepted, acceptance)
        return Step(states, TopicState(moved.position), topics, statistics, outcome)
