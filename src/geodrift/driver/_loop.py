"""The loop that carries chains through a plan, for everything that samples."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence

from geodrift.driver._chain import Chain, Chunk
from geodrift.driver._memory import DrawMemory
from geodrift.driver._pace import Pace
from geodrift.driver._plan import Plan
from geodrift.driver._progress import ProgressView
from geodrift.driver._record import Record

Observer = Callable[[int, Chunk, Plan], None]
"""Called after each chunk with the number of its chain and the plan."""


class Loop:
    """Chains under one plan, and where their draws go.

    Args:
        chains: They take turns, a chunk of steps each.
        plan: Of every one of them.
        record: The run directory, or None.
        memory: Draws that are kept in memory, or None.
        view: What a person sees, or None.
        observer: Called after every chunk, or None.
    """

    def __init__(
        self,
        chains: Sequence[Chain],
        plan: Plan,
        *,
        record: Record | None = None,
        memory: DrawMemory | None = None,
        view: ProgressView | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.chains, self.plan = chains, plan
        self.record, self.memory, self.view, self.observer = record, memory, view, observer
        self.stopped_by: int | None = None  # number of the signal that ended it early
        self.metrics: dict[str, float] = {}  # of the first chain's last chunk

    def go(self, stop: threading.Event | None = None) -> None:
        """Chunks of steps, chain after chain, until the plan is done or ``stop`` is set.

        Raises:
            SamplingError: A chain failed; draws of other chains are kept.
        """
        runs = dict(enumerate(chunks(chain, self.plan) for chain in self.chains))
        try:
            while runs and not _is_set(stop):
                for index in list(runs):
                    chunk = next(runs[index], None)
                    if chunk is None:
                        del runs[index]
                    else:
                        self._take(index, chunk)
                    if _is_set(stop):
                        break
                if self.record is not None and self.record.due:
                    self.record.checkpoint(self.plan)
        finally:
            for chain in self.chains:
                chain.close()

    @property
    def done(self) -> bool:
        """Whether every chain has taken the steps of the plan."""
        return all(chain.count >= self.plan.total for chain in self.chains)

    def _take(self, index: int, chunk: Chunk) -> None:
        if self.memory is not None:
            self.memory.append(index, chunk.draws)
        if chunk.failure is not None:
            raise chunk.failure
        phase = self.plan.phase(self.chains[index].count)
        if self.record is not None:
            self.record.append(index, chunk, phase)
        if index == 0:
            self.metrics = chunk.metrics
        if self.view is not None:
            done = sum(chain.count for chain in self.chains)
            self.view.update(phase, chunk.metrics, done, self.plan.total * len(self.chains))
        if self.observer is not None:
            self.observer(index, chunk, self.plan)


def chunks(chain: Chain, plan: Plan) -> Iterator[Chunk]:
    """Carry one chain through a plan, from where it stands, in chunks of about half a second.

    The draws do not depend on where the chunks are cut. The last chunk is the one that has a failure.
    """
    chain.begin(plan)
    pace = Pace()
    while chain.count < plan.total:
        before, begun = chain.count, time.perf_counter()
        chunk = chain.advance(*plan.chunk(before, pace.steps, chain.room))
        pace.learn(chain.count - before, time.perf_counter() - begun)
        yield chunk
        if chunk.failure is not None:
            return


def _is_set(stop: threading.Event | None) -> bool:
    return stop is not None and stop.is_set()
