"""A kernel is compiled by one process; others that need it meanwhile wait, and read it from the cache."""

import contextlib
import fcntl
import hashlib
import pathlib

import numba
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

_compile = Dispatcher.compile
_held: set[pathlib.Path] = set()


def compile_in_one_process():
    """Let numba ask for a kernel's file lock first; the lock is gone with its process."""
    Dispatcher.compile = _compile_alone


def _compile_alone(dispatcher, signature):
    if not numba.config.CACHE_DIR:
        return _compile(dispatcher, signature)
    with global_compiler_lock, _only_here(dispatcher):
        return _compile(dispatcher, signature)


@contextlib.contextmanager
def _only_here(dispatcher):
    """Hold the lock of a function; those that it calls are compiled within, and no calls form a circle."""
    name = f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}"
    path = pathlib.Path(numba.config.CACHE_DIR, hashlib.sha256(name.encode()).hexdigest()[:16] + ".lock")
    if path in _held:
        yield
        return
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _held.add(path)
        try:
            yield
        finally:
            _held.discard(path)
