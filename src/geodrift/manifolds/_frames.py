"""Base class of the Stiefel, orthogonal and Grassmann manifolds."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import RandomKey, Scalar
from geodrift.manifolds._embedded import Embedded


class Frames(Embedded):
    """A manifold whose points are matrices with orthonormal columns."""

    event_ndim = 2

    def project(self, x: Float[Array, "*batch n p"]) -> Float[Array, "*batch n p"]:
        """Gram-Schmidt on the columns."""
        self.check_shape(x)
        q, r = jnp.linalg.qr(x)
        diagonal = jnp.diagonal(r, axis1=-2, axis2=-1)
        return q * jnp.where(diagonal < 0, -1, 1).astype(x.dtype)[..., None, :]

    def to_tangent(
        self, x: Float[Array, "*batch n p"], u: Float[Array, "*batch n p"]
    ) -> Float[Array, "*batch n p"]:
        """``u - x (x'u + u'x) / 2``."""
        product = transpose(x) @ u
        return u - x @ ((product + transpose(product)) / 2)

    def random_point(self, key: RandomKey, shape: tuple[int, ...] = ()) -> Float[Array, "*batch n p"]:
        """A draw of the uniform (Haar) law."""
        return self.project(jax.random.normal(key, (*shape, *self.point_shape)))

    def residual(self, x: Float[Array, "*batch n p"]) -> Scalar:
        """Largest deviation of an entry of ``x'x`` from the identity's."""
        return jnp.max(jnp.abs(transpose(x) @ x - jnp.eye(x.shape[-1], dtype=x.dtype)))


def newton_schulz_step(x: Float[Array, "*batch n p"]) -> Float[Array, "*batch n p"]:
    """One Newton-Schulz step to the nearest matrix with orthonormal columns; it squares the (small) error."""
    return x @ (1.5 * jnp.eye(x.shape[-1], dtype=x.dtype) - 0.5 * (transpose(x) @ x))


def transpose(x: Float[Array, "*batch n p"]) -> Float[Array, "*batch p n"]:
    """The transpose of each matrix."""
    return jnp.swapaxes(x, -1, -2)
