"""Processes that read sources side by side, and end with the one that started them."""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any


def usable_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def mapped(workers: int) -> Iterator[Callable]:
    """Yield `map`, or the same over that many processes: results in the order of the items, as they come.

    The processes are joined to this one by pipes alone: there are no semaphores, which a process that ends at
    once would leave behind.

    Args:
        workers: Number of processes; 1 or less: this one.
    """
    if workers <= 1:
        yield map
        return
    connections = _started(workers)
    try:
        yield lambda function, items: _map(connections, function, items)
    finally:
        for connection, process in connections.items():
            connection.close()
            process.kill()
            process.join()


def _started(workers: int) -> dict[Connection, Any]:
    """Processes by the ends of their pipes."""
    context = get_context("spawn")  # threads of JAX do not survive a fork
    # Ctrl-C goes to every process of a terminal: only this one takes it, and ends the others, which inherit
    # what is blocked while they start.
    with _modules_of_this_process():
        resource_tracker.ensure_running()  # its start would unblock it
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        started = {}
        try:
            for _ in range(workers):
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(theirs,), daemon=True)
                process.start()
                theirs.close()
                started[ours] = process
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return started


@contextmanager
def _modules_of_this_process() -> Iterator[None]:
    """Processes started meanwhile look for no modules in the folder that they are started in.

    `multiprocessing` gives them the path of this one, but only when they have imported what reads it: a
    user's ``socket.py`` in the folder would be taken for Python's.
    """
    name, value = "PYTHONSAFEPATH", os.environ.get("PYTHONSAFEPATH")
    os.environ[name] = "1"
    try:
        yield
    finally:
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


def _map(connections: Iterable[Connection], function: Callable, items: Iterable) -> Iterator[Any]:
    """The results of a function for each item, in their order, as they come, up to the first exception."""
    left, results, told = enumerate(items), {}, 0
    free: list[Any] = list(connections)
    at_work: dict[Any, int] = {}
    while True:
        while free and (following := next(left, None)) is not None:
            place, item = following
            try:
                free[-1].send((function, item))
            except ConnectionError:
                raise _ended() from None
            at_work[free.pop()] = place
        if not at_work:
            return
        ready: list[Any] = wait(list(at_work))
        for connection in ready:
            try:
                value, error = connection.recv()
            except (EOFError, ConnectionError):
                raise _ended() from None
            if error is not None:
                raise error
            results[at_work.pop(connection)] = value
            free.append(connection)
        while told in results:
            yield results.pop(told)
            told += 1


def _ended() -> RuntimeError:
    return RuntimeError(
        "a process that reads files has ended before it was done: is there enough memory? Take fewer of them"
        " (--workers, workers=...). A script that asks for more than one needs if __name__ == '__main__'"
    )


def _serve(connection: Connection) -> None:
    """What a process does until its parent closes the pipe or ends."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            function, item = connection.recv()
        except EOFError:
            return
        try:
            answer = (function(item), None)
        except Exception as error:
            answer = (None, error)
        connection.send(answer)


def _end_with_parent() -> None:
    parent_process().join()
    os._exit(1)
