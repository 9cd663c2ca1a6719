"""Tokens of a minibatch, laid out for sweeps with a table of counts by a process that sweeps some of them."""

import numpy as np
from jaxtyping import Float, Int, UInt

from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._two_forms import TwoForms
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._counts import CountTable
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed import _exchange_kernel as kernel
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed._rounds import Range
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch

_WORTH_THREADS = 50_000
_lay_out = TwoForms(kernel.lay_out_all, _WORTH_THREADS)
_number_topics = TwoForms(kernel.number_topics, _WORTH_THREADS)
_sweep_cells = TwoForms(kernel.sweep_cells, _WORTH_THREADS)


class TableTokens:
    """The tokens of documents that stand side by side in a minibatch: of all, or of those that were read.

    Args:
        batch: The documents that were read.
        first: The place of the first of them in the minibatch.
        num_documents: S, of the whole minibatch.
        swept: The places of the documents that this process sweeps.
        topics: z of the tokens that were read, one document after the other; changed in place.
        counts: Of all documents; changed in place.
        doc_topic_prior: alpha, float32.

    Attributes:
        places: Where each document's tokens of each part of the vocabulary begin, [S, P + 1].
        words: Of the tokens that were read.
        topics: See above.
    """

    def __init__(
        self,
        batch: Minibatch,
        first: int,
        num_documents: int,
        swept: Range,
        topics: UInt[np.ndarray, " n"],
        counts: CountTable,
        doc_topic_prior: Float[np.ndarray, " K"],
    ) -> None:
        number, num_parts = len(topics), len(counts.bounds) - 1
        self.topics, self._counts = topics, counts
        self._part_sizes = np.diff(counts.bounds).astype(np.float64)
        # Of the documents of other processes nothing is written, which takes no memory.
        self.places = np.zeros((num_documents, num_parts + 1), np.int64)
        self._in_documents = np.zeros((num_documents, counts.in_parts.shape[1]), np.float32)
        read = self.places[first : first + len(batch.documents)]
        read[:] = kernel.places_of(batch.indptr, batch.counts, num_parts)
        self.words = np.empty(number, np.int32)
        words = batch.vocabulary[batch.words]
        _lay_out(number, batch.indptr, words, batch.counts, counts.bounds[1:], read, self.words)
        _number_topics(number, *swept, self.places, topics, doc_topic_prior, self._in_documents)

    def sweep(
        self,
        cells: Int[np.ndarray, "n 2"],
        work: int,
        masses: Float[np.ndarray, "P K"],
        prior: float,
        streams: Family,
    ) -> None:
        """Redraw the tokens of some pairs of groups in some phases.

        Args:
            cells: Pairs and phases, which do not depend on each other or are taken in their order.
            work: Draws, which say whether threads are worth it.
            masses: rho.
            prior: eta.
            streams: Random streams of the sweeps.
        """
        _sweep_cells(
            work,
            cells,
            self.places,
            self.words,
            self.topics,
            self._in_documents,
            self._counts.word_topic.reshape(-1),
            self._counts.in_parts,
            masses,
            prior * self._part_sizes,
            np.float32(prior),
            np.float32(self._counts.power),
            streams.word,
        )
