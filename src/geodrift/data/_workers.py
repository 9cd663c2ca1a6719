"""Processes that read sources side by side, and end with the one that started them."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process


@contextmanager
def mapped(workers: int) -> Iterator[Callable]:
    """Yield `map`, or the same over a pool of that many processes.

    Args:
        workers: Number of processes; 1 or less: this one.
    """
    if workers <= 1:
        yield map
        return
    # Threads of JAX do not survive a fork.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_end_with_parent)
    # Ctrl-C goes to every process of a terminal: only the one that leads takes it, and ends the others, which
    # inherit what is blocked when they start.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        pool.submit(int)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """A process whose parent was killed would wait for work for ever."""

    def wait() -> None:
        parent_process().join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
