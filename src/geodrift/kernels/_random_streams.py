"""Counter-based random numbers for compiled kernels.

A stream is one 64-bit word, made from (seed, chain, step, item); it advances by a fixed odd constant and
is scrambled on the way out (SplitMix64: Steele, Lea and Flood 2014). Draws therefore depend on what is drawn
for, never on which thread draws it or in what order.
"""

import math

import numba
import numpy as np

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 1.0 / 9007199254740992.0  # 2^-53


@numba.njit(cache=True, inline="always")
def scramble(word: np.uint64) -> np.uint64:
    """SplitMix64's bijection of the 64-bit words."""
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    return word ^ (word >> np.uint64(31))


@numba.njit(cache=True)
def open_family(seed: np.uint64, chain: int, step: int) -> np.uint64:
    """What the streams of one (seed, chain, step) have in common; `open_member` makes them of it."""
    word = scramble(np.uint64(seed) + _GOLDEN)
    word = scramble(word ^ (np.uint64(chain) + _MIX_1))
    return scramble(word ^ (np.uint64(step) + _MIX_2))


@numba.njit(cache=True, inline="always")
def open_member(family: np.uint64, item: int | np.integer) -> np.uint64:
    """The stream of one item of a family."""
    return scramble(family ^ (np.uint64(item) + _GOLDEN))


@numba.njit(cache=True, inline="always")
def next_word(stream: np.uint64) -> tuple[np.uint64, np.uint64]:
    """64 random bits and the stream after them."""
    stream = stream + _GOLDEN
    return scramble(stream), stream


@numba.njit(cache=True, inline="always")
def uniform(stream: np.uint64) -> tuple[float, np.uint64]:
    """A number in (0, 1) and the stream after it."""
    stream = stream + _GOLDEN
    return (float(scramble(stream) >> np.uint64(11)) + 0.5) * _TO_UNIT, stream


@numba.njit(cache=True)
def fill_normal(out: np.ndarray, stream: np.uint64) -> np.uint64:
    """Fill a vector with standard normals (Box and Muller 1958); returns the stream after them."""
    size = out.shape[0]
    for i in range(0, size, 2):
        first, stream = uniform(stream)
        second, stream = uniform(stream)
        radius = math.sqrt(-2.0 * math.log(first))
        out[i] = radius * math.cos(2.0 * math.pi * second)
        if i + 1 < size:
            out[i + 1] = radius * math.sin(2.0 * math.pi * second)
    return stream
