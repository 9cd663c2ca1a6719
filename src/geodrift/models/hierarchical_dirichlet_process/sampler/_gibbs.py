"""Exact sampling of assignments given the topics' weights, by minibatches; of the weights once a pass."""

import numpy as np
from jaxtyping import Bool, Float, Int, UInt

from geodrift.kernels import _streams
from geodrift.models.hierarchical_dirichlet_process._settings import Settings
from geodrift.models.hierarchical_dirichlet_process.sampler._block_moves import move_blocks
from geodrift.models.hierarchical_dirichlet_process.sampler._open_tokens import open_tokens, put_back
from geodrift.models.hierarchical_dirichlet_process.sampler._represented import (
    number_of_customers,
    represented,
)
from geodrift.models.hierarchical_dirichlet_process.sampler._topic_table import TopicTable
from geodrift.models.hierarchical_dirichlet_process.sampler._weights import (
    Concentrations,
    draw_concentrations,
    draw_weights,
)
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._annealing import Annealing
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._document_prior import draw_tables
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sampler import CollapsedGibbs
from geodrift.models.latent_dirichlet_allocation.documents import _assignment_kernel as kernel
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch

MOST_TOPICS = 2**16  # that two bytes of an assignment tell apart
FIRST_TOPICS = 50
SHARE_OF_BLOCKS, TOKENS_OF_BLOCKS = 0.25, 2**13  # of a minibatch, whose parts of documents are moved too


