"""The compiled kernel of exact Cox-Ingersoll-Ross moves, in log space.

Operations of one move, which is what its speed is made of:

    every move          open the stream (2 products), one log at the end
    2a > 1 and a Poisson mean above 0.1
                        exp, normal; Gamma(a - 1/2): normal, uniform, square root, division,
                        and where a < 3/2 exponential, division, exp
    otherwise           exp (not where theta is below 1e-19); Poisson: 1 + N exponentials below a mean of 1,
                        exp and a search below 10, else 2.3 uniforms, square root and two divisions;
                        Gamma(a + N): normal, uniform, square root, division,
                        and where N = 0 and a < 1 exponential, division

What it costs beyond its operations are branches that cannot be foreseen, and calls: the parts are inlined by
force, which halves the time.

Nothing is reassociated, and each entry has its own stream: the bits depend neither on the number of threads
nor on the shape of the arrays.
"""

import math

import numba
import numpy as np

from geodrift.kernels._gamma import gamma
from geodrift.kernels._normal_exponential import exponential, normal
from geodrift.kernels._poisson import poisson
from geodrift.kernels._random_streams import open_member
from geodrift.kernels._streams import HOST_PROCESSES
from geodrift.kernels._threads import start_threads

WORTH_THREADS = 4096  # moves below which waking the threads costs more than they save
_BLOCK = 1024
# Poisson means, and their logs.
_LOG_NOTHING = -44.4  # 2^-64: the draw is 0
_LOG_SMALL = math.log(0.1)  # the draw is mostly 0, and that is seen for less than a normal costs
_LARGE = 1e15  # the draw is its normal limit to rounding
_LOG_INFINITE = 700.0
_ROOT_2 = math.sqrt(2.0)


@numba.njit(cache=True, error_model="numpy", forceinline=True)
def _count(log_mean: float, stream: np.uint64) -> tuple[float, np.uint64]:
    """A Poisson draw from the log of its mean, and the stream after it."""
    if log_mean <= _LOG_NOTHING:
        return 0.0, stream
    mean = math.exp(log_mean)
    if mean < _LARGE:
        return poisson(mean, stream)
    z, stream = normal(stream)
    return mean + math.sqrt(mean) * z, stream


@numba.njit(cache=True, error_model="numpy", forceinline=True)
def log_move(log_mean: float, shape: float, stream: np.uint64) -> float:
    """Log of Gamma(a + N, 1), N ~ Poisson(exp(log_mean)); NaN where an argument is outside its range.

    Where 2a > 1 the same law is (Z + sqrt(2 mean))^2 / 2 + Gamma(a - 1/2): half a non-central chi-square.
    A Gamma draw of a shape s below 1 is one of s + 1 times U^(1/s).
    """
    if not (shape > 0.0 and shape < math.inf and log_mean < _LOG_INFINITE):
        return math.nan
    if shape > 0.5 and log_mean > _LOG_SMALL:
        z, stream = normal(stream)
        shifted = z + _ROOT_2 * math.exp(0.5 * log_mean)
        square, rest = 0.5 * shifted * shifted, shape - 0.5
        if rest >= 1.0:
            return math.log(square + gamma(rest, stream)[0])
        draw, stream = gamma(rest + 1.0, stream)
        return math.log(square + draw * math.exp(-exponential(stream)[0] / rest))
    count, stream = _count(log_mean, stream)
    total = shape + count
    if total >= 1.0:
        return math.log(gamma(total, stream)[0])
    draw, stream = gamma(total + 1.0, stream)
    return math.log(draw) - exponential(stream)[0] / total


@numba.njit(cache=True, error_model="numpy")
def _moves_of(
    first: int,
    last: int,
    log_theta: np.ndarray,
    shape: np.ndarray,
    log_growth: float,
    log_scale: float,
    family: np.uint64,
    out: np.ndarray,
) -> None:
    one_shape = shape.shape[0] == 1
    for i in range(first, last):
        a = shape[0] if one_shape else shape[i]
        out[i] = log_scale + log_move(log_theta[i] - log_growth, a, open_member(family, i))


@numba.njit(cache=True, error_model="numpy", parallel=True)
def _moves_on_threads(log_theta, shape, log_growth, log_scale, family, out) -> None:
    size = log_theta.shape[0]
    for block in numba.prange((size + _BLOCK - 1) // _BLOCK):
        first = block * _BLOCK
        _moves_of(first, min(first + _BLOCK, size), log_theta, shape, log_growth, log_scale, family, out)


def _on_threads(size: int) -> bool:
    """Whether a vector of this size is moved by several threads; starts them if so."""
    if size < WORTH_THREADS:
        return False
    start_threads()
    return numba.get_num_threads() > 1


def cir_moves(log_theta: np.ndarray, shape: np.ndarray, step_size: float, seed: int) -> np.ndarray:
    """One move of each entry of a vector; ``shape`` has the vector's length or length 1."""
    out = np.empty_like(log_theta)
    # Overflow of expm1 beyond h = 709: there theta' is a Gamma draw whatever theta was.
    log_growth = math.log(math.expm1(step_size)) if step_size < 700 else step_size
    log_scale = math.log(-math.expm1(-step_size))
    family, size = HOST_PROCESSES.family(seed, 0, 0).word, log_theta.shape[0]
    if not _on_threads(size):
        _moves_of(0, size, log_theta, shape, log_growth, log_scale, family, out)
    else:
        _moves_on_threads(log_theta, shape, log_growth, log_scale, family, out)
    return out


@numba.njit(cache=True, error_model="numpy")
def _normals_of(first: int, last: int, family: np.uint64, out: np.ndarray) -> None:
    for i in range(first, last):
        out[i] = normal(open_member(family, i))[0]


@numba.njit(cache=True, error_model="numpy", parallel=True)
def _normals_on_threads(family, out) -> None:
    size = out.shape[0]
    for block in numba.prange((size + _BLOCK - 1) // _BLOCK):
        first = block * _BLOCK
        _normals_of(first, min(first + _BLOCK, size), family, out)


def normals(size: int, seed: int) -> np.ndarray:
    """A vector of standard normals."""
    out, family = np.empty(size), HOST_PROCESSES.family(seed, 0, 0).word
    if not _on_threads(size):
        _normals_of(0, size, family, out)
    else:
        _normals_on_threads(family, out)
    return out
