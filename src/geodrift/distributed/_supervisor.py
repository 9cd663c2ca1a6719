"""Several processes on this machine: started, watched, ended together, started again from the checkpoint."""

import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from geodrift._terminal import say
from geodrift.distributed import _progress
from geodrift.distributed._watch import Watch, is_stopped, processor_seconds
from geodrift.distributed._worker import LOG

RESTARTS = 3  # of processes that were killed, have crashed or were stuck
LOST = 75  # status of a process that has lost another one
POLL_SECONDS = 0.1
SETTLE_SECONDS = 2.0  # in which the ends of others that a first one brings about are awaited
PARTING_SECONDS = 30.0  # for the others, after process 0 has ended well
_CONSEQUENCES = (LOST, -signal.SIGABRT)


class End(NamedTuple):
    """How processes ended.

    Attributes:
        status: To end with; None where they may be started again.
        reason: What happened, for a person; "" where nothing did, or where a process has told it.
        gave_up: Whether they have been started again as often as is allowed.
    """

    status: int | None
    reason: str = ""
    gave_up: bool = False


Commands = Callable[[str], Sequence[Sequence[str]] | None]
"""The command lines of all processes, given the coordinator's address; None where nothing is left to do."""


def supervise(commands: Commands, *, restarts: int, quiet: bool = False) -> End:
    """Carry processes through to their end.

    Args:
        commands: Called at each start.
        restarts: How often they are started again after one was killed, has crashed or was stuck.
        quiet: Whether process 0 writes to no terminal either; what it says of an error is then the reason.

    Returns:
        The exit status, and what happened where nothing has told it yet.
    """
    with _stop_requests() as requests:
        for restart in range(restarts + 1):
            lines = commands(f"127.0.0.1:{_free_port()}")
            if lines is None:
                return End(0)
            with tempfile.TemporaryDirectory(prefix="geodrift-") as folder:
                crew = Crew(lines, Path(folder), quiet)
                try:
                    end = crew.wait(requests)
                finally:
                    crew.kill()
            if end.status is not None:
                break
            left, happened = restarts - restart, f"{end.reason}; all {crew.size} were ended"
            if left:
                say(f"{happened}; starting again from the last checkpoint ({left} more starts allowed)")
    return End(1, f"{happened}; giving up", gave_up=True) if end.status is None else end


class Crew:
    """Processes of one start.

    Args:
        commands: Their command lines.
        folder: For what they show and what libraries write.
        quiet: See `supervise`.
    """

    def __init__(self, commands: Sequence[Sequence[str]], folder: Path, quiet: bool) -> None:
        self.size, self._folder, self._quiet = len(commands), folder, quiet
        self._workers = [self._start(rank, command) for rank, command in enumerate(commands)]

    def wait(self, requests: list[int]) -> End:
        """Watch the processes until they have ended, or until one has done so too early or is stuck.

        Args:
            requests: Numbers of the signals that have come; process 0 is sent the first of them.
        """
        watch, asked = Watch(), False
        while True:
            if requests and not asked:
                asked = True
                self._workers[0].send_signal(signal.SIGTERM if signal.SIGTERM in requests else requests[0])
            if len(requests) > 1:
                return End(128 + requests[1])
            if self._workers[0].poll() == 0:
                return self._parted()
            if any(worker.poll() not in (None, 0) for worker in self._workers):
                return self._told_end()
            used = sum(processor_seconds(worker.pid) for worker in self._workers)
            quiet = watch.look(_progress.read(self._shown(0)), used)
            if quiet is not None:
                return End(None, f"no sign of progress for {quiet:.0f} s{self._stopped()}")
            time.sleep(POLL_SECONDS)

    def kill(self) -> None:
        """End all that are still there; what they have written survives it."""
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.wait()
            if worker.stdin is not None:
                worker.stdin.close()

    def _start(self, rank: int, command: Sequence[str]) -> subprocess.Popen:
        _progress.make(self._shown(rank))
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        settings = {
            "NUMBA_NUM_THREADS": str(max(1, cores // self.size)),
            "JAX_PLATFORMS": "cpu",
        }
        own = {LOG: str(self._folder / f"{rank}.log"), _progress.VARIABLE: str(self._shown(rank))}
        # Process 0 tells what there is to tell; of the others an error is read here.
        shown = rank == 0 and not self._quiet
        with self._said(rank).open("wb") as errors:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=None if shown else subprocess.DEVNULL,
                stderr=None if shown else errors,
                env=settings | dict(os.environ) | own,
                start_new_session=True,  # Ctrl-C is for the supervisor
            )

    def _parted(self) -> End:
        """After process 0 has ended well."""
        until = time.monotonic() + PARTING_SECONDS
        while time.monotonic() < until and any(worker.poll() is None for worker in self._workers):
            time.sleep(POLL_SECONDS)
        return End(0)

    def _told_end(self) -> End:
        """Which process ended first, and how."""
        until = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < until and any(worker.poll() is None for worker in self._workers):
            time.sleep(POLL_SECONDS)
        ends = {rank: worker.poll() for rank, worker in enumerate(self._workers)}
        wrong = {rank: status for rank, status in ends.items() if status not in (None, 0)}
        causes = {rank: status for rank, status in wrong.items() if status not in _CONSEQUENCES}
        rank, status = next(iter((causes or wrong).items()))
        if status == LOST or status < 0:
            # JAX aborts a process that no longer hears from the coordinator.
            lost = status in _CONSEQUENCES
            how = "no longer hears from another one" if lost else f"ended by {signal.Signals(-status).name}"
            return End(None, f"process {rank} of {self.size} {how}{self._stopped()}")
        told = rank == 0 and not self._quiet
        return End(status, "" if told else self._last_line(rank, status))

    def _stopped(self) -> str:
        """Which processes a signal has stopped, where one has."""
        found = [str(rank) for rank, worker in enumerate(self._workers) if is_stopped(worker.pid)]
        return f" (stopped by a signal: {', '.join(found)})" if found else ""

    def _last_line(self, rank: int, status: int) -> str:
        lines = [
            line for line in self._said(rank).read_text("utf-8", "replace").splitlines() if "error:" in line
        ]
        return lines[-1] if lines else f"process {rank} of {self.size} ended with status {status}"

    def _shown(self, rank: int) -> Path:
        return self._folder / f"{rank}.progress"

    def _said(self, rank: int) -> Path:
        return self._folder / f"{rank}.err"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _stop_requests() -> Iterator[list[int]]:
    """The numbers of the signals Ctrl-C and SIGTERM that come; only the main thread can be told of them."""
    found: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield found
        return

    def note(number: int, frame: object) -> None:
        found.append(number)
        if len(found) == 1:
            say("stopping after the work in hand (again: at once, as of the last checkpoint)")

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield found
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
