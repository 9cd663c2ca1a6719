r"""The von Mises-Fisher law on the unit sphere of R^d: ``c_d(kappa) exp(kappa mu'x)``."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Key

from geodrift._errors import is_concrete
from geodrift.distributions import _bessel, _host


def _as_float(value: ArrayLike) -> Array:
    array = jnp.asarray(value)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(jnp.result_type(float))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _log_normaliser(nu, concentration):
    return -_bessel.log_bessel_i_scaled(jnp, nu, concentration)


@_log_normaliser.defjvp
def _log_normaliser_jvp(nu, primals, tangents):
    return _log_normaliser(nu, *primals), -_mean_resultant_length(nu, *primals) * tangents[0]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _mean_resultant_length(nu, concentration):
    return _bessel.ratio_and_derivative(jnp, nu, concentration)[0]


@_mean_resultant_length.defjvp
def _mean_resultant_length_jvp(nu, primals, tangents):
    value, slope = _bessel.ratio_and_derivative(jnp, nu, *primals)
    return value, slope * tangents[0]


def log_normaliser(dim: int, concentration: Float[ArrayLike, "*batch"]) -> Float[Array, "*batch"]:
    r"""Log of the constant of the von Mises-Fisher density with respect to the area of the unit sphere.

    .. math:: \log c_d(\kappa) = (d/2-1)\log\kappa - (d/2)\log 2\pi - \log I_{d/2-1}(\kappa)

    Right to 1e-11 max(1, |log c|) in float64 for d from 2 to 1e6 and kappa from 0 to 1e8. In float32 the
    arithmetic is compensated in the same way, but the result itself has 24 bits: expect an error up to
    2e-6 |log c| + 5e-6 + 2e-8 d. The derivative is ``-mean_resultant_length``; higher derivatives exist.

    Args:
        dim: Ambient dimension d, a static whole number of at least 2.
        concentration: kappa >= 0; any shape.

    Returns:
        ``log c_d(kappa)``, the shape of ``concentration``.

    Raises:
        ValueError: ``dim`` is below 2.

    Example:
        >>> round(float(log_normaliser(3, 0.0)), 5)  # minus the log of the sphere's area
        -2.53102
    """
    return _log_normaliser(_host.checked_dimension(dim) / 2 - 1, _as_float(concentration))


def mean_resultant_length(dim: int, concentration: Float[ArrayLike, "*batch"]) -> Float[Array, "*batch"]:
    r"""Length of the mean vector of the law, ``A_d(kappa) = I_{d/2}(kappa) / I_{d/2-1}(kappa)``.

    Right to a relative 1e-14 in float64, and 1e-6 in float32, for d from 2 to 1e6 and kappa from 0 to 1e8.
    The derivative is ``1 - A^2 - (d - 1) A / kappa``, evaluated without its cancellation (relative 1e-11 in
    float64).

    Args:
        dim: Ambient dimension d, a static whole number of at least 2.
        concentration: kappa >= 0; any shape.

    Returns:
        ``A_d(kappa)`` in [0, 1), the shape of ``concentration``.

    Raises:
        ValueError: ``dim`` is below 2.
    """
    return _mean_resultant_length(_host.checked_dimension(dim) / 2 - 1, _as_float(concentration))


def _log1p_minus(y):
    """``log(1 + y) - y`` without cancellation at small y."""
    series = 0.0
    for n in range(9, 1, -1):
        series = -1 / n * (-1) ** n + y * series
    series = y * y * series
    return jnp.where(jnp.abs(y) < 0.01, series, jnp.log1p(y) - y)


def _sample_height(key, dim, concentration):
    r"""``1 - w`` and ``sqrt(1 - w^2)`` for ``w = mu'x``, by the rejection method of Wood (1994).

    Wood's w = (1 - (1 + b) z) / (1 - (1 - b) z) with z = g / (g + g') ~ Beta is formed from the gamma
    variables g, g', which gives 1 - w and 1 - w^2 as products of positive numbers: at kappa = 1e8 in float32
    w itself rounds to 1. In the same way his acceptance ratio is ``(d - 1) (log(1 + y) - y)``, y = kappa (u
    - u0) / (d - 1), u = 1 - w.
    """
    degrees = dim - 1.0
    b = degrees / (2 * concentration + jnp.hypot(2 * concentration, degrees))
    u0 = 2 * b / (1 + b)

    def propose(carry):
        key, step, u, tangent, accepted = carry
        key_first, key_second, key_accept = jax.random.split(jax.random.fold_in(key, step), 3)
        shape, dtype = concentration.shape, concentration.dtype
        first = jax.random.gamma(key_first, degrees / 2, shape, dtype)
        second = jax.random.gamma(key_second, degrees / 2, shape, dtype)
        denominator = second + b * first
        proposed = 2 * b * first / denominator
        log_ratio = degrees * _log1p_minus(concentration * (proposed - u0) / degrees)
        log_uniform = -jax.random.exponential(key_accept, shape, dtype)
        # "not greater" accepts NaN: a concentration that is not finite ends the loop and shows in the draw.
        new = ~accepted & ~(log_uniform > log_ratio)
        u = jnp.where(new, proposed, u)
        tangent = jnp.where(new, 2 * jnp.sqrt(b * first * second) / denominator, tangent)
        return key, step + 1, u, tangent, accepted | new

    zeros = jnp.zeros_like(concentration)
    start = (key, 0, zeros, zeros, jnp.zeros(concentration.shape, bool))
    _, _, u, tangent, _ = jax.lax.while_loop(lambda carry: ~jnp.all(carry[4]), propose, start)
    return u, tangent


def _check_unit(mean: Array) -> None:
    if is_concrete(mean) and not np.all(np.abs(np.linalg.norm(np.asarray(mean), axis=-1) - 1) < 1e-3):
        raise ValueError("mean must be of unit norm; divide it by its norm")


def sample(
    key: Key[Array, ""],
    mean: Float[ArrayLike, "*batch d"],
    concentration: Float[ArrayLike, "*batch"],
    shape: tuple[int, ...] = (),
) -> Float[Array, "*shape_batch d"]:
    r"""Exact independent draws (Ulrich 1984; Wood 1994), for any d >= 2 and kappa from 0 to 1e8 and beyond.

    The height along the mean is drawn by rejection (at least 66% of the proposals are taken), the direction
    across it is uniform, and a reflection carries the first axis to the mean.

    Args:
        key: Random key.
        mean: Unit vectors [*batch, d].
        concentration: kappa >= 0, broadcast with the batch axes of ``mean``.
        shape: Leading axes of independent draws.

    Returns:
        Unit vectors [*shape, *batch, d].

    Raises:
        ValueError: the last axis of ``mean`` is shorter than 2, or it is not of unit norm (to 1e-3; where it
            is concrete).
    """
    mean = _as_float(mean)
    if mean.ndim < 1:
        raise ValueError("mean must have at least one axis, got a scalar")
    dim = _host.checked_dimension(mean.shape[-1])
    _check_unit(mean)
    # The reflection below is one of unit vectors alone; a mean of three digits is off by up to 1e-3.
    mean = jnp.divide(mean, jnp.linalg.norm(mean, axis=-1, keepdims=True))
    batch = jnp.broadcast_shapes(mean.shape[:-1], jnp.shape(concentration))
    concentration = jnp.broadcast_to(jnp.asarray(concentration, mean.dtype), (*shape, *batch))
    key_height, key_across = jax.random.split(key)
    u, tangent = _sample_height(key_height, dim, concentration)
    across = jax.random.normal(key_across, (*concentration.shape, dim - 1), mean.dtype)
    norm = jnp.linalg.norm(across, axis=-1, keepdims=True)
    # An all-zero normal draw has probability near 2^-24 in float32 at d = 2; any direction serves then.
    across = jnp.where(norm > 0, across / jnp.where(norm > 0, norm, 1), jnp.eye(dim - 1, dtype=mean.dtype)[0])
    x = jnp.concatenate([1 - u[..., None], tangent[..., None] * across], axis=-1)
    # Householder: with v = mu + s e1, s = sign(mu_1), the reflection maps e1 to -s mu, and |v|^2 = 2 (1 +
    # |mu_1|).
    sign = jnp.where(mean[..., :1] < 0, -1, 1).astype(mean.dtype)
    normal = mean.at[..., :1].add(sign)
    along = jnp.sum(normal * x, axis=-1, keepdims=True) / (1 + jnp.abs(mean[..., :1]))
    return -sign * (x - along * normal)


class VonMisesFisher(eqx.Module):
    r"""The von Mises-Fisher law, with density ``c_d(kappa) exp(kappa mu'x)`` on the unit sphere of R^d.

    Args:
        mean: Mean direction mu, of unit norm.
        concentration: kappa >= 0; zero is the uniform law.

    Shapes:
        mean ``[*batch, d]``; concentration broadcasts with ``[*batch]``.

    Raises:
        ValueError: d below 2, a mean that is not of unit norm (to 1e-3), a negative concentration or one
            that is not finite (values are checked only when concrete).

    Example:
        >>> law = VonMisesFisher(jnp.array([0.0, 0.0, 1.0]), 10.0)
        >>> law.sample(jax.random.key(0), (4,)).shape
        (4, 3)
    """

    mean: Float[Array, "*batch d"] = eqx.field(converter=_as_float)
    concentration: Float[Array, "*batch"] = eqx.field(converter=_as_float)

    def __check_init__(self):
        if self.mean.ndim < 1 or self.mean.shape[-1] < 2:
            raise ValueError(f"mean must have shape [..., d] with d >= 2, got {self.mean.shape}")
        jnp.broadcast_shapes(self.mean.shape[:-1], self.concentration.shape)
        if not (is_concrete(self.mean) and is_concrete(self.concentration)):
            return
        _check_unit(self.mean)
        if not np.all((np.asarray(self.concentration) >= 0) & np.isfinite(self.concentration)):
            raise ValueError(f"concentration must be finite and not negative, got {self.concentration}")

    @property
    def dim(self) -> int:
        """The ambient dimension d."""
        return self.mean.shape[-1]

    def log_prob(self, x: Float[ArrayLike, "*batch d"]) -> Float[Array, "*batch"]:
        """Log density at unit vectors ``x`` [*batch, d], with respect to the sphere's area."""
        # kappa (mu'x - 1) through the chord: in float32, mu'x near 1 has no digits left for a large kappa.
        chord = 0.5 * jnp.sum(jnp.square(jnp.asarray(x) - self.mean), axis=-1)
        return log_normaliser(self.dim, self.concentration) + self.concentration - self.concentration * chord

    def sample(self, key: Key[Array, ""], shape: tuple[int, ...] = ()) -> Float[Array, "*shape_batch d"]:
        """Independent draws [*shape, *batch, d]; see `geodrift.distributions.sample`."""
        return sample(key, self.mean, self.concentration, shape)

    @classmethod
    def fit(
        cls, x: Float[ArrayLike, "n d"], weights: Float[ArrayLike, " n"] | None = None
    ) -> "VonMisesFisher":
        """The maximum-likelihood law; `geodrift.distributions.fit` does it, in float64."""
        estimate = _host.fit(x, weights)
        return cls(jnp.asarray(estimate.mean), jnp.asarray(estimate.concentration))
