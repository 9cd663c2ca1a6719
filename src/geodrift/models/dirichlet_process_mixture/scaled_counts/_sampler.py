r"""Sticks and clusters moved by minibatches' counts scaled to all rows; Baker et al. (2018), section 4.2.

.. math:: w_j = v_j \prod_{l < j} (1 - v_l), \quad v_j = g_{j1} / (g_{j1} + g_{j2})

A step draws the clusters of its minibatch given sticks and word probabilities, by slices (so that there are
as many sticks as are needed); then, with c = D / S, the numbers :math:`\hat m_j = c \#\{i: z_i = j\}` and
:math:`\hat M_j = c \#\{i: z_i > j\}` of the minibatch are shapes towards which the sticks' gammas move,
:math:`1 + \hat m_j` and :math:`\alpha + \hat M_j`, and :math:`a_0 + c N_{jw}` those of the clusters' own.

Sums of gammas say nothing of the model. Before a move they are drawn anew, given the numbers of rows and
tokens that all rows' kept clusters have: with all rows in the minibatch a step is then a Gibbs sampler whose
law is exact at any step size. With fewer, the scaled counts' noise widens it, in proportion to h D / S.
"""

import numpy as np
from jaxtyping import Float, Int

from geodrift.kernels import _streams
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._vector_draw import padded
from geodrift.models.clusters._log_draws import log_gamma
from geodrift.models.dirichlet_process_mixture._cluster_move import ClusterDraw, ClusterMove
from geodrift.models.dirichlet_process_mixture._rows import Rows, RowSource
from geodrift.models.dirichlet_process_mixture._settings import Settings
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs import _posterior_draw as posterior
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._concentration import RATE, SHAPE
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._sampler import START_PASSES, CollapsedGibbs
from geodrift.models.dirichlet_process_mixture.scaled_counts._assignments import (
    LEAST,
    draw_assignments,
    token_counts,
)
from geodrift.models.dirichlet_process_mixture.scaled_counts._gamma_moves import gamma_moves

BATCH = 1000
STEP = 0.3  # h D / S unless told otherwise
MOST_STICKS = 2**12  # that one step adds: levels nearer to 0 than rounding would ask for ever more
KEPT = ("assignments", "numbers", "tokens", "log_sticks", "log_clusters")  # arrays of the state


def normalised(logs: Float[np.ndarray, "K V"]) -> tuple[Float[np.ndarray, "K V"], Float[np.ndarray, " K"]]:
    """Rows divided by their sums, and the logarithms of the sums."""
    most = logs.max(axis=1, initial=-np.inf)
    found = np.exp(logs - most[:, None])
    sums = found.sum(axis=1)
    found /= sums[:, None]
    return found, most + np.log(sums)


def log_weights(log_sticks: Float[np.ndarray, "K 2"]) -> tuple[Float[np.ndarray, " K"], float]:
    """Log w of each stick, and the logarithm of what is left."""
    whole = np.logaddexp(log_sticks[:, 0], log_sticks[:, 1])
    left = np.concatenate([[0.0], np.cumsum(log_sticks[:, 1] - whole)])
    return log_sticks[:, 0] - whole + left[:-1], float(left[-1])


