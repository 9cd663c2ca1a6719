"""Draws of documents' assignments under topics of which the last is not known; `_open_kernel` has the law."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from geodrift.models.hierarchical_dirichlet_process._open_kernel import fold_in
from geodrift.models.latent_dirichlet_allocation.evaluation._fold_in import DocumentSampler


class OpenSampler(DocumentSampler):
    """A `DocumentSampler` of topics of which the last is Dirichlet(c m), with m in its place.

    Args:
        spread: c = V eta.
        given: As for `DocumentSampler`.
    """

    def __init__(self, spread: float, *given: Any) -> None:
        super().__init__(*given)
        self.spread = float(spread)

    def add_mixtures(
        self,
        draw: int,
        burn_in: int,
        of_mean: int,
        totals: Float[np.ndarray, "D K"],
        kept: Int[np.ndarray, "M documents K"],
    ) -> None:
        """See `DocumentSampler.add_mixtures`."""
        none_held = np.zeros(len(self.items) + 1, np.int64), np.zeros(0, np.int64), np.zeros(0)
        self.fold(draw, (burn_in, of_mean), totals, kept, none_held, np.zeros(0))

    def fold(
        self,
        draw: int,
        sweeps: tuple[int, int],
        totals: Float[np.ndarray, "D K"],
        kept: Int[np.ndarray, "M documents K"],
        held: tuple[np.ndarray, np.ndarray, np.ndarray],
        out: Float[np.ndarray, " nnz"],
    ) -> None:
        """As `add_mixtures`, and the part of the last topic in held-out entries; see `_open_kernel`."""
        burn_in, of_mean = sweeps
        number = len(kept) if kept.size else of_mean
        fold_in(
            # With no work both forms would run, and add twice.
            1 + (burn_in + number) * self.batch.num_tokens,
            (self.items, self.batch.indptr, self.batch.words, self.batch.counts, self.bounds),
            self.assignments,
            (self._topics, self._tables, self.prior.astype(np.float64), self.prior.sum(dtype=np.float64)),
            self.spread,
            (burn_in, self._first, of_mean),
            self._families(draw, number),
            totals,
            kept,
            held,
            out,
        )
        self._first = False
