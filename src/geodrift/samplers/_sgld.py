"""Stochastic gradient Langevin dynamics; Welling & Teh (2011)."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp

from geodrift._types import Batch, Count, Position, RandomKey, Scalar, Shared
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

    The gradient noise V that the estimator states is subtracted exactly from the injected noise, which then
    has the covariance :math:`2h G^{-1} - h^2 G^{-1} V G^{-1}`: the law does not feel the noise. The bias is
    of first order in the step size either way; for N(0, 1) the variance is 1 / (1 - h/2).

    In the recipe of Ma, Chen & Fox (2015): H = -log p, :math:`D = G^{-1}`, Q = 0.

    Args:
        estimator: Gradient of the log density of all the data.
        manifold: Where the positions are; Euclidean when there is a metric. On a curved manifold a step
            follows the geodesic.
        step_size: h, the time of an inner step; a number or a `Schedule` of the count. Welling & Teh's
            epsilon is 2h.
        metric: G; None for that of the manifold.
        num_steps: L, inner steps in one draw.
        reuse_batch: Hold one batch over the L inner steps. Its noise is then not white and the law is
            biased.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: exact as h -> 0.
    """

    estimator: Estimator
    manifold: Manifold
    step_size: Schedule = eqx.field(converter=as_schedule)
    metric: Metric | None = None
    num_steps: int = eqx.field(static=True, default=1)
    reuse_batch: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        if self.metric is not None:
            check_flat(type(self).__name__, self.manifold)

    def init(self, key: RandomKey, position: Position) -> SGLDState:
        """The state at a position.

        Raises:
            ValueError: It is not on the manifold, or outside the metric's chart.
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

        def flow(key: RandomKey | Ahead, phase: Phase, prepared: Any) -> tuple[Phase, StepOutcome]:
            position, outcome = self._move(key, phase.position, h, estimator, prepared)
            return Phase(position, (), None), outcome

        phase = Phase(state.position, (), None)
        on = self.manifold if self.metric is None else None
        phase, kept, outcome = inner_steps(
            key, self, estimator, flow, phase, state.estimator, batch, one_normal_on=on
        )
        info = langevin_info(self.manifold, phase.position, outcome)
        return SGLDState(phase.position, kept, state.count + 1), info

    def _move(
        self, key: RandomKey | Ahead, position: Position, h: Scalar, estimator: Estimator, prepared: Any
    ) -> tuple[Position, StepOutcome]:
        gradient = estimator.gradient(position, prepared)
        variance = estimator.noise_variance(position, prepared)
        if self.metric is None:
            return geodesic_langevin(key, self.manifold, position, h, gradient, variance)
        return metric_langevin(key, self.metric, position, h, gradient, variance)
