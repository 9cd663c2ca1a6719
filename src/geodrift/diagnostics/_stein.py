r"""Kernel Stein discrepancy: the distance of draws from a target of which only the gradient is known.

With :math:`k(x, y) = q^b`, :math:`q = c^2 + |x - y|^2`, and s the gradient of log p.

On R^n (Gorham & Mackey 2017, section 3.1) with d = x - y and r = |d|,

.. math:: k_p = s_x \cdot s_y q^b + 2 b q^{b-1} (s_y - s_x) \cdot d - 2 b n q^{b-1} - 4 b (b-1) r^2 q^{b-2}

On the sphere, whose points have no common coordinates, the operator is that of Langevin diffusion,
:math:`A f = \Delta f + s \cdot \nabla f` (Barp et al. 2022; Xu & Matsuda 2020), and :math:`k_p = A_x A_y k`.
Here q is a function of t = x . y; with :math:`k = \phi(t)`, :math:`L = (1-t^2) \phi'' - (n-1) t \phi'`,
:math:`a = s_x \cdot y`, :math:`b = s_y \cdot x` and :math:`c = s_x \cdot s_y`,

.. math:: k_p = (1-t^2) L'' - (n-1) t L' + (a + b) L' + a b \phi'' + c \phi'
"""

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geodrift.manifolds import Euclidean, Manifold, Sphere

_BLOCK_FLOATS = 2**22


def kernel_stein_discrepancy(
    manifold: Sphere | Euclidean,
    positions: Float[Array, "draw n"],
    gradients: Float[Array, "draw n"],
    *,
    scale: float = 1.0,
    power: float = -0.5,
    statistic: Literal["U", "V"] = "U",
) -> Float[Array, ""]:
    r"""Squared kernel Stein discrepancy of draws from the target, with the kernel :math:`(c^2 + |x-y|^2)^b`.

    The expectation of the U-statistic is 0 for independent draws from the target and positive for draws from
    any other law. On R^n a discrepancy that tends to 0 means convergence to the target for b in (-1, 0)
    (Gorham & Mackey 2017, theorem 8). The time is of order ``draw^2 n``, the memory bounded.

    Args:
        manifold: `Euclidean` or `Sphere`.
        positions: Draws, one point each.
        gradients: Gradient of the log density at each draw, in ambient coordinates: exact, as the statistic
            is quadratic in it.
        scale: c, in the position's unit. Take about the standard deviation of the target: a much wider
            kernel detects a wrong mean only, and with a much narrower one the statistic is mostly noise.
        power: b, in (-1, 0).
        statistic: ``"U"``: the mean over pairs of different draws, unbiased and possibly negative; ``"V"``:
            over all pairs, never negative.

    Returns:
        The squared discrepancy.

    Raises:
        ValueError: An argument is outside its range.
    """
    x, s = jnp.asarray(positions), jnp.asarray(gradients)
    _check(manifold, x, s, scale, power, statistic)
    kernel = _sphere_kernel if isinstance(manifold, Sphere) else _flat_kernel
    if isinstance(manifold, Sphere):
        s = manifold.to_tangent(x, s)
    return _mean_over_pairs(kernel, x, s, jnp.asarray(scale, x.dtype), jnp.asarray(power, x.dtype), statistic)


def _mean_over_pairs(
    kernel: Callable[..., Float[Array, " draw"]],
    x: Float[Array, "draw n"],
    s: Float[Array, "draw n"],
    c: Float[Array, ""],
    b: Float[Array, ""],
    statistic: Literal["U", "V"],
) -> Float[Array, ""]:
    number = x.shape[0]
    rows = max(1, min(number, _BLOCK_FLOATS // number))

    def row(args: tuple) -> Array:
        i, xi, si = args
        values = kernel(xi, si, x, s, c, b)
        # The diagonal is excluded before the sum: it is far larger, so subtracting it later loses digits.
        kept = jnp.where((jnp.arange(number) == i) & (statistic == "U"), 0, values)
        return jnp.sum(kept)

    sums = jax.lax.map(row, (jnp.arange(number), x, s), batch_size=rows)
    pairs = number * (number - 1) if statistic == "U" else number * number
    return jnp.sum(sums) / pairs


def _flat_kernel(
    x: Float[Array, " n"],
    s: Float[Array, " n"],
    y: Float[Array, "draw n"],
    r: Float[Array, "draw n"],
    c: Float[Array, ""],
    b: Float[Array, ""],
) -> Float[Array, " draw"]:
    """The Stein kernel of one point x with many points y on R^n; s and r are their gradients."""
    n = x.shape[0]
    apart = x - y
    square = jnp.sum(apart * apart, axis=-1)
    q = c * c + square
    k, first, second = q**b, 2 * b * q ** (b - 1), 4 * b * (b - 1) * q ** (b - 2)
    return k * (r @ s) + first * jnp.sum((r - s) * apart, axis=-1) - n * first - square * second


def _sphere_kernel(
    x: Float[Array, " n"],
    s: Float[Array, " n"],
    y: Float[Array, "draw n"],
    r: Float[Array, "draw n"],
    c: Float[Array, ""],
    b: Float[Array, ""],
) -> Float[Array, " draw"]:
    """The Stein kernel of one point x with many points y on the sphere; s and r are tangent gradients."""
    m = x.shape[0] - 1
    t = y @ x
    q = c * c + 2 - 2 * t
    # The derivatives of phi(t) = q^b.
    d1 = -2 * b * q ** (b - 1)
    d2 = 4 * b * (b - 1) * q ** (b - 2)
    d3 = -8 * b * (b - 1) * (b - 2) * q ** (b - 3)
    d4 = 16 * b * (b - 1) * (b - 2) * (b - 3) * q ** (b - 4)
    across = 1 - t * t
    # L = (1 - t^2) phi'' - m t phi', the Laplacian of the kernel, and its derivatives.
    l1 = across * d3 - (m + 2) * t * d2 - m * d1
    l2 = across * d4 - (m + 4) * t * d3 - 2 * (m + 1) * d2
    at_y, at_x = y @ s, r @ x
    return across * l2 - m * t * l1 + (at_y + at_x) * l1 + at_y * at_x * d2 + (r @ s) * d1


def _check(manifold: Manifold, x: Array, s: Array, scale: float, power: float, statistic: str) -> None:
    if not isinstance(manifold, Sphere | Euclidean):
        raise ValueError(f"manifold = {manifold!r}: must be a Sphere or a Euclidean")
    if x.ndim != 2 or x.shape != s.shape:
        raise ValueError(
            f"positions and gradients have shapes {x.shape} and {s.shape}: both must be [draw, n]; reshape"
            " the chains' draws to one axis"
        )
    if x.shape[0] < 2:
        raise ValueError(f"positions hold {x.shape[0]} draw: give 2 or more")
    if isinstance(manifold, Sphere) and x.shape[1] != manifold.n:
        raise ValueError(f"positions have {x.shape[1]} coordinates: {manifold!r} has {manifold.n}")
    if not scale > 0:
        raise ValueError(f"scale = {scale}: must be positive, about the spread of the target")
    if not -1 < power < 0:
        raise ValueError(f"power = {power}: must be between -1 and 0")
    if statistic not in ("U", "V"):
        raise ValueError(f"statistic = {statistic!r}: must be 'U' or 'V'")
