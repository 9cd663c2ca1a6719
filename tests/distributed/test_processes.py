"""`--processes` and `--distributed` with real processes: the same bits, whatever happens to one of them."""

import subprocess

from distributed.conftest import STEPS
from distributed.runs_of_processes import (
    ENDING,
    SETTINGS,
    all_gone,
    assert_same_bits,
    await_steps,
    await_workers,
    command,
    disturb,
    of_command,
    placed,
    start,
    wait_for,
)


def test_a_killed_process_costs_no_bit(corpus, alone, tmp_path):
    """Of two processes one is killed; the two that follow it finish the run."""
    run, log = tmp_path / "run", tmp_path / "log"
    fit = start("fit", "lda", corpus, "--run", run, *SETTINGS, "--steps", STEPS, "--processes", 2, log=log)
    crew = await_workers(fit, 2)
    await_steps(run)
    disturb(crew[1], "SIGKILL")
    wait_for(lambda: all_gone(crew.values()), ENDING, "the end of the other process")
    assert fit.wait(300) == 0
    said = log.read_text()
    assert said.count("process 1 of 2 ended by SIGKILL; all 2 were ended; starting again") == 1
    assert "error" not in said
    assert "Traceback" not in said
    assert_same_bits(run, alone)


def test_processes_started_by_something_else(corpus, alone, tmp_path):
    """Two processes with --distributed; a SIGTERM to one of them; one goes on with what is left."""
    run, lines = tmp_path / "run", []
    fit = ["fit", "lda", corpus, "--run", run, *SETTINGS, "--steps", STEPS]
    where = placed(2)
    processes = [
        subprocess.Popen(
            command(*fit, *where, "--process-id", rank),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    await_steps(run)
    disturb(processes[1].pid, "SIGTERM")
    for process in processes:
        lines.append(process.communicate(timeout=120)[1])
    assert [process.returncode for process in processes] == [143, 0], lines
    assert "interrupted: go on with geodrift resume" in lines[0]
    assert "process 1 of 2, coordinator 127.0.0.1:" in lines[1]
    assert of_command("resume", run)[0] == 0
    assert_same_bits(run, alone)