class WeightedGibbs(CollapsedGibbs):
    """Collapsed Gibbs sampling of LDA with alpha = alpha_0 beta, and of beta, alpha_0 and gamma once a pass.

    Given the weights beta the model is LDA, so a step is one of `CollapsedGibbs` (see there what is exact,
    and how a chain starts). After a pass the weights are drawn given all assignments (`_weights`), and the
    topics that the next pass may use (`_represented`). Some documents' tokens are also moved together, one
    topic's at a time (`_block_moves`). The last entry of alpha is that of all topics which are not
    represented; no token is in it.

    Args:
        source: The corpus.
        settings: See `Settings`.
        seed: Seed of the run.
        chain: Number of the chain; (seed, chain, step) keys the random streams.
    """

    settings: Settings
    counts: TopicTable

    def _empty_counts(self) -> TopicTable:
        return TopicTable(self.source, len(self.alpha), self.bounds)

    def _first_prior(self) -> tuple[Float[np.ndarray, " K"], int]:
        given = self.settings
        self.concentrations = Concentrations(
            1.0 if given.mixture_concentration is None else float(given.mixture_concentration),
            1.0 if given.weight_concentration is None else float(given.weight_concentration),
        )
        number = given.first_topics or min(FIRST_TOPICS, self.source.num_documents)
        self.is_open: Bool[np.ndarray, " K"] = np.append(np.ones(number, bool), False)
        words = np.arange(self.source.num_words)
        self.parts = np.searchsorted(self.bounds, words, side="right") - 1
        alpha = np.full(number + 1, self.concentrations.mixture / (number + 1))
        return alpha, MOST_TOPICS

    def _annealing(self) -> Annealing:
        """None: with larger priors there would be another number of topics."""
        return Annealing()

    @property
    def document_prior(self) -> Float[np.ndarray, " K"]:
        """alpha_0 beta, 0 of the topics that are not represented."""
        prior = self.alpha.astype(np.float32)
        prior[-1] = 0.0
        return prior

    def prepare(self, documents: Int[np.ndarray, " D"]) -> None:
        """As of LDA; the topics that are not represented have all words alike."""
        super().prepare(documents)
        self.prepared[:, -1] = 1.0 / self.source.num_words

    def order(self) -> Int[np.ndarray, " K"]:
        """The topics that have tokens, by decreasing number of these."""
        numbers = self.counts.in_parts.sum(axis=0)[: len(self.alpha)]
        return np.argsort(-numbers, kind="stable")[: np.count_nonzero(numbers)]

    def state(self) -> dict[str, np.ndarray]:
        """As of LDA, with which topics are open, and the concentrations."""
        own = {"is_open": self.is_open.copy(), "concentrations": np.array(self.concentrations)}
        return super().state() | own

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state returned by `state`."""
        super().restore(arrays)
        self.counts.num_topics = len(self.alpha)
        self.is_open = np.array(arrays["is_open"])
        self.concentrations = Concentrations(*(float(value) for value in arrays["concentrations"]))

    def metrics(self) -> dict[str, float]:
        """How many topics have tokens."""
        return {"topics": float(len(self.order()))}

    def _sweep(
        self, batch: Minibatch, starts: Int[np.ndarray, " S"], assignments: UInt[np.ndarray, " n"], count: int
    ) -> None:
        """Tokens of topics that are not open stay where they are."""
        if self.is_open[self.order()].all():
            super()._sweep(batch, starts, assignments, count)
        else:
            counts, kept, begins = open_tokens(batch.indptr, batch.counts, starts, assignments, self.is_open)
            super()._sweep(batch._replace(counts=counts), begins, kept, count)
            put_back(starts, self.source.starts[batch.documents + 1], assignments, self.is_open, kept)
        self._move_blocks(batch, starts, count)

    def _move_blocks(self, batch: Minibatch, starts: Int[np.ndarray, " S"], count: int) -> None:
        """Move parts of the first documents, a quarter of the minibatch or less; see `_block_moves`."""
        upto = np.cumsum(self.source.starts[batch.documents + 1] - starts)
        most = min(SHARE_OF_BLOCKS * batch.num_tokens, TOKENS_OF_BLOCKS)
        number = min(len(upto), 1 + int(np.searchsorted(upto, most)))
        entries = slice(0, batch.indptr[number])
        move_blocks(
            batch.documents[:number],
            batch.indptr,
            batch.vocabulary[batch.words[entries]],
            batch.counts[entries],
            starts,
            self.assignments,
            self.parts,
            self.counts.word_topic,
            self.counts.in_parts,
            self.alpha,
            self.is_open,
            float(self.settings.topic_word_prior),
            self.counts.large,
            self.counts.of_words,
            _streams.HDP_BLOCKS.family(self.seed, self.chain, count).word,
        )

    def _masses(self, count: int) -> Float[np.ndarray, "P K"]:
        """As of LDA; with a mass of 0 no token is assigned to a topic."""
        return super()._masses(count) * self.is_open

    def _draw_priors(self, count: int) -> None:
        """Draw the weights after the last minibatch of a pass, over the documents of the start too."""
        start = self._start
        of_start = int(np.count_nonzero(self.seen)) == self.start_size and (count + 1) % start.of_start == 0
        ended = self._passed(count) or (self.complete_at < 0 and of_start)
        if ended and self.counts.in_parts.any():  # the documents of the start may have no word
            self._renew(_streams.HDP_WEIGHTS.generator(self.seed, self.chain, count))

    def _renew(self, rng: np.random.Generator) -> None:
        """Draw tables, concentrations, weights and customers, in this order."""
        starts, assignments = self._of_seen()
        tables = draw_tables(self.alpha, starts, assignments, rng)
        occupied, lengths = self.order(), np.diff(starts)
        self.concentrations = draw_concentrations(
            self.concentrations, tables[occupied], lengths, self.settings, rng
        )
        alpha, gamma = self.concentrations
        weights, others = draw_weights(tables[occupied], gamma, rng)
        drawn = represented(weights, others, gamma, number_of_customers(alpha, lengths), rng)
        self._keep(occupied, len(drawn.weights) + 1)
        self.alpha = alpha * np.append(drawn.weights, drawn.others)
        self.is_open = np.append(drawn.is_open, False)

    def _of_seen(self) -> tuple[Int[np.ndarray, " bound"], UInt[np.ndarray, " n"]]:
        """Where the tokens of each document begin, and their topics, of the documents that have any."""
        starts = self.source.starts
        if self.seen.all():
            return starts, self.assignments
        first, last = starts[:-1][self.seen], starts[1:][self.seen]
        return np.append(0, np.cumsum(last - first)), kernel.gather(first, last, self.assignments)

    def _keep(self, occupied: Int[np.ndarray, " O"], number: int) -> None:
        """Number the topics that have tokens, the largest first, and make room for ``number`` topics."""
        if number > MOST_TOPICS:
            raise ValueError(
                f"the chain came to {number} topics, and an assignment holds at most {MOST_TOPICS}: give a "
                "smaller weight_concentration, or a larger topic_word_prior"
            )
        had = self.counts.num_topics
        self.counts.keep(occupied, number)
        if (occupied != np.arange(len(occupied))).any():
            # Documents that have not been seen have no topics, and any number stands there.
            places = np.zeros(had, self.assignments.dtype)
            places[occupied] = np.arange(len(occupied))
            self.assignments = places[self.assignments]
