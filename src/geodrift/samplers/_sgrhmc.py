r"""Stochastic gradient Riemannian Hamiltonian Monte Carlo; Ma, Chen & Fox (2015), Algorithm 1 and eq. 30.

In their recipe, with :math:`z = (\theta, r)`, a metric G and friction C (theirs is 1):

.. math:: H = -\log p(\theta) + r'r/2, \quad D = \begin{pmatrix} 0 & 0 \\ 0 & C G^{-1} \end{pmatrix}, \quad
    Q = \begin{pmatrix} 0 & -G^{-1/2} \\ G^{-1/2} & 0 \end{pmatrix}, \quad
    \Gamma = (0, \operatorname{div} G^{-1/2})

Algorithm 1 has the signs of this; eq. 30 as printed has the friction and the divergence with the wrong ones.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from geodrift import _tree
from geodrift._types import Batch, Count, NoiseVariance, Position, RandomKey, Scalar, Shared, Tangent
from geodrift._whole import as_whole
from geodrift.estimators import Estimator
from geodrift.integrators import Phase, StepOutcome
from geodrift.integrators._friction import friction_basis
from geodrift.integrators._interpreter import kinetic_temperature
from geodrift.integrators._noise_subtraction import inject
from geodrift.manifolds import Euclidean, Manifold
from geodrift.metrics import Metric
from geodrift.samplers._base import StepInfo, check_position
from geodrift.samplers._inner_steps import InnerSteps, inner_steps
from geodrift.samplers._kinetic import phase_info
from geodrift.samplers._langevin import check_flat, check_inside
from geodrift.schedules import Schedule, as_schedule, check_positive

_COMPOSITIONS = ("ABOBA", "ma")


class SGRHMCState(NamedTuple):
    """State of `SGRHMC`."""

    position: Position
    momentum: Tangent  # r, of unit variance
    estimator: Any  # the estimator's kept state
    count: Shared[Count]  # steps taken


class SGRHMC(InnerSteps):
    r"""Langevin dynamics with friction in a position-dependent metric, from noisy gradients: gSGRHMC.

    .. math:: d\theta = G^{-1/2} r\,dt, \quad dr = (G^{-1/2} \nabla \log p + \operatorname{div} G^{-1/2})\,dt
        - C G^{-1} r\,dt + \sqrt{2 C G^{-1}}\,dW

    Ma, Chen & Fox (2015), Algorithm 1. A gradient noise V reaches r as :math:`h G^{-1/2} N(0, V)`, so that
    the injected noise is :math:`G^{-1/2} N(0, 2 C h - h^2 V)`: subtracting V takes no root of a further
    matrix. Where the chart has a boundary the position is mirrored there, and its momentum with it.

    Args:
        estimator: Gradient of the log density in the chart's coordinates, with respect to Lebesgue measure.
        manifold: Euclidean.
        step_size: h (the paper's epsilon), the time of an inner step in the equation above:
            :math:`h^2 G^{-1}` is in the position's unit squared. A number or a `Schedule` of the count.
        metric: G.
        friction: C, a number; the paper's is 1. The momentum decays at the rate :math:`C G^{-1}`.
        num_steps: L, inner steps in one draw.
        composition: ``"ABOBA"``: drift h/2 by the midpoint rule, kick, friction and noise at that point
            (exact given G where G is diagonal, else to second order), drift h/2. Of second order. ``"ma"``:
            the paper's Algorithm 1, with the new position in the momentum's step. The momentum's law has a
            bias of first order, the position's one of second.
        reuse_batch: Use one batch for all L inner steps; the law is then biased, as for `SGGMC`.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: the target as h -> 0.
    """

    estimator: Estimator
    manifold: Manifold
    step_size: Schedule = eqx.field(converter=as_schedule)
    metric: Metric
    friction: Float[Array, ""] = eqx.field(converter=_tree.as_float_arrays, default=1.0)
    num_steps: int = eqx.field(static=True, default=1, converter=as_whole)
    composition: str = eqx.field(static=True, default="ABOBA")
    reuse_batch: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        if self.composition not in _COMPOSITIONS:
            raise ValueError(f"composition = {self.composition!r}: must be one of {', '.join(_COMPOSITIONS)}")
        if self.friction.ndim:
            raise ValueError(
                f"friction has shape {self.friction.shape}: must be a number; the metric shapes it"
            )
        check_positive("friction", self.friction)
        check_flat("SGRHMC", self.manifold)

    def init(self, key: RandomKey, position: Position) -> SGRHMCState:
        """The state before the first step, with a momentum drawn at temperature 1.

        Raises:
            ValueError: The position is outside the metric's chart.
        """
        position = check_position(self.manifold, position)
        check_inside(self.metric, position)
        # A starting point that the driver drew is known only inside the compiled program.
        position, _ = self.metric.reflect(position)
        key_momentum, key_estimator = jax.random.split(key)
        momentum = self.manifold.random_tangent(key_momentum, position)
        estimator_state = self.estimator.on(self.manifold).init(key_estimator, position)
        return SGRHMCState(position, momentum, estimator_state, jnp.zeros((), jnp.int32))

    def step(self, key: RandomKey, state: SGRHMCState, batch: Batch = None) -> tuple[SGRHMCState, StepInfo]:
        """L inner steps."""
        estimator, h = self.estimator.on(self.manifold), self.step_size(state.count)
        before, after = (h / 2, h / 2) if self.composition == "ABOBA" else (h, None)

        def inner_step(key: RandomKey, phase: Phase, prepared: Any) -> tuple[Phase, StepOutcome]:
            x, r = self._drift(phase.position, phase.velocity, before)
            gradient = jax.tree.map(lambda g, x: g.astype(x.dtype), estimator.gradient(x, prepared), x)
            r, negative = self._kick(key, x, r, gradient, estimator.noise_variance(x, prepared), h)
            at = x
            if after is not None:
                x, r = self._drift(x, r, after)
            temperature = kinetic_temperature(self.manifold, x, r)
            return Phase(x, r, None), StepOutcome(at, gradient, negative, temperature)

        phase = Phase(state.position, state.momentum, None)
        phase, estimator_state, outcome = inner_steps(
            key, self, estimator, inner_step, phase, state.estimator, batch
        )
        info = phase_info(self.manifold, phase, outcome)
        return SGRHMCState(phase.position, phase.velocity, estimator_state, state.count + 1), info

    def _drift(self, x: Position, r: Tangent, t: Scalar) -> tuple[Position, Tangent]:
        """``dx = G^-1/2 r dt`` over a time t: an Euler step in ``"ma"``, else the midpoint rule."""
        middle = x
        if self.composition != "ma":
            # The metric is that at the mirrored position.
            middle, _ = self.metric.reflect(_tree.axpy(t / 2, self.metric.inverse_sqrt(x, r), x))
        x, signs = self.metric.reflect(_tree.axpy(t, self.metric.inverse_sqrt(middle, r), x))
        return x, jax.tree.map(jnp.multiply, signs, r)

    def _kick(
        self, key: RandomKey, x: Position, r: Tangent, gradient: Tangent, variance: NoiseVariance, h: Scalar
    ) -> tuple[Tangent, Bool[Array, ""]]:
        """Kick, friction and noise at x: ``r <- R r + K h force + S G^-1/2 N(0, 2Ch - h^2 V)``.

        Returns:
            The momentum, and whether a noise variance was negative, which is then taken as 0.
        """
        force = _tree.add(self.metric.inverse_sqrt(x, gradient), self.metric.divergence_inverse_sqrt(x))
        white, negative = self._noise(key, x, variance, h)
        noise = self.metric.inverse_sqrt(x, white)
        rate, diagonal = self.friction * h, self.metric.inverse_diagonal(x)
        if self.composition == "ma":
            kicked = _tree.axpy(h, force, _tree.axpy(-rate, self.metric.inverse(x, r), r))
        elif diagonal is not None:
            # With y = C h / G: R = e^-y, K = (1 + e^-y) / 2, S^2 = (1 - e^-2y) / 2y: r keeps unit variance.
            def exact(g: Array, r: Array, force: Array, noise: Array) -> Array:
                y = rate.astype(r.dtype) * g
                decay = jnp.exp(-y)
                spread = jnp.sqrt(-jnp.expm1(-2 * y) / (2 * y))
                return decay * r + (1 + decay) / 2 * h.astype(r.dtype) * force + spread * noise

            return jax.tree.map(exact, diagonal, r, force, noise), negative
        else:
            # The same to second order in a = C h G^-1 / 2: R = 1 - 2a + 2a^2, K = (1 + R) / 2, S = 1 - a.
            def damped(u: Tangent) -> Tangent:
                return _tree.axpy(-rate / 2, self.metric.inverse(x, u), u)

            doubled = _tree.axpy(2.0, r, _tree.axpy(h, force, jax.tree.map(jnp.zeros_like, r)))
            # K (2r + h force) - r, with K = 1 - a + a^2 = 1 - a (1 - a).
            carried = _tree.axpy(-rate / 2, self.metric.inverse(x, damped(doubled)), doubled)
            kicked, noise = _tree.sub(carried, r), damped(noise)
        return _tree.add(kicked, noise), negative

    def _noise(
        self, key: RandomKey, x: Position, variance: NoiseVariance, h: Scalar
    ) -> tuple[Tangent, Bool[Array, ""]]:
        """A draw of ``N(0, 2Ch - h^2 V)``, and whether that variance is negative somewhere (taken as 0)."""
        leaves, structure = jax.tree.flatten(x)
        variances = [None] * len(leaves) if variance is None else _tree.broadcast_prefix(variance, x)
        drawn, negative = [], jnp.zeros((), bool)
        for i, (leaf, v) in enumerate(zip(leaves, variances, strict=True)):
            flat, c, t = Euclidean(), self.friction.astype(leaf.dtype), h.astype(leaf.dtype)
            v = None if v is None else jnp.asarray(v, leaf.dtype)
            basis = friction_basis(flat, leaf, c, None, v)
            white, below = inject(jax.random.fold_in(key, i), flat, leaf, basis, t, v, "N", "injected")
            drawn.append(white)
            negative = negative if below is None else negative | below
        return jax.tree.unflatten(structure, drawn), negative
