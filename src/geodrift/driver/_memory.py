"""Draws of a run that are kept in memory."""

from collections.abc import Sequence

import numpy as np

from geodrift.driver._chain import Chain
from geodrift.driver._host_chain import fill_value


class DrawMemory:
    """The draws of all chains, chunk by chunk.

    Args:
        chains: Of the run.
    """

    def __init__(self, chains: Sequence[Chain]) -> None:
        self._pieces: list[list[dict[str, np.ndarray]]] = [[] for _ in chains]

    def append(self, index: int, draws: dict[str, np.ndarray]) -> None:
        """Keep the draws of a chunk of chain number ``index``, [draw, chain, ...] each."""
        if draws:
            self._pieces[index].append(draws)

    @property
    def empty(self) -> bool:
        """Whether there are no draws of some chain."""
        return not all(self._pieces)

    def result(self) -> dict[str, np.ndarray]:
        """Every variable, [chain, draw, ...].

        Of chains with different numbers of draws the first ones are given. Values whose shape differs from
        draw to draw are filled up to the largest.
        """
        found = {}
        for name in self._pieces[0][0]:
            chains = [_joined([piece[name] for piece in pieces]) for pieces in self._pieces]
            least = min(len(values) for values in chains)
            joined = _joined([np.swapaxes(values[:least], 0, 1) for values in chains])
            found[name] = np.ascontiguousarray(joined)
        return found


def _joined(pieces: list[np.ndarray]) -> np.ndarray:
    """Pieces along the first axis; of the axes behind the second, each is as long as the longest piece's."""
    if len(pieces) == 1:
        return pieces[0]
    inner = np.max([piece.shape[2:] for piece in pieces], axis=0, initial=0).astype(int)
    if all(piece.shape[2:] == tuple(inner) for piece in pieces):
        return np.concatenate(pieces)
    filled = []
    for piece in pieces:
        whole = np.full((*piece.shape[:2], *inner), fill_value(str(piece.dtype)), piece.dtype)
        whole[(slice(None), slice(None), *(slice(size) for size in piece.shape[2:]))] = piece
        filled.append(whole)
    return np.concatenate(filled)
