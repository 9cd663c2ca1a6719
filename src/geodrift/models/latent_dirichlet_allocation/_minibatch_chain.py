"""A chain of a topic model that goes over its documents by minibatches, and hands them to a `TopicMove`."""

import abc
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from geodrift.driver import ShownMetric
from geodrift.kernels._streams import LDA_DOCUMENT_ORDER
from geodrift.models.kit._chain import ModelChain
from geodrift.models.kit._held_out import HeldOutScore
from geodrift.models.kit._settings import ModelSettings
from geodrift.models.latent_dirichlet_allocation._late_documents import late_documents
from geodrift.models.latent_dirichlet_allocation._topic_move import TopicMove
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import TokenSource
from geodrift.models.latent_dirichlet_allocation.evaluation._completion import (
    CompletionScore,
    completion_perplexity,
)


class MinibatchChain(ModelChain, abc.ABC):
    """Samples the topics of one corpus.

    Each step takes the next documents of a random order of the corpus, a new order for each pass, and hands
    them to a `TopicMove`.

    Args:
        corpus: Anything with ``num_documents``, ``num_words`` and ``rows(numbers) -> csr_matrix`` of counts.
        settings: Of the model.
        seed: Whole number; the same seed gives the same draws on the same machine.
        chain: Number of the chain: chains of one seed are independent.
        held_out: Counts, [M, V], to score during the run by document completion, or None.

    Raises:
        ValueError: The corpus has no words, or a count that is not whole; no document of ``held_out`` has two
            words.
    """

    shown_metrics = (
        ShownMetric("documents", "{:,.0f} documents seen", grows=True),
        ShownMetric("held_out_perplexity", "held-out perplexity {:,.1f}"),
    )

    def __init__(
        self,
        corpus: Any,
        settings: ModelSettings,
        *,
        seed: int = 0,
        chain: int = 0,
        held_out: sp.csr_matrix | None = None,
    ) -> None:
        self.source, self.seed, self.chain = TokenSource(corpus), seed, chain
        self.settings: Any = settings
        self.move: TopicMove = self._move()
        self.documents_seen = 0
        self.position = (0, 0, 0)  # the pass, how many of its documents are done, and how many it has
        self.order: tuple[int, np.ndarray] = (-1, np.zeros(0, np.int64))
        self.held_out = held_out
        if held_out is not None:
            self._check_held_out(held_out)
        self.score = HeldOutScore("held_out_perplexity", self._held_out_perplexity)

    @property
    def threads_of_a_step(self) -> int:
        """See `TopicMove.threads_of_a_step`."""
        return self.move.threads_of_a_step

    def compile(self) -> None:
        """See `TopicMove.compile`."""
        self.move.compile()

    @abc.abstractmethod
    def _move(self) -> TopicMove:
        """What redraws the minibatches, at its start."""

    def doubts(self) -> str:
        """See `late_documents`."""
        return late_documents(self.move, self.plan)

    def topic_prior(self) -> Float[np.ndarray, " K"]:
        """The present alpha of the topics of `expected_topics`."""
        return self.move.document_prior

    def topics(self) -> Float[np.ndarray, "K V"]:
        """A draw of the topics, float32 rows that sum to 1."""
        return self.move.topics(self.count)

    def expected_topics(self) -> Float[np.ndarray, "K V"]:
        """The topics' mean given the present assignments or counts, float32 rows that sum to 1."""
        return self.move.expected_topics()

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to go on, bit for bit."""
        return {f"move.{name}": value for name, value in self.move.state().items()} | {
            "position": np.array([*self.position, self.documents_seen]),
            "count": np.array(self.count),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state returned by `state`."""
        self.move.restore(
            {name.split(".", 1)[1]: value for name, value in arrays.items() if name.startswith("move.")}
        )
        *position, self.documents_seen = (int(x) for x in arrays["position"])
        self.position = tuple(position)
        self.count = int(arrays["count"])

    def _documents(self) -> Int[np.ndarray, " S"]:
        """The step's documents; a pass ends with a smaller minibatch where it has to."""
        number, done, size = self.position
        if done == size and size:
            number, done = number + 1, 0
        if done == 0:
            size = self.move.documents_of_pass(self.count, self.plan)
        if self.order[0] != number:
            self.order = (number, self._order(number, size))
        if number == done == 0:
            self.move.begin(self.order[1])
        documents = self.order[1][done : done + self.move.batch_size]
        self.position = (number, done + len(documents), size)
        return documents

    def _order(self, number: int, size: int) -> Int[np.ndarray, " size"]:
        """The documents of a pass: the first ones of the first pass, where they are not all."""

        def permutation(name: int, size: int) -> np.ndarray:
            return LDA_DOCUMENT_ORDER.generator(self.seed, self.chain, name).permutation(size)

        if size == self.source.num_documents:
            return permutation(number, size)
        first = permutation(0, self.source.num_documents)[:size]
        return first[permutation(number, size)] if number else first

    def step(self) -> int:
        """One minibatch; returns its number of token draws."""
        batch = self.move.minibatch(self.source, self._documents())
        self.move.anneal(self.count, self.plan)
        draws = self.move.step(batch, self.count, self.warming_up)
        self.count += 1
        self.documents_seen += len(batch.documents)
        return draws

    def work(self) -> float:
        """See `TopicMove.work`."""
        return self.move.work(self.count)

    def steps_within(self, seconds: float, pace: float) -> int:
        """How many more steps fit in a time; see `TopicMove.steps_within`."""
        return self.move.steps_within(seconds, pace, self.count)

    def metrics(self, outcomes: list[int]) -> dict[str, float]:
        """Documents seen so far, token draws of the chunk, and what the move tells."""
        metrics = {
            "documents": float(self.documents_seen),
            "token_draws": float(sum(outcomes)),
            **self.move.metrics(),
        }
        return metrics if self.held_out is None else metrics | self.score.metrics(at_end=self.at_end)

    def _check_held_out(self, held_out: sp.csr_matrix) -> None:
        lengths = np.asarray(held_out.sum(axis=1)).ravel()
        if lengths.max(initial=0) < 2:
            raise ValueError("no held-out document has two words: there is nothing to score; hold out more")
        # Compiles, which is not to count as the time of a score.
        one = held_out[[int(np.argmax(lengths))]]
        self._completion(one, sweeps=2, burn_in=1)

    def _held_out_perplexity(self) -> float:
        """Of the expected topics; fewer sweeps than a score that is reported needs."""
        return self._completion(self.held_out, sweeps=20, burn_in=10).perplexity

    def _completion(self, counts: sp.csr_matrix, *, sweeps: int, burn_in: int) -> CompletionScore:
        topics, prior = self.expected_topics(), self.topic_prior()
        return completion_perplexity(counts, topics, prior, sweeps=sweeps, burn_in=burn_in)
