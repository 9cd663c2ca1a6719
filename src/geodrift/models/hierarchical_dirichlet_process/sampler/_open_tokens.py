"""The tokens of a minibatch whose topics are open, as a minibatch of their own, and back."""

import numba
import numpy as np


@numba.njit(cache=True)
def open_tokens(
    indptr: np.ndarray, counts: np.ndarray, starts: np.ndarray, assignments: np.ndarray, is_open: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The tokens whose topics are open.

    Args:
        indptr: Entries of each document, [S + 1].
        counts: Tokens of each entry, int32.
        starts: The place in ``assignments`` at which each document's tokens begin, [S].
        assignments: Topics of all tokens.
        is_open: Of each topic.

    Returns:
        Tokens of each entry, the assignments of these tokens one after the other, and the place at which
        each document's begin.
    """
    left, begins = np.empty_like(counts), np.empty_like(starts)
    number = np.int64(0)
    for entry in range(counts.shape[0]):
        number += counts[entry]
    kept = np.empty(number, assignments.dtype)
    number = np.int64(0)
    for row in range(starts.shape[0]):
        token, begins[row] = starts[row], number
        for entry in range(indptr[row], indptr[row + 1]):
            before = number
            for _ in range(counts[entry]):
                if is_open[assignments[token]]:
                    kept[number] = assignments[token]
                    number += 1
                token += 1
            left[entry] = number - before
    return left, kept[:number], begins


@numba.njit(cache=True)
def put_back(
    starts: np.ndarray, ends: np.ndarray, assignments: np.ndarray, is_open: np.ndarray, kept: np.ndarray
) -> None:
    """Write the tokens' new topics to their places: those that hold a topic which is open.

    Args:
        starts: The place in ``assignments`` at which each document's tokens begin, [S].
        ends: The places after the last.
        assignments: Topics of all tokens, changed in place.
        is_open: Of each topic.
        kept: From `open_tokens`, redrawn among the topics that are open.
    """
    number = 0
    for row in range(starts.shape[0]):
        for token in range(starts[row], ends[row]):
            if is_open[assignments[token]]:
                assignments[token] = kept[number]
                number += 1