class ScaledCounts(ClusterMove):
    """See the module.

    The chain starts from the clusters that the collapsed Gibbs sampler finds in the first rows, the largest
    first.

    Args:
        source: The rows.
        settings: See `Settings`.
        seed: Seed of the run.
        chain: Number of the chain; (seed, chain, step) keys the random streams.
    """

    def __init__(self, source: RowSource, settings: Settings, seed: int, chain: int) -> None:
        self.source, self.settings, self.seed, self.chain = source, settings, seed, chain
        self.batch_size = min(settings.batch_size or BATCH, source.num_rows)
        self.step_size = settings.step_size or STEP * self.batch_size / source.num_rows
        self.prior = float(settings.cluster_word_prior)
        gibbs = Settings(
            cluster_word_prior=self.prior,
            concentration=settings.concentration,
            batch_size=settings.batch_size,
        )
        self.start: CollapsedGibbs | None = CollapsedGibbs(source, gibbs, seed, chain)
        self.start_size, self.concentration = self.start.start_size, self.start.concentration
        self.assignments = np.full(source.num_rows, -1, np.int32)
        self.numbers, self.tokens = np.zeros(0, np.int64), np.zeros(0, np.int64)  # of each stick, all rows
        self.log_sticks, self.log_clusters = np.zeros((0, 2)), np.zeros((0, source.num_words))
        self.log_sums = np.zeros(0)  # of each cluster, when its rows were last drawn

    def rows_of_pass(self, number: int) -> int:
        """The rows of the start, and all rows later."""
        return self.source.num_rows if number else self.start_size

    def begin(self, rows: Rows) -> None:
        """Passes of the collapsed sampler over the rows of the start; then sticks and clusters of these."""
        found, self.start = self.start, None  # what it keeps of the rows is given up
        found.begin(rows)
        for count in range(START_PASSES):
            found.step(rows, count)
        self.concentration = found.concentration
        self.assignments = found.draw(0).places[found.assignments]
        seen = self.assignments[rows.numbers]
        number = int(seen.max()) + 1
        counts = token_counts(rows, seen, number, self.source.num_words)
        self.numbers = np.bincount(seen, minlength=number)
        self.tokens = counts.sum(axis=1).astype(np.int64)
        self._move(self.source.num_rows / len(seen) * self.numbers, self._scale(rows) * counts, 0, start=True)

    def step(self, rows: Rows, count: int) -> None:
        """One minibatch: its clusters, the sticks and clusters given these, alpha."""
        self.join(rows, count)
        clusters, number = self.assignments[rows.numbers], len(self.numbers)
        counts = token_counts(rows, clusters, number, self.source.num_words)
        scale = self._scale(rows)
        self._move(scale * np.bincount(clusters, minlength=number), scale * counts, count, start=False)

    def join(self, rows: Rows, count: int) -> None:
        """Draw the clusters of rows; clusters beyond the last that any row has are given up."""
        rng = _streams.DPM_WEIGHT_MOVES.generator(self.seed, self.chain, 2 * count)
        before = self.assignments[rows.numbers]
        log_w, left = log_weights(self.log_sticks)
        # A row that has no cluster may have any that there is.
        of_rows = np.where(before >= 0, log_w[before], log_w.min())
        levels = of_rows - rng.standard_exponential(len(of_rows))
        if self._add_sticks(levels.min(initial=0.0), left, rng):
            log_w, _ = log_weights(self.log_sticks)
        masses = np.full(padded(len(log_w)), -np.inf)
        masses[: len(log_w)] = log_w
        streams = _streams.DPM_MINIBATCH_ASSIGNMENTS.family(self.seed, self.chain, count)
        table, self.log_sums = self._table(len(masses))
        self._count(rows, before, draw_assignments(rows, levels, masses, table, streams))

    def unseen(self) -> Int[np.ndarray, " U"]:
        """Rows without a cluster."""
        return np.flatnonzero(self.assignments < 0)

    def number_of_clusters(self) -> int:
        """Clusters that have rows."""
        return int(np.count_nonzero(self.numbers))

    def log_joint(self) -> None:
        """Not known: counts of words are those of minibatches."""

    def draw(self, count: int) -> ClusterDraw:
        """The present sticks and clusters: those that have rows, by their number."""
        del count
        log_w, _ = log_weights(self.log_sticks)
        order = np.argsort(-self.numbers, kind="stable")[: self.number_of_clusters()]
        theta, _ = normalised(self.log_clusters[order])
        clusters = np.maximum(theta.astype(np.float32), posterior.LEAST)
        weights = np.exp(log_w[order])
        places = np.full(len(self.numbers) + 1, -1, np.int32)
        places[order] = np.arange(len(order))
        sizes = (self.numbers[order] / max(1, self.numbers.sum())).astype(np.float32)
        new = max(0.0, 1.0 - float(weights.sum()))
        return ClusterDraw(clusters, weights.astype(np.float32), sizes, new, places)

    def state(self) -> dict[str, np.ndarray]:
        """Assignments, their numbers, sticks, clusters and alpha."""
        kept = {name: getattr(self, name).copy() for name in KEPT}
        return kept | {"concentration": np.array(self.concentration)}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state returned by `state`."""
        for name in KEPT:
            setattr(self, name, np.array(arrays[name]))
        self.concentration = float(arrays["concentration"])
        if len(self.numbers):
            self.start = None

    def _scale(self, rows: Rows) -> float:
        return self.source.num_rows / max(1, len(rows.numbers))

    def _move(self, numbers: np.ndarray, counts: np.ndarray, count: int, *, start: bool) -> None:
        """Sticks and clusters given scaled numbers of rows and of tokens, then alpha given the sticks."""
        rng = _streams.DPM_WEIGHT_MOVES.generator(self.seed, self.chain, 2 * count + 1)
        beyond = np.append(np.cumsum(numbers[::-1])[::-1][1:], 0.0)
        of_sticks = np.stack([1.0 + numbers, self.concentration + beyond], axis=1)
        of_clusters = self.prior + counts
        if start:
            self.log_sticks, self.log_clusters = log_gamma(of_sticks, rng), log_gamma(of_clusters, rng)
        else:
            self._draw_sums(rng)
            exact, h = self.settings.method == "scir", self.step_size
            streams = _streams.DPM_CLUSTER_MOVES
            family = streams.family(self.seed, self.chain, 2 * count)
            self.log_sticks = gamma_moves(self.log_sticks, of_sticks, h, exact, family)
            family = streams.family(self.seed, self.chain, 2 * count + 1)
            self.log_clusters = gamma_moves(self.log_clusters, of_clusters, h, exact, family)
        if self.settings.concentration is None:
            # Escobar and West's conditional has no need of the sticks; given them alpha is a gamma at once.
            _, left = log_weights(self.log_sticks)
            self.concentration = float(rng.standard_gamma(SHAPE + len(self.numbers)) / (RATE - left))

    def _draw_sums(self, rng: np.random.Generator) -> None:
        """Sums of the gammas, given the kept numbers of all rows; what they are parts of stays."""
        from_here = np.cumsum(self.numbers[::-1])[::-1]
        sums = np.logaddexp(self.log_sticks[:, 0], self.log_sticks[:, 1])
        self.log_sticks += (log_gamma(1.0 + self.concentration + from_here, rng) - sums)[:, None]
        shapes = self.prior * self.source.num_words + self.tokens
        self.log_clusters += (log_gamma(shapes, rng) - self.log_sums[: len(shapes)])[:, None]

    def _add_sticks(self, level: float, left: float, rng: np.random.Generator) -> bool:
        """Sticks and clusters of the prior until ``left`` is below ``level``; whether there are any."""
        sticks: list[np.ndarray] = []
        while left > level and len(sticks) < MOST_STICKS:
            sticks.append(log_gamma(np.array([1.0, self.concentration]), rng))
            left += sticks[-1][1] - np.logaddexp(*sticks[-1])
        if not sticks:
            return False
        self.log_sticks = np.concatenate([self.log_sticks, sticks])
        shapes = np.full((len(sticks), self.source.num_words), self.prior)
        self.log_clusters = np.concatenate([self.log_clusters, log_gamma(shapes, rng)])
        self.numbers = np.append(self.numbers, np.zeros(len(sticks), np.int64))
        self.tokens = np.append(self.tokens, np.zeros(len(sticks), np.int64))
        return True

    def _count(self, rows: Rows, before: Int[np.ndarray, " S"], after: Int[np.ndarray, " S"]) -> None:
        """Keep the rows' new clusters; give up sticks beyond the last that has rows."""
        lengths = np.diff(np.append(0, np.cumsum(rows.counts, dtype=np.int64))[rows.indptr])
        number, seated = len(self.numbers), before >= 0
        for clusters, sign, some in ((before, -1, seated), (after, 1, slice(None))):
            self.numbers += sign * np.bincount(clusters[some], minlength=number)
            of_tokens = np.bincount(clusters[some], lengths[some], minlength=number)
            self.tokens += sign * of_tokens.astype(np.int64)
        self.assignments[rows.numbers] = after
        last = int(np.flatnonzero(self.numbers).max(initial=0)) + 1
        self.numbers, self.tokens = self.numbers[:last], self.tokens[:last]
        self.log_sticks, self.log_clusters = self.log_sticks[:last], self.log_clusters[:last]

    def _table(self, size: int) -> tuple[Float[np.ndarray, "V1 Kp"], Float[np.ndarray, " K"]]:
        """V theta of each word, at least `LEAST`, the last row ones; and the logs of the clusters' sums."""
        table = np.ones((self.source.num_words + 1, size), np.float32)
        theta, log_sums = normalised(self.log_clusters)
        theta *= self.source.num_words
        table[:-1, : len(theta)] = np.maximum(theta, LEAST, out=theta).T
        return table, log_sums

    def compile(self) -> None:
        """Go through a step of no rows."""
        nothing, streams = self.source.rows(np.zeros(0, np.int64)), Family(0, 0, 0)
        table = np.ones((self.source.num_words + 1, 16), np.float32)
        draw_assignments(nothing, np.zeros(0), np.zeros(16), table, streams)
        gamma_moves(np.zeros(0), np.zeros(0), 0.1, True, streams)
