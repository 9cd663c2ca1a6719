"""Processes that take the same steps, and how bytes get from each of them to all."""

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np

PIECE = 2**22  # bytes of one process that travel in one collective, at most


class LostProcess(RuntimeError):
    """Another process of the team has ended, or no longer answers: the present step cannot be finished."""


class Team(abc.ABC):
    """Processes that all make the same calls in the same order.

    Attributes:
        rank: The number of this process, from 0.
        size: How many there are.
        bytes_received: What this process has got from the others so far, padding left out.
    """

    rank: int
    size: int
    bytes_received: int = 0

    @abc.abstractmethod
    def _gather(self, own: np.ndarray, size: int) -> list[np.ndarray]:
        """Vectors of bytes of all processes; ``size`` is at least the longest, the same for all.

        Raises:
            LostProcess: One of them has ended.
        """

    def stepped(self, steps: int) -> None:  # noqa: B027  somebody may look, or nobody
        """Take note that steps were taken, for who watches the processes."""

    def gather(self, own: np.ndarray, lengths: Sequence[int]) -> list[np.ndarray]:
        """One vector of each process, at every process.

        Args:
            own: This process's, of a type that all share.
            lengths: Of the vectors of all processes, known to all.

        Raises:
            LostProcess: A process has ended.
        """
        if len(own) != lengths[self.rank]:
            raise ValueError(f"own has {len(own)} entries: lengths says {lengths[self.rank]}")
        if max(lengths) == 0:
            return [own[:0] for _ in lengths]
        item = own.dtype.itemsize
        ends = [length * item for length in lengths]
        sent = np.ascontiguousarray(own).view(np.uint8)
        found = [np.empty(end, np.uint8) for end in ends]
        for begin in range(0, max(ends), PIECE):
            longest = min(max(ends) - begin, PIECE)
            for out, part in zip(found, self._gather(sent[begin : begin + PIECE], longest), strict=True):
                place = out[begin : begin + PIECE]
                place[:] = part[: len(place)]
        self.bytes_received += sum(ends) - ends[self.rank]
        return [bytes_.view(own.dtype) for bytes_ in found]

    def share(self, own: bytes) -> list[bytes]:
        """A message of each process, of any length, at every process."""
        lengths = [int(part[0]) for part in self.gather(np.array([len(own)]), [1] * self.size)]
        return [part.tobytes() for part in self.gather(np.frombuffer(own, np.uint8), lengths)]

    def from_first(self, own: np.ndarray | None, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An array of process 0, at every process; the others give None."""
        size = int(np.prod(shape))
        empty = np.zeros(0, dtype)
        mine = empty if self.rank else np.asarray(own, dtype).ravel()
        return self.gather(mine, [size] + [0] * (self.size - 1))[0].reshape(shape)

    def to_first(self, own: np.ndarray, lengths: Sequence[int]) -> np.ndarray | None:
        """The vectors of all processes one after the other, at process 0; None at the others."""
        whole = np.empty(sum(lengths), own.dtype) if self.rank == 0 else None
        begins = np.cumsum([0, *lengths[:-1]])
        step = PIECE // own.dtype.itemsize
        for done in range(0, max(lengths), step):
            sizes = [min(max(length - done, 0), step) for length in lengths]
            parts = self.gather(own[done : done + step], sizes)
            if whole is not None:
                for begin, part in zip(begins, parts, strict=True):
                    whole[begin + done : begin + done + len(part)] = part
        return whole

    def sum(self, own: np.ndarray) -> np.ndarray:
        """The sum over the processes of arrays of whole numbers of one shape: no order changes a bit."""
        parts = self.gather(own.ravel(), [own.size] * self.size)
        return np.sum(parts, axis=0, dtype=own.dtype).reshape(own.shape)


class Alone(Team):
    """One process."""

    rank, size = 0, 1

    def _gather(self, own: np.ndarray, size: int) -> list[np.ndarray]:
        return [own]
