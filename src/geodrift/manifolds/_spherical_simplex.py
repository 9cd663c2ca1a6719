"""Probability vectors, lifted to the sphere by their square roots."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import AnyArray, LogDensity, RandomKey, Scalar
from geodrift.manifolds._sphere import Sphere


class SphericalSimplex(Sphere):
    r"""Probability vectors of length n as :math:`\theta = x^2` with x on the unit sphere of R^n.

    Positions are the x: use `to_simplex` on the draws. The signs of x do not change
    :math:`\theta`, and there is no boundary. A density over :math:`\theta` becomes one over x by `lift`; a
    Dirichlet with all parameters 1/2 becomes the uniform law. Byrne & Girolami (2013), section 4.2.

    Args:
        n: Number of coordinates, the length of the last axis.

    Raises:
        ValueError: ``n`` is less than 2.
    """

    def to_simplex(self, x: Float[AnyArray, "*batch n"]) -> Float[AnyArray, "*batch n"]:
        """The probability vector ``x^2``."""
        return x * x

    def from_simplex(self, theta: Float[AnyArray, "*batch n"]) -> Float[Array, "*batch n"]:
        """The non-negative point ``sqrt(theta)``."""
        return self.project(jnp.sqrt(theta))

    def log_volume(self, x: Float[Array, "*batch n"]) -> Scalar:
        r"""The log of dtheta/dx up to a constant: the sum of log \|x_i\| over all axes.

        The constant is (n - 1) log 2.

        :math:`d\theta` is Lebesgue measure in n - 1 of the coordinates, dx the area of the sphere.
        """
        return jnp.sum(jnp.log(jnp.abs(x)))

    def lift(self, log_density: LogDensity) -> Callable[[Float[Array, "*batch n"]], Scalar]:
        """The log density of x with respect to the sphere's area.

        Args:
            log_density: Log density of theta with respect to Lebesgue measure on the simplex.
        """

        def lifted(x: Float[Array, "*batch n"]) -> Scalar:
            return log_density(self.to_simplex(x)) + self.log_volume(x)

        return lifted

    def random_point(self, key: RandomKey, shape: tuple[int, ...] = ()) -> Float[Array, "*batch n"]:
        """A uniform unit vector with non-negative entries."""
        return jnp.abs(super().random_point(key, shape))
