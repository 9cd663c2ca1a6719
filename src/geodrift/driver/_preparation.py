"""What chains do before their first step: kernels are compiled, and starts looked for side by side."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue

from threadpoolctl import threadpool_limits

from geodrift.driver._chain import Chain
from geodrift.driver._side_by_side import SideBySide

LOOK_SECONDS = 0.5
TELL_AFTER, TELL_EVERY = 2.0, 10.0  # seconds


def compile_steps(chains: Sequence[Chain]) -> None:
    """Compile what the steps of chains of one kind call, with the share of the threads that a step has."""
    with SideBySide(chains) as beside:
        beside.each(lambda chain: chain.compile(), chains[:1])


def prepare(
    chains: Sequence[Chain],
    look: Callable[[], object] = lambda: None,
    tell: Callable[[str], object] | None = None,
) -> None:
    """Prepare all chains that have taken no step.

    Each has one thread, so that its numbers do not depend on how many cores there are.

    Args:
        chains: All of the run.
        look: Called every half a second; an exception of its own ends the wait, and the threads with the
            process.
        tell: Called with a line now and then where it takes long.
    """
    waiting: SimpleQueue[Chain] = SimpleQueue()
    done: SimpleQueue[BaseException | None] = SimpleQueue()
    new = [chain for chain in chains if chain.count == 0]
    for chain in new:
        waiting.put(chain)

    def work() -> None:
        while True:
            try:
                chain = waiting.get_nowait()
            except Empty:
                return
            try:
                chain.prepare()
            except BaseException as error:
                done.put(error)
            else:
                done.put(None)

    with threadpool_limits(1):
        for _ in range(min(len(new), os.cpu_count() or 1)):
            threading.Thread(target=work, daemon=True).start()
        _wait(done, len(new), look, tell)


def _wait(
    done: SimpleQueue[BaseException | None],
    number: int,
    look: Callable[[], object],
    tell: Callable[[str], object] | None,
) -> None:
    """Until so many chains are prepared, or one has failed."""
    began, next_told, ready = time.monotonic(), TELL_AFTER, 0
    while ready < number:
        try:
            error = done.get(timeout=LOOK_SECONDS)
        except Empty:
            pass
        else:
            if error is not None:
                raise error
            ready += 1
        look()
        passed = time.monotonic() - began
        if tell is not None and passed > next_told and ready < number:
            tell(f"looking for starts: {ready} of {number} chains have one after {passed:.0f} s")
            next_told = passed + TELL_EVERY
