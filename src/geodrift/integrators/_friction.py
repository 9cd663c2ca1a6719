r"""Damping and injected noise of one leaf, with the gradient noise subtracted.

Everything is a function of the damping rate r and the noise strength C along each direction (r = C unless a
thermostat sets r). With e = exp(-r h), a step of gradient noise n ~ N(0, V) perturbs the velocity by a
multiple of h n, so the noise to inject has the covariance

.. math:: S_{ij} = fresh_i \delta_{ij} - coefficient(e_i, e_j) h^2 (\Lambda V \Lambda)_{ij}

The coefficient follows from where the kicks are:

* block (B/2 O B/2 at one position): v -> e v + h (1 + e)/2 n, hence (1 + e_i)(1 + e_j)/4;
* split (O, drift, B): the covariance of v is P before the kick and P + h^2 V after it. P = E (P + h^2 V) E +
  S and the mean of the two, P + h^2 V / 2, being 1 give (1 + e_i e_j)/2;
* injected (kick and noise side by side): 1.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from geodrift._normals import Ahead, random_tangent, standard_normal
from geodrift._types import RandomKey, Scalar
from geodrift.manifolds import Embedded, Manifold


class Basis(NamedTuple):
    """Damping rate and noise strength, along the coordinates or along the columns of ``vectors``."""

    rate: Float[Array, "..."]  # scalar, [..., n] with vectors or with a thermostat for each coordinate
    strength: Float[Array, "..."]
    vectors: Float[Array, "... n n"] | None


def is_matrix(variance: Array, x: Array) -> bool:
    """Whether a noise variance is a matrix: it is one if it does not broadcast to the leaf.

    For a leaf ``[n, n]`` an array ``[n, n]`` is therefore a variance for each entry, which is what an
    estimate from data is. Estimators refuse it where a user gives it, since a matrix may be meant.
    """
    if variance.ndim > x.ndim:
        return True
    pairs = zip(variance.shape[::-1], x.shape[::-1], strict=False)
    return not all(given in (1, needed) for given, needed in pairs)


def friction_basis(
    manifold: Manifold,
    x: Float[Array, "*batch n"],
    friction: Float[Array, "..."],
    damping: Float[Array, "..."] | None,
    variance: Float[Array, "..."] | None,
) -> Basis:
    r"""The directions in which friction acts independently.

    Args:
        manifold: The leaf's manifold.
        x: The leaf.
        friction: C: a scalar, or symmetric positive definite ``[..., n, n]``, which acts as :math:`\Lambda C
            \Lambda`.
        damping: The thermostat that replaces C in the damping, a scalar or an array like the leaf; or None.
        variance: The gradient noise that will be subtracted: a matrix needs a basis too.

    Raises:
        ValueError: Friction or variance differs between coordinates in a way that the manifold has no meaning
            for.
    """
    check_friction_fits(manifold, friction)
    _check_variance_fits(manifold, x, variance)
    coordinatewise = damping is not None and damping.ndim > 0
    damping = friction if damping is None else damping
    if friction.ndim == 0 and (variance is None or not is_matrix(variance, x)):
        return Basis(damping, friction, None)
    projector = _projector(manifold, x)
    if coordinatewise:
        # A rate for each coordinate: the coordinates are the directions, and the space is flat.
        return Basis(damping, jnp.broadcast_to(friction, x.shape), projector)
    matrix = projector if friction.ndim == 0 else projector @ friction @ projector
    eigenvalues, vectors = jnp.linalg.eigh((matrix + jnp.swapaxes(matrix, -1, -2)) / 2)
    eigenvalues = jnp.maximum(eigenvalues, 0)
    if friction.ndim == 0:
        return Basis(damping * eigenvalues, friction * eigenvalues, vectors)
    return Basis(eigenvalues, eigenvalues, vectors)


def damp(basis: Basis, v: Float[Array, "*batch n"], t: Scalar, flow: str = "D") -> Float[Array, "*batch n"]:
    """``exp(-r t) v``, or Euler's ``(1 - r t) v`` where the flow is E."""
    decay = 1 - basis.rate * t if flow == "E" else jnp.exp(-basis.rate * t)
    if basis.vectors is None:
        return decay * v
    return _rotate(basis.vectors, decay * _rotate(jnp.swapaxes(basis.vectors, -1, -2), v))


def inject(
    key: RandomKey | Ahead,
    manifold: Manifold,
    x: Float[Array, "*batch n"],
    basis: Basis,
    h: Scalar,
    variance: Float[Array, "..."] | None,
    flow: str,
    subtraction: str,
) -> tuple[Float[Array, "*batch n"], Bool[Array, ""] | None]:
    """The noise to add to the velocity.

    Args:
        key: Random key, or its normals.
        manifold: The leaf's manifold.
        x: The leaf.
        basis: From `friction_basis`.
        h: Step size.
        variance: V to subtract, or None.
        flow: ``"O"`` or ``"N"``: what is injected without gradient noise.
        subtraction: The composition's.

    Returns:
        A tangent vector, and whether a variance was negative (taken as 0 then); None when nothing is
        subtracted.
    """
    fresh = 2 * basis.strength * h
    if flow == "O":
        fresh = fresh * _expm1_ratio(-2 * basis.rate * h)
    if basis.vectors is not None:
        white = standard_normal(key, x)
        noise, negative = _correlated(white, manifold, x, basis, fresh, h, variance, subtraction)
        return manifold.to_tangent(x, noise), negative
    negative = None
    if variance is not None:
        decay = jnp.exp(-basis.rate * h)
        fresh = fresh - _coefficient(subtraction, decay, decay) * h * h * variance
        negative = jnp.any(fresh < 0)
        fresh = jnp.maximum(fresh, 0)
    if _is_one_number(fresh, manifold):
        return jnp.sqrt(fresh) * random_tangent(key, manifold, x), negative
    white = standard_normal(key, x)
    return manifold.to_tangent(x, jnp.sqrt(fresh) * white), negative


