"""The rows of the correctness table, and what each must meet."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import geodrift as gd
from cases import SAMPLERS, TABLE_SAMPLERS, SamplerCase
from correctness import linear
from correctness.measure import deviations, measure
from correctness.target import Target
from correctness.targets import TARGETS, UNIT_MOMENT, in_chart
from law_checks import z_bound
from noisy import Noisy

LARGEST_ERROR = 0.005  # of an error bar, in standard deviations of the moment
HALVING = 4.0  # combined standard errors
FINE = 16  # the closed form's order is fitted at steps this many times smaller


class Row(NamedTuple):
    """One sampler on one target; ``reason`` says why it is not measured, and is empty where it is."""

    case: SamplerCase
    target: Target
    reason: str

    @property
    def name(self) -> str:
        return f"{self.case.name} on {self.target.name}, {space(self.target.manifold)}"

    def step_sizes(self) -> tuple[float, float]:
        h = self.target.step
        if self.case.overdamped:
            h = self.target.overdamped_step or h * h / 2
        h *= self.case.step_share
        return h, h / 2

    def sampler(self, step_size: float) -> Any:
        if self.case.on is not None:
            return self.case.on(self.target, step_size)
        if self.target.noise is None:
            estimator = gd.estimators.Full(self.target.log_density)
        else:
            estimator = Noisy(self.target.log_density, jnp.asarray(self.target.noise))
        return self.case.make(estimator, self.target.manifold, step_size)


class Verdict(NamedTuple):
    """What was found of one moment of a row."""

    sampler: str
    target: str
    space: str
    moment: str
    exact: float
    deviation: float  # of the moment's function, under the target
    steps: list[float]
    bias: list[float]
    error: list[float]
    closed_form: list[float] | None  # the bias by the Lyapunov equation
    order: float | None  # fitted; None where the bias is lost in the error
    order_error: float | None
    theory: int | None  # None: exact at any step size
    ess_per_second: float
    judged_by: str
    failures: list[str]  # empty when it holds


def rows() -> list[Row]:
    """Every sampler on every target."""
    return [_row(case, target) for target in TARGETS for case in SAMPLERS + TABLE_SAMPLERS]


def space(manifold: gd.manifolds.Manifold) -> str:
    """A short name, such as ``Sphere(3)``."""
    if isinstance(manifold, gd.manifolds.Product):
        parts = jax.tree.leaves(manifold.tree, is_leaf=lambda x: isinstance(x, gd.manifolds.Manifold))
        return " x ".join(space(part) for part in parts)
    sizes = [str(getattr(manifold, name)) for name in ("n", "p") if hasattr(manifold, name)]
    return f"{type(manifold).__name__}({', '.join(sizes)})"


def _row(case: SamplerCase, target: Target) -> Row:
    if case.chart is not None and target.alpha is not None:
        if not isinstance(target.manifold, gd.manifolds.Simplex):
            return Row(case, target, "measured on the simplex, in its chart")
        target = in_chart(target, case.chart)
    elif case.chart is not None:
        return Row(case, target, "a sampler of probability vectors")
    return Row(case, target, _reason(case, target))


def _reason(case: SamplerCase, target: Target) -> str:
    if target.name in case.reasons:
        return case.reasons[target.name]
    if case.variant and not target.core:
        return "a variant: measured on the targets of every kind of law, not on all"
    if target.only and not any(case.name.startswith(kind) for kind in target.bounds):
        return target.only
    if case.on is not None and case.chart is None and (target.moments is not UNIT_MOMENT or target.noise):
        return "draws independent normals"
    if case.flat and not target.flat:
        return "moves in R^n"
    if case.needs_density and target.noise is not None:
        return "tests proposals by the log density, which must have no noise"
    if target.no_order and case.order is not None:
        return target.no_order
    if np.ndim(case.friction) and getattr(target.manifold, "n", None) != len(case.friction):
        return f"its friction is a matrix of size {len(case.friction)}"
    return ""


def comparisons() -> int:
    """Size of the family: means that are compared, at both step sizes."""
    return 2 * sum(len(row.target.moments) for row in rows() if not row.reason)


def closed_form(row: Row, step_sizes) -> list[np.ndarray] | None:
    """The bias of each moment by the Lyapunov equation, at each step size; None where there is none."""
    if row.case.order is None or not row.target.normal:
        return None
    biases = []
    for h in step_sizes:
        found = linear.linear_step(row.sampler(h), jnp.zeros(row.target.manifold.n))
        if found is None:
            return None
        law = linear.stationary(found)
        biases.append(
            np.array([linear.expectation(f, *law) - exact for f, exact in row.target.moments.values()])
        )
    return biases


def judge(row: Row, seed: int = 2016) -> list[Verdict]:
    """Measures a row and judges each of its moments."""
    steps = row.step_sizes()
    measured = [
        measure(row.sampler(h), row.target, h, seed + i, row.case.warmup) for i, h in enumerate(steps)
    ]
    closed = closed_form(row, steps)
    fine = None if closed is None else closed_form(row, [h / FINE for h in steps])
    failure = [f"a step reported {m.failure}" for m in measured if m.failure]
    bound = row.target.bounds.get(type(row.sampler(steps[0])).__name__)
    bar = z_bound(comparisons())
    verdicts = []
    for i, (moment, (_, exact)) in enumerate(row.target.moments.items()):
        bias, error = (np.array([getattr(m, part)[i] for m in measured]) for part in ("bias", "error"))
        unit = deviations(row.target)[i]
        failures = list(failure)
        if not np.all(error <= LARGEST_ERROR * unit):
            failures.append(f"error bar of {np.max(error) / unit:.2%} of the standard deviation")
        expected = 0.0 if row.case.order is None else None if closed is None else [b[i] for b in closed]
        if expected is not None:
            judged_by = "exact" if row.case.order is None else "closed form"
            z = np.max(np.abs(bias - expected) / error)
            if not z <= bar:
                failures.append(f"{z:.1f} standard errors from what is {judged_by}; {bar:.1f} allowed")
        else:
            judged_by, power = "halving", 2.0**row.case.order
            gap = abs(bias[0] - power * bias[1]) / np.hypot(error[0], power * error[1])
            if not gap <= HALVING:
                failures.append(f"halving the step: {gap:.1f} combined standard errors")
        if bound is not None and not abs(bias[0]) <= bound * abs(exact):
            failures.append(f"relative bias of {bias[0] / exact:.2%}; {bound:.1%} allowed")
        order, order_error = _fit(bias, error) if fine is None else _fit([b[i] for b in fine], [0.0, 0.0])
        verdicts.append(
            Verdict(
                sampler=row.case.name,
                target=row.target.name,
                space=space(row.target.manifold),
                moment=moment,
                exact=float(exact),
                deviation=float(unit),
                steps=[float(h) for h in steps],
                bias=bias.tolist(),
                error=error.tolist(),
                closed_form=None if closed is None else [float(b[i]) for b in closed],
                order=order,
                order_error=order_error,
                theory=row.case.order,
                ess_per_second=float(measured[0].ess_per_second),
                judged_by=judged_by,
                failures=failures,
            )
        )
    return verdicts


def _fit(bias, error) -> tuple[float | None, float | None]:
    """Order from two step sizes and its standard error; None where a bias is not seen."""
    bias, error = np.asarray(bias, float), np.asarray(error, float)
    if not np.all(np.abs(bias) > np.maximum(3 * error, 1e-11)):
        return None, None
    spread = np.hypot(*(error / bias)) / np.log(2)
    return float(np.log2(abs(bias[0] / bias[1]))), float(spread)
