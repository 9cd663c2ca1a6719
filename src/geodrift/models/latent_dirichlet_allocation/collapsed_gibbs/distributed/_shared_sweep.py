"""The sweep over one minibatch, of which this process does a part and is told the rest."""

import numba
import numpy as np
from jaxtyping import Float, Int, UInt

from geodrift.distributed import Team
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._threads import start_threads
from geodrift.kernels._two_forms import TwoForms
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed import _exchange_kernel as kernel
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed._rounds import (
    PairPhase,
    Range,
    waves_of,
)
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch

WORTH_THREADS = 50_000
_lay_out = TwoForms(kernel.lay_out_all, WORTH_THREADS)
_number_topics = TwoForms(kernel.number_topics, WORTH_THREADS)
_sweep_cells = TwoForms(kernel.sweep_cells, WORTH_THREADS)


class SharedSweep:
    """One minibatch while it is swept.

    Args:
        batch: The documents.
        bounds: Words at which the parts of the vocabulary begin, and V.
        topics: z of the minibatch's tokens, one document after the other; changed in place.
        doc_topic_prior: alpha, float32.
        width: Number of topics, padded to whole vectors.
        pairs: The pairs of groups that this process sweeps.

    Attributes:
        topics: The same array.
    """

    def __init__(
        self,
        batch: Minibatch,
        bounds: Int[np.ndarray, " bound"],
        topics: UInt[np.ndarray, " n"],
        doc_topic_prior: Float[np.ndarray, " K"],
        width: int,
        pairs: Range,
    ) -> None:
        self.topics, num_parts = topics, len(bounds) - 1
        self._priors = np.diff(bounds).astype(np.float64)
        self._places = kernel.places_of(batch.indptr, batch.counts, num_parts)
        self._words = np.empty(len(topics), np.int32)
        words = batch.vocabulary[batch.words]
        _lay_out(len(topics), batch.indptr, words, batch.counts, bounds[1:], self._places, self._words)
        first, last = (min(2 * pair, num_parts) * len(self._places) // num_parts for pair in pairs)
        # Of the documents of other processes nothing is written, which takes no memory.
        self._in_documents = np.zeros((len(self._places), width), np.float32)
        _number_topics(len(topics), first, last, self._places, topics, doc_topic_prior, self._in_documents)

    def draw(
        self,
        cells: list[PairPhase],
        word_topic: Int[np.ndarray, " VKp"],
        in_parts: Float[np.ndarray, "P Kp"],
        masses: Float[np.ndarray, "P K"],
        prior: float,
        streams: Family,
    ) -> None:
        """Redraw the tokens of some pairs in some phases; counts are changed in place.

        Args:
            cells: Pairs and phases, in their order.
            word_topic: N_kw, [V Kp].
            in_parts: N_kb.
            masses: rho.
            prior: eta.
            streams: Random streams of the sweeps.
        """
        start_threads()
        in_threads = numba.get_num_threads() > 1
        for wave in waves_of(cells) if in_threads else [cells]:
            _sweep_cells(
                1 if len(wave) == 1 or not in_threads else len(self.topics),
                np.array(wave, np.int64).reshape(-1, 2),
                self._places,
                self._words,
                self.topics,
                self._in_documents,
                word_topic,
                in_parts,
                masses,
                prior * self._priors,
                np.float32(prior),
                streams.word,
            )

    def exchange(
        self,
        team: Team,
        cells: list[list[PairPhase]],
        word_topic: Int[np.ndarray, " VKp"],
        in_parts: Float[np.ndarray, "P Kp"],
    ) -> None:
        """Tell the other processes what was drawn in a round, and take over what they have drawn.

        Args:
            team: The processes.
            cells: Pairs and phases of each process in this round.
            word_topic: N_kw, [V Kp].
            in_parts: N_kb.
        """
        arrays = [np.array(of_rank, np.int64).reshape(-1, 2) for of_rank in cells]
        lengths = [int(kernel.tokens_of(of_rank, self._places)) for of_rank in arrays]
        mine = kernel.drawn_topics(arrays[team.rank], self._places, self.topics, lengths[team.rank])
        drawn = team.gather(mine, lengths)
        for rank, (of_rank, part) in enumerate(zip(arrays, drawn, strict=True)):
            if rank != team.rank:
                kernel.take_topics(
                    of_rank, self._places, part, self._words, self.topics, word_topic, in_parts
                )
