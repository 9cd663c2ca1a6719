"""`--processes` and `--distributed` with real processes: the same bits, whatever happens to one of them."""

import pytest

from distributed.conftest import STEPS
from distributed.runs_of_processes import (
    ENDING,
    SETTINGS,
    all_gone,
    assert_same_bits,
    await_steps,
    await_workers,
    disturb,
    of_command,
    placed,
    start,
    wait_for,
)


@pytest.mark.slow
def test_processes_that_something_else_started_leave_a_run_that_two_of_our_own_go_on_with(
    corpus, alone, tmp_path
):
    """SIGTERM to one of them."""
    run, log = tmp_path / "run", tmp_path / "log"
    fit = ["fit", "lda", corpus, "--run", run, *SETTINGS, "--steps", STEPS]
    where = placed(2)
    # To files: what XLA has to say of programs that it has kept would fill a pipe that nobody reads.
    logs = [tmp_path / f"{rank}" for rank in range(2)]
    processes = [start(*fit, *where, "--process-id", rank, log=each) for rank, each in enumerate(logs)]
    await_steps(run)
    disturb(processes[1].pid, "SIGTERM")
    statuses = [process.wait(120) for process in processes]
    lines = [each.read_text("utf-8", "replace") for each in logs]
    assert statuses == [143, 0], lines
    assert "interrupted: go on with geodrift resume" in lines[0]
    assert "process 1 of 2, coordinator 127.0.0.1:" in lines[1]
    on = start("resume", run, "--processes", 2, log=log)
    assert on.wait(300) == 0
    assert_same_bits(run, alone)


def test_two_processes_have_the_bits_of_one(corpus, alone, tmp_path):
    run = tmp_path / "run"
    fit = of_command("fit", "lda", corpus, "--run", run, *SETTINGS, "--steps", STEPS, "--processes", 2)
    assert fit[0] == 0, fit
    assert_same_bits(run, alone)


@pytest.mark.slow  # in CI two processes that live, and one of a small program that dies
def test_the_death_of_one_of_two_processes_costs_no_bit(corpus, alone, tmp_path):
    run, log = tmp_path / "run", tmp_path / "log"
    on = start("fit", "lda", corpus, "--run", run, *SETTINGS, "--steps", STEPS, "--processes", 2, log=log)
    crew = await_workers(on, 2)
    await_steps(run)
    disturb(crew[1], "SIGKILL")
    wait_for(lambda: all_gone(crew.values()), ENDING, "the end of the other process")
    assert on.wait(300) == 0
    said = log.read_text()
    assert said.count("process 1 of 2 ended by SIGKILL; all 2 were ended; starting again") == 1
    assert "error" not in said
    assert "Traceback" not in said
    assert_same_bits(run, alone)
