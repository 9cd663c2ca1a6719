"""A command's time, and the memory of all its processes together."""

import pathlib
import subprocess
import time
from typing import Any

SAMPLE_SECONDS = 0.05


def measured(command: list[str], environment: dict[str, str] | None = None) -> dict[str, Any]:
    """Run a command to its end.

    Memory is sampled: the largest sum over the processes of their proportional sets, in which a page that
    several have counts once.

    Raises:
        RuntimeError: It fails; with the end of what it said.
    """
    began = time.perf_counter()
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    peak = anonymous = 0
    while process.poll() is None:
        proportional, own = _memory(process.pid)
        peak, anonymous = max(peak, proportional), max(anonymous, own)
        time.sleep(SAMPLE_SECONDS)
    seconds = time.perf_counter() - began
    said = process.stdout.read() if process.stdout else ""
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}: {said[-2000:]}")
    return {
        "seconds": round(seconds, 2),
        "peak_megabytes": round(peak / 1024),
        "peak_anonymous_megabytes": round(anonymous / 1024),
    }


def _memory(pid: int) -> tuple[int, int]:
    """Proportional set of a process and of those that it started, and the part that is no file's; kB."""
    proportional = anonymous = 0
    for each in (pid, *_below(pid)):
        try:
            text = pathlib.Path(f"/proc/{each}/smaps_rollup").read_text()
        except OSError:
            continue
        for line in text.splitlines():
            if line.startswith("Pss:"):
                proportional += int(line.split()[1])
            elif line.startswith("Pss_Anon:"):
                anonymous += int(line.split()[1])
    return proportional, anonymous


def _below(pid: int) -> list[int]:
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *_below(child)]
    return found
