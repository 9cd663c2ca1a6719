r"""Modified Bessel functions of the first kind, as the von Mises-Fisher law needs them.

Everything comes from the uniform (Debye) expansions in the order, DLMF 10.41.3 and 10.41.5, rearranged so
that nothing cancels for any argument from zero to infinity. Orders below ``_SMALLEST_ORDER`` are reached
from a larger one by the recurrence between contiguous orders, which is stable downwards. No regime is chosen
by the argument, so there is nothing to branch or iterate on: the same straight-line code runs in NumPy and
under ``jit`` and ``vmap``.

Each function takes the array namespace ``xp`` (``numpy`` or ``jax.numpy``) first and a float order ``nu >=
0`` second. With ``z = x / nu``, ``h = sqrt(nu^2 + x^2)`` and ``t = nu / h``.
"""

import functools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

# At order 32 the expansion below is good to 1e-18 (its first omitted term).
_SMALLEST_ORDER = 32


def _number_of_terms(nu: float) -> int:
    return 15 if nu < 100 else 10 if nu < 1000 else 7


@functools.cache
def _debye_coefficients(nu: float) -> tuple[tuple[tuple[float, ...], ...], tuple[tuple[float, ...], ...]]:
    r"""Coefficients of ``sum_k U_k(t) / nu^k`` and of ``W = (sum_k (V_k - U_k)(t) / nu^k) / (1 - t^2)``.

    ``U_k`` and ``V_k`` are those of DLMF 10.41.9 and 10.41.11. Row k holds the coefficients of ``t^k
    (t^2)^i``. By 10.41.11, ``(V_{k+1} - U_{k+1}) / (1 - t^2) = -t U_k / 2 - t^2 U_k'``: the factor ``1 -
    t^2``, which is what vanishes at small arguments, is taken out exactly.
    """
    u_rows = [[Fraction(1)]]
    w_rows = [[Fraction(0)]]
    for k in range(_number_of_terms(nu) - 1):
        following = [Fraction(0)] * (k + 2)
        for i, c in enumerate(u_rows[-1]):
            n = k + 2 * i
            following[i] += c * (Fraction(n, 2) + Fraction(1, 8 * (n + 1)))
            following[i + 1] -= c * (Fraction(n, 2) + Fraction(5, 8 * (n + 3)))
        w_rows.append([-c * (Fraction(1, 2) + k + 2 * i) for i, c in enumerate(u_rows[-1])])
        u_rows.append(following)
    order = Fraction(nu)

    def rounded(rows: list[list[Fraction]]) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(float(c / order**k) for c in row) for k, row in enumerate(rows))

    return rounded(u_rows), rounded(w_rows)


def _polynomial(rows, t):
    """``sum_k t^k sum_i rows[k][i] t^(2i)`` and ``t`` times its derivative."""
    square = t * t
    value = slope = 0.0 * t
    for k in reversed(range(len(rows))):
        inner = inner_slope = 0.0
        for i in reversed(range(len(rows[k]))):
            inner = inner * square + rows[k][i]
            inner_slope = inner_slope * square + (k + 2 * i) * rows[k][i]
        value = value * t + inner
        slope = slope * t + inner_slope
    return value, slope


def _value(rows, t):
    """The first of what `_polynomial` returns, in half the time."""
    square = t * t
    value = 0.0 * t
    for row in reversed(rows):
        inner = 0.0
        for coefficient in reversed(row):
            inner = inner * square + coefficient
        value = value * t + inner
    return value


def _top_order(nu: float) -> float:
    return nu + max(0, math.ceil(_SMALLEST_ORDER - nu))


def ratio_and_derivative(xp, nu: float, x):
    r"""``r = I_{nu+1}(x) / I_nu(x)`` and ``dr/dx``, to rounding.

    Since ``r = I_nu' / I_nu - nu / x``, the two Debye expansions give
    ``r = z / (1 + sqrt(1 + z^2)) + z t W / U``, in which no two large terms cancel, and the derivative in
    closed form.
    """
    top = _top_order(nu)
    u_rows, w_rows = _debye_coefficients(top)
    h = xp.sqrt(top * top + x * x)
    t = top / h
    sine = x / h  # sqrt(1 - t^2)
    u, tu = _polynomial(u_rows, t)
    w, tw = _polynomial(w_rows, t)
    f = w / u
    tf = (tw * u - w * tu) / (u * u)  # t dF/dt
    r = (x / top) * (t / (1 + t) + t * f)
    dr = (t * t / (1 + t) + t * t * t * f - t * sine * sine * tf) / top
    for j in range(round(top - nu)):
        # r_n = x / (2 (n + 1) + x r_{n+1}); its slope is written so that x r does not enter and cancel at
        # large x.
        twice = 2 * (top - j)
        denominator = twice + x * r
        dr = (twice / denominator - (x / denominator) * x * dr) / denominator
        r = x / denominator
    return r, dr