def _correlated(
    white: Float[Array, "*batch n"],
    manifold: Manifold,
    x: Float[Array, "*batch n"],
    basis: Basis,
    fresh: Float[Array, "*batch n"],
    h: Scalar,
    variance: Float[Array, "..."] | None,
    subtraction: str,
) -> tuple[Float[Array, "*batch n"], Bool[Array, ""] | None]:
    """Noise whose covariance is a matrix, from its symmetric root.

    The symmetric root is a smooth function of the position; the eigenvectors' signs are not, and rounding
    flips them.
    """
    white = _rotate(jnp.swapaxes(basis.vectors, -1, -2), white)
    if variance is None:
        return _rotate(basis.vectors, jnp.sqrt(fresh) * white), None
    n = x.shape[-1]
    if not is_matrix(variance, x):
        variance = jnp.broadcast_to(variance, x.shape)[..., None] * jnp.eye(n, dtype=x.dtype)
    tangent_vectors = _projector(manifold, x) @ basis.vectors
    lost = jnp.swapaxes(tangent_vectors, -1, -2) @ variance @ tangent_vectors
    decay = jnp.exp(-basis.rate * h)
    coefficient = _coefficient(subtraction, decay[..., :, None], decay[..., None, :])
    covariance = fresh[..., None] * jnp.eye(n, dtype=x.dtype) - coefficient * h * h * lost
    eigenvalues, vectors = jnp.linalg.eigh(covariance)
    # The normal direction has the eigenvalue 0 up to rounding, which must not count as negative.
    rounding = 100 * n * jnp.finfo(x.dtype).eps * jnp.max(fresh)
    white = _rotate(jnp.swapaxes(vectors, -1, -2), white)
    noise = _rotate(vectors, jnp.sqrt(jnp.maximum(eigenvalues, 0)) * white)
    return _rotate(basis.vectors, noise), jnp.any(eigenvalues < -rounding)


def _is_one_number(a: Float[Array, "..."], manifold: Manifold) -> bool:
    """Whether it is the same along all coordinates of a point."""
    return all(axis == 1 for axis in a.shape[-manifold.event_ndim :])


def check_friction_fits(manifold: Manifold, friction: Float[Array, "..."]) -> None:
    """Raise ValueError where friction is a matrix and the manifold has no meaning for it."""
    if not friction.ndim:
        return
    if manifold.event_ndim > 1:
        why = "points are matrices"
    elif not isinstance(manifold, Embedded):
        why = "metric is not that of the coordinates"
    else:
        return
    raise ValueError(
        f"friction has shape {friction.shape}: on {manifold!r}, whose {why}, it must be a number"
    )


def _check_variance_fits(manifold: Manifold, x: Array, variance: Float[Array, "..."] | None) -> None:
    """Raise ValueError where a noise variance is more than the manifold has a meaning for."""
    if variance is None or _is_one_number(variance, manifold):
        return
    if manifold.event_ndim > 1 and is_matrix(variance, x):
        allowed = f"whose points are matrices, it must be a number or broadcast to the shape {x.shape}"
    elif not isinstance(manifold, Embedded):
        allowed = "whose metric is not that of the coordinates, it must be one number for each point"
    else:
        return
    raise ValueError(f"noise_variance has shape {variance.shape}: on {manifold!r}, {allowed}")


def _coefficient(subtraction: str, decay_i: Array, decay_j: Array) -> Array | float:
    """How much of ``h^2 V`` reaches the velocity; see the top of this file."""
    if subtraction == "block":
        return (1 + decay_i) * (1 + decay_j) / 4
    if subtraction == "split":
        return (1 + decay_i * decay_j) / 2
    return 1.0


def _expm1_ratio(y: Float[Array, "..."]) -> Float[Array, "..."]:
    """``(exp(y) - 1) / y``, 1 at 0: positive for either sign, so a thermostat may turn negative."""
    zero = y == 0
    safe = jnp.where(zero, 1.0, y)
    return jnp.where(zero, 1.0, jnp.expm1(safe) / safe)


def _projector(manifold: Manifold, x: Float[Array, "*batch n"]) -> Float[Array, "*batch n n"]:
    """The symmetric matrix of the projection on the tangent space."""
    n = x.shape[-1]
    identity = jnp.broadcast_to(jnp.eye(n, dtype=x.dtype), (*x.shape, n))
    return manifold.to_tangent(x[..., None, :], identity)


def _rotate(matrix: Float[Array, "*batch n n"], v: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    return (matrix @ v[..., None])[..., 0]
