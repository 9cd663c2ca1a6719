r"""The expanded charts of the simplex: K coordinates and a free scale; Patterson & Teh (2013), Table 1.

The coordinates are K independent gammas (or their logarithms) under the prior, and :math:`\pi` is their share
of the sum. The likelihood does not see the scale. Two log densities in these coordinates give the same
posterior Dirichlet(alpha + counts):

* gammas on the prior: ``log_posterior(x, alpha, counts)``. The scale keeps the law Gamma(sum alpha). In
  one step of size h the n counts pull :math:`\pi` by the fraction n h / scale of its distance from the
  observed shares, and that fraction must stay below 1;
* gammas on the posterior: ``log_prior(x, alpha + counts)``, whose drift is linear in the expanded mean. From
  a minibatch: ``log_prior(x, alpha)`` and the likelihood :math:`\sum_k n_k \log \theta_k`, without the norm.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from geodrift._types import Scalar
from geodrift.metrics._diagonal import DiagonalMetric
from geodrift.metrics._simplex import SimplexMetric


class ExpandedMean(DiagonalMetric, SimplexMetric):
    r""":math:`\theta_k > 0`, :math:`\pi = \theta / \sum \theta`, :math:`G^{-1} = diag(\theta)`.

    The only one of the four charts in which Riemannian Langevin dynamics is stable at the boundary. A
    proposal is mirrored at 0, entry by entry.
    """

    def to_simplex(self, x: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
        """Division by the sum."""
        return x / jnp.sum(x, axis=-1, keepdims=True)

    def from_simplex(self, pi: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
        """The probability vector itself, of scale 1."""
        return pi

    def log_simplex(self, x: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
        """The logarithm of `to_simplex`."""
        return jnp.log(x) - jnp.log(jnp.sum(x, axis=-1, keepdims=True))

    def log_prior(self, x: Float[Array, "*batch k"], alpha: Float[ArrayLike, "..."]) -> Scalar:
        r"""Independent Gamma(alpha, 1): :math:`\sum_k (\alpha_k - 1) \log \theta_k - \theta_k`."""
        return jnp.sum((alpha - 1) * jnp.log(x) - x)

    def inverse_diagonal(self, x: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
        r""":math:`\theta`."""
        return x

    @property
    def is_mirrored(self) -> bool:
        """True."""
        return True

    def divergence_inverse(self, x: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
        """1."""
        return jnp.ones_like(x)

    def divergence_inverse_sqrt(self, x: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
        r""":math:`1 / (2 \sqrt{\theta})`."""
        return 0.5 * jax.lax.rsqrt(x)

    def reflect(
        self, x: Float[Array, "*batch k"]
    ) -> tuple[Float[Array, "*batch k"], Float[Array, "*batch k"]]:
        """The absolute value, and the sign.

        An exact 0, where neither the density nor its gradient is finite, becomes the smallest number whose
        inverse is well within range.
        """
        limits = jnp.finfo(x.dtype)
        return jnp.maximum(jnp.abs(x), limits.tiny / limits.eps), jnp.where(x < 0, -1, 1).astype(x.dtype)


class ExpandedNatural(DiagonalMetric, SimplexMetric):
    r""":math:`\theta_k = \log` of the expanded mean, :math:`G^{-1} = diag(e^{-\theta})`.

    The drift of Langevin dynamics with this metric grows as :math:`e^{-\theta}`: it is unusable where a
    posterior is sparse; without the metric it is fine.
    """

    def to_simplex(self, x: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
        """The softmax."""
        return jax.nn.softmax(x, axis=-1)

    def from_simplex(self, pi: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
        """The logarithm, of scale 1."""
        return jnp.log(pi)

    def log_simplex(self, x: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
        """The logarithm of the softmax."""
        return jax.nn.log_softmax(x, axis=-1)

    def log_prior(self, x: Float[Array, "*batch k"], alpha: Float[ArrayLike, "..."]) -> Scalar:
        r"""Logarithms of Gamma(alpha, 1): :math:`\sum_k \alpha_k \theta_k - e^{\theta_k}`."""
        return jnp.sum(alpha * x - jnp.exp(x))

    def inverse_diagonal(self, x: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
        r""":math:`e^{-\theta}`."""
        return jnp.exp(-x)

    def divergence_inverse(self, x: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
        r""":math:`-e^{-\theta}`."""
        return -jnp.exp(-x)

    def divergence_inverse_sqrt(self, x: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
        r""":math:`-e^{-\theta/2} / 2`."""
        return -0.5 * jnp.exp(-x / 2)
