"""Faults of one of several processes at random times: all end, one line says why, and no bit is lost."""

import random
import shutil
import socket
import subprocess
import sys
import time

import pytest

from distributed.conftest import STEPS
from distributed.runs_of_processes import (
    ENDING,
    SETTINGS,
    all_gone,
    assert_same_bits,
    await_workers,
    disturb,
    of_command,
    placed,
    start,
    wait_for,
)

pytestmark = pytest.mark.slow
FIRST, OTHER = 0, -1  # rank of the process that is disturbed
STUCK = 75.0  # seconds in which a stuck process is found: 60, and some to look
SEEDS = range(4)


def fit(corpus, run, log, size, restarts):
    return start(
        *("fit", "lda", corpus, "--run", run, *SETTINGS, "--steps", STEPS),
        *("--processes", size, "--restarts", restarts),
        log=log,
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("rank", "kind", "within"),
    [
        (FIRST, "SIGKILL", ENDING),
        (OTHER, "SIGKILL", ENDING),
        (FIRST, "SIGSTOP", STUCK),
        (OTHER, "SIGSTOP", STUCK),
        (OTHER, "SIGTERM", ENDING),
        (FIRST, "full disk", ENDING),
    ],
)
def test_disturbed_at_a_random_time(rank, kind, within, seed, corpus, alone, tmp_path):
    choice = random.Random(f"{rank} {kind} {seed}")
    run, log, size = tmp_path / "run", tmp_path / "log", choice.choice([2, 3, 4])
    command = fit(corpus, run, log, size, restarts=seed % 2)
    crew = await_workers(command, size)
    time.sleep(choice.uniform(0.0, 20.0))
    if command.poll() is None and not all_gone(crew.values()):
        disturb(crew[rank % size], kind)
        wait_for(lambda: all_gone(crew.values()) or command.poll() == 0, within, "the end of all")
    status, said = command.wait(300), log.read_text()
    assert "Traceback" not in said
    assert (
        sum("error:" in line or "starting again" in line or "giving up" in line for line in said.splitlines())
        <= 1
    )
    if status:
        assert status == 143 or kind == "full disk" or "giving up" in said
        more = of_command("resume", run, *choice.choice([[], ["--processes", 2]]))
        # A process that is killed as it leaves has nothing left to do.
        assert more[0] == 0 or "has done its plan" in more[2], more
    assert_same_bits(run, alone)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_process_that_comes_40_seconds_late_joins(seed, corpus, alone, tmp_path):
    run, log = tmp_path / "run", tmp_path / "log"
    command = fit(corpus, run, log, 2, restarts=0)
    crew = await_workers(command, 2)
    late = crew[seed % 2]
    time.sleep(0.5 * (seed // 2))
    disturb(late, "SIGSTOP")
    time.sleep(40.0)
    disturb(late, "SIGCONT")
    assert command.wait(300) == 0, log.read_text()
    assert_same_bits(run, alone)


def apart(commands):
    """Commands side by side, that wait ten seconds for each other: the status of each and what it says."""
    code = (
        "from geodrift.distributed import _join; _join.ARRIVAL_SECONDS = 10.0;"
        "from geodrift_command import main; main()"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, *map(str, words)],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for words in commands
    ]
    said = [process.communicate(timeout=120)[1] for process in processes]
    return [(process.returncode, text) for process, text in zip(processes, said, strict=True)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", ["settings", "coordinator", "port"])
def test_processes_that_do_not_go_together(fault, seed, corpus, tmp_path):
    run, where = tmp_path / "run", placed(2)
    lines = [
        ["fit", "lda", corpus, "--run", run, *SETTINGS, "--steps", STEPS, *where, "--process-id", rank]
        for rank in range(2)
    ]
    if fault == "settings":
        lines[seed % 2] += [["--topics", 7], ["--seed", 3], ["--steps", 9], ["--sweeps", 2]][seed]
    elif fault == "coordinator":
        lines[1] += ["--coordinator", ["no.such.machine:9", "127.0.0.1:9", *2 * ["127.0.0.1:7"]][seed]]
    else:
        taken = socket.create_server(("", int(where[2].rpartition(":")[2])))
    ends = apart(lines if fault != "port" else lines[:1])
    if fault == "port":
        taken.close()
    for status, said in ends:
        assert status in (1, 75), said
        assert said.count("error:") == 1, said
    assert not run.exists()


def test_a_process_that_finds_another_run_at_its_path_is_told(corpus, alone, tmp_path):
    """It had other counts than process 0, which was put down to its processor."""
    other = shutil.copytree(alone, tmp_path / "other")
    fit, where = ["fit", "lda", corpus, *SETTINGS, "--steps", STEPS], placed(2)
    runs = [tmp_path / "run", other]
    lines = [[*fit, "--run", run, *where, "--process-id", rank] for rank, run in enumerate(runs)]
    for status, said in apart(lines):
        assert status == 1, said
        assert "error: process 1 has run" in said, said
        assert "all processes need the same" in said
