"""The compiled loop over blocks of dense rows."""

import math

import numba
import numpy as np

from geodrift.kernels._vectors import add, copy
from geodrift.models.von_mises_fisher_mixture._assignment_kernel import redraw_block
from geodrift.models.von_mises_fisher_mixture._conditional import STAYED, Block


@numba.njit(cache=True, nogil=True, error_model="numpy")
def redraw_dense(x, rows, z, sums, resultants, law, along, fresh, size, family, moved):
    """Redraw rows [S, d] in blocks of ``size``; returns how many were: fewer where there is no room left.

    Args:
        x: The rows, float64.
        rows: Their numbers.
        z: See `redraw_block`.
        sums: See there.
        resultants: R, [M, d], changed.
        law: See `redraw_block`.
        along: Of all rows; see `Block`.
        fresh: The same.
        size: B.
        family: Random streams.
        moved: [1], to which the number of rows is added that changed their cluster.
    """
    room, done = len(sums.counts), 0
    scores, bounds, moved_from = np.empty(room + 2), np.empty(room + 2), np.empty(size, np.int64)
    while done < len(rows):
        end = min(done + size, len(rows))
        top = free = 0
        for k in range(room):
            if sums.counts[k] > 0:
                top = k + 1
            else:
                free += 1
        most = float(end - done)  # clusters that the block may bring
        if law.new_each < 0.0:
            # Rounded: K g / g may be more than K, and K components have no room for more.
            most = min(most, math.floor(law.new_first / law.g + 0.5) - (room - free))
        if free < most:
            break
        part = x[done:end]
        dots, of_clusters = np.zeros((end - done, room)), np.dot(part, resultants[:top].T)
        for i in range(end - done):
            copy(of_clusters[i], dots[i])
        block = Block(dots, np.dot(part, part.T), along[done:end], fresh[done:end])
        redraw_block(rows[done:end], z, sums, law, block, family, scores, bounds, moved_from)
        for i in range(end - done):
            if moved_from[i] == STAYED:
                continue
            moved[0] += 1
            if moved_from[i] >= 0:
                add(-1.0, part[i], resultants[moved_from[i]])
            if z[rows[done + i]] >= 0:
                add(1.0, part[i], resultants[z[rows[done + i]]])
        for k in range(room):
            if sums.counts[k] == 0:
                resultants[k] = 0.0
        done = end
    return done
