"""Rows that come one after the other: the chains go on with all of them."""

import dataclasses
import itertools
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from geodrift._whole import whole
from geodrift.models.dirichlet_process_mixture._chain import Chain
from geodrift.models.dirichlet_process_mixture._settings import Settings
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._kernel import UNSEATED
from geodrift.models.kit._facade import Facade, MatrixCorpus
from geodrift.models.kit._kept_columns import columns_kept
from geodrift.models.kit._settings import refuse_changes


class GrowingRows(Facade):
    """`partial_fit` of an estimator that keeps its rows' clusters."""

    # The rows so far, the chains' states, and the seed of the last call.
    _seen: tuple[sp.csr_matrix, list[dict[str, np.ndarray]], int]
    settings_: Settings

    def partial_fit(self, X: Any, y: None = None) -> Self:
        """Add rows, and go on with the chains towards the posterior of all rows so far.

        After `fit` it begins anew. The rows are kept, since the clusters of early rows are redrawn given
        those of later ones. A call takes the steps of `fit` of its rows alone, by minibatches of all rows so
        far, and at least those of one pass over all of them. Settings are those of the call.

        Args:
            X: Counts [rows, V], as for `fit`.
            y: Ignored.

        Raises:
            ValueError: As `fit`, X has another number of words than the rows before, there are to be
                several processes, or ``method`` or a given ``n_clusters`` is not that of the rows before;
                nothing has changed then.
        """
        if self.processes is not None:
            raise ValueError(f"processes = {self.processes!r}: partial_fit takes this process alone")
        settings, begins = self._settings(), not hasattr(self, "_seen")
        if not begins:
            # A chain has no state for another method, or for a number of clusters that is given later.
            some = ("method",) if settings.given is None else ("method", "n_clusters")
            refuse_changes(self.settings_, settings, some)
        with columns_kept(self):
            new = self._validated(X, reset=begins)
            before, states, last = (new[:0], [], self._seed() - 1) if begins else self._seen
            seed = last + 1  # steps are counted anew: no two calls may share their random streams
            rows = sp.csr_matrix(sp.vstack([before, new]))
            corpus = MatrixCorpus(rows)
            by_parts = _by_parts(settings, new.shape[0])
            number = whole("n_chains", self.n_chains)
            chains = [Chain(corpus, by_parts, seed=seed, chain=chain) for chain in range(number)]
            for chain, state in zip(chains, states, strict=False):
                _go_on(chain, state)
            self._fit_chains(chains, corpus, settings, new.shape[0])
        self._seen = rows, [chain.state() for chain in chains], seed
        return self

    def _fit_chains(
        self, chains: list[Chain], corpus: MatrixCorpus, settings: Settings, new_rows: int
    ) -> None:
        """Sample, and keep what was found."""
        raise NotImplementedError


def _by_parts(settings: Settings, rows: int) -> Settings:
    """Minibatches of no more rows than have come."""
    return dataclasses.replace(settings, batch_size=min(settings.batch_size or rows, rows))


def _go_on(chain: Chain, state: dict[str, np.ndarray]) -> None:
    """Put a chain where one of fewer rows was; the new ones have no cluster yet."""
    kept = dict(state)
    of_old = kept["move.assignments"]
    of_new = np.full(chain.source.num_rows - len(of_old), UNSEATED, of_old.dtype)
    kept["move.assignments"] = np.concatenate([of_old, of_new])
    total = chain.source.num_rows
    # The passes of the start are over.
    over = next(number for number in itertools.count(1) if chain.move.rows_of_pass(number) == total)
    if chain.settings.concentration is not None:  # else alpha goes on from where it was
        kept["move.concentration"] = np.array(float(chain.settings.concentration))
    kept["position"], kept["count"] = np.array([over, total]), np.array(0)
    chain.restore(kept)
