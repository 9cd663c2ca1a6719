"""Orthonormal p-frames of R^n."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift._types import Scalar
from geodrift._whole import as_whole, is_whole
from geodrift.manifolds._frames import Frames, newton_schulz_step, transpose
from geodrift.manifolds._matrix_functions import expm


class Stiefel(Frames):
    r"""Matrices ``[n, p]`` with orthonormal columns, with the metric of :math:`R^{n \times p}`.

    This is the Euclidean metric :math:`tr(u' v)` of Edelman, Arias and Smith (1998), section 2.2, as in Byrne
    and Girolami (2013), and not the canonical one: their geodesics differ, but both have the Haar measure as
    volume, so densities mean the same under either. The dimension is ``n p - p (p + 1) / 2``. Where ``p = n``
    the space has two components, as `Orthogonal` says.

    Args:
        n: Rows: the dimension of the ambient space.
        p: Columns: the number of vectors in a frame.

    Raises:
        ValueError: Not ``1 <= p <= n``, or ``n`` is less than 2.

    Note:
        The geodesic has a loop of unknown length: differentiable forward (`jax.jvp`), not backward.
    """

    n: int = eqx.field(static=True, converter=as_whole)
    p: int = eqx.field(static=True, converter=as_whole)

    def __check_init__(self) -> None:
        if not is_whole(self.n, 2) or not is_whole(self.p, 1) or self.p > self.n:
            raise ValueError(
                f"n = {self.n!r}, p = {self.p!r}: frames need whole n and p, n of 2 or more and p from 1 to n"
            )

    @property
    def point_shape(self) -> tuple[int, ...]:
        """``(n, p)``."""
        return (self.n, self.p)

    @property
    def point_dim(self) -> int:
        """``n p - p (p + 1) / 2``."""
        return self.n * self.p - self.p * (self.p + 1) // 2

    def geodesic(
        self, x: Float[Array, "*batch n p"], v: Float[Array, "*batch n p"], t: float | Scalar
    ) -> tuple[Float[Array, "*batch n p"], Float[Array, "*batch n p"]]:
        r"""From the exponentials of a 2p x 2p and a p x p matrix.

        With :math:`A = x'v`, :math:`U = v - xA` and :math:`W = U x' - x U' + 2 x A x'` the geodesic is
        :math:`e^{tW} x e^{-tA}`: the same as in Edelman, Arias and Smith (1998), eq. 2.7, but W acts within
        the span of x and U, where it is a 2p x 2p matrix.
        """
        self.check_shape(x)
        t = jnp.asarray(t, x.dtype)
        a = transpose(x) @ v
        a = (a - transpose(a)) / 2
        across = v - x @ a
        # The basis is x and U / s: any s is right; this one balances W. It needs no derivative, being free.
        norm = jax.lax.stop_gradient(jnp.sqrt(jnp.sum(across * across, axis=(-2, -1), keepdims=True)))
        s = jnp.where(norm > 0, norm, 1)
        across = across / s
        diagonal = s * jnp.eye(self.p, dtype=x.dtype)
        w = jnp.block([[2 * a, -s * (transpose(across) @ across)], [diagonal, jnp.zeros_like(a)]])
        basis = jnp.concatenate([x, across], axis=-1)
        turn, spin = basis @ expm(t * w), expm(-t * a)
        arrived = newton_schulz_step(turn[..., : self.p] @ spin)
        velocity = (turn[..., : self.p] @ a + turn[..., self.p :] * s) @ spin
        return arrived, self.to_tangent(arrived, velocity)
