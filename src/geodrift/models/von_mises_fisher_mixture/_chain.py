"""One chain of a von Mises-Fisher mixture: its rows, its steps, its state."""

import reprlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from geodrift.distributed import Alone, Team, check_agreement
from geodrift.driver import ShownMetric, Variable
from geodrift.kernels import _device, _streams
from geodrift.models.kit._chain import ModelChain
from geodrift.models.kit._held_out import HeldOutScore
from geodrift.models.von_mises_fisher_mixture._collapsed_gibbs import CollapsedGibbs
from geodrift.models.von_mises_fisher_mixture._dense_rows import DenseRows
from geodrift.models.von_mises_fisher_mixture._parameters import Parameters, Prior
from geodrift.models.von_mises_fisher_mixture._predict import Draw, score_samples
from geodrift.models.von_mises_fisher_mixture._rows import Rows
from geodrift.models.von_mises_fisher_mixture._rows_in_groups import RowsInGroups
from geodrift.models.von_mises_fisher_mixture._rows_on_device import RowsOnDevice
from geodrift.models.von_mises_fisher_mixture._settings import Settings
from geodrift.models.von_mises_fisher_mixture._split_merge import SplitMerge
from geodrift.models.von_mises_fisher_mixture._start import Start

RECOMPUTE = 16  # passes after which sums are made anew
# Rows of a pass that a chain on a device draws one after the other, directions integrated out: in many
# dimensions a direction drawn from the prior fits no row, and new clusters come of these and of splits.
ONE_BY_ONE = 256


