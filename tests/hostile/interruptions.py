"""Kills, Ctrl-C and full disks at random times, and what must hold after each."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from harness import steering
from tasks import COMMAND, NAMES, Task, orphans, partials, start

_KILLED = ("fit", "fit", "fit", "sample", "corpus", "export")


def killed(random: Random, straight: dict, ground: Path, folder: Path) -> tuple[int, list[str]]:
    """Kill a task at random times, let it end, and compare; returns the number of kills that met it alive."""
    name = random.choice(_KILLED)
    task, kills, (digest, seconds) = Task(name, ground, folder), 0, straight[name]
    for _ in range(random.randint(1, 4)):
        process = task.start()
        time.sleep(random.uniform(0.0, seconds))
        kills += process.poll() is None
        process.kill()
        process.communicate()
    faults = _after(task, digest)
    return kills, [f"{name}, {kills} kills: {fault}" for fault in faults]


def stopped(random: Random, straight: dict, ground: Path, folder: Path) -> tuple[bool, list[str]]:
    """Ctrl-C or SIGTERM for a command at a random time; returns whether it met it alive."""
    folder.mkdir()
    readers = {
        "topics": ["topics", ground / "run"],
        "evaluate": ["evaluate", ground / "run", ground / "a.npz"],
        "transform": ["transform", ground / "run", ground / "a.npz", "--out", folder / "weights.csv"],
    }
    name = random.choice([*(name for name in NAMES if name != "sample"), *readers])
    task = None if name in readers else Task(name, ground, folder)
    seconds = 4.0 if task is None else straight[name][1]
    process = start([COMMAND, *readers[name]], folder) if task is None else task.start()
    number = random.choice([signal.SIGINT, signal.SIGTERM])
    while process.poll() is None and not _is_ours(process.pid):
        time.sleep(0.005)
    time.sleep(random.uniform(0.0, seconds))
    alive = process.poll() is None
    if alive:
        # Ctrl-C goes to every process of the terminal, SIGTERM to one.
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    began = time.monotonic()
    out, err = process.communicate()
    faults = []
    if process.returncode not in ((128 + number, 0) if alive else (0,)):
        faults.append(f"status {process.returncode}: {err[-1500:]}")
    if "Traceback" in err or "Exception" in err or steering(out + err):
        faults.append(f"not a line: {err[-1500:]}")
    if process.returncode == 128 + number and "interrupted" not in err:
        faults.append(f"no line: {err[-1500:]}")
    if time.monotonic() - began > 10.0:
        faults.append(f"took {time.monotonic() - began:.1f} s to stop")
    if left := partials(folder):
        faults.append(f"left {left}")
    if task is not None:
        faults += _after(task, straight[name][0])
    return alive, [f"{name}, {number.name}: {fault}" for fault in faults]


def on_a_full_disk(random: Random, straight: dict, ground: Path, folder: Path) -> tuple[bool, list[str]]:
    """A task on a disk that is too small; then with room. Returns whether the disk was full."""
    name = random.choice(NAMES)
    size = _size(ground / f"straight-{name}")
    with small_disk(folder, random.randrange(4096, max(8192, int(0.9 * size)))) as grow:
        task = Task(name, ground, folder)
        _, err = (process := task.start()).communicate()
        full, faults = process.returncode != 0, []
        if full and (process.returncode != 1 or str(folder) not in err.splitlines()[-1]):
            faults.append(f"status {process.returncode}, the path is not named: {err[-1500:]}")
        if full and "No space left" not in err:
            faults.append(f"does not say what was wanting: {err[-1500:]}")
        if name != "sample" and "Traceback" in err:
            faults.append("a traceback")
        if left := partials(folder):
            faults.append(f"left {left}")
        grow()
        faults += _after(task, straight[name][0])
    return full, [f"{name}: {fault}" for fault in faults]


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator:
    """A file system of so many bytes at a folder, and what gives it room; for root alone."""
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o"]
    subprocess.run([*mount, f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield lambda: subprocess.run([*mount, "remount,size=200m", "tmpfs", str(folder)], check=True)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _after(task: Task, digest: str) -> list[str]:
    """Carry a task on to its end: the same bits, and nothing left behind."""
    faults = []
    until = time.monotonic() + 5.0
    while orphans(task.folder) and time.monotonic() < until:
        time.sleep(0.1)
    if orphans(task.folder):
        faults.append("processes go on without the one that started them")
    try:
        if task.finish() != digest:
            faults.append("other bits")
    except Exception as error:
        faults.append(f"does not go on: {error}")
    if left := partials(task.folder):
        faults.append(f"stale: {[Path(name).name for name in left]}")
    return faults


def _is_ours(number: int) -> bool:
    """Whether a process has a handler of SIGTERM: an interpreter that starts has none."""
    for line in Path(f"/proc/{number}/status").read_text().splitlines():
        if line.startswith("SigCgt"):
            return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def fresh(folder: Path) -> Path:
    """An empty place for the next case."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder
