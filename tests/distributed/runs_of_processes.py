"""Runs of several processes under test: started by the command, disturbed from outside, compared."""

import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import geodrift as gd

SETTINGS = ["--topics", "6", "--batch-size", "200", "--chains", "1"]
ENDING = 30.0  # seconds in which all processes end after one has died


def command(*arguments):
    return [sys.executable, "-m", "geodrift_command", *map(str, arguments)]


def start(*arguments, log):
    """The command in the background, what it says in a file."""
    with log.open("wb") as stream:
        return subprocess.Popen(command(*arguments), stdout=stream, stderr=stream)


def of_command(*arguments):
    """The command to its end: status, stdout and stderr."""
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=500)
    return done.returncode, done.stdout, done.stderr


def workers(supervisor):
    """Processes of a supervisor that are alive: their numbers in the system by their rank."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            words = (folder / "cmdline").read_bytes().decode().split("\0")
        except (OSError, ValueError):
            continue
        if parent == supervisor and "--process-id" in words:
            found[int(words[words.index("--process-id") + 1])] = int(folder.name)
    return found


def wait_for(true, seconds, what):
    until = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < until, f"{what} took longer than {seconds} s"
        time.sleep(0.05)
    return value


def await_workers(supervisor, number, seconds=120):
    def all_there():
        assert supervisor.poll() is None, "the command ended before its processes began"
        found = workers(supervisor.pid)
        return found if len(found) == number else None

    return wait_for(all_there, seconds, "the start")


def chunks_of(run):
    """Chunks of steps that a run has taken."""
    try:
        return (run / "metrics.jsonl").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def await_steps(run, seconds=240):
    """Until the run has taken steps beyond its first chunk."""
    wait_for(lambda: chunks_of(run) > 2, seconds, "the first steps")


def all_gone(numbers):
    return all(not Path(f"/proc/{number}").exists() or zombie(number) for number in numbers)


def zombie(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def fill_disk(number):
    """Files of a process that are beyond what they are now fail, as on a full disk."""
    resource.prlimit(number, resource.RLIMIT_FSIZE, (1000, 1000))


def disturb(number, kind):
    if kind == "full disk":
        fill_disk(number)
    else:
        os.kill(number, getattr(signal, kind))


def placed(size):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return ["--distributed", "--coordinator", f"127.0.0.1:{port}", "--process-count", size]


def results(run):
    """Everything by which two runs are compared."""
    run = gd.load(run)
    found = {name: value.values for name, value in run.draws["posterior"].to_dataset().data_vars.items()}
    for chain, state in enumerate(run.read_checkpoint().states):
        found |= {f"{chain}/{name}": value for name, value in state.items()}
    return found


def assert_same_bits(run, other):
    one, two = results(run), results(other)
    assert one.keys() == two.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, two[name], err_msg=name)
