"""One interpreter for every composition, with or without a thermostat."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from geodrift import _tree
from geodrift._types import NoiseVariance, Position, RandomKey, Scalar, Tangent
from geodrift.integrators._compositions import Composition
from geodrift.integrators._friction import Basis, damp, friction_basis
from geodrift.integrators._noise_subtraction import inject
from geodrift.integrators._normals import Ahead, leaf_key
from geodrift.manifolds import Manifold, leaf_manifolds


class Phase(NamedTuple):
    """A point of phase space, which the flows move."""

    position: Position
    velocity: Tangent
    thermostat: PyTree[Float[Array, ""]] | None
    """None, one scalar for all leaves, or a tree like the position's: of scalars, one for each leaf, or of
    arrays of the leaves' shapes, one for each coordinate of a flat space."""


class StepOutcome(NamedTuple):
    """The gradient and the noise of one step, for the report of a sampler's step."""

    position: Position  # where the last gradient was taken
    gradient: Tangent  # its tangent part; the caller takes the norm, once after many steps
    negative_variance: Bool[Array, ""]  # more gradient noise than there is noise to inject
    temperature: Float[Array, ""]  # kinetic, as the positions have it; NaN where there are no velocities


def kinetic_temperature(manifold: Manifold, position: Position, velocity: Tangent) -> Float[Array, ""]:
    """``v.v`` over the manifold's dimension."""
    found = manifold.inner(position, velocity, velocity) / manifold.dim(_tree.shapes(position))
    return found.astype(jnp.result_type(*jax.tree.leaves(position)))


def outcome_without_velocities(
    position: Position, gradient: Tangent, negative_variance: Bool[Array, ""]
) -> StepOutcome:
    """That of a step whose temperature is not known, or not yet."""
    untold = jnp.full((), jnp.nan, jnp.result_type(*jax.tree.leaves(position)))
    return StepOutcome(position, gradient, negative_variance, untold)


def integrate(
    key: RandomKey | Ahead,
    composition: Composition,
    manifold: Manifold,
    phase: Phase,
    step_size: Scalar,
    friction: PyTree,
    gradient: Callable[[Position], Tangent],
    noise_variance: Callable[[Position], NoiseVariance],
) -> tuple[Phase, StepOutcome]:
    r"""One step of ``dx = v dt, dv = grad log p dt - C v dt + sqrt(2C) dW``.

    Args:
        key: Random key, or the normals that were drawn of it, where the composition injects noise once.
        composition: The order of the flows.
        manifold: The manifold.
        phase: Position, velocity and thermostat. A thermostat :math:`\xi` replaces C in the damping and
            moves with the drifts: :math:`d\xi = (|v|^2 / m - 1) dt`, m the manifold's dimension (Liu et al.
            2016, eq. 6), or :math:`d\xi_i = (v_i^2 - 1) dt` where there is one for each coordinate. Where the
            two drifts of a step have velocities of their own they are weighed (`_Step._warmed`).
        step_size: h, in time.
        friction: C: a prefix of the position's tree of scalars or matrices ``[..., n, n]``.
        gradient: Derivative of the log density in ambient coordinates, possibly noisy.
        noise_variance: Covariance V of that gradient's noise; subtracted from the injected noise, as in Liu
            et al. (2016), eq. 8 (`_noise_subtraction.py`).

    Returns:
        The phase after the step, and the gradient and noise that it met.

    Raises:
        ValueError: There is a V, and several flows of the composition inject noise.
    """
    step = _Step(composition, manifold, phase, step_size, friction)
    for flow, fraction in composition.flows:
        if flow == "A":
            step.drift(fraction)
        elif flow == "B":
            step.kick(fraction, gradient)
        else:
            step.friction(flow, fraction, key, noise_variance)
    if not composition.kick_apart:
        temperature = kinetic_temperature(manifold, step.phase.position, step.phase.velocity)
        step.outcome = step.outcome._replace(temperature=temperature)
    return step.phase, step.outcome


