"""One chain of the spherical admixture model: warm-up, stored draws, and its state.

The state can be put down and taken up bit for bit.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift._errors import Result, SamplingError
from geodrift.distributed import Alone, Team, check_agreement
from geodrift.driver import ShownMetric, Variable
from geodrift.kernels import _device
from geodrift.kernels._streams import SAM_MINIBATCH, SAM_MIXTURES, SAM_TOPICS_START, SAM_VELOCITIES_START
from geodrift.models.kit._alignment import unit_directions
from geodrift.models.kit._chain import ModelChain
from geodrift.models.kit._held_out import HeldOutScore
from geodrift.models.spherical_admixture._settings import Settings, filled
from geodrift.models.spherical_admixture.documents._document_states import (
    DocumentStates,
    initial_states,
    sizes_and_spread,
)
from geodrift.models.spherical_admixture.documents._documents import DocumentSource
from geodrift.models.spherical_admixture.documents._first_topics import first_topics, given_directions
from geodrift.models.spherical_admixture.documents._mixture_sampler import MixtureSampler, by_shares
from geodrift.models.spherical_admixture.evaluation._log_perplexity import log_perplexity
from geodrift.models.spherical_admixture.sampler._device_move import DeviceMove
from geodrift.models.spherical_admixture.sampler._geodesic_move import GeodesicMove
from geodrift.models.spherical_admixture.sampler._outcome import Outcome
from geodrift.models.spherical_admixture.sampler._posterior import TopicPrior
from geodrift.models.spherical_admixture.sampler._stochastic_move import StochasticMove
from geodrift.models.spherical_admixture.sampler._temperature import TemperatureRecord
from geodrift.models.topics._given_topics import check_given, filled_up

TEMPERATURE_INTERVAL = 10
MIXTURE_ADAPTATION = 0.05
ADAPTATION_DECAY = 20.0  # passes over the corpus after which the adaptation has fallen to a half


class Chain(ModelChain):
    """Samples topics and mixtures of one corpus.

    The posterior is Eq. (9) of Liu et al. 2016 (see `TopicPrior`). Topics are [K, V] float32 with unit rows,
    mixtures [D, K] float32 with rows that sum to 1. A step of size h is the time h of dx = v dt,
    dv = grad log p dt - C v dt + sqrt(2C) dW on the product of K spheres, at unit mass and temperature.
    Warm-up and sampling follow the step count, never the clock.

    Args:
        corpus: Anything with ``num_documents``, ``num_words``, ``document_frequencies`` [V] and
            ``rows(numbers) -> csr_matrix``.
        settings: See `Settings`.
        seed: Whole number; the same seed gives the same draws on the same machine.
        chain: Number of the chain: chains of one seed are independent.
        held_out: Unit rows, [M, V], to score during the run, or None.
        team: Processes that share the documents of a step, or None.

    Raises:
        ValueError: The corpus has no word with weight, a value that is not finite, or fewer documents than
            topics.
    """

    shown_metrics = (
        ShownMetric("documents", "{:,.0f} documents seen", grows=True),
        # A chain that is too cold scores better: nobody is to watch it fall and be glad.
        ShownMetric("held_out_log_perplexity", "held-out log-perplexity {:,.1f}", on_the_way=False),
        ShownMetric("kinetic_temperature", "kinetic T {:.3f}"),
        ShownMetric("configurational_temperature", "configurational T {:.3f}"),
    )

    settings: Settings

    def __init__(
        self,
        corpus: Any,
        settings: Settings,
        *,
        seed: int = 0,
        chain: int = 0,
        held_out: sp.csr_matrix | None = None,
        team: Team | None = None,
    ) -> None:
        if settings.n_topics > corpus.num_documents:
            raise ValueError(
                f"n_topics is {settings.n_topics} but the corpus has {corpus.num_documents} documents; "
                "ask for fewer topics"
            )
        self.source = DocumentSource(corpus, settings.weighting)
        self.settings = settings.resolve(self.source.num_words)
        self.seed, self.chain, self.held_out = seed, chain, held_out
        self.team = team or Alone()
        self.score = HeldOutScore("held_out_log_perplexity", self._held_out_log_perplexity)
        self.root = jax.random.fold_in(jax.random.key(seed), chain)
        self.prior = self._prior()
        self.move = self._move_type()(self.source, self.settings, self.prior, self._mixture_sampler())
        rng = SAM_TOPICS_START.generator(seed, chain)
        topics = first_topics(self.source, self.settings.n_topics, rng)
        self._begin(topics)

    @property
    def threads_of_a_step(self) -> int:
        """One, and more of its parts. Processes and devices have one chain at a time."""
        return int(self.team.size == 1 and not _device.in_jax())

    def compile(self) -> None:
        """See the move."""
        self.move.compile(self.latents, self.topics())

    @property
    def variables(self) -> dict[str, Variable]:
        """Topics, their mean shares of the documents, and how far documents differ in their shares."""
        shape = (self.settings.n_topics, self.source.num_words)
        return {
            "topics": Variable(("topic", "word"), shape, "float32"),
            "topic_sizes": Variable(("topic",), (self.settings.n_topics,), "float32"),
            "mixture_spread": Variable((), (), "float32"),
        }

    def start_from(self, topics: Float[np.ndarray, "J V"]) -> None:
        """See `ModelChain.start_from`; probabilities are weighted as documents are."""
        check_given(topics, self.settings.n_topics)
        given = given_directions(self.source, topics)
        self._begin(filled_up(given, self.topics(), unit_directions).astype(np.float32))

    def _begin(self, topics: Float[np.ndarray, "K V"]) -> None:
        """The state at the start of the chain, at some topics."""
        self.topic_state = self.move.initial_state(SAM_VELOCITIES_START.fold(self.root), topics)
        s = self.settings
        states = initial_states(self.source, topics, filled(s.document_concentration), s.doc_topic_prior)
        self.latents = self.move.placed(states)
        self.temperature = TemperatureRecord(topics)

    def topics(self) -> Float[np.ndarray, "K V"]:
        """The present topics, [K, V] float32."""
        return np.array(self.topic_state.position)

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to go on, bit for bit."""
        arrays = {f"latents.{name}": np.array(value) for name, value in self.latents._asdict().items()}
        arrays |= {
            f"topics.{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(self.topic_state))
        }
        check_agreement(self.team, list(arrays.values()))
        arrays |= {f"temperature.{name}": value for name, value in self.temperature.state().items()}
        return arrays | {
            "tuned": self.move.tuned,
            "count": np.array(self.count),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state returned by `state`."""
        states = {name: np.array(arrays[f"latents.{name}"]) for name in DocumentStates._fields}
        self.latents = self.move.placed(DocumentStates(**states))
        leaves, structure = jax.tree.flatten(self.topic_state)
        restored = [jnp.asarray(arrays[f"topics.{i}"], leaf.dtype) for i, leaf in enumerate(leaves)]
        self.topic_state = jax.tree.unflatten(structure, restored)
        self.temperature.restore(
            {k.split(".", 1)[1]: v for k, v in arrays.items() if k.startswith("temperature.")}
        )
        self.move.tune(np.array(arrays["tuned"]))
        self.count = int(arrays["count"])

    def _move_type(self) -> type[StochasticMove] | type[GeodesicMove]:
        """How the topics move; where JAX's device is no CPU, the default method keeps its state there."""
        if self.settings.method not in ("sggmc", "gsgnht"):
            return GeodesicMove
        # Processes that share the documents tell each other mixtures of the host.
        on_host = self.team.size > 1 or by_shares(self.settings.doc_topic_prior)
        stays = _device.in_jax() and self.settings.latents == "kept" and not on_host
        return DeviceMove if stays else StochasticMove

    def _prior(self) -> TopicPrior:
        return TopicPrior(
            jnp.asarray(self.source.mean_direction, jnp.float32),
            jnp.float32(self.settings.corpus_mean_concentration),
            jnp.float32(self.settings.topic_concentration),
        )

    def _mixture_sampler(self) -> MixtureSampler:
        s = self.settings
        return MixtureSampler(
            concentration=filled(s.document_concentration),
            prior=np.full(s.n_topics, s.doc_topic_prior),
            num_leapfrog=s.mixture_leapfrog_steps,
            burn_in=s.mixture_burn_in,
            num_draws=s.mixture_draws,
            use=SAM_MIXTURES,
            seed=self.seed,
            chain=self.chain,
            team=self.team,
        )

    def _batch(self) -> np.ndarray:
        """The step's documents, without replacement: a function of (seed, chain, count)."""
        if self.move.documents_per_step == self.source.num_documents:
            return np.arange(self.source.num_documents)
        rng = SAM_MINIBATCH.generator(self.seed, self.chain, self.count)
        return rng.choice(
            self.source.num_documents, self.move.documents_per_step, replace=False, shuffle=False
        )

    def step(self) -> Outcome:
        warm = self.warming_up
        passes = self.count * self.move.documents_per_step / self.source.num_documents
        adaptation = MIXTURE_ADAPTATION / (1.0 + passes / ADAPTATION_DECAY) if warm else 0.0
        step = self.move.step(
            self.latents, self.topic_state, self.root, self._batch(), self.count, adaptation
        )
        self.latents, self.topic_state = step.latents, step.topic_state
        self.count += 1
        if step.outcome.result != Result.OK.value:
            raise SamplingError(Result(step.outcome.result), step=self.count - 1, chain=self.chain)
        if self.plan is not None and self.count == 3 * self.plan.warm_up // 4:
            # A direction taken at the start of sampling would share its noise with the first draws.
            self.temperature = TemperatureRecord(self.topics())
        if not warm and self.count % TEMPERATURE_INTERVAL == 0:
            self.temperature.add(step.topics, step.statistics, self.settings, self.source.mean_direction)
        return step.outcome

    def draw(self) -> dict[str, np.ndarray]:
        """The topics, and the mean and spread (standard deviation, over topics its mean) of the mixtures."""
        sizes, spread = sizes_and_spread(self.latents.mixtures)
        return {"topics": self.topics(), "topic_sizes": sizes, "mixture_spread": spread}

    def metrics(self, outcomes: list[Outcome]) -> dict[str, float]:
        """Means over the chunk; temperatures over all sampling so far."""
        metrics = {
            "documents": float(self.count * self.move.documents_per_step),
            "kinetic_temperature": float(np.mean([o.kinetic_temperature for o in outcomes])),
            "configurational_temperature": self.temperature.value(),
            "mixture_acceptance": float(np.mean([o.mixture_acceptance for o in outcomes])),
            "acceptance": float(np.mean([o.acceptance for o in outcomes])),
            "step_size": float(self.move.tuned[0]),
            "friction": float(self.move.tuned[1]),
        }
        return metrics if self.held_out is None else metrics | self.score.metrics(at_end=self.at_end)

    def _held_out_log_perplexity(self) -> float:
        return log_perplexity(
            self.held_out,
            self.topics()[None],
            filled(self.settings.document_concentration),
            self.settings.doc_topic_prior,
        )
