"""Standard normal and exponential draws for compiled kernels: ziggurats on counter-based streams.

256 layers of equal area (Marsaglia and Tsang 2000), in the form of Doornik (2005): one word gives the layer
(8 bits) and the abscissa (53 other bits). 98.8% of the normals and 98.9% of the exponentials take one word,
one product and one comparison; the wedges and the tail are sampled exactly.
"""

import math

import numba
import numpy as np

from geodrift.kernels._random_streams import next_word, uniform

_LAYERS = 256
# Where the tail begins: the one abscissa for which 256 layers of equal area close at the mode.
_NORMAL_TAIL = 3.6541528853610088
_EXPONENTIAL_TAIL = 7.69711747013104972
_TO_SIGNED_UNIT = 2.0**-52
_TO_UNIT = 2.0**-53


def ziggurat_layers(tail: float, tail_area: float, density, inverse) -> tuple[np.ndarray, np.ndarray]:
    """Widths ``[257]`` of the layers from the bottom up, and the density at them.

    Args:
        tail: r, the width of the lowest rectangle.
        tail_area: Area beyond r under ``density``.
        density: f, falling, with f(0) = 1.
        inverse: Of f.
    """
    area = tail * density(tail) + tail_area
    widths = np.zeros(_LAYERS + 1)
    # The bottom layer is the rectangle and the tail, drawn as a rectangle of their area.
    widths[:2] = area / density(tail), tail
    for i in range(2, _LAYERS):
        widths[i] = inverse(density(widths[i - 1]) + area / widths[i - 1])
    return widths, np.array([density(width) for width in widths])


_NORMAL_WIDTH, _NORMAL_HEIGHT = ziggurat_layers(
    _NORMAL_TAIL,
    math.sqrt(math.pi / 2) * math.erfc(_NORMAL_TAIL / math.sqrt(2)),
    lambda x: math.exp(-0.5 * x * x),
    lambda y: math.sqrt(-2 * math.log(y)),
)
_EXPONENTIAL_WIDTH, _EXPONENTIAL_HEIGHT = ziggurat_layers(
    _EXPONENTIAL_TAIL, math.exp(-_EXPONENTIAL_TAIL), lambda x: math.exp(-x), lambda y: -math.log(y)
)


@numba.njit(cache=True, error_model="numpy")
def _normal_edge(layer: np.int64, x: float, stream: np.uint64) -> tuple[bool, float, np.uint64]:
    """In a layer's wedge or in the tail: whether the point is accepted, its abscissa, and the stream."""
    if layer == 0:  # Marsaglia's tail
        while True:
            first, stream = uniform(stream)
            second, stream = uniform(stream)
            beyond = -math.log(first) / _NORMAL_TAIL
            if -2.0 * math.log(second) > beyond * beyond:
                return True, math.copysign(_NORMAL_TAIL + beyond, x), stream
    height, stream = uniform(stream)
    low, high = _NORMAL_HEIGHT[layer], _NORMAL_HEIGHT[layer + 1]
    return low + height * (high - low) < math.exp(-0.5 * x * x), x, stream


@numba.njit(cache=True, error_model="numpy")
def _exponential_edge(layer: np.int64, x: float, stream: np.uint64) -> tuple[bool, float, np.uint64]:
    """The same for the exponential law."""
    height, stream = uniform(stream)
    if layer == 0:  # the tail of an exponential is one
        return True, _EXPONENTIAL_TAIL - math.log(height), stream
    low, high = _EXPONENTIAL_HEIGHT[layer], _EXPONENTIAL_HEIGHT[layer + 1]
    return low + height * (high - low) < math.exp(-x), x, stream


@numba.njit(cache=True, error_model="numpy", forceinline=True)
def normal(stream: np.uint64) -> tuple[float, np.uint64]:
    """A standard normal draw and the stream after it."""
    while True:
        word, stream = next_word(stream)
        layer = np.int64(word & np.uint64(255))
        x = float(np.int64(word) >> np.int64(11)) * _TO_SIGNED_UNIT * _NORMAL_WIDTH[layer]
        if abs(x) < _NORMAL_WIDTH[layer + 1]:
            return x, stream
        taken, x, stream = _normal_edge(layer, x, stream)
        if taken:
            return x, stream


@numba.njit(cache=True, error_model="numpy", forceinline=True)
def exponential(stream: np.uint64) -> tuple[float, np.uint64]:
    """A draw of the exponential law of mean 1, never 0, and the stream after it."""
    while True:
        word, stream = next_word(stream)
        layer = np.int64(word & np.uint64(255))
        x = (float(np.int64(word >> np.uint64(11))) + 0.5) * _TO_UNIT * _EXPONENTIAL_WIDTH[layer]
        if x < _EXPONENTIAL_WIDTH[layer + 1]:
            return x, stream
        taken, x, stream = _exponential_edge(layer, x, stream)
        if taken:
            return x, stream
