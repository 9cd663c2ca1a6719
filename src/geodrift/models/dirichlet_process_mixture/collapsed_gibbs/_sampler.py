"""Collapsed Gibbs sampling by minibatches: every row's cluster is kept between its visits."""

import numpy as np
from jaxtyping import Int

from geodrift.distributed import Alone, Team, check_agreement
from geodrift.kernels import _device, _streams
from geodrift.kernels._vector_draw import padded
from geodrift.models.clusters._concentration import draw_concentration
from geodrift.models.clusters._weights_of_all import Prior
from geodrift.models.dirichlet_process_mixture._cluster_move import ClusterDraw, ClusterMove
from geodrift.models.dirichlet_process_mixture._rows import Rows, RowSource
from geodrift.models.dirichlet_process_mixture._settings import Settings
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._cluster_table import ClusterTable
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._concentration import (
    draw_finite_concentration,
)
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._groups import groups_of_rows, seat_in_groups
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._kernel import UNSEATED, add_rows
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._posterior_draw import (
    draw_clusters,
    draw_weights,
    log_joint,
)
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._rows_on_device import RowsOnDevice

BATCH = 2**17  # rows of a step, unless told otherwise
FIRST_CLUSTERS = 50  # into which the first rows are thrown
LEAST_START = 2**15  # rows with which a chain starts, where there are so many
START_PASSES = 10  # over these rows before the others join
# On a device, so many steps apart, so many rows of one are drawn one after the other, word probabilities
# integrated out: of many words, probabilities drawn from the prior fit no row, and no cluster would be born.
STEPS_APART, ONE_BY_ONE = 8, 1024
COUNTS = ("table", "tokens", "numbers")  # arrays of the state, beside the assignments