class _Step:
    """One step under way: a mutable record that lives only while the composition is traced."""

    def __init__(
        self, composition: Composition, manifold: Manifold, phase: Phase, step_size: Scalar, friction: PyTree
    ) -> None:
        self.composition = composition
        self.injections = composition.num_injections
        self.injected = 0  # of them, so far
        self.damped = False
        self.manifold, self.phase, self.step_size = manifold, phase, step_size
        self.structure = jax.tree.structure(phase.position)
        self.manifolds = leaf_manifolds(manifold, phase.position)
        leaves = jax.tree.leaves(phase.position)
        self.frictions = [
            jnp.asarray(c, x.dtype)
            for c, x in zip(_tree.broadcast_prefix(friction, phase.position), leaves, strict=True)
        ]
        self.gradient: Tangent | None = None
        self.bases: list[Basis] | None = None
        self.variances: list[Array | None] = [None] * len(leaves)
        nothing = jax.tree.map(jnp.zeros_like, phase.position)
        self.outcome = outcome_without_velocities(phase.position, nothing, jnp.zeros((), bool))

    def drift(self, fraction: float) -> None:
        position, velocity, thermostat = self.phase
        t = fraction * self.step_size
        if thermostat is not None:
            thermostat = self._moved_thermostat(thermostat, position, velocity, t)
        position, velocity = self.manifold.geodesic(position, velocity, t)
        self.phase = Phase(position, velocity, thermostat)
        # What was computed at the old position no longer holds.
        self.gradient, self.bases = None, None

    def kick(self, fraction: float, gradient: Callable[[Position], Tangent]) -> None:
        position = self.phase.position
        if self.gradient is None:
            ambient = jax.tree.map(lambda g, x: g.astype(x.dtype), gradient(position), position)
            self.gradient = self.manifold.riemannian_gradient(position, ambient)
            self.outcome = self.outcome._replace(position=position, gradient=self.gradient)
        velocity = _tree.axpy(fraction * self.step_size, self.gradient, self.phase.velocity)
        self.phase = self.phase._replace(velocity=velocity)

    def friction(
        self,
        flow: str,
        fraction: float,
        key: RandomKey | Ahead,
        noise_variance: Callable[[Position], NoiseVariance],
    ) -> None:
        leaves = jax.tree.leaves(self.phase.position)
        if self.bases is None:
            self._find_bases(leaves, noise_variance(self.phase.position))
        before = jax.tree.leaves(self.phase.velocity)
        velocities = list(before)
        self.damped = True
        if flow in "ON":
            if self.injections > 1:
                assert not isinstance(key, Ahead), "normals drawn ahead are those of one injection a step"
                key = jax.random.fold_in(key, self.injected)
            self.injected += 1
        for i, (manifold, x, v) in enumerate(zip(self.manifolds, leaves, velocities, strict=True)):
            h = jnp.asarray(fraction * self.step_size, x.dtype)
            if flow != "N":
                v = damp(self.bases[i], v, h, flow)
            if flow in "ON":
                subtraction = self.composition.subtraction
                noise, negative = inject(
                    leaf_key(key, i, len(leaves)),
                    manifold,
                    x,
                    self.bases[i],
                    h,
                    self.variances[i],
                    flow,
                    subtraction,
                )
                v = v + noise
                self._report(negative)
            velocities[i] = v
        self.phase = self.phase._replace(velocity=jax.tree.unflatten(self.structure, velocities))
        if self.composition.kick_apart:
            self.outcome = self.outcome._replace(temperature=self._temperature(leaves, before, velocities))

    def _temperature(self, leaves: list[Array], before: list[Array], after: list[Array]) -> Float[Array, ""]:
        """Of the velocities of both drifts, weighed as in `_warmed`; of several rates by their mean."""
        total: Any = 0.0
        for m, basis, x, v, w in zip(self.manifolds, self.bases, leaves, before, after, strict=True):
            lean = self._lean(jnp.mean(basis.rate))
            total += ((1 - lean) * m.inner(x, v, v) + (1 + lean) * m.inner(x, w, w)) / 2
        found = total / self.manifold.dim(_tree.shapes(self.phase.position))
        return found.astype(self.outcome.temperature.dtype)

    def _find_bases(self, leaves: list[Array], variance: NoiseVariance) -> None:
        if variance is not None:
            if self.injections > 1:
                raise ValueError(
                    f"composition {self.composition.name}: noise_variance can be subtracted from a single O"
                    f" or N, and this has {self.injections}: give noise_variance = None or another one"
                )
            spread = _tree.broadcast_prefix(variance, self.phase.position)
            self.variances = [jnp.asarray(v, x.dtype) for v, x in zip(spread, leaves, strict=True)]
        dampings = [None] * len(leaves)
        if self.phase.thermostat is not None:
            spread = _tree.broadcast_prefix(self.phase.thermostat, self.phase.position)
            dampings = [jnp.asarray(xi, x.dtype) for xi, x in zip(spread, leaves, strict=True)]
        rows = zip(self.manifolds, leaves, self.frictions, dampings, self.variances, strict=True)
        self.bases = [friction_basis(*row) for row in rows]

    def _moved_thermostat(
        self, thermostat: PyTree, position: Position, velocity: Tangent, t: Scalar
    ) -> PyTree:
        """The thermostat after time t at this velocity; Liu et al. (2016), eq. 6."""
        if any(xi.ndim for xi in jax.tree.leaves(thermostat)):
            return jax.tree.map(lambda xi, v: self._warmed(xi, v * v - 1, t), thermostat, velocity)
        if self.structure.num_leaves == 1 or jax.tree.structure(thermostat) != self.structure:
            shape = _tree.shapes(position)
            excess = self.manifold.inner(position, velocity, velocity) / self.manifold.dim(shape) - 1
            return jax.tree.map(lambda xi: self._warmed(xi, excess, t), thermostat)
        columns = (jax.tree.leaves(tree) for tree in (thermostat, position, velocity))
        moved = [
            self._warmed(xi, m.inner(x, v, v) / m.dim(x.shape) - 1, t)
            for m, xi, x, v in zip(self.manifolds, *columns, strict=True)
        ]
        return jax.tree.unflatten(self.structure, moved)

    def _warmed(self, xi: Array, excess: Array, t: Scalar) -> Array:
        """``xi + t * excess``, of a velocity that tells of the positions' temperature.

        With gradient noise V the velocity after a kick apart from O has a variance larger by ``h^2 V`` than
        that after O, and positions have the temperature of neither: with e = exp(-xi h) it is that of the
        mean with the weights (1 + 3e) / (4 (1 + e)) and (3 + e) / (4 (1 + e)). See `_noise_subtraction.py`.
        """
        if self.composition.kick_apart:
            lean = self._lean(xi)
            t = t * (1 + lean if self.damped else 1 - lean)
        return (xi + t * excess).astype(xi.dtype)

    def _lean(self, rate: Array) -> Array:
        """(1 - e) / (2 (1 + e)), whatever the size of the damping's rate."""
        return jnp.tanh(rate * self.step_size / 2) / 2

    def _report(self, negative: Bool[Array, ""] | None) -> None:
        if negative is not None:
            self.outcome = self.outcome._replace(negative_variance=self.outcome.negative_variance | negative)