class Chain(ModelChain):
    """Samples clusters of unit vectors.

    A step takes the next rows of a random order, a new order for each pass, and redraws their clusters and
    all parameters (`CollapsedGibbs`). After each pass one split or merge is proposed (`SplitMerge`). Every
    step leaves the posterior as it is, those of the warm-up too.

    Args:
        rows: Unit vectors.
        settings: See `Settings`.
        seed: Whole number; the same seed gives the same draws on the same machine.
        chain: Number of the chain: chains of one seed are independent, and so are their starts.
        direction_prior: kappa_0 m_0 of the directions' von Mises-Fisher prior, [d]; None: uniform.
        held_out: Rows to score during the run, or None.
        team: Processes that take the chain's steps together, or None.

    Raises:
        ValueError: There are fewer rows than clusters, or the prior has another dimension.
    """

    shown_metrics = (
        ShownMetric("rows", "{:,.0f} rows seen"),
        ShownMetric("clusters", "{:,.0f} clusters"),
        ShownMetric("moved", "{:.1%} moved"),
        ShownMetric("held_out_nats", "held-out rows {:,.3f} nats each"),
    )
    counted_length = 64  # clusters: a draw has tens

    settings: Settings

    def __init__(
        self,
        rows: Rows,
        settings: Settings,
        *,
        seed: int = 0,
        chain: int = 0,
        direction_prior: Any = None,
        held_out: Rows | None = None,
        team: Team | None = None,
    ) -> None:
        if not settings.inferred and int(settings.n_clusters) > rows.number:
            raise ValueError(
                f"n_clusters is {settings.n_clusters} but there are {rows.number} rows; ask for fewer"
                " clusters, or for n_clusters='auto'"
            )
        r0 = np.zeros(rows.dim) if direction_prior is None else _checked_prior(direction_prior, rows.dim)
        self.rows, self.settings, self.seed, self.chain = rows, settings, seed, chain
        self.prior = Prior(settings.concentration(rows.dim), settings.shared, settings.background, r0)
        self.team = team or Alone()
        self.gibbs: CollapsedGibbs | None = None
        self.device: RowsOnDevice | None = None
        # Groups of clusters are for processes, and of sparse rows products are few.
        if _device.in_jax() and isinstance(rows, DenseRows) and settings.groups == 1:
            self.device = RowsOnDevice(rows)
        self.order: tuple[int, Int[np.ndarray, " N"]] = (-1, np.zeros(0, np.int64))
        self.rows_seen = 0
        self.split_merge = SplitMerge(self.prior)
        self.score = None if held_out is None else HeldOutScore("held_out_nats", lambda: self._nats(held_out))

    @property
    def threads_of_a_step(self) -> int:
        """One: rows are redrawn one after the other. Processes and devices have one chain at a time."""
        return int(self.team.size == 1 and self.device is None)

    @property
    def variables(self) -> dict[str, Variable]:
        """The parameters of every cluster, and the assignments of all rows."""
        number = None if self.settings.inferred else int(self.settings.n_clusters)
        return {
            "directions": Variable(("cluster", "coordinate"), (number, self.rows.dim), "float32"),
            "resultants": Variable(("cluster", "coordinate"), (number, self.rows.dim), "float32"),
            "concentrations": Variable(("cluster",), (number,), "float64"),
            "weights": Variable(("cluster",), (number,), "float64"),
            "labels": Variable(("cluster",), (number,), "int32"),
            "background_weight": Variable((), (), "float64"),
            "other_weight": Variable((), (), "float64"),
            "assignments": Variable(("row",), (self.rows.number,), "int32"),
            "number_of_clusters": Variable((), (), "int64"),
            "number_parameter": Variable((), (), "float64"),
            "log_joint": Variable((), (), "float64"),
        }

    def prepare(self) -> None:
        """Find clusters to start from."""
        if self.gibbs is None:
            rng = _streams.VMF_START.generator(self.seed, self.chain)
            number = self.settings.number()
            z, kappa = Start(self.rows, number, self.prior, (self.seed, self.chain), rng).found()
            self.gibbs = CollapsedGibbs(self.rows, number, self.prior, z, kappa)

    def step(self) -> int:
        """One minibatch; returns how many rows changed their cluster."""
        self._begin_together()
        gibbs, number = self.gibbs, self.rows.number
        size = min(self.settings.batch_size, number)
        steps = -(-number // size)  # of a pass
        passed, place = divmod(self.count, steps)
        if place == 0 and passed % RECOMPUTE == 0 and self.device is None:
            gibbs.recompute()
        if self.order[0] != passed:
            rng = _streams.VMF_ROW_ORDER.generator(self.seed, self.chain, passed)
            self.order = (passed, rng.permutation(number))
        names = self.seed, self.chain, self.count
        rows, assigned = (
            self.order[1][place * size : (place + 1) * size],
            _streams.VMF_ASSIGNMENTS.family(*names),
        )
        moved, rng = _streams.VMF_CONCENTRATIONS.family(*names), _streams.VMF_STEP.generator(*names)
        gibbs.step(rows, assigned, moved, rng, self._otherwise(names))
        if place == steps - 1:
            rng = _streams.VMF_SPLIT_MERGE.generator(*names)
            if self.device is not None:
                gibbs.one_by_one(rows[:ONE_BY_ONE], assigned, rng)
            self.split_merge.propose(gibbs, rng)
        self.count += 1
        self.rows_seen += len(rows)
        return gibbs.moved

    def _otherwise(self, names: tuple[int, int, int]) -> Callable[..., int] | None:
        """How rows are redrawn where it is not one after the other; see `CollapsedGibbs.step`."""
        if self.device is not None:
            return partial(self.device.redraw, _streams.VMF_ROWS_AT_ONCE.family(*names))
        if self.settings.groups == 1:
            return None
        return RowsInGroups(self.settings.groups, self.team, _streams.VMF_GROUPS.generator(*names))

    def _begin_together(self) -> None:
        """Every process begins where process 0 does, which alone looks for a start."""
        if self.team.rank == 0 or self.count:
            self.prepare()
        if self.team.size == 1 or self.count:
            return
        told = [] if self.team.rank else [self.gibbs.z, self.gibbs.kappa, [self.gibbs.number.value]]
        parts = self.team.share(np.concatenate([*told, np.zeros(0)]).astype(float).tobytes())
        z, kappa, value = np.split(np.frombuffer(parts[0]), [self.rows.number, -1])
        if self.team.rank:
            number = self.settings.number()
            number.value = float(value[0])
            self.gibbs = CollapsedGibbs(self.rows, number, self.prior, z.astype(np.int32), kappa)

    def draw(self) -> dict[str, np.ndarray]:
        """The present clusters, with directions and weights drawn given the assignments."""
        self.prepare()
        gibbs = self.gibbs
        found = self._parameters()
        return {
            "directions": found.directions.astype(np.float32),
            "resultants": found.resultants.astype(np.float32),
            "concentrations": found.concentrations,
            "weights": found.weights,
            "labels": found.labels.astype(np.int32),
            "background_weight": np.array(found.background),
            "other_weight": np.array(found.others),
            "assignments": gibbs.z.copy(),
            "number_of_clusters": np.array(len(gibbs.occupied)),
            "number_parameter": np.array(gibbs.number.value),
            "log_joint": np.array(gibbs.log_joint()),
        }

    def metrics(self, outcomes: list[int]) -> dict[str, float]:
        """Rows seen so far, clusters, and the share of the rows that moved."""
        size = min(self.settings.batch_size, self.rows.number)
        found = {
            "rows": float(self.rows_seen),
            "clusters": float(len(self.gibbs.occupied)),
            "moved": sum(outcomes) / max(1, len(outcomes) * size),
        }
        return found if self.score is None else found | self.score.metrics(at_end=self.at_end)

    def state(self) -> dict[str, np.ndarray]:
        """Everything needed to go on, bit for bit: sums as they are, with their rounding."""
        self.prepare()
        gibbs, sums = self.gibbs, self.gibbs.sums
        check_agreement(self.team, [gibbs.z, gibbs.kappa, gibbs.resultants, sums.squares])
        return {
            "assignments": gibbs.z.copy(),
            "kappa": gibbs.kappa.copy(),
            "resultants": gibbs.resultants.copy(),
            "squares": sums.squares.copy(),
            "along": sums.along.copy(),
            "log_c_kappa": sums.log_c_kappa.copy(),
            "number": np.array(gibbs.number.value),
            "count": np.array([self.count, self.rows_seen]),
        }

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore a state returned by `state`."""
        number = self.settings.number()
        number.value = float(arrays["number"])
        fixed_room = arrays["kappa"]
        self.gibbs = CollapsedGibbs(self.rows, number, self.prior, arrays["assignments"], fixed_room)
        self.gibbs.resume(arrays)
        self.count, self.rows_seen = (int(x) for x in arrays["count"])

    def _parameters(self) -> Parameters:
        """Directions and weights given the assignments: those of the draw at this step."""
        return self.gibbs.parameters(_streams.VMF_DRAW.generator(self.seed, self.chain, self.count))

    def _nats(self, rows: Rows) -> float:
        """Minus the mean log density of held-out rows under a draw of the present state."""
        self.prepare()
        return -float(score_samples(rows, [Draw.of_parameters(self._parameters(), self.prior)]).mean())


def _checked_prior(given: Any, dim: int) -> Float[np.ndarray, " d"]:
    """kappa_0 m_0 as numbers; refused where it is something else."""
    try:
        r0 = np.asarray(given, float)
    except (TypeError, ValueError):
        raise ValueError(f"direction_prior must be {dim} finite numbers, got {reprlib.repr(given)}") from None
    if r0.shape != (dim,):
        raise ValueError(f"direction_prior must be {dim} finite numbers, got shape {r0.shape}")
    if not np.isfinite(r0).all():
        raise ValueError("direction_prior has a value that is NaN or infinite: give finite numbers")
    return r0
