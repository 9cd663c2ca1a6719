"""One Euler step of Langevin dynamics: the inner step of the first-order samplers."""

import jax
import jax.numpy as jnp

from geodrift import _tree
from geodrift._errors import is_concrete
from geodrift._types import NoiseVariance, Position, RandomKey, Scalar, Tangent
from geodrift.integrators import StepOutcome
from geodrift.integrators._friction import friction_basis
from geodrift.integrators._interpreter import outcome_without_velocities
from geodrift.integrators._noise_subtraction import inject
from geodrift.integrators._normals import Ahead, leaf_key
from geodrift.manifolds import Euclidean, Manifold, Product, leaf_manifolds
from geodrift.metrics import Metric
from geodrift.samplers._base import StepInfo, result_code
from geodrift.samplers._metric_noise import metric_drift, metric_noise


def geodesic_langevin(
    key: RandomKey | Ahead,
    manifold: Manifold,
    x: Position,
    h: Scalar,
    gradient: Tangent,
    variance: NoiseVariance,
) -> tuple[Position, StepOutcome]:
    """One step along the geodesic from x with the tangent vector ``h g + N(0, 2h - h^2 V)``.

    Args:
        key: Random key, or its normals.
        manifold: The manifold.
        x: Position.
        h: Step size, time.
        gradient: Derivative of the log density in ambient coordinates, possibly noisy.
        variance: V, covariance of the gradient's noise, to be subtracted; or None.

    Returns:
        The new position, and the outcome at the old one.
    """
    gradient = manifold.riemannian_gradient(x, _like(gradient, x))
    leaves, structure = jax.tree.flatten(x)
    variances = [None] * len(leaves) if variance is None else _tree.broadcast_prefix(variance, x)
    noise, negative = [], jnp.zeros((), bool)
    for i, (m, leaf, v) in enumerate(zip(leaf_manifolds(manifold, x), leaves, variances, strict=True)):
        time = jnp.asarray(h, leaf.dtype)
        v = None if v is None else jnp.asarray(v, leaf.dtype)
        basis = friction_basis(m, leaf, jnp.ones((), leaf.dtype), None, v)
        drawn, below = inject(leaf_key(key, i, len(leaves)), m, leaf, basis, time, v, "N", "injected")
        noise.append(drawn)
        negative = negative if below is None else negative | below
    move = _tree.axpy(h, gradient, jax.tree.unflatten(structure, noise))
    position, _ = manifold.geodesic(x, move, 1.0)
    return position, outcome_without_velocities(x, gradient, negative)


def metric_langevin(
    key: RandomKey, metric: Metric, x: Position, h: Scalar, gradient: Tangent, variance: NoiseVariance
) -> tuple[Position, StepOutcome]:
    r"""``x + h (G^-1 g + Gamma) + N(0, 2h G^-1 - h^2 G^-1 V G^-1)``, mirrored into the metric's chart.

    Args:
        key: Random key.
        metric: G.
        x: Position.
        h: Step size, time.
        gradient: Derivative of the log density, possibly noisy.
        variance: V, covariance of the gradient's noise, to be subtracted; or None.

    Returns:
        The new position, and the outcome at the old one.
    """
    gradient = _like(gradient, x)
    drift = metric_drift(metric, x, gradient)
    noise, negative = metric_noise(key, metric, x, h, variance)
    position, _ = metric.reflect(_tree.add(x, _tree.axpy(h, drift, noise)))
    return position, outcome_without_velocities(x, gradient, negative)


def langevin_info(manifold: Manifold, position: Position, outcome: StepOutcome) -> StepInfo:
    """The information on a first-order step, which has no velocity and no Metropolis test."""
    norm = jnp.sqrt(manifold.inner(outcome.position, outcome.gradient, outcome.gradient))
    code, residual = result_code(manifold, position, norm, outcome.negative_variance)
    nothing = jnp.full((), jnp.nan, norm.dtype)
    return StepInfo(code, residual, nothing, norm, nothing)


def check_flat(sampler: str, manifold: Manifold) -> None:
    """Raise ValueError unless every part of the manifold is Euclidean."""
    for part in _parts(manifold):
        if not isinstance(part, Euclidean):
            raise ValueError(
                f"manifold = {part!r}: {sampler} moves in R^n, or in a chart of it: give Euclidean(), or take"
                " a sampler that has no metric, such as GMC, SGGMC, or SGLD without one"
            )


def is_flat(manifold: Manifold) -> bool:
    """Whether every part of the manifold is Euclidean."""
    return all(isinstance(part, Euclidean) for part in _parts(manifold))


def _parts(manifold: Manifold) -> list[Manifold]:
    tree = manifold.tree if isinstance(manifold, Product) else manifold
    return jax.tree.leaves(tree, is_leaf=lambda node: isinstance(node, Manifold))


def check_inside(metric: Metric, position: Position) -> None:
    """Raise ValueError unless it is a metric that fits the position, which is inside its chart if known."""
    if not isinstance(metric, Metric):
        raise ValueError(f"metric = {metric!r}: give one of geodrift.metrics, such as ConstantDense(inverse)")
    try:
        jax.eval_shape(metric.inverse, position, position)
    except (TypeError, ValueError) as error:
        shape = _tree.shapes(position)
        raise ValueError(f"metric {type(metric).__name__} does not fit positions {shape}: {error}") from error
    _, signs = metric.reflect(position)
    for leaf, sign in zip(jax.tree.leaves(position), jax.tree.leaves(signs), strict=True):
        if is_concrete(leaf) and is_concrete(sign) and jnp.any(sign < 0):
            raise ValueError(
                f"position has entries as low as {jnp.min(leaf):.3g}: {type(metric).__name__} needs a"
                " position inside its chart; give metric.reflect(position)[0]"
            )


def _like(gradient: Tangent, x: Position) -> Tangent:
    """The gradient in the dtypes of x."""
    return jax.tree.map(lambda g, leaf: g.astype(leaf.dtype), gradient, x)
