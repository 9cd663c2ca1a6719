"""Stochastic gradient Langevin dynamics; Welling & Teh (2011)."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp

from geodrift._types import Batch, Count, Position, RandomKey, Shared
from geodrift._whole import as_whole
from geodrift.estimators import Estimator
from geodrift.integrators import Phase, StepOutcome
from geodrift.integrators._normals import Ahead
from geodrift.manifolds import Manifold
from geodrift.metrics import Metric
from geodrift.samplers._base import StepInfo, check_position
from geodrift.samplers._inner_steps import InnerSteps, inner_steps
from geodrift.samplers._langevin import (
    check_flat,
    check_inside,
    geodesic_langevin,
    langevin_info,
    metric_langevin,
)
from geodrift.schedules import Schedule, as_schedule


class SGLDState(NamedTuple):
    """State of `SGLD` and `SGRLD`."""

    position: Position
    estimator: Any  # the estimator's kept state
    count: Shared[Count]  # steps taken


class SGLD(InnerSteps):
    r"""Langevin dynamics without inertia, from noisy gradients, by Euler steps.

    .. math:: dx = (G^{-1} \nabla \log p + \Gamma)\,dt + \sqrt{2 G^{-1}}\,dW, \quad
        \Gamma_j = \sum_k \partial_k (G^{-1})_{jk}

    Welling & Teh (2011), eq. 4. The gradient noise V that the estimator states is subtracted exactly from the
    injected noise, which then has the covariance :math:`2h G^{-1} - h^2 G^{-1} V G^{-1}`, so that the noise
    does not change the law. The bias of the Euler step remains, of first order in the step size; for N(0, 1)
    the variance is 1 / (1 - h/2).

    In the recipe of Ma, Chen & Fox (2015): H = -log p, :math:`D = G^{-1}`, Q = 0.

    Args:
        estimator: Gradient of the log density of all the data.
        manifold: Where the positions are; Euclidean when there is a metric. On a curved manifold a step
            follows the geodesic.
        step_size: h, the time of an inner step in the equation above: :math:`h G^{-1}` is in the position's
            unit squared. Welling & Teh's epsilon is 2h. A number or a `Schedule` of the count.
        metric: G; None for that of the manifold.
        num_steps: L, inner steps in one draw.
        reuse_batch: Use one batch for all L inner steps. Their gradient noise is then correlated and the law
            is biased.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: the target as h -> 0.
    """

    estimator: Estimator
    manifold: Manifold
    step_size: Schedule = eqx.field(converter=as_schedule)
    metric: Metric | None = None
    num_steps: int = eqx.field(static=True, default=1, converter=as_whole)
    reuse_batch: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        if self.metric is not None:
            check_flat(type(self).__name__, self.manifold)

    def init(self, key: RandomKey, position: Position) -> SGLDState:
        """The state before the first step.

        Raises:
            ValueError: The position is not on the manifold, or outside the metric's chart.
        """
        position = check_position(self.manifold, position)
        if self.metric is not None:
            check_inside(self.metric, position)
        return SGLDState(
            position, self.estimator.on(self.manifold).init(key, position), jnp.zeros((), jnp.int32)
        )

    def step(self, key: RandomKey, state: SGLDState, batch: Batch = None) -> tuple[SGLDState, StepInfo]:
        """L Euler steps."""
        h, estimator = self.step_size(state.count), self.estimator.on(self.manifold)

        def along_geodesic(key: RandomKey | Ahead, phase: Phase, prepared: Any) -> tuple[Phase, StepOutcome]:
            x = phase.position
            noisy = estimator.gradient(x, prepared), estimator.noise_variance(x, prepared)
            position, outcome = geodesic_langevin(key, self.manifold, x, h, *noisy)
            return Phase(position, (), None), outcome

        def in_metric(key: RandomKey, phase: Phase, prepared: Any) -> tuple[Phase, StepOutcome]:
            x = phase.position
            noisy = estimator.gradient(x, prepared), estimator.noise_variance(x, prepared)
            position, outcome = metric_langevin(key, self.metric, x, h, *noisy)
            return Phase(position, (), None), outcome

        inner_step, on = (along_geodesic, self.manifold) if self.metric is None else (in_metric, None)
        phase = Phase(state.position, (), None)
        phase, estimator_state, outcome = inner_steps(
            key, self, estimator, inner_step, phase, state.estimator, batch, one_normal_on=on
        )
        info = langevin_info(self.manifold, phase.position, outcome)
        return SGLDState(phase.position, estimator_state, state.count + 1), info
