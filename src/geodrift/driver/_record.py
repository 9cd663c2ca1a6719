"""A run directory while it is written: draws, metrics and checkpoints of the chains of one call."""

import itertools
import json
import time
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from geodrift.driver._chain import Chain, Chunk
from geodrift.driver._checkpoint import Checkpoint
from geodrift.driver._plan import Plan
from geodrift.driver._run import Run
from geodrift.driver._run_config import DRAWS, METRICS
from geodrift.driver._survey import check_whole
from geodrift.files import room_for, sync_directory

CHECKPOINT_SECONDS = 5.0  # between two checkpoints, or longer where one takes more than
CHECKPOINT_SHARE = 0.05  # of the time between them


class Record:
    """Keeps a run directory in a state from which the run goes on to the same bits.

    The chains are restored to the last checkpoint, and what was written after it is removed.

    Args:
        run: The run directory.
        chains: Of the run, as made for its start.

    Raises:
        InputError: A file of the run is damaged, missing, or was changed; nothing was written.
    """

    def __init__(self, run: Run, chains: Sequence[Chain]) -> None:
        self.run, self.chains = run, chains
        # Imported here: zarr takes half a second.
        from geodrift.driver._draw_store import DrawStore

        check_whole(run.path)
        run.check_not_ended()
        checkpoint = run.read_checkpoint()
        self.info: dict[str, Any] = (
            {"metrics_bytes": 0, "metrics_sum": 0, "seconds": 0.0} if checkpoint is None else checkpoint.info
        )
        self.resumed = checkpoint is not None
        if checkpoint is not None:
            for chain, state in zip(chains, checkpoint.states, strict=True):
                chain.restore(state)
        ends = list(itertools.accumulate(chain.num_chains for chain in chains))
        rows = [slice(end - chain.num_chains, end) for chain, end in zip(chains, ends, strict=True)]
        self.store = DrawStore(run.path / DRAWS, rows, checkpoint.known if checkpoint else None)
        self.store.truncate()
        self._metrics_file = run.path / METRICS
        if self._metrics_file.exists():
            with self._metrics_file.open("r+b") as stream:
                stream.truncate(self.info["metrics_bytes"])
        self._began = self._saved = time.monotonic()
        self._of_checkpoint = 0.0  # the time that the last one took
        self._pace_from: tuple[float, int] | None = None

    @property
    def due(self) -> bool:
        """Whether it is time for a checkpoint."""
        least = max(CHECKPOINT_SECONDS, self._of_checkpoint / CHECKPOINT_SHARE)
        return time.monotonic() - self._saved > least

    @property
    def seconds(self) -> float:
        """Time that the run has taken, over all its calls."""
        return self.info["seconds"] + self.seconds_of_call

    @property
    def seconds_of_call(self) -> float:
        """Time that this call has taken."""
        return time.monotonic() - self._began

    def append(self, index: int, chunk: Chunk, phase: str) -> None:
        """Keep the draws and metrics of a chunk of chain number ``index``."""
        chain = self.chains[index]
        self.store.append(index, chunk.draws, chain.variables)
        entry = {"chain": index, "count": chain.count, "phase": phase, "seconds": round(self.seconds, 3)}
        line = (json.dumps(entry | finite(chunk.metrics)) + "\n").encode()
        with room_for(self._metrics_file, len(line)), self._metrics_file.open("ab") as stream:
            stream.write(line)
        self.info["metrics_bytes"] += len(line)
        self.info["metrics_sum"] = zlib.crc32(line, self.info["metrics_sum"])
        if self._pace_from is None:
            # From the end of the first chunk: that one compiled.
            self._pace_from = (time.monotonic(), self._done())

    def checkpoint(self, plan: Plan) -> None:
        """Make the draws and metrics so far durable, then the state that counts them."""
        began = time.monotonic()
        self.store.flush()
        if self._metrics_file.exists():
            sync_directory(self._metrics_file)
        if self._pace_from is not None and (done := self._done() - self._pace_from[1]) > 0:
            self.info["seconds_per_step"] = (time.monotonic() - self._pace_from[0]) / done
        self.info |= {
            "draws": list(self.store.counts),
            "counts": [chain.count for chain in self.chains],
            "plan": plan.as_dict(),
            "total": plan.total,
        }
        info = self.info | {"seconds": self.seconds}
        states = [chain.state() for chain in self.chains]
        self.run.write_checkpoint(Checkpoint(states, info, self.store.known))
        self._saved = time.monotonic()
        self._of_checkpoint = self._saved - began

    def summarise(self, *, finished: bool, metrics: dict[str, float], failure: str | None = None) -> None:
        """Write `summary.json`."""
        summary = {
            "finished": finished,
            "steps": self.info.get("counts", []),
            "draws": self.info.get("draws", []),
            "seconds": self.seconds,
            "metrics": finite(metrics),
        }
        self.run.write_summary(summary if failure is None else summary | {"failure": failure})

    def _done(self) -> int:
        return sum(chain.count for chain in self.chains)


def finite(metrics: dict[str, float]) -> dict[str, float | None]:
    """Metrics as JSON has them: no NaN."""
    return {name: float(value) if np.isfinite(value) else None for name, value in metrics.items()}
