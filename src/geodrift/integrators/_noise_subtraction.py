r"""Subtraction of the gradient noise from the injected noise: Liu et al. (2016), eq. 8, made exact.

The gradient of a minibatch has noise n ~ N(0, V), which a step of size h adds to the velocity. Eq. 8 injects
so much less:

.. math:: v \leftarrow v + \Lambda [h \tilde g + N(0, 2 C h - V h^2)]

`inject` draws that normal, for one leaf of the position and for every composition. Along each direction there
are a damping rate r and a noise strength C (r = C unless a thermostat sets r). With e = exp(-r h) its
covariance is

.. math:: S_{ij} = s_i \delta_{ij} - c(e_i, e_j) h^2 (\Lambda V \Lambda)_{ij}

where s is the variance without gradient noise: ``2 C h`` for the flow N, as in eq. 8, and ``C (1 - e^2) / r``
for the flow O, which is exact. The coefficient c follows from where the kicks are:

* kicked, B/2 O B/2 at one position: v -> e v + h (1 + e)/2 n, hence (1 + e_i)(1 + e_j)/4, exactly;
* kicked, O and B with drifts between them (BAOAB): the same, for the sake of the positions. A change n of the
  velocity by the kick carries them h (1 + e) / (2 (1 - e)) n in all, one by O carries them h / (1 - e), and a
  force f moves them by h^2 (1 + e) / (2 (1 - e)) f a step; that diffusion and mobility are those of
  temperature 1 gives ``1 - e^2 = S + (1 + e)^2 h^2 V / 4``. (Velocities of mean variance 1 would ask for
  (1 + e^2)/2, and make the positions too cold by h^2 V (1 - e) / (4 (1 + e)).)
* injected (kick and noise side by side): 1, which is eq. 8 itself.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from geodrift._types import RandomKey, Scalar
from geodrift.integrators._friction import Basis, projector, rotate
from geodrift.integrators._normals import Ahead, random_tangent, standard_normal
from geodrift.integrators._variance_shapes import is_matrix, is_one_number
from geodrift.manifolds import Manifold


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
    """Noise to add to the velocity, of the covariance S at the top of this file.

    Args:
        key: Random key, or its normals.
        manifold: The leaf's manifold.
        x: The leaf.
        basis: From `friction_basis`.
        h: Step size, a time.
        variance: V, the covariance of the gradient noise; None subtracts nothing.
        flow: ``"O"`` or ``"N"``.
        subtraction: `Composition.subtraction`.

    Returns:
        A tangent vector, and whether S had a negative variance (0 is taken instead); None in its place when
        nothing is subtracted.
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
    if is_one_number(fresh, manifold):
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
    white = rotate(jnp.swapaxes(basis.vectors, -1, -2), white)
    if variance is None:
        return rotate(basis.vectors, jnp.sqrt(fresh) * white), None
    n = x.shape[-1]
    if not is_matrix(variance, x):
        variance = jnp.broadcast_to(variance, x.shape)[..., None] * jnp.eye(n, dtype=x.dtype)
    tangent_vectors = projector(manifold, x) @ basis.vectors
    lost = jnp.swapaxes(tangent_vectors, -1, -2) @ variance @ tangent_vectors
    decay = jnp.exp(-basis.rate * h)
    coefficient = _coefficient(subtraction, decay[..., :, None], decay[..., None, :])
    covariance = fresh[..., None] * jnp.eye(n, dtype=x.dtype) - coefficient * h * h * lost
    eigenvalues, vectors = jnp.linalg.eigh(covariance)
    # The normal direction has the eigenvalue 0 up to rounding, which must not count as negative.
    rounding = 100 * n * jnp.finfo(x.dtype).eps * jnp.max(fresh)
    white = rotate(jnp.swapaxes(vectors, -1, -2), white)
    noise = rotate(vectors, jnp.sqrt(jnp.maximum(eigenvalues, 0)) * white)
    return rotate(basis.vectors, noise), jnp.any(eigenvalues < -rounding)


def _coefficient(subtraction: str, decay_i: Array, decay_j: Array) -> Array | float:
    """c(e_i, e_j) at the top of this file: how much of ``h^2 V`` reaches the velocity."""
    return (1 + decay_i) * (1 + decay_j) / 4 if subtraction == "kicked" else 1.0


def _expm1_ratio(y: Float[Array, "..."]) -> Float[Array, "..."]:
    """``(exp(y) - 1) / y``, 1 at 0: positive for either sign, so a thermostat may turn negative."""
    zero = y == 0
    safe = jnp.where(zero, 1.0, y)
    return jnp.where(zero, 1.0, jnp.expm1(safe) / safe)
