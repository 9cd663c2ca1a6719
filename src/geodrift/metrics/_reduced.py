r"""The reduced charts of the simplex: K - 1 coordinates; Patterson & Teh (2013), Table 1, corrected.

Both metrics are the Fisher information of n draws from the categorical law, hence the factor 1/n in their
inverses. Every printed :math:`1/\pi_j^2` of the reduced-natural curvature rows comes of a derivative with
respect to :math:`\pi` in the place of :math:`\theta`; :math:`\Gamma` below is that of
:math:`\theta`.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from geodrift._tree import as_float_arrays
from geodrift._types import Scalar
from geodrift.metrics._dense import symmetric_sqrt
from geodrift.metrics._simplex import SimplexMetric
from geodrift.schedules import check_positive


class ReducedMean(SimplexMetric):
    r""":math:`\theta_k = \pi_k` for k < K, with :math:`G^{-1} = (diag(\theta) - \theta \theta')/n`.

    With the metric, Langevin dynamics is the Wright-Fisher diffusion: its drift is linear, but an Euler step
    can leave the simplex, where the root is NaN. ``inverse_sqrt`` factors a matrix: cost of order K^3.

    Args:
        total: n, the number of draws whose Fisher information G is; positive.

    Raises:
        ValueError: ``total`` is not positive.
    """

    total: Float[Array, ""] = eqx.field(converter=as_float_arrays, default=1.0)

    def __check_init__(self) -> None:
        check_positive("total", self.total)

    def to_simplex(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch k"]:
        """The coordinates and 1 minus their sum."""
        return jnp.concatenate([x, 1 - jnp.sum(x, axis=-1, keepdims=True)], axis=-1)

    def from_simplex(self, pi: Float[Array, "*batch k"]) -> Float[Array, "*batch d"]:
        """All but the last entry."""
        return pi[..., :-1]

    def log_simplex(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch k"]:
        """The logarithm of `to_simplex`."""
        return jnp.log(self.to_simplex(x))

    def log_prior(self, x: Float[Array, "*batch d"], alpha: Float[ArrayLike, "..."]) -> Scalar:
        r""":math:`\sum_k (\alpha_k - 1) \log \pi_k`."""
        return jnp.sum((alpha - 1) * self.log_simplex(x))

    def apply(self, x: Float[Array, "*batch d"], u: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        r""":math:`n (u / \theta + \sum u / \pi_K)`."""
        last = 1 - jnp.sum(x, axis=-1, keepdims=True)
        return self._total(x) * (u / x + jnp.sum(u, axis=-1, keepdims=True) / last)

    def inverse(self, x: Float[Array, "*batch d"], u: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        r""":math:`\theta (u - \theta' u) / n`."""
        return x * (u - jnp.sum(x * u, axis=-1, keepdims=True)) / self._total(x)

    def inverse_sqrt(
        self, x: Float[Array, "*batch d"], u: Float[Array, "*batch d"]
    ) -> Float[Array, "*batch d"]:
        """By the eigenvectors."""
        matrix = _diagonal_matrix(x) - x[..., :, None] * x[..., None, :]
        return _times(symmetric_sqrt(matrix / self._total(x)), u)

    def log_determinant(self, x: Float[Array, "*batch d"]) -> Scalar:
        r""":math:`(K - 1) \log n - \sum_{k \le K} \log \pi_k`."""
        return x.size * jnp.log(self._total(x)) - jnp.sum(self.log_simplex(x))

    def divergence_inverse(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        r""":math:`(1 - K \theta) / n`."""
        return (1 - (x.shape[-1] + 1) * x) / self._total(x)

    def _total(self, x: Array) -> Scalar:
        return self.total.astype(x.dtype)


class ReducedNatural(SimplexMetric):
    r""":math:`\theta_k = \log(\pi_k / \pi_K)` for k < K, :math:`G^{-1} = (diag(1/\pi) + 11'/\pi_K)/n`.

    The drift of Langevin dynamics with this metric grows as :math:`1/\pi`: it is unusable where a posterior
    is sparse. ``inverse_sqrt`` factors a matrix: cost of order K^3.

    Args:
        total: n, the number of draws whose Fisher information G is; positive.

    Raises:
        ValueError: ``total`` is not positive.
    """

    total: Float[Array, ""] = eqx.field(converter=as_float_arrays, default=1.0)

    def __check_init__(self) -> None:
        check_positive("total", self.total)

    def to_simplex(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch k"]:
        """The softmax of the coordinates and a 0."""
        return jax.nn.softmax(_with_zero(x), axis=-1)

    def from_simplex(self, pi: Float[Array, "*batch k"]) -> Float[Array, "*batch d"]:
        """Log ratios to the last entry."""
        return jnp.log(pi[..., :-1]) - jnp.log(pi[..., -1:])

    def log_simplex(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch k"]:
        """The logarithm of the softmax."""
        return jax.nn.log_softmax(_with_zero(x), axis=-1)

    def log_prior(self, x: Float[Array, "*batch d"], alpha: Float[ArrayLike, "..."]) -> Scalar:
        r""":math:`\sum_k \alpha_k \log \pi_k`: the Jacobian adds one of each."""
        return jnp.sum(alpha * self.log_simplex(x))

    def apply(self, x: Float[Array, "*batch d"], u: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        r""":math:`n \pi (u - \pi' u)`, over the first K - 1 entries."""
        pi = self.to_simplex(x)[..., :-1]
        return self._total(x) * pi * (u - jnp.sum(pi * u, axis=-1, keepdims=True))

    def inverse(self, x: Float[Array, "*batch d"], u: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        r""":math:`(u / \pi + \sum u / \pi_K) / n`."""
        pi = self.to_simplex(x)
        return (u / pi[..., :-1] + jnp.sum(u, axis=-1, keepdims=True) / pi[..., -1:]) / self._total(x)

    def inverse_sqrt(
        self, x: Float[Array, "*batch d"], u: Float[Array, "*batch d"]
    ) -> Float[Array, "*batch d"]:
        """By the eigenvectors."""
        pi = self.to_simplex(x)
        matrix = _diagonal_matrix(1 / pi[..., :-1]) + 1 / pi[..., -1:, None]
        return _times(symmetric_sqrt(matrix / self._total(x)), u)

    def log_determinant(self, x: Float[Array, "*batch d"]) -> Scalar:
        r""":math:`(K - 1) \log n + \sum_{k \le K} \log \pi_k`."""
        return x.size * jnp.log(self._total(x)) + jnp.sum(self.log_simplex(x))

    def divergence_inverse(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        r""":math:`-(1/\pi_j - 1/\pi_K) / n`."""
        pi = self.to_simplex(x)
        return -(1 / pi[..., :-1] - 1 / pi[..., -1:]) / self._total(x)

    def _total(self, x: Array) -> Scalar:
        return self.total.astype(x.dtype)


def _with_zero(x: Float[Array, "*batch d"]) -> Float[Array, "*batch k"]:
    return jnp.concatenate([x, jnp.zeros_like(x[..., :1])], axis=-1)


def _diagonal_matrix(values: Float[Array, "*batch d"]) -> Float[Array, "*batch d d"]:
    return values[..., :, None] * jnp.eye(values.shape[-1], dtype=values.dtype)


def _times(matrix: Float[Array, "*batch d d"], u: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
    return (matrix @ u[..., None])[..., 0]
