"""Subspaces of R^n."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import Scalar
from geodrift._whole import as_whole, is_whole
from geodrift.manifolds._frames import Frames, newton_schulz_step, transpose
from geodrift.manifolds._matrix_functions import cos_and_sinc


class Grassmann(Frames):
    """Subspaces of dimension p of R^n, each by a matrix ``[n, p]`` whose orthonormal columns span it.

    All frames of a subspace stand for the same point: the log density must be the same for x and for ``x q``
    with any orthogonal q, as ``trace(x' A x)`` is. Velocities are horizontal, ``x'v = 0``, with the metric
    ``trace(u'v)``; the volume is the uniform (rotation invariant) measure of subspaces, and the dimension
    ``p (n - p)``. Statistics of draws should be functions of the projection matrix ``x x'``.

    Args:
        n: Rows: the dimension of the ambient space.
        p: Columns: the dimension of a subspace.

    Raises:
        ValueError: Not ``1 <= p < n``.

    Note:
        The geodesic has a loop of unknown length: differentiable forward (`jax.jvp`), not backward.
    """

    n: int = eqx.field(static=True, converter=as_whole)
    p: int = eqx.field(static=True, converter=as_whole)

    def __check_init__(self) -> None:
        if not is_whole(self.n, 2) or not is_whole(self.p, 1) or self.p >= self.n:
            raise ValueError(f"n = {self.n!r}, p = {self.p!r}: subspaces need a whole p from 1 to n - 1")

    @property
    def point_shape(self) -> tuple[int, ...]:
        """``(n, p)``."""
        return (self.n, self.p)

    @property
    def point_dim(self) -> int:
        """``p (n - p)``."""
        return self.p * (self.n - self.p)

    def to_tangent(
        self, x: Float[Array, "*batch n p"], u: Float[Array, "*batch n p"]
    ) -> Float[Array, "*batch n p"]:
        """The horizontal part ``(I - x x') u``."""
        return u - x @ (transpose(x) @ u)

    def geodesic(
        self, x: Float[Array, "*batch n p"], v: Float[Array, "*batch n p"], t: float | Scalar
    ) -> tuple[Float[Array, "*batch n p"], Float[Array, "*batch n p"]]:
        r"""``x cos(t s) + v sin(t s) / s`` with s the root of ``v'v``.

        Edelman, Arias and Smith (1998), eq. 2.65, with cosine and sine as functions of ``v'v``, which are
        smooth, in the place of its singular value decomposition.
        """
        self.check_shape(x)
        t = jnp.asarray(t, x.dtype)
        square = transpose(v) @ v
        cosine, sinc = cos_and_sinc(t * t * square)
        arrived = newton_schulz_step(x @ cosine + v @ (t * sinc))
        return arrived, self.to_tangent(arrived, v @ cosine - x @ (t * square @ sinc))
