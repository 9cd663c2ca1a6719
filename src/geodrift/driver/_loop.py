"""The loop that carries chains through a plan, for everything that samples."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence

from geodrift.driver._chain import Chain, Chunk
from geodrift.driver._leg import WHOLE, Leg
from geodrift.driver._memory import DrawMemory
from geodrift.driver._pace import Pace
from geodrift.driver._plan import Plan
from geodrift.driver._progress import ProgressView
from geodrift.driver._record import Record
from geodrift.driver._revision import Revision
from geodrift.driver._side_by_side import SideBySide

Observer = Callable[[int, Chunk, Plan], object]
"""Called after each chunk with the number of its chain and the plan; True ends the loop."""


class Loop:
    """Chains under one plan, and where their draws go.

    Args:
        chains: They take a chunk of steps each, side by side or in turn.
        plan: Of every one of them; where the leg has a revision, until that.
        record: The run directory, or None.
        memory: Draws that are kept in memory, or None.
        view: What a person sees, or None.
        observer: Called after every chunk, or None.
        leg: The part of the plan to carry out now; all of it unless told otherwise.
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
        leg: Leg = WHOLE,
    ) -> None:
        self.chains, self.plan, self.leg = chains, plan, leg
        self.record, self.memory, self.view, self.observer = record, memory, view, observer
        self._paces = [Pace() for _ in chains]
        self._beside = SideBySide(chains)
        self.stopped_by: int | None = None  # number of the signal that ended it early
        self.metrics: dict[str, float] = {}  # of the first chain's last chunk
        self.interrupted = False
        self.ended = False  # by the observer

    def go(self, stop: threading.Event | None = None) -> None:
        """Chunks of steps of all chains until the leg is done or ``stop`` is set.

        Raises:
            SamplingError: A chain failed; draws of other chains are kept.
        """
        began = time.monotonic()
        try:
            with self._beside:
                revision = self.leg.revision
                while revision is not None:
                    revision = self._revise(revision, stop, began)
                end = self.leg.end(self.plan.total)
                self._carry(end, stop, began)
            self.interrupted = _is_set(stop) and any(chain.count < end for chain in self.chains)
        finally:
            for chain in self.chains:
                chain.close()

    @property
    def done(self) -> bool:
        """Whether every chain has taken the steps of the plan."""
        return all(chain.count >= self.plan.total for chain in self.chains)

    def _carry(self, end: int, stop: threading.Event | None, began: float) -> float:
        """Carry all chains to a count, unless something ends the loop before; the seconds within steps."""
        spent, runs = 0.0, {}
        for index, chain in enumerate(self.chains):
            runs[index] = chunks(chain, self.plan, end, self._paces[index])
        while runs and not self.ended and not _is_set(stop) and not self.leg.is_over(began):
            left = list(runs)
            for first in range(0, len(left), self._beside.number):
                together, begun = left[first : first + self._beside.number], time.perf_counter()
                found = self._beside.each(lambda index: next(runs[index], None), together)
                spent += time.perf_counter() - begun
                self._take_all(runs, dict(zip(together, found, strict=True)))
                if self.ended or _is_set(stop):
                    break
            if self.record is not None and self.record.due:
                self.record.checkpoint(self.plan)
        return spent

    def _revise(self, revision: Revision, stop: threading.Event | None, began: float) -> Revision | None:
        """Carry all chains to where the plan is made anew, and take the new one; where is the next?"""
        self._carry(revision.begin, stop, began)
        work = sum(chain.work() for chain in self.chains)
        spent = self._carry(revision.end, stop, began)
        if self.ended or any(chain.count != revision.end for chain in self.chains):
            return None
        done = sum(chain.work() for chain in self.chains) - work
        # The next checkpoint has the new plan; a run that is killed before it goes on by the old one.
        self.plan, following = revision.plan(spent / max(done, 1e-9))
        return following

    def _take_all(self, runs: dict[int, Iterator[Chunk]], found: dict[int, Chunk | None]) -> None:
        """Take the chunks of chains side by side, one that failed as the last; None: the chain is done."""
        chunks = {index: chunk for index, chunk in found.items() if chunk is not None}
        for index in found.keys() - chunks.keys():
            del runs[index]
        for index in sorted(chunks, key=lambda index: chunks[index].failure is not None):
            self._take(index, chunks[index])

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
            end = self.leg.end(self.plan.total)
            self.view.update(phase, chunk.metrics, done, end * len(self.chains), len(self.chains))
        if self.observer is not None:
            self.ended = self.observer(index, chunk, self.plan) is True


def chunks(chain: Chain, plan: Plan, end: int | None = None, pace: Pace | None = None) -> Iterator[Chunk]:
    """Carry one chain through a plan, from where it stands, in chunks of about half a second.

    The draws do not depend on where the chunks are cut. The last chunk is the one that has a failure.

    Args:
        chain: The chain.
        plan: What happens at each step.
        end: The count to stop at, if that is before the plan's end.
        pace: What is known of the chain's pace, if it was carried before.
    """
    chain.begin(plan)
    pace, end = pace or Pace(), plan.total if end is None else end
    while chain.count < end:
        before, begun = chain.count, time.perf_counter()
        wanted = chain.agreed(min(pace.steps, end - before))
        chunk = chain.advance(*plan.chunk(before, wanted, chain.room))
        pace.learn(chain.count - before, time.perf_counter() - begun)
        yield chunk
        if chunk.failure is not None:
            return


def _is_set(stop: threading.Event | None) -> bool:
    return stop is not None and stop.is_set()
