"""Whether processes that carry the same counts along still have the same ones."""

import zlib
from collections.abc import Sequence

import numpy as np

from geodrift.distributed._team import Team


def check_agreement(team: Team, arrays: Sequence[np.ndarray]) -> None:
    """Compare arrays that every process should have alike, by their checksums.

    Raises:
        RuntimeError: At all processes, where one differs.
    """
    total = 0
    for array in arrays:
        total = zlib.crc32(np.ascontiguousarray(array).data, total)
    sums = [int(part[0]) for part in team.gather(np.array([total], np.uint32), [1] * team.size)]
    others = [rank for rank, value in enumerate(sums) if value != sums[0]]
    if others:
        raise RuntimeError(
            f"process {others[0]} has other counts than process 0: a processor or a library of the one"
            " computes otherwise than that of the other; go on from the last checkpoint on machines that are"
            " alike"
        )
