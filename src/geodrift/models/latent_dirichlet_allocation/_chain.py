"""One chain of latent Dirichlet allocation: its documents, its plan, and its state."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from geodrift.driver import ShownMetric, Variable
from geodrift.kernels._streams import LDA_DOCUMENT_ORDER
from geodrift.models.kit._chain import ModelChain
from geodrift.models.kit._held_out import HeldOutScore
from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.models.latent_dirichlet_allocation._topic_move import TopicMove
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sampler import CollapsedGibbs
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import TokenSource
from geodrift.models.latent_dirichlet_allocation.evaluation._completion import completion_perplexity
from geodrift.models.latent_dirichlet_allocation.scaled_counts._sampler import ScaledCounts
from geodrift.models.topics._given_topics import as_probabilities, check_given


class Chain(ModelChain):
    """Samples the topics of one corpus.

    Each step takes the next documents of a random order of the corpus, a new order for each pass, and hands
    them to a `TopicMove`.

    Args:
        corpus: Anything with ``num_documents``, ``num_words`` and ``rows(numbers) -> csr_matrix`` of counts.
        settings: See `Settings`.
        seed: Whole number; the same seed gives the same draws on the same machine.
        chain: Number of the chain: chains of one seed are independent.
        held_out: Counts, [M, V], to score during the run by document completion, or None.

    Raises:
        ValueError: The corpus has no words, a count that is not whole, or fewer documents than topics; no
            document of ``held_out`` has two words.
    """

    shown_metrics = (
        ShownMetric("documents", "{:,.0f} documents seen"),
        ShownMetric("held_out_perplexity", "held-out perplexity {:,.1f}"),
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
    ) -> None:
        if settings.n_topics > corpus.num_documents:
            raise ValueError(
                f"n_topics is {settings.n_topics} but the corpus has {corpus.num_documents} documents; "
                "ask for fewer topics"
            )
        self.source, self.settings, self.seed, self.chain = TokenSource(corpus), settings, seed, chain
        self.move = self._move()
        self.documents_seen = 0
        self.position = (0, 0, 0)  # the pass, how many of its documents are done, and how many it has
        self.order: tuple[int, np.ndarray] = (-1, np.zeros(0, np.int64))
        self.held_out = held_out
        if held_out is not None:
            self._check_held_out(held_out)
        self.score = HeldOutScore("held_out_perplexity", self._held_out_perplexity)

    @property
    def variables(self) -> dict[str, Variable]:
        """Topics, the document prior where it is learnt, and what only assignments that are kept tell.

        That is the share of the words that each topic has, and the log joint.
        """
        num_topics, num_words = self.settings.n_topics, self.source.num_words
        found = {"topics": Variable(("topic", "word"), (num_topics, num_words), "float32")}
        if self.settings.learn_doc_topic_prior != "no":
            found["doc_topic_prior"] = Variable(("topic",), (num_topics,), "float32")
        if isinstance(self.move, CollapsedGibbs):
            found["topic_sizes"] = Variable(("topic",), (num_topics,), "float32")
            found["log_joint"] = Variable((), (), "float64")
        return found

    def prepare(self) -> None:
        """Find topics to start from."""
        if isinstance(self.move, CollapsedGibbs):
            self.move.prepare(self._order(0, self.source.num_documents))

    def start_from(self, topics: Float[np.ndarray, "J V"]) -> None:
        """See `ModelChain.start_from`; only a chain that keeps assignments starts from topics."""
        check_given(topics, self.settings.n_topics)
        if not isinstance(self.move, CollapsedGibbs):
            raise ValueError(f"method {self.settings.method!r} takes no topics to start from: use 'gibbs'")
        self.move.given = as_probabilities(topics)

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

    def snapshot(self) -> dict[str, np.ndarray]:
        """The expected topics."""
        return {"expected_topics": self.expected_topics()}

    def _move(self) -> TopicMove:
        source, settings = self.source, self.settings
        if settings.method == "gibbs":
            return CollapsedGibbs(source, settings, self.seed, self.chain)
        sizes = source.num_documents, source.num_words, source.num_tokens
        return ScaledCounts(*sizes, settings, self.seed, self.chain, source.starts)

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
        batch = self.source.minibatch(self._documents())
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

    def draw(self) -> dict[str, np.ndarray]:
        """The present value of each variable."""
        draw = {"topics": self.topics()}
        if self.settings.learn_doc_topic_prior != "no":
            draw["doc_topic_prior"] = self.move.document_prior
        if isinstance(self.move, CollapsedGibbs):
            draw["topic_sizes"] = self.move.topic_sizes()
            draw["log_joint"] = np.array(self.move.log_joint())
        return draw

    def metrics(self, outcomes: list[int]) -> dict[str, float]:
        """Documents seen so far, token draws of the chunk, and what the move tells."""
        metrics = {
            "documents": float(self.documents_seen),
            "token_draws": float(sum(outcomes)),
            **self.move.metrics(),
        }
        return metrics if self.held_out is None else metrics | self.score.metrics()

    def _check_held_out(self, held_out: sp.csr_matrix) -> None:
        lengths = np.asarray(held_out.sum(axis=1)).ravel()
        if lengths.max(initial=0) < 2:
            raise ValueError("no held-out document has two words: there is nothing to score; hold out more")
        # Compiles, which is not to count as the time of a score.
        one = held_out[[int(np.argmax(lengths))]]
        completion_perplexity(one, self.expected_topics(), self.move.document_prior, sweeps=2, burn_in=1)

    def _held_out_perplexity(self) -> float:
        """Of the expected topics; fewer sweeps than a score that is reported needs."""
        return completion_perplexity(
            self.held_out, self.expected_topics(), self.move.document_prior, sweeps=20, burn_in=10
        ).perplexity