class CollapsedGibbs(ClusterMove):
    """Redraws the clusters of a minibatch of rows given those of all others; see `_kernel`.

    That is a Gibbs sampler for batches of any size, whose law is exact once every row has a cluster. The cost
    of a step depends on its rows alone, and what is kept of a row is 4 bytes.

    The chain starts with the first rows of a random order, thrown into `FIRST_CLUSTERS` clusters: clusters
    that are too many merge within a few passes, while from one cluster others are hardly ever born. The rest
    join later, each by a draw given the rows before it.

    With groups of clusters (see `_groups`) processes share the rows of a step. All of them carry the counts
    and the assignments of all rows along; rows that have no cluster yet are seated by each of them alike.

    Args:
        source: The rows.
        settings: See `Settings`.
        seed: Seed of the run.
        chain: Number of the chain; (seed, chain, step) keys the random streams.
        team: Processes that make all calls together; None: this one.
    """

    def __init__(
        self, source: RowSource, settings: Settings, seed: int, chain: int, team: Team | None = None
    ) -> None:
        self.source, self.settings, self.seed, self.chain = source, settings, seed, chain
        self.team, self.num_groups = team or Alone(), settings.groups
        self.batch_size = min(settings.batch_size or BATCH, source.num_rows)
        self.start_size = min(source.num_rows, max(self.batch_size, LEAST_START))
        self.given = settings.given or 0
        first = self.given or min(FIRST_CLUSTERS, source.num_rows) + 1
        self.concentration = 1.0 if settings.concentration is None else float(settings.concentration)
        self.assignments = np.full(source.num_rows, UNSEATED, np.int32)
        self.clusters = ClusterTable(source.num_words, first)
        self.first_at_once = START_PASSES * -(-self.start_size // self.batch_size)  # step, on a device
        self.device: RowsOnDevice | None = None
        self._seat(source.rows(np.zeros(0, np.int64)), 0)  # compiles

    @property
    def table(self) -> Int[np.ndarray, " VK"]:
        """N of all clusters; see `ClusterTable`."""
        return self.clusters.table

    @property
    def tokens(self) -> Int[np.ndarray, " K"]:
        """N_k."""
        return self.clusters.tokens

    @property
    def numbers(self) -> Int[np.ndarray, " K"]:
        """m_k."""
        return self.clusters.numbers

    def rows_of_pass(self, number: int) -> int:
        """The rows of the start, and all rows later."""
        return self.start_size if number < START_PASSES else self.source.num_rows

    @property
    def threads_of_a_step(self) -> int:
        """One: rows are seated one after the other. Processes and devices have one chain at a time."""
        return int(self.team.size == 1 and not _device.in_jax())

    def begin(self, rows: Rows) -> None:
        """Throw the rows of the start into clusters."""
        rng = _streams.DPM_START.generator(self.seed, self.chain)
        among = self.given or min(FIRST_CLUSTERS, self.source.num_rows)
        self.assignments[rows.numbers] = rng.integers(among, size=len(rows.numbers))
        add_rows(*rows, self.assignments, self.table, self.tokens, self.numbers)

    def step(self, rows: Rows, count: int) -> None:
        """One minibatch, then alpha."""
        if self._at_once(rows.numbers, count):
            self._seat_at_once(rows, count)
        elif self.num_groups == 1 or (self.assignments[rows.numbers] == UNSEATED).any():
            self._seat(rows, count)
        else:
            self._seat_in_groups(rows, count)
        self._shrink()
        self._draw_concentration(count)

    def rows(self, numbers: Int[np.ndarray, " S"], count: int) -> Rows:
        """Rows of a step; their numbers alone where a device keeps them."""
        if self._at_once(numbers, count) and self._on_device().kept:
            return Rows(numbers, np.zeros(1, np.int64), *np.zeros((2, 0), np.int32))
        return super().rows(numbers, count)

    def unseen(self) -> Int[np.ndarray, " U"]:
        """Rows without a cluster."""
        return np.flatnonzero(self.assignments == UNSEATED)

    def join(self, rows: Rows, count: int) -> None:
        """The same draws as of a step: a row without a cluster is not taken out of one."""
        self._seat(rows, count)

    def number_of_clusters(self) -> int:
        """Clusters that have rows."""
        return int(np.count_nonzero(self.numbers))

    def draw(self, count: int) -> ClusterDraw:
        """Weights and clusters given the assignments of the rows seen so far."""
        rng = _streams.DPM_DRAW.generator(self.seed, self.chain, count)
        order = np.argsort(-self.numbers, kind="stable")
        order = order[order < self.given] if self.given else order[: self.number_of_clusters()]
        numbers = self.numbers[order]
        weights, new_weight = draw_weights(numbers, self._alpha_of_new(), self._extra(), rng)
        counts = self.clusters.counts(order)
        clusters = draw_clusters(counts, self.settings.cluster_word_prior, rng)
        places = np.full(len(self.numbers) + 1, UNSEATED, np.int32)
        places[order] = np.arange(len(order))
        sizes = (numbers / max(1, numbers.sum())).astype(np.float32)
        return ClusterDraw(clusters, weights, sizes, new_weight, places, counts)

    def log_joint(self) -> float:
        """Of the rows seen so far; see `_posterior_draw.log_joint`."""
        some = np.arange(self.given) if self.given else np.flatnonzero(self.numbers)
        prior = self.settings.cluster_word_prior
        return log_joint(
            self.clusters.counts(some), self.numbers[some], prior, self.concentration, bool(self.given)
        )

    def state(self) -> dict[str, np.ndarray]:
        """Assignments, their counts, and alpha; the same at every process."""
        kept = {name: getattr(self, name).copy() for name in ("assignments", *COUNTS)}
        check_agreement(self.team, list(kept.values()))
        return kept | {"concentration": np.array(self.concentration)}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state returned by `state`."""
        self.assignments = np.array(arrays["assignments"])
        for name in COUNTS:
            setattr(self.clusters, name, np.array(arrays[name]))
        self.concentration = float(arrays["concentration"])

    def _seat(self, rows: Rows, count: int) -> None:
        """Draw the clusters of some rows, one after the other."""
        prior, family = float(self.settings.cluster_word_prior), self._family(count)
        alpha, extra = self._alpha_of_new(), self._extra()
        self.clusters.seat(rows, self.assignments, prior, alpha, extra, self.given, family)

    def _at_once(self, numbers: Int[np.ndarray, " S"], count: int) -> bool:
        """Whether a step is for a device: not at the start, where clusters that are too many merge."""
        if not _device.in_jax() or self.num_groups > 1 or count < self.first_at_once:
            return False
        return bool((self.assignments[numbers] != UNSEATED).all())

    def _on_device(self) -> RowsOnDevice:
        """The rows there, put there by the first step that needs them."""
        self.device = self.device or RowsOnDevice(self.source)
        return self.device

    def _seat_at_once(self, rows: Rows, count: int) -> None:
        """Draw the clusters of some rows given word probabilities and weights."""
        others = self.given - self.number_of_clusters() if self.given else 0
        prior = Prior(self._extra(), others, self._alpha_of_new())
        streams = _streams.DPM_ROWS_AT_ONCE.family(self.seed, self.chain, count)
        rng = _streams.DPM_WEIGHTS_AT_ONCE.generator(self.seed, self.chain, count)
        a_0 = float(self.settings.cluster_word_prior)
        self._on_device().redraw(rows, self.assignments, self.clusters, a_0, prior, streams, rng)
        if count % STEPS_APART == 0:
            self._seat(self.source.rows(rows.numbers[:ONE_BY_ONE]), count)

    def _seat_in_groups(self, rows: Rows, count: int) -> None:
        """Draw the clusters of some rows, each among those of its cluster's group; see `_groups`."""
        present = np.arange(self.given) if self.given else np.flatnonzero(self.numbers)
        rng = _streams.DPM_GROUPS.generator(self.seed, self.chain, count)
        of = rng.integers(self.num_groups, size=len(present))
        groups = groups_of_rows(rows, self.assignments, present, of)
        alpha, extra = self._alpha_of_new() / self.num_groups, self._extra()
        prior, family = float(self.settings.cluster_word_prior), self._family(count)

        def seat(part: ClusterTable, some: Rows, clusters: int) -> None:
            given = clusters if self.given else 0
            part.seat(some, self.assignments, prior, alpha, extra, given, family)

        seat_in_groups(self.team, rows, groups, self.clusters, self.assignments, seat)

    def _family(self, count: int) -> np.uint64:
        return _streams.DPM_ASSIGNMENTS.family(self.seed, self.chain, count).word

    def _alpha_of_new(self) -> float:
        """The weight of a cluster without rows, of a Dirichlet process."""
        return 0.0 if self.given else self.concentration

    def _extra(self) -> float:
        """What is added to each cluster's number of rows, where the number of clusters is given."""
        return self.concentration / self.given if self.given else 0.0

    def _shrink(self) -> None:
        """Give clusters new numbers where half of the tables would do: a draw's time is in proportion."""
        occupied = np.flatnonzero(self.numbers)
        size = padded(len(occupied) + 1)
        if self.given or 2 * size > len(self.numbers):
            return
        places = np.full(len(self.numbers) + 1, UNSEATED, np.int32)
        places[occupied] = np.arange(len(occupied))
        self.assignments = places[self.assignments]
        self.clusters = self.clusters.part(occupied, size)

    def _draw_concentration(self, count: int) -> None:
        """Alpha given the numbers of rows, where it is learnt."""
        if self.settings.concentration is not None:
            return
        rng = _streams.DPM_CONCENTRATION.generator(self.seed, self.chain, count)
        if self.given:
            numbers = self.numbers[: self.given]
            self.concentration = draw_finite_concentration(self.concentration, numbers, rng)
        else:
            seen = int(self.numbers.sum())
            clusters = self.number_of_clusters()
            self.concentration = draw_concentration(self.concentration, clusters, seen, rng)
