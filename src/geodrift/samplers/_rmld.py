"""Riemannian manifold Langevin dynamics with a Metropolis test; Girolami & Calderhead (2011), section 5."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from geodrift import _tree
from geodrift._types import Batch, Count, Position, RandomKey, Scalar, Shared, Tangent
from geodrift.estimators import Full
from geodrift.manifolds import Manifold
from geodrift.metrics import Metric
from geodrift.samplers._base import Sampler, StepInfo, check_position, result_code
from geodrift.samplers._langevin import check_flat, check_inside
from geodrift.samplers._metric_noise import metric_drift, metric_noise
from geodrift.samplers._metropolis import metropolis
from geodrift.schedules import Schedule, as_schedule


class RMLDState(NamedTuple):
    """State of `RMLD`."""

    position: Position
    log_density: Scalar  # at the position
    drift: Tangent  # G^-1 grad log p + Gamma, at the position
    count: Shared[Count]  # steps taken


class RMLD(Sampler):
    r"""Langevin proposals in a position-dependent metric with a Metropolis test: an exact reference.

    .. math:: y = x + h (G^{-1} \nabla \log p + \Gamma) + \sqrt{2h}\, G^{-1/2} z

    accepted with the probability :math:`\min(1, p(y) q(x|y) / (p(x) q(y|x)))`, q the proposal's density;
    Girolami & Calderhead (2011), section 5. :math:`\Gamma` is the divergence of :math:`G^{-1}`, with which
    the proposal alone leaves the target invariant as h -> 0; theirs is for another measure and differs by a
    term. On a chart that mirrors, such as
    :class:`~geodrift.metrics.ExpandedMean`, the proposal is :math:`|y|` and q the folded normal density,
    :math:`\prod_k [N(y_k; m_k, s_k) + N(-y_k; m_k, s_k)]`. A proposal that is not finite is rejected.

    Args:
        estimator: `Full`, because the Metropolis test needs the log density itself; with respect to Lebesgue
            measure in the chart.
        manifold: Euclidean.
        step_size: h, the time of a step: :math:`h G^{-1}` is in the position's unit squared. Girolami &
            Calderhead's epsilon squared is 2h, and so is Patterson & Teh's epsilon. A number or a `Schedule`
            of the count.
        metric: G.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: the target, exactly, at any step size.
    """

    estimator: Full
    manifold: Manifold
    step_size: Schedule = eqx.field(converter=as_schedule)
    metric: Metric

    def __check_init__(self) -> None:
        if not isinstance(self.estimator, Full):
            raise ValueError(
                f"estimator = {type(self.estimator).__name__}: RMLD needs Full, for its log density"
            )
        check_flat("RMLD", self.manifold)

    def init(self, key: RandomKey, position: Position) -> RMLDState:
        """The state, with the log density and the drift at the position.

        Raises:
            ValueError: The position is outside the metric's chart.
        """
        del key
        position = check_position(self.manifold, position)
        check_inside(self.metric, position)
        return self._at(position, jnp.zeros((), jnp.int32))

    def step(self, key: RandomKey, state: RMLDState, batch: Batch = None) -> tuple[RMLDState, StepInfo]:
        """One proposal and its Metropolis test; ``batch`` is ignored."""
        del batch
        key_move, key_test = jax.random.split(key)
        h = self.step_size(state.count)
        noise, _ = metric_noise(key_move, self.metric, state.position, h, None)
        moved = _tree.add(state.position, _tree.axpy(h, state.drift, noise))
        proposal = self._at(self.metric.reflect(moved)[0], state.count)
        log_ratio = (
            proposal.log_density
            - state.log_density
            + self._log_proposal(proposal, state.position, h)
            - self._log_proposal(state, proposal.position, h)
        )
        valid = jnp.isfinite(proposal.log_density)
        new, probability = metropolis(key_test, log_ratio, valid, proposal, state)
        norm = jnp.linalg.norm(ravel_pytree(new.drift)[0])
        code, residual = result_code(self.manifold, new.position, norm + new.log_density, jnp.zeros((), bool))
        nothing = jnp.full((), jnp.nan, norm.dtype)
        return new._replace(count=state.count + 1), StepInfo(code, residual, nothing, norm, probability)

    def retarget(self, state: RMLDState) -> RMLDState:
        """The state with its log density and drift recomputed."""
        return self._at(state.position, state.count)

    def _at(self, position: Position, count: Count) -> RMLDState:
        """The state at a position."""
        value, gradient = self.estimator.value_and_gradient(position)
        return RMLDState(position, value, metric_drift(self.metric, position, gradient), count)

    def _log_proposal(self, start: RMLDState, end: Position, h: Scalar) -> Scalar:
        """``log q(end | start)`` up to a constant; the folded normal density where the chart mirrors."""
        mean = _tree.axpy(h, start.drift, start.position)
        half_determinant = self.metric.log_determinant(start.position) / 2
        if not self.metric.is_mirrored:
            away = _tree.sub(end, mean)
            squared = jnp.vdot(*(ravel_pytree(u)[0] for u in (away, self.metric.apply(start.position, away))))
            return half_determinant - squared / (4 * h)
        parts = zip(
            *map(jax.tree.leaves, (end, mean, self.metric.inverse_diagonal(start.position))), strict=True
        )
        folded = [
            jnp.sum(jnp.logaddexp(-((y - m) ** 2) / (4 * h * g), -((y + m) ** 2) / (4 * h * g)))
            for y, m, g in parts
        ]
        return half_determinant + jnp.sum(jnp.stack(folded))
