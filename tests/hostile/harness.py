"""Command lines in a warm process with limits; one that dies is a result, and is replaced."""

import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

WORKER = Path(__file__).with_name("worker.py")
# Seconds of the wall, and of the processor, which has done less in them where other work runs beside it.
MOST_SECONDS, MOST_BYTES = 10.0, 1_000_000_000
_MOST_WAITING = 60.0  # seconds of the wall, whatever the processor has done
_START_UP = 120.0
_EVERY = 0.02  # seconds between looks at the memory
_DIRECTION = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


class Outcome(NamedTuple):
    """How a command ended.

    Attributes:
        status: Its exit status; None: it had none.
        signal: That ended the process; 0: none.
        out: What it wrote to stdout.
        err: What it wrote to stderr.
        seconds: Time it took.
        peak: Bytes that its process grew by, at most.
        stopped: Which limit it was killed for; "" for none.
    """

    status: int | None
    signal: int
    out: str
    err: str
    seconds: float
    peak: int
    stopped: str

    def faults(self) -> list[str]:
        """What no input may cause, whatever the command makes of it."""
        found = []
        if self.stopped:
            found.append(f"beyond the limit of {self.stopped}")
        elif self.signal:
            found.append(f"ended by {signal.Signals(self.signal).name}")
        elif self.status is None:
            found.append("an exception came out of main()")
        if "Traceback" in self.err or "Exception ignored" in self.err:
            found.append("a traceback")
        if "this is a mistake in geodrift" in self.err:
            found.append("an error that nobody foresaw")
        if steering(self.out + self.err):
            found.append(f"control characters {steering(self.out + self.err)[:5]!r}")
        if self.status and sum("rror: " in line for line in self.err.splitlines()) != 1:
            found.append(f"status {self.status} without one line that says error")
        return found


class Worker:
    """Runs commands of one process; a context manager."""

    def __init__(self, seconds: float = MOST_SECONDS, memory: int = MOST_BYTES) -> None:
        self.seconds, self.memory = seconds, memory
        self._process: subprocess.Popen | None = None
        self._scratch = tempfile.TemporaryDirectory(prefix="geodrift-worker-")
        self.folder = Path(self._scratch.name)
        (self.folder / "here").mkdir()
        self.replaced = -1

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *error: object) -> None:
        self._end()
        self._scratch.cleanup()

    def call(self, *arguments: object) -> Outcome:
        """Run one command line, in an empty directory."""
        if self._process is None or self._process.poll() is not None:
            self._start()
        request = {"arguments": [os.fspath(a) if isinstance(a, Path) else str(a) for a in arguments]}
        self._process.stdin.write(json.dumps(request | {"folder": str(self.folder)}).encode() + b"\n")
        self._process.stdin.flush()
        began, before, used = time.monotonic(), self._resident(), self._processor()
        answer, stopped, peak = None, "", 0
        while answer is None:
            ready, _, _ = select.select([self._process.stdout], [], [], _EVERY)
            if ready:
                answer = self._process.stdout.readline()
                break
            peak = max(peak, self._resident() - before)
            if peak > self.memory:
                stopped = f"{self.memory / 1e9:g} GB"
            elif (waited := time.monotonic() - began) > self.seconds and (
                self._processor() - used > self.seconds or waited > _MOST_WAITING
            ):
                stopped = f"{self.seconds:g} s"
            if stopped:
                self._end()
                break
        seconds = time.monotonic() - began
        told = json.loads(answer) if answer else {"status": None, "peak": peak}
        number = 0 if answer else -self._process.wait()
        if not answer and not stopped and number <= 0:
            # `os._exit`, which no command calls but at a signal.
            number, told["status"] = 0, -number
        out, err = (self._written(name) for name in ("out", "err"))
        return Outcome(told["status"], number, out, err, seconds, max(peak, told["peak"]), stopped)

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Time enough for commands that compile."""
        limit, self.seconds = self.seconds, _START_UP
        try:
            yield
        finally:
            self.seconds = limit

    def left_here(self) -> list[str]:
        """What commands wrote into the directory that they ran in."""
        return sorted(os.listdir(self.folder / "here"))

    def _start(self) -> None:
        self.replaced += 1
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert select.select([self._process.stdout], [], [], _START_UP)[0], "the worker does not start"
        assert self._process.stdout.readline() == b"{}\n", "the worker does not start"

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()

    def _resident(self) -> int:
        try:
            pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        except (OSError, IndexError):
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def _processor(self) -> float:
        """Seconds of the processor that its process has taken."""
        try:
            numbers = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")

    def _written(self, name: str) -> str:
        return (self.folder / name).read_bytes().decode("utf-8", "surrogateescape")


def steering(text: str) -> list[str]:
    """The characters of a text that a terminal obeys, but for newlines."""
    return [
        c
        for c in text
        if (unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c != "\n")
        or unicodedata.bidirectional(c) in _DIRECTION
        or c in "\u200e\u200f\u061c"
    ]


def contents(folder: Path) -> dict[str, str]:
    """A digest of every file below a folder, by its name; directories and links are named, too."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = os.fsencode(path.relative_to(folder)).decode("utf-8", "backslashreplace")
        if path.is_file() and not path.is_symlink():
            found[name] = hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
        else:
            found[name] = "link" if path.is_symlink() else "directory" if path.is_dir() else "other"
    return found
