"""Samplers for Gamma, Dirichlet and log-normal targets without discretisation; Baker et al. (2018)."""

import abc
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift._errors import Result
from geodrift._tree import as_float_arrays
from geodrift._types import Batch, Count, Position, RandomKey, Scalar, Shared
from geodrift.estimators import MinibatchSum
from geodrift.manifolds import Euclidean
from geodrift.processes import cox_ingersoll_ross, host_cox_ingersoll_ross, ornstein_uhlenbeck
from geodrift.samplers._base import Sampler, StepInfo, check_position
from geodrift.schedules import Schedule, as_schedule, check_positive


class LogOrthant(Euclidean):
    """The logarithms of non-negative numbers: R^n with minus infinity, the logarithm of 0."""

    def residual(self, x: Float[Array, "..."]) -> Scalar:
        """0; NaN where a coordinate is NaN or plus infinity."""
        return jnp.max(jnp.where(x == -jnp.inf, 0, x - x))


class SCIRState(NamedTuple):
    """State of `SCIR`, `HostSCIR` and `ExponentialOU`."""

    position: Position  # log theta
    estimator: Any  # the estimator's kept state
    count: Shared[Count]  # steps taken


class _ExactMove(Sampler):
    """Base of the samplers here: estimate the process's coefficient, then move exactly with it."""

    estimator: MinibatchSum
    step_size: Schedule = eqx.field(converter=as_schedule)

    @property
    def manifold(self) -> LogOrthant:
        """The space of log theta, of any shape."""
        return LogOrthant()

    def init(self, key: RandomKey, position: Position) -> SCIRState:
        """The state before the first step; ``position`` is log theta."""
        position = check_position(self.manifold, position)
        return SCIRState(position, self.estimator.init(key, position), jnp.zeros((), jnp.int32))

    def on_all_data(self) -> "_ExactMove":
        """The same sampler for batches that are the whole data set."""
        return eqx.tree_at(lambda s: s.estimator, self, self.estimator.on_all_data())

    def step(self, key: RandomKey, state: SCIRState, batch: Batch = None) -> tuple[SCIRState, StepInfo]:
        """One estimate and one exact move with it."""
        key_estimate, key_move = jax.random.split(key)
        estimate, estimator_state = self.estimator.prepare(
            key_estimate, state.estimator, state.position, batch
        )
        position = self._move(key_move, state, estimate)
        return SCIRState(position, estimator_state, state.count + 1), self._info(position)

    @abc.abstractmethod
    def _move(self, key: RandomKey, state: SCIRState, estimate: Array) -> Array | np.ndarray:
        """The position after a time h of the process with the estimated coefficient."""

    def _info(self, position: Array | np.ndarray) -> StepInfo:
        residual = self.manifold.residual(jnp.asarray(position))
        nothing = jnp.full((), jnp.nan, residual.dtype)
        result = jnp.where(jnp.isfinite(residual), Result.OK, Result.NON_FINITE).astype(jnp.int32)
        return StepInfo(result, residual, nothing, nothing, nothing)


class SCIR(_ExactMove):
    r"""Independent Gammas, hence Dirichlets, from minibatches by exact Cox-Ingersoll-Ross moves.

    .. math:: d\theta = (\hat a - \theta)\,dt + \sqrt{2\theta}\,dW

    over a time h with a new estimate :math:`\hat a` at each step; Baker et al. (2018), eq. 2.3 and Algorithm
    1. The target is Gamma(a, 1) in each component, a = alpha + sum z; ``omega = theta / sum theta`` is
    Dirichlet(a). The position is **log theta**, because theta itself may underflow:
    `geodrift.processes.log_simplex` of the draws is log omega, and its exponential omega. Start from log
    theta, not from theta.

    Invariant law: the target, exactly, at any step size, where :math:`\hat a` has no noise, so in particular
    in components that occur in no datum. Elsewhere the mean is exact and the variance is
    :math:`a + \tanh(h/2)\,\mathrm{Var}\,\hat a` (Corollary 3.2). With replacement
    :math:`\mathrm{Var}\,\hat a_j = N^2 p_j (1 - p_j) / n`, so that ``h < 0.2 n / (N (1 - p))`` keeps the
    variance within 10% of the target's. The influence of the start decays as exp(-t): discard t = 3 or more.

    Args:
        estimator: Estimates a, one positive number for each component.
        step_size: h, the time between two minibatches in the equation above, in units of the process's
            relaxation time, which is 1. A number or a `Schedule` of the count.

    Raises:
        ValueError: ``step_size`` is not positive and finite.

    Example:
        >>> one_hot = lambda key, log_theta, z: jax.nn.one_hot(z, 10)
        >>> estimator = MinibatchSum(one_hot, 0.1, data_size=1000)
        >>> draws = sample(key, SCIR(estimator, 0.05), z, batch_size=10, num_draws=9, initial=jnp.zeros(10))
        >>> omega = jnp.exp(log_simplex(draws.position))
    """

    def _move(self, key: RandomKey, state: SCIRState, estimate: Array) -> Array | np.ndarray:
        return cox_ingersoll_ross(key, state.position, estimate, self.step_size(state.count))


class HostSCIR(SCIR):
    """`SCIR` with its moves made by a compiled CPU kernel, in float64.

    The law, the arguments and the protocol are those of `SCIR`. ``step`` runs outside jit (the estimator may
    be compiled within it), so you write the loop: `geodrift.sample`, which compiles the whole loop, refuses
    this sampler. It is faster where there are many components: a move of one component takes about 50
    nanoseconds of one core, in JAX a microsecond.

    Example:
        >>> state = sampler.init(key, jnp.zeros((num_topics, num_words)))
        >>> for count in range(num_steps):
        ...     state, info = sampler.step(jax.random.fold_in(key, count), state, batches[count])
    """

    runs_on_host: ClassVar[bool] = True

    def _move(self, key: RandomKey, state: SCIRState, estimate: Array) -> Array | np.ndarray:
        step_size = float(self.step_size(state.count))
        return host_cox_ingersoll_ross(key, np.asarray(state.position), np.asarray(estimate), step_size)


class ExponentialOU(_ExactMove):
    r"""Log-normal targets from minibatches by exact moves of an exponential Ornstein-Uhlenbeck process.

    .. math:: x' = \hat\mu + (x - \hat\mu)\,e^{-h} + \sigma\sqrt{1 - e^{-2h}}\,\xi, \quad \theta = e^x

    with a new estimate :math:`\hat\mu` at each step. It takes the place of the geometric Brownian motion
    that Baker et al. (2018), section 2.3, propose, which has no stationary law.

    Invariant law: x = log theta is N(mu, sigma^2), exactly, at any step size, where :math:`\hat\mu` has no
    noise. Elsewhere the mean is exact and the variance is
    :math:`\sigma^2 + \tanh(h/2)\,\mathrm{Var}\,\hat\mu`.

    Args:
        estimator: Estimates mu, one number for each component.
        step_size: h, the time between two minibatches, in units of the process's relaxation time, which is
            1. A number or a `Schedule` of the count.
        scale: sigma, positive; broadcasts to the position, which is x = log theta.

    Raises:
        ValueError: ``step_size`` or ``scale`` is not positive and finite.
    """

    scale: Float[Array, "..."] = eqx.field(converter=as_float_arrays, default=1.0)

    def __check_init__(self) -> None:
        check_positive("scale", self.scale)

    def _move(self, key: RandomKey, state: SCIRState, estimate: Array) -> Array | np.ndarray:
        return ornstein_uhlenbeck(key, state.position, estimate, self.scale, self.step_size(state.count))