def _head(xp, x):
    """The upper half of the bits of ``x``: products of two heads are exact."""
    if xp is np:
        scaled = 134217729.0 * x  # Veltkamp's 2^27 + 1
        return scaled - (scaled - x)
    bits = 11 if x.dtype == jnp.float32 else 25
    # A cast down and up would be removed as excess precision by XLA, and Veltkamp's form may be contracted.
    return jax.lax.reduce_precision(x, exponent_bits=8 if bits == 11 else 11, mantissa_bits=bits)


def _two_product(xp, a, b):
    """``a b`` as a rounded value and its exact error (Dekker)."""
    product = a * b
    a_head, b_head = _head(xp, a), _head(xp, b)
    a_tail, b_tail = a - a_head, b - b_head
    return product, ((a_head * b_head - product) + a_head * b_tail + a_tail * b_head) + a_tail * b_tail


def _two_sum(a, b):
    """``a + b`` as a rounded value and its exact error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@functools.cache
def _split_constant(value: Fraction, dtype) -> tuple[float, float]:
    """A constant as a short head, exact when multiplied by a small whole number, and a tail."""
    scale = 2 ** (12 if dtype == np.float32 else 36)
    head = Fraction(math.floor(value * scale), scale)
    return float(head), float(value - head)


# 40 digits: the halves of a float64 split need more than math.log(2) holds.
_LOG_2 = Fraction("0.6931471805599453094172321214581765680755")
_LOG_2PI = Fraction("1.8378770664093454835606594728112352797228")


def _exponent_part(xp, nu: float, x):
    r"""``nu log((nu + h) / 2 pi) - h`` with compensated (double-length) arithmetic.

    At order 5e5 either term is near 6.5e6, so that rounding alone would leave an error of 1e-9 where they
    nearly cancel. Here only ``nu`` times the rounding of a logarithm below 0.35 is left.
    """
    nu = xp.asarray(nu, x.dtype)
    h = xp.sqrt(nu * nu + x * x)
    x_square, x_error = _two_product(xp, x, x)
    h_square, h_error = _two_product(xp, h, h)
    nu_square, nu_error = _two_product(xp, nu, nu)
    larger, smaller = xp.maximum(x_square, nu_square), xp.minimum(x_square, nu_square)
    h_tail = (((larger - h_square) + smaller) + (x_error + nu_error - h_error)) / (2 * h)
    total, total_tail = _two_sum(nu, h)
    mantissa, exponent = xp.frexp(total)
    small = mantissa < math.sqrt(0.5)
    mantissa = xp.where(small, 2 * mantissa, mantissa)
    exponent = xp.where(small, exponent - 1, exponent).astype(x.dtype)
    log_2_head, log_2_tail = _split_constant(_LOG_2, x.dtype)
    log_2pi_head, log_2pi_tail = _split_constant(_LOG_2PI, x.dtype)
    log_head = exponent * log_2_head - log_2pi_head
    log_tail = xp.log(mantissa) + (exponent * log_2_tail - log_2pi_tail + (total_tail + h_tail) / total)
    product, product_tail = _two_product(xp, nu, log_head)
    difference, difference_tail = _two_sum(product, -h)
    return difference + (nu * log_tail + (product_tail + difference_tail - h_tail))


def log_bessel_i_scaled(xp, nu: float, x):
    r"""``log I_nu(x) - nu log x + (nu + 1) log(2 pi)``: the log of the Bessel function, finite at ``x = 0``.

    Minus the log normaliser of the von Mises-Fisher law of dimension ``2 nu + 2``. The scaling is part of the
    computation, where ``x^nu`` and ``(2 pi)^nu`` cancel analytically: added afterwards, it would cost digits.
    """
    top = _top_order(nu)
    u_rows, w_rows = _debye_coefficients(top)
    h = xp.sqrt(top * top + x * x)
    u = _value(u_rows, top / h)
    log_c = _exponent_part(xp, top, x) + 0.5 * xp.log(h) - 0.5 * float(_LOG_2PI) - xp.log(u)
    if top > nu:
        w = _value(w_rows, top / h)
        t = top / h
        r = (x / top) * (t / (1 + t) + t * w / u)
        for j in range(round(top - nu)):
            # I_n(x) / x^n = (2 (n + 1) + x r_{n+1}) I_{n+1}(x) / x^{n+1}
            denominator = 2 * (top - j) + x * r
            log_c = log_c - (xp.log(denominator) - float(_LOG_2PI))
            r = x / denominator
    return -log_c
