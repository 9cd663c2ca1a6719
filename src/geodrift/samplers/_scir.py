"""Samplers for Gamma, Dirichlet and log-normal targets that discretise nothing; Baker et al. (2018)."""

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
    """Logs of numbers that are not negative: R^n and minus infinity, which stands for 0."""

    def residual(self, x: Float[Array, "..."]) -> Scalar:
        """Always 0, or NaN where a coordinate is NaN or infinite."""
        return jnp.max(jnp.where(x == -jnp.inf, 0, x - x))


class SCIRState(NamedTuple):
    """State of `SCIR`, `HostSCIR` and `ExponentialOU`."""

    position: Position  # log theta
    estimator: Any  # the estimator's kept state
    count: Shared[Count]  # steps taken


class _ExactMove(Sampler):
    """What the samplers here share: an estimate, then an exact move that it drives."""

    estimator: MinibatchSum
    step_size: Schedule = eqx.field(converter=as_schedule)

    @property
    def manifold(self) -> LogOrthant:
        """Where the positions are: any shape, in logs."""
        return LogOrthant()

    def init(self, key: RandomKey, position: Position) -> SCIRState:
        """The state at log theta."""
        position = check_position(self.manifold, position)
        return SCIRState(position, self.estimator.init(key, position), jnp.zeros((), jnp.int32))

    def on_all_data(self) -> "_ExactMove":
        """The same sampler with the estimator of all data."""
        return eqx.tree_at(lambda s: s.estimator, self, self.estimator.on_all_data())

    def step(self, key: RandomKey, state: SCIRState, batch: Batch = None) -> tuple[SCIRState, StepInfo]:
        """One estimate and one exact move with it."""
        key_estimate, key_move = jax.random.split(key)
        estimate, kept = self.estimator.prepare(key_estimate, state.estimator, state.position, batch)
        position = self._move(key_move, state, estimate)
        return SCIRState(position, kept, state.count + 1), self._info(position)

    def _move(self, key: RandomKey, state: SCIRState, estimate: Array) -> Any:
        raise NotImplementedError

    def _info(self, position: Array) -> StepInfo:
        residual = self.manifold.residual(jnp.asarray(position))
        nothing = jnp.full((), jnp.nan, residual.dtype)
        result = jnp.where(jnp.isfinite(residual), Result.OK, Result.NON_FINITE).astype(jnp.int32)
        return StepInfo(result, residual, nothing, nothing, nothing)


class SCIR(_ExactMove):
    r"""Independent Gammas, hence Dirichlets, from minibatches by exact Cox-Ingersoll-Ross moves.

    .. math:: d\theta = (\hat a - \theta)\,dt + \sqrt{2\theta}\,dW

    over a time h with :math:`\hat a` drawn afresh, Baker et al. (2018), eq. 2.3 and Algorithm 1. The target
    is Gamma(a, 1) in each component, a = alpha + sum z; ``omega = theta / sum theta`` is Dirichlet(a). The
    position is **log theta**, which keeps components that underflow: `geodrift.processes.log_simplex` of the
    draws is log omega, and its exponential omega. Start from log theta, not from theta.

    Law: exact at any step where :math:`\hat a` has no noise, so in particular in components that no datum
    visits. Elsewhere the mean is exact and the variance is :math:`a + \tanh(h/2)\,\mathrm{Var}\,\hat a`
    (Corollary 3.2); with replacement :math:`\mathrm{Var}\,\hat a_j = N^2 p_j (1 - p_j) / n`, so that
    ``h < 0.2 n / (N (1 - p))`` keeps the inflation below 10%. A start has to decay over sum h of about 3.

    Args:
        estimator: a-hat, one number for each component: positive.
        step_size: h, the time between two minibatches; a number or a `Schedule` of the count.

    Raises:
        ValueError: ``step_size`` is not positive and finite.

    Example:
        >>> one_hot = lambda key, log_theta, z: jax.nn.one_hot(z, 10)
        >>> estimator = MinibatchSum(one_hot, 0.1, data_size=1000)
        >>> draws = sample(key, SCIR(estimator, 0.05), z, batch_size=10, num_draws=9, initial=jnp.zeros(10))
        >>> omega = jnp.exp(log_simplex(draws.position))
    """

    def _move(self, key: RandomKey, state: SCIRState, estimate: Array) -> Any:
        return cox_ingersoll_ross(key, state.position, estimate, self.step_size(state.count))


class HostSCIR(SCIR):
    """`SCIR` with its moves made by the compiled CPU kernel in float64, in a host loop.

    The law, the arguments and the protocol are those of `SCIR`; ``step`` runs outside jit (the estimator may
    be compiled within it) and `geodrift.sample`, which compiles the whole loop, does not take it. It
    pays with many components: a move takes about 50 nanoseconds of one core, in JAX a microsecond.

    Example:
        >>> state = sampler.init(key, jnp.zeros((num_topics, num_words)))
        >>> for count in range(num_steps):
        ...     state, info = sampler.step(jax.random.fold_in(key, count), state, batches[count])
    """

    runs_on_host: ClassVar[bool] = True

    def _move(self, key: RandomKey, state: SCIRState, estimate: Array) -> Any:
        step_size = float(self.step_size(state.count))
        return host_cox_ingersoll_ross(key, np.asarray(state.position), np.asarray(estimate), step_size)


class ExponentialOU(_ExactMove):
    r"""Log-normal targets from minibatches by exact moves of an exponential Ornstein-Uhlenbeck process.

    .. math:: x' = \hat\mu + (x - \hat\mu)\,e^{-h} + \sigma\sqrt{1 - e^{-2h}}\,\xi, \quad \theta = e^x

    with :math:`\hat\mu` drawn afresh at each step. The target of theta is LogNormal(mu, sigma^2); the mean
    of x is exact at any step and its variance :math:`\sigma^2 + \tanh(h/2)\,\mathrm{Var}\,\hat\mu`. Baker et
    al. (2018), section 2.3, propose geometric Brownian motion, which has no stationary law.

    Args:
        estimator: mu-hat, one number for each component.
        step_size: h, the time between two minibatches; a number or a `Schedule` of the count.
        scale: sigma, positive; broadcasts to the position, which is x = log theta.

    Raises:
        ValueError: ``step_size`` or ``scale`` is not positive and finite.
    """

    scale: Float[Array, "..."] = eqx.field(converter=as_float_arrays, default=1.0)

    def __check_init__(self) -> None:
        check_positive("scale", self.scale)

    def _move(self, key: RandomKey, state: SCIRState, estimate: Array) -> Any:
        return ornstein_uhlenbeck(key, state.position, estimate, self.scale, self.step_size(state.count))
