"""Functions of small matrices by Taylor series and doubling.

They are polynomials of their argument, hence smooth, at 0 too, where eigenvalues have no derivative. They are
also the fastest on a CPU for batches of small matrices: about 5 times faster than `jax.scipy.linalg.expm`,
which solves linear systems, and more than 10 times faster than eigenvalues (measured at sizes 4 to 20).
"""

import math
from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_Value = TypeVar("_Value")

_INVERSE_FACTORIAL = [1 / math.factorial(k) for k in range(15)]


def expm(m: Float[Array, "*batch n n"]) -> Float[Array, "*batch n n"]:
    """The exponential, by the series to degree 12 and repeated squaring.

    The number of squarings follows the largest norm, so that the derivative is forward only.
    """
    # The series leaves out norm^13 / 13!.
    limit = 0.3 if m.dtype == jnp.float64 else 1.5
    norm = jnp.max(jnp.sum(jnp.abs(m), axis=-1), axis=-1)
    doublings = _doublings(norm, limit, 2.0)
    m = m * (2.0**-doublings)[..., None, None].astype(m.dtype)
    identity, square = jnp.eye(m.shape[-1], dtype=m.dtype), m @ m
    cube = square @ m

    def block(k: int) -> Float[Array, "*batch n n"]:
        c = _INVERSE_FACTORIAL[k : k + 3]
        return c[0] * identity + c[1] * m + c[2] * square

    value = block(9) + _INVERSE_FACTORIAL[12] * cube
    for k in (6, 3, 0):
        value = block(k) + cube @ value
    return _repeat(doublings, lambda e: e @ e, value)


def cos_and_sinc(
    square: Float[Array, "*batch n n"],
) -> tuple[Float[Array, "*batch n n"], Float[Array, "*batch n n"]]:
    """``cos(s)`` and ``sin(s) / s`` of the root s of a symmetric positive semi-definite matrix."""
    # The series leave out norm^7 / 14!.
    limit = 0.15 if square.dtype == jnp.float64 else 2.0
    norm = jnp.max(jnp.sum(jnp.abs(square), axis=-1), axis=-1)
    doublings = _doublings(norm, limit, 4.0)
    z = square * (4.0**-doublings)[..., None, None].astype(square.dtype)
    identity, z2 = jnp.eye(z.shape[-1], dtype=z.dtype), z @ z
    z3 = z2 @ z

    def series(first: int) -> Float[Array, "*batch n n"]:
        c = [(-1) ** k * _INVERSE_FACTORIAL[first + 2 * k] for k in range(6)]
        return c[0] * identity + c[1] * z + c[2] * z2 + z3 @ (c[3] * identity + c[4] * z + c[5] * z2)

    # 1 - cos is what doubles without loss of digits: 1 - cos 2a = 2 (1 - cos a)(1 + cos a).
    def double(pair: tuple[Array, Array]) -> tuple[Array, Array]:
        versine, sinc = pair
        return 2 * versine @ (2 * identity - versine), sinc @ (identity - versine)

    versine, sinc = _repeat(doublings, double, (z @ series(2), series(1)))
    return identity - versine, sinc


def _doublings(norm: Float[Array, "*batch"], limit: float, base: float) -> Float[Array, "*batch"]:
    """How often a norm is to be divided by ``base`` to be below the limit."""
    steps = jnp.ceil(jnp.log(jnp.maximum(norm / limit, 1)) / math.log(base))
    # Infinity would never be small enough: no doublings, and the result is not finite either.
    return jax.lax.stop_gradient(jnp.where(jnp.isfinite(steps), steps, 0))


def _repeat(times: Float[Array, "*batch"], step: Callable[[_Value], _Value], value: _Value) -> _Value:
    """``step`` applied ``times`` times, a number for each matrix of the batch."""

    def body(carry: tuple[Array, _Value]) -> tuple[Array, _Value]:
        i, value = carry
        more = (i < times)[..., None, None]
        return i + 1, jax.tree.map(lambda new, old: jnp.where(more, new, old), step(value), value)

    return jax.lax.while_loop(lambda carry: carry[0] < jnp.max(times), body, (jnp.asarray(0), value))[1]
