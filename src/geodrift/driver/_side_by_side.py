"""Several chains at the same time, each with its share of the threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from types import TracebackType
from typing import Self, TypeVar

from geodrift.driver._chain import Chain

# With numba's own threading layer two parallel kernels at the same time end the process.
SAFE_LAYERS = {"omp", "tbb"}

Item = TypeVar("Item")
Result = TypeVar("Result")


class SideBySide:
    """Calls a function for several chains at the same time; no draw depends on it.

    The threads of one step wait for one another, and there is not always work for all of them; chains do not
    wait.

    Args:
        chains: Of a run.

    Attributes:
        number: Chains at a time. 1: the caller's own thread calls for one after the other.
    """

    def __init__(self, chains: Sequence[Chain]) -> None:
        self.number = _at_a_time(chains)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
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

    def each(self, call: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """What the function returns for each item; side by side an error is raised when all calls ended."""
        if self._pool is None:
            return [call(item) for item in items]
        calls = [self._pool.submit(call, item) for item in items]
        wait(calls)
        return [each.result() for each in calls]


def _at_a_time(chains: Sequence[Chain]) -> int:
    """The largest number that leaves no chain over, and no thread."""
    if len(chains) < 2 or not all(chain.beside_others for chain in chains):
        return 1
    # Imported here: that takes a second, and what is read of a run needs no threads.
    import numba

    from geodrift.kernels._threads import start_threads

    start_threads()
    threads = numba.get_num_threads()
    if numba.threading_layer() not in SAFE_LAYERS:
        return 1
    whole = [n for n in range(1, len(chains) + 1) if len(chains) % n == 0 and threads % n == 0]
    return max(whole)
