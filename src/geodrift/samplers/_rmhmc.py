r"""Riemannian manifold Hamiltonian Monte Carlo; Girolami & Calderhead (2011), section 6.

In the recipe of Ma, Chen & Fox (2015), with :math:`z = (\theta, p)`:
:math:`H = -\log p(\theta) + p' G^{-1} p / 2 + \log\det G / 2`, D = 0, :math:`Q = ((0, -I), (I, 0))`. The
Metropolis test makes it exact.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, PyTree

from geodrift import _tree
from geodrift._types import Batch, Count, Position, RandomKey, Scalar, Shared, Tangent
from geodrift._whole import as_whole, is_whole
from geodrift.estimators import Full
from geodrift.manifolds import Manifold
from geodrift.metrics import Metric
from geodrift.samplers._base import Sampler, StepInfo, check_position, result_code
from geodrift.samplers._langevin import check_flat, check_inside
from geodrift.samplers._metropolis import metropolis
from geodrift.schedules import Schedule, as_schedule

_ITERATIONS = 100
# Largest difference of an iteration that has converged, and of a step that was taken back to its start: in
# machine epsilons, relative to the largest entry of the leaf at the start or the end, whatever its unit.
_CONVERGED, _REVERSED = 1e2, 1e5


class RMHMCState(NamedTuple):
    """State of `RMHMC`."""

    position: Position
    log_density: Scalar  # at the position
    count: Shared[Count]  # steps taken


class RMHMC(Sampler):
    r"""Hamiltonian trajectories in a position-dependent metric with a Metropolis test: an exact reference.

    .. math:: dx = \nabla_p H\,dt, \quad dp = -\nabla_x H\,dt, \quad
        H = -\log p(x) + p' G^{-1}(x) p / 2 + \log\det G(x) / 2

    Girolami & Calderhead (2011), section 6. The momentum is drawn from N(0, G). Each step of the generalised
    leapfrog solves two implicit equations by fixed-point iteration, until an iteration changes no entry by
    more than 100 machine epsilons of the largest entry of its leaf: entries of very different sizes belong
    into leaves of their own. The step is then repeated from its end with the momentum reversed, and the
    trajectory is rejected if that does not lead back to the start of the step, or if an equation is not
    solved in 100 iterations: otherwise the map is not reversible, and the Metropolis test is not enough.

    Args:
        estimator: `Full`, because the Metropolis test needs the log density itself; with respect to Lebesgue
            measure in the chart.
        manifold: Euclidean.
        step_size: h (the paper's epsilon), the time of one leapfrog step in the equation above:
            :math:`h^2 G^{-1}` is in the position's unit squared. A number or a `Schedule` of the count.
        metric: G, differentiable. Outside its chart the log density must not be finite, so that a proposal
            there is rejected.
        num_steps: L, steps of one trajectory.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: the target, exactly, at any step size.
    """

    estimator: Full
    manifold: Manifold
    step_size: Schedule = eqx.field(converter=as_schedule)
    metric: Metric
    num_steps: int = eqx.field(static=True, default=1, converter=as_whole)

    def __check_init__(self) -> None:
        if not isinstance(self.estimator, Full):
            raise ValueError(
                f"estimator = {type(self.estimator).__name__}: RMHMC needs Full, for its log density"
            )
        if not is_whole(self.num_steps, 1):
            raise ValueError(f"num_steps = {self.num_steps!r}: must be a whole number, 1 or more")
        check_flat("RMHMC", self.manifold)

    def init(self, key: RandomKey, position: Position) -> RMHMCState:
        """The state, with the log density at the position.

        Raises:
            ValueError: The position is outside the metric's chart.
        """
        del key
        position = check_position(self.manifold, position)
        check_inside(self.metric, position)
        position, _ = self.metric.reflect(position)
        return RMHMCState(position, self.estimator.value(position), jnp.zeros((), jnp.int32))

    def step(self, key: RandomKey, state: RMHMCState, batch: Batch = None) -> tuple[RMHMCState, StepInfo]:
        """One trajectory and its Metropolis test; ``batch`` is ignored."""
        del batch
        key_momentum, key_test = jax.random.split(key)
        h, x = self.step_size(state.count), state.position
        white = self.manifold.random_tangent(key_momentum, x)
        p = self.metric.apply(x, self.metric.inverse_sqrt(x, white))

        def leapfrog(_: Count, start: tuple) -> tuple:
            x, p, valid = start
            end_x, end_p, solved = self._leapfrog(x, p, h)
            back_x, back_p, back_solved = self._leapfrog(end_x, _negative(end_p), h)
            returned = _close(back_x, x, _sizes(x, end_x), _REVERSED)
            returned &= _close(_negative(back_p), p, _sizes(p, end_p), _REVERSED)
            return end_x, end_p, valid & solved & back_solved & returned

        end_x, end_p, valid = jax.lax.fori_loop(0, self.num_steps, leapfrog, (x, p, jnp.ones((), bool)))
        log_density = self.estimator.value(end_x)
        log_ratio = self._energy(x, p) - self._energy(end_x, end_p)
        valid = valid & jnp.isfinite(log_density)
        start, end = (x, state.log_density), (end_x, log_density)
        (x, log_density), probability = metropolis(key_test, log_ratio, valid, end, start)
        info = self._info(x, white, log_density, probability)
        return RMHMCState(x, log_density, state.count + 1), info

    def retarget(self, state: RMHMCState) -> RMHMCState:
        """The state with its log density recomputed."""
        return state._replace(log_density=self.estimator.value(state.position))

    def _energy(self, x: Position, p: Tangent) -> Scalar:
        kinetic = self.manifold.inner(x, p, self.metric.inverse(x, p)) / 2
        return kinetic + self.metric.log_determinant(x) / 2 - self.estimator.value(x)

    def _leapfrog(self, x: Position, p: Tangent, h: Scalar) -> tuple[Position, Tangent, Bool[Array, ""]]:
        """One step of the generalised leapfrog, and whether its equations were solved."""
        slope = jax.grad(self._energy)
        half, first = _fixed_point(lambda q: _tree.axpy(-h / 2, slope(x, q), p), p)
        start = _tree.axpy(h / 2, self.metric.inverse(x, half), x)
        end, second = _fixed_point(lambda y: _tree.axpy(h / 2, self.metric.inverse(y, half), start), x)
        return end, _tree.axpy(-h / 2, slope(end, half), half), first & second

    def _info(self, x: Position, white: Tangent, log_density: Scalar, probability: Scalar) -> StepInfo:
        norm = jnp.linalg.norm(ravel_pytree(jax.grad(self.estimator.value)(x))[0])
        code, residual = result_code(self.manifold, x, norm + log_density, jnp.zeros((), bool))
        temperature = self.manifold.inner(x, white, white) / self.manifold.dim(_tree.shapes(x))
        return StepInfo(code, residual, temperature, norm, probability)


def _fixed_point(function: Callable[[Tangent], Tangent], start: Tangent) -> tuple[Tangent, Bool[Array, ""]]:
    """The solution of ``y = function(y)`` by iteration, and whether the iteration converged."""

    def unsolved(carry: tuple) -> Bool[Array, ""]:
        y, last, i = carry
        return ~_close(y, last, _sizes(start, y), _CONVERGED) & _finite(y) & (i < _ITERATIONS)

    def iterate(carry: tuple) -> tuple:
        y, _, i = carry
        return function(y), y, i + 1

    y, last, _ = jax.lax.while_loop(unsolved, iterate, (function(start), start, 0))
    return y, _close(y, last, _sizes(start, y), _CONVERGED)


def _close(a: Tangent, b: Tangent, sizes: PyTree, epsilons: float) -> Bool[Array, ""]:
    """Whether no entry differs by more than so many machine epsilons of the size of its leaf."""

    def leaf(a: Array, b: Array, size: Array) -> Bool[Array, ""]:
        return jnp.all(jnp.abs(a - b) <= epsilons * jnp.finfo(a.dtype).eps * size)

    return jnp.all(jnp.stack(jax.tree.leaves(jax.tree.map(leaf, a, b, sizes))))


def _sizes(start: Tangent, end: Tangent) -> PyTree:
    """Of each leaf the largest entry, of a step's start or end: the same of the step taken back."""

    def leaf(a: Array, b: Array) -> Array:
        return jnp.max(jnp.maximum(jnp.abs(a), jnp.abs(b)), initial=0.0)

    return jax.tree.map(leaf, start, end)


def _finite(a: Tangent) -> Bool[Array, ""]:
    return jnp.all(jnp.isfinite(ravel_pytree(a)[0]))


def _negative(p: Tangent) -> Tangent:
    return jax.tree.map(jnp.negative, p)
