"""One chain of a Dirichlet-process mixture: its rows, its plan, and its state."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Int

from geodrift.distributed import Team
from geodrift.driver import ShownMetric, Variable
from geodrift.kernels._streams import DPM_ROW_ORDER
from geodrift.models.dirichlet_process_mixture._cluster_move import ClusterMove
from geodrift.models.dirichlet_process_mixture._rows import Rows, RowSource
from geodrift.models.dirichlet_process_mixture._settings import Settings
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._sampler import CollapsedGibbs
from geodrift.models.dirichlet_process_mixture.evaluation._log_predictive import log_joint_of_rows
from geodrift.models.dirichlet_process_mixture.scaled_counts._sampler import ScaledCounts
from geodrift.models.kit._chain import ModelChain
from geodrift.models.kit._held_out import HeldOutScore


class Chain(ModelChain):
    """Samples the clusters of the rows of one corpus.

    Each step takes the next rows of a random order, a new order for each pass, and hands them to a
    `ClusterMove`. The first passes may go over a part of the rows; those that have no cluster when the
    warm-up ends are given one before the next step.

    Args:
        corpus: Anything with ``num_documents``, ``num_words`` and ``rows(numbers) -> csr_matrix`` of counts.
        settings: See `Settings`.
        seed: Whole number; the same seed gives the same draws on the same machine.
        chain: Number of the chain: chains of one seed are independent.
        held_out: Counts, [M, V], to score during the run, or None.
        team: Processes that take the chain's steps together, or None.

    Raises:
        ValueError: There are no rows, or a count is not whole.
    """

    shown_metrics = (
        ShownMetric("clusters", "{:,.0f} clusters"),
        ShownMetric("held_out_nats", "held-out rows {:,.3f} nats each"),
    )

    settings: Settings
    counted_length = 64  # clusters: a draw has tens

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
        if corpus.num_documents == 0:
            raise ValueError("the corpus has no rows: there is nothing to fit")
        self.source, self.settings, self.seed, self.chain = RowSource(corpus), settings, seed, chain
        self.move: ClusterMove
        if settings.method == "gibbs":
            self.move = CollapsedGibbs(self.source, settings, seed, chain, team)
        else:
            self.move = ScaledCounts(self.source, settings, seed, chain)
        self.position = (0, 0)  # the pass, and how many of its rows are done
        self.order: tuple[int, np.ndarray] = (-1, np.zeros(0, np.int64))
        self.joined = False  # whether all rows are known to have clusters
        self.score = None if held_out is None else HeldOutScore("held_out_nats", lambda: self._nats(held_out))

    @property
    def threads_of_a_step(self) -> int:
        """See `ClusterMove.threads_of_a_step`."""
        return self.move.threads_of_a_step

    def compile(self) -> None:
        """See `ClusterMove.compile`."""
        self.move.compile()

    @property
    def variables(self) -> dict[str, Variable]:
        """Clusters, of which there are as many as a draw has, and numbers that no order of them changes."""
        size, num_words = self.settings.given, self.source.num_words
        found = {
            "clusters": Variable(("cluster", "word"), (size, num_words), "float32"),
            "cluster_weights": Variable(("cluster",), (size,), "float32"),
            "cluster_sizes": Variable(("cluster",), (size,), "float32"),
            "new_weight": Variable((), (), "float64"),
            "concentration": Variable((), (), "float64"),
            "number_of_clusters": Variable((), (), "int32"),
        }
        if self.settings.method == "gibbs":
            # Beside the clusters drawn: a new row's density has them integrated out.
            found["cluster_counts"] = Variable(("cluster", "word"), (size, num_words), "int32")
            found["log_joint"] = Variable((), (), "float64")
        if self.settings.store_assignments:
            found["assignments"] = Variable(("document",), (self.source.num_rows,), "int32")
        return found

    def draw(self) -> dict[str, np.ndarray]:
        """The present value of each variable."""
        drawn = self.move.draw(self.count)
        found = {
            "clusters": drawn.clusters,
            "cluster_counts": drawn.counts,
            "cluster_weights": drawn.weights,
            "cluster_sizes": drawn.sizes,
            "new_weight": np.array(drawn.new_weight),
            "concentration": np.array(self.move.concentration),
            "number_of_clusters": np.array(self.move.number_of_clusters(), np.int32),
            "log_joint": np.array(self.move.log_joint(), np.float64),
        }
        if self.settings.store_assignments:
            found["assignments"] = drawn.places[self.move.assignments]
        return {name: found[name] for name in self.variables}

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to go on, bit for bit."""
        return {f"move.{name}": value for name, value in self.move.state().items()} | {
            "position": np.array(self.position),
            "count": np.array(self.count),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state returned by `state`."""
        self.move.restore(
            {name.split(".", 1)[1]: value for name, value in arrays.items() if name.startswith("move.")}
        )
        number, done = (int(x) for x in arrays["position"])
        self.position, self.joined = (number, done), False
        self.count = int(arrays["count"])

    def step(self) -> int:
        """One minibatch; returns its number of rows."""
        rows = self._rows()  # the first are thrown into clusters, which no row may be in before
        if not self.joined and not self.warming_up:
            unseen = self.move.unseen()
            for start in range(0, len(unseen), self.move.batch_size):
                self.move.join(self.source.rows(unseen[start : start + self.move.batch_size]), self.count)
            self.joined = True
        self.move.step(rows, self.count)
        self.count += 1
        return len(rows.numbers)

    def metrics(self, outcomes: list[int]) -> dict[str, float]:
        """Rows drawn in the chunk, and the present number of clusters."""
        found = {"rows": float(sum(outcomes)), "clusters": float(self.move.number_of_clusters())}
        return found if self.score is None else found | self.score.metrics(at_end=self.at_end)

    def _rows(self) -> Rows:
        """The step's rows; a pass ends with a smaller minibatch where it has to."""
        number, done = self.position
        if done == self.move.rows_of_pass(number):
            number, done = number + 1, 0
        size = self.move.rows_of_pass(number)
        if number == done == 0:
            self.move.begin(self.source.rows(self._order(0, size)))
        if self.move.batch_size == size == self.source.num_rows:
            self.position = (number, size)
            return self.move.rows(np.arange(size), self.count)
        if self.order[0] != number:
            self.order = (number, self._order(number, size))
        chosen = self.order[1][done : done + self.move.batch_size]
        self.position = (number, done + len(chosen))
        return self.move.rows(chosen, self.count)

    def _order(self, number: int, size: int) -> Int[np.ndarray, " size"]:
        """The rows of a pass: the first ones of the first pass, where they are not all."""

        def permutation(name: int, size: int) -> np.ndarray:
            return DPM_ROW_ORDER.generator(self.seed, self.chain, name).permutation(size)

        if size == self.source.num_rows:
            return permutation(number, size)
        first = permutation(0, self.source.num_rows)[:size]
        return first[permutation(number, size)] if number else first

    def _nats(self, held_out: sp.csr_matrix) -> float:
        """Minus the mean log density of the held-out rows under a draw of the present state."""
        drawn, prior = self.move.draw(self.count), self.settings.cluster_word_prior
        logs = log_joint_of_rows(held_out, prior)(
            drawn.clusters, drawn.counts, drawn.weights, drawn.new_weight
        )
        return -float(np.logaddexp.reduce(logs, axis=1).mean())
