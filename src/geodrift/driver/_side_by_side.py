"""Several chains at the same time, each with its share of the threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from types import TracebackType
from typing import Self, TypeVar

from geodrift.driver._chain import Chain
from geodrift.kernels._blas import one_blas_thread

# With numba's own threading layer two parallel kernels at the same time end the process.
SAFE_LAYERS = {"omp", "tbb"}

Item = TypeVar("Item")
Result = TypeVar("Result")


class SideBySide:
    """Calls a function for several chains at the same time; no draw depends on it.

    The threads of one step wait for one another, and there is not always work for all of them; chains do not
    wait. Meanwhile the BLAS has one thread, also where such chains take turns: a chain's draws are the same
    however many chains or cores there are.

    Args:
        chains: Of a run.

    Attributes:
        number: Chains at a time. 1: the caller's own thread calls for one after the other.
    """

    def __init__(self, chains: Sequence[Chain]) -> None:
        self.number = _at_a_time(chains)
        self._may_be_beside = all(chain.threads_of_a_step for chain in chains)
        self._pool: ThreadPoolExecutor | None = None
        self._held = ExitStack()

    def __enter__(self) -> Self:
        if self._may_be_beside:
            self._held.enter_context(one_blas_thread())
        if self.number > 1:
            import numba

            share = numba.get_num_threads() // self.number
            self._pool = ThreadPoolExecutor(self.number, initializer=numba.set_num_threads, initargs=(share,))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._held.close()

    def each(self, call: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """What the function returns for each item; side by side an error is raised when all calls ended."""
        if self._pool is None:
            return [call(item) for item in items]
        calls = [self._pool.submit(call, item) for item in items]
        wait(calls)
        return [each.result() for each in calls]


def _at_a_time(chains: Sequence[Chain]) -> int:
    """The number that leaves no chain over and has work for the most threads; of several the largest."""
    work = min((chain.threads_of_a_step for chain in chains), default=0)
    if len(chains) < 2 or not work:
        return 1
    # Imported here: that takes a second, and what is read of a run needs no threads.
    import numba

    from geodrift.kernels._threads import start_threads

    start_threads()
    threads = numba.get_num_threads()
    if numba.threading_layer() not in SAFE_LAYERS:
        return 1
    whole = [n for n in range(1, min(len(chains), threads) + 1) if len(chains) % n == 0]
    return max(whole, key=lambda n: (n * min(threads // n, work), n))
