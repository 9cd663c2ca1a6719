r"""Moves of unnormalised weights and clusters towards gammas of given shapes, in log space.

.. math:: d\theta = (\hat a - \theta)\,dt + \sqrt{2 \theta}\,dW

``exact``: the process's own move over a time h (SCIR; Baker et al. 2018, section 3). Otherwise a step of
Euler's method, mirrored at 0 (SGRLD with its gammas on the posterior).
"""

import math

import numba
import numpy as np
from jaxtyping import Float

from geodrift.kernels._cox_ingersoll_ross import log_move
from geodrift.kernels._normal_exponential import normal
from geodrift.kernels._random_streams import open_member
from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._two_forms import TwoForms

_BLOCK = 512
_NOTHING = 1e-300  # an unnormalised number that Euler's method put at 0


def _moves(
    log_theta: np.ndarray, shapes: np.ndarray, step_size: float, exact: bool, family: np.uint64
) -> None:
    log_growth = math.log(math.expm1(step_size)) if step_size < 700.0 else step_size
    log_scale = math.log(-math.expm1(-step_size))
    size = log_theta.shape[0]
    for block in numba.prange((size + _BLOCK - 1) // _BLOCK):
        for i in range(block * _BLOCK, min((block + 1) * _BLOCK, size)):
            stream = open_member(family, i)
            if exact:
                log_theta[i] = log_scale + log_move(log_theta[i] - log_growth, shapes[i], stream)
            else:
                theta = math.exp(log_theta[i])
                noise = math.sqrt(2.0 * step_size * theta) * normal(stream)[0]
                log_theta[i] = math.log(max(abs(theta + step_size * (shapes[i] - theta) + noise), _NOTHING))


_forms = TwoForms(_moves, worth_threads=4_096)


def gamma_moves(
    log_theta: Float[np.ndarray, "*n"],
    shapes: Float[np.ndarray, "*n"],
    step_size: float,
    exact: bool,
    streams: Family,
) -> Float[np.ndarray, "*n"]:
    """Every entry after one move.

    Args:
        log_theta: Logarithms of the numbers.
        shapes: a-hat of each.
        step_size: h.
        exact: Whether by the process's own move.
        streams: Of the moves; an item is an entry's place.
    """
    moved = np.array(log_theta, np.float64).reshape(-1)
    _forms(moved.size, moved, np.ascontiguousarray(shapes).reshape(-1), step_size, exact, streams.word)
    return moved.reshape(log_theta.shape)
