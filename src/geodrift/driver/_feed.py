"""A thread that reads batches ahead of the compiled steps."""

import itertools
import queue
import threading
from collections.abc import Iterator

import jax
import numpy as np

from geodrift._types import Batch

# One chunk's batches stay within this many bytes, and within this number of steps; as many wait in the queue.
_CHUNK_BYTES = 64 * 2**20
_CHUNK_STEPS = 1024


class Feed:
    """Reads batches ahead in a thread and hands them over in chunks.

    Args:
        batches: One item a step.
        total: Steps that will be taken; not one more is read.
    """

    def __init__(self, batches: Iterator[Batch], total: int) -> None:
        self._first = next(batches) if total else None
        size = sum(np.asarray(a).nbytes for a in jax.tree.leaves(self._first))
        self.capacity = max(1, min(_CHUNK_STEPS, _CHUNK_BYTES // max(size, 1)))
        self._queue: queue.Queue = queue.Queue(self.capacity)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(batches, total), daemon=True)
        self._thread.start()

    def take(self, steps: int) -> Batch:
        """The next batches, ``[capacity, chain, ...]``, of which the first ``steps`` are filled.

        Raises:
            Exception: What the source raised.
        """
        items = []
        for _ in range(steps):
            item = self._queue.get()
            if isinstance(item, Exception):
                raise item
            items.append(item)

        def stack(*arrays: np.ndarray) -> np.ndarray:
            filled = np.zeros((self.capacity, *arrays[0].shape), arrays[0].dtype)
            np.stack(arrays, out=filled[:steps])
            return filled

        return jax.tree.map(stack, *items)

    def close(self) -> None:
        """Stop reading."""
        self._stop.set()
        while self._thread.is_alive():
            # The thread may wait for room.
            try:
                self._queue.get_nowait()
            except queue.Empty:
                self._thread.join(0.01)

    def _read(self, batches: Iterator[Batch], total: int) -> None:
        try:
            for item in itertools.chain([self._first], itertools.islice(batches, max(total - 1, 0))):
                self._queue.put(item)
                if self._stop.is_set():
                    return
        except Exception as error:
            self._queue.put(error)
