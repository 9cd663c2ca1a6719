"""Preconditioned stochastic gradient Langevin dynamics; Li, Chen, Carlson & Carin (2016)."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from geodrift._tree import as_float_arrays
from geodrift._types import Batch, Count, Position, RandomKey, Shared
from geodrift._whole import as_whole, is_whole
from geodrift.estimators import Estimator
from geodrift.manifolds import Manifold
from geodrift.metrics import RMSProp
from geodrift.metrics._rmsprop import check_decay
from geodrift.samplers._base import Sampler, StepInfo, check_position
from geodrift.samplers._langevin import check_flat, langevin_info, metric_langevin
from geodrift.schedules import Schedule, as_schedule, check_positive


class PreconditionedSGLDState(NamedTuple):
    """State of `PreconditionedSGLD`."""

    position: Position
    mean_square: PyTree[Float[Array, "..."]]  # average of squared gradients, entry by entry
    estimator: Any  # the estimator's kept state
    count: Shared[Count]  # steps taken


class PreconditionedSGLD(Sampler):
    r"""Langevin dynamics with the diagonal preconditioner of RMSProp, adapted first and then fixed.

    .. math:: x \leftarrow x + h\,G^{-1} g + N(0, 2h G^{-1} - h^2 G^{-1} V G^{-1}), \quad
        G^{-1} = 1 / (\lambda + \sqrt{v})

    Li, Chen, Carlson & Carin (2016), Algorithm 1. During the first ``adaptation_steps`` v is the weighted
    average of the squared gradients, the k-th last with the weight :math:`a^k`. The draws of these steps do
    not have the target's law: `geodrift.sample` stores none of them. Afterwards v is fixed, hence
    :math:`G^{-1}` does not depend on the position, its divergence :math:`\Gamma` is exactly 0, and the chain
    is `SGLD` with a constant metric.

    The published algorithm never stops adapting. Its preconditioner then depends on the position through the
    recent past, and no :math:`\Gamma` accounts for that: neither 0, which is usual, nor the published one,
    the derivative with respect to the last gradient alone. The law is wrong, and the more so the smaller the
    step, as v then follows the position more closely. For a metric that depends on the position use `SGRLD`
    with :class:`~geodrift.metrics.RMSProp` and a gradient.

    Args:
        estimator: Gradient of the log density of all the data.
        manifold: Euclidean.
        step_size: h, the time of a step in the equation above: :math:`h G^{-1}` is in the position's unit
            squared. Li et al.'s epsilon is 2h. A number or a `Schedule` of the count.
        adaptation_steps: Steps until v is fixed; 1 or more.
        decay: a, between 0 and 1.
        damping: :math:`\lambda`, positive, in the gradient's unit. It alone bounds the first steps of an
            entry whose gradient is 0, as at a mode with all of the data: they have the size
            :math:`\sqrt{2h/\lambda}`. Start elsewhere, or give the size of a typical gradient.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: after ``adaptation_steps``, the target as h -> 0.
    """

    estimator: Estimator
    manifold: Manifold
    step_size: Schedule = eqx.field(converter=as_schedule)
    adaptation_steps: int = eqx.field(static=True, converter=as_whole)
    decay: Float[Array, ""] = eqx.field(converter=as_float_arrays, default=0.99)
    damping: Float[Array, ""] = eqx.field(converter=as_float_arrays, default=1e-5)

    def __check_init__(self) -> None:
        check_flat("PreconditionedSGLD", self.manifold)
        if not is_whole(self.adaptation_steps, 1):
            raise ValueError(
                f"adaptation_steps = {self.adaptation_steps!r}: must be a whole number, 1 or more"
            )
        check_decay(self.decay)
        check_positive("damping", self.damping)

    def on_all_data(self) -> "PreconditionedSGLD":
        """The same sampler for batches that are all of the data."""
        return dataclasses.replace(self, estimator=self.estimator.on_all_data())

    def collects(self, count: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        """Whether the draw after step number ``count`` may be stored: not while v is adapted."""
        return super().collects(count) & (np.asarray(count) >= self.adaptation_steps)

    def init(self, key: RandomKey, position: Position) -> PreconditionedSGLDState:
        """The state before the first step, which sets v."""
        position = check_position(self.manifold, position)
        return PreconditionedSGLDState(
            position=position,
            mean_square=jax.tree.map(jnp.zeros_like, position),
            estimator=self.estimator.on(self.manifold).init(key, position),
            count=jnp.zeros((), jnp.int32),
        )

    def step(
        self, key: RandomKey, state: PreconditionedSGLDState, batch: Batch = None
    ) -> tuple[PreconditionedSGLDState, StepInfo]:
        """One Euler step."""
        key_prepare, key_move = jax.random.split(key)
        estimator = self.estimator.on(self.manifold)
        prepared, estimator_state = estimator.prepare(key_prepare, state.estimator, state.position, batch)
        gradient = estimator.gradient(state.position, prepared)
        variance = estimator.noise_variance(state.position, prepared)
        mean_square = self._mean_square(state, gradient)
        metric = RMSProp(mean_square, damping=self.damping)
        h = self.step_size(state.count)
        position, outcome = metric_langevin(key_move, metric, state.position, h, gradient, variance)
        info = langevin_info(self.manifold, position, outcome)
        return PreconditionedSGLDState(position, mean_square, estimator_state, state.count + 1), info

    def _mean_square(self, state: PreconditionedSGLDState, gradient: PyTree) -> PyTree:
        # The weight that makes v the weighted mean of the squared gradients so far, without the starting 0.
        weight = (1 - self.decay) / (1 - self.decay ** (state.count + 1))
        weight = jnp.where(state.count < self.adaptation_steps, weight, 0)
        return jax.tree.map(
            lambda v, g: v + weight.astype(v.dtype) * (g.astype(v.dtype) ** 2 - v),
            state.mean_square,
            gradient,
        )
