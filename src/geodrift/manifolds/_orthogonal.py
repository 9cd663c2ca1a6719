"""The orthogonal groups."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import RandomKey, Scalar
from geodrift._whole import as_whole, is_whole
from geodrift.manifolds._frames import Frames, newton_schulz_step, transpose
from geodrift.manifolds._matrix_functions import expm


class Orthogonal(Frames):
    r"""Orthogonal matrices ``[n, n]`` with the metric of :math:`R^{n \times n}`; dimension n (n - 1) / 2.

    The volume is the Haar measure. The metric is twice the usual angle squared: on SO(3) a turn by an angle t
    is at the distance :math:`\sqrt 2 t`.

    The group has two components, of determinant 1 and -1, and no continuous path leads from one to the other:
    a chain has the law of the target *within the component where it starts*. `random_point` takes either
    with probability 1/2. How the target's mass is divided between the components, no chain tells.

    Args:
        n: Rows and columns.

    Raises:
        ValueError: ``n`` is less than 2.

    Note:
        The geodesic has a loop of unknown length: differentiable forward (`jax.jvp`), not backward.
    """

    n: int = eqx.field(static=True, converter=as_whole)

    def __check_init__(self) -> None:
        if not is_whole(self.n, 2):
            raise ValueError(f"n = {self.n!r}: an orthogonal group needs a whole n of 2 or more")

    @property
    def point_shape(self) -> tuple[int, ...]:
        """``(n, n)``."""
        return (self.n, self.n)

    @property
    def point_dim(self) -> int:
        """``n (n - 1) / 2``."""
        return self.n * (self.n - 1) // 2

    def geodesic(
        self, x: Float[Array, "*batch n n"], v: Float[Array, "*batch n n"], t: float | Scalar
    ) -> tuple[Float[Array, "*batch n n"], Float[Array, "*batch n n"]]:
        """``x exp(t x'v)``."""
        self.check_shape(x)
        a = transpose(x) @ v
        a = (a - transpose(a)) / 2
        arrived = newton_schulz_step(x @ expm(jnp.asarray(t, x.dtype) * a))
        return arrived, arrived @ a


class SpecialOrthogonal(Orthogonal):
    """Rotations: the component of `Orthogonal` of determinant 1, with the same metric and volume.

    Args:
        n: Rows and columns.

    Raises:
        ValueError: ``n`` is less than 2.
    """

    def project(self, x: Float[Array, "*batch n n"]) -> Float[Array, "*batch n n"]:
        """Gram-Schmidt on the columns; the last changes its sign where the determinant is negative."""
        q = super().project(x)
        return q.at[..., -1].multiply(jnp.sign(jnp.linalg.det(q))[..., None])

    def random_point(self, key: RandomKey, shape: tuple[int, ...] = ()) -> Float[Array, "*batch n n"]:
        """A draw of the uniform (Haar) law."""
        return super().random_point(key, shape)

    def residual(self, x: Float[Array, "*batch n n"]) -> Scalar:
        """Largest deviation of an entry of ``x'x`` from the identity's, or of the determinant from 1."""
        return jnp.maximum(super().residual(x), jnp.max(jnp.abs(jnp.linalg.det(x) - 1)))
