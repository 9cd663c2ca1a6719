"""No kill, full disk, second writer or Ctrl-C loses or changes a draw, whichever kind of chain it meets."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import runner

import geodrift

KINDS = tuple(runner.KINDS)
# Either keeps its run in the same files: in CI one is tried.
one_kind = pytest.mark.parametrize("kind", [pytest.param("host", marks=pytest.mark.slow), "compiled"])


def start(kind, run, draws, pause, *limit):
    command = [sys.executable, runner.__file__, kind, run, draws, pause, *limit]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True, env=environment)
    # Read all the time: a full pipe would stop the process.
    process.errors = []
    process.reader = threading.Thread(target=lambda: process.errors.extend(process.stderr))
    process.reader.start()
    return process


def said(process):
    """What a process has said on stderr, once it has ended."""
    process.wait()
    process.reader.join()
    process.stderr.close()
    return "".join(process.errors)[-2000:]


def finish(kind, run):
    """The draws of a run that is made or continued to its end, in this process."""
    return runner.KINDS[kind](run, 0.0)


def steps_of(run):
    """Steps of the run's last checkpoint; 0 before the first."""
    if not (run / "checkpoint" / "state.npz").exists():
        return 0
    return geodrift.load(run).state["counts"][0]


def wait_for_progress(process, run, beyond):
    while steps_of(run) <= beyond:
        assert process.poll() is None, said(process)
        time.sleep(0.02)


def killed_in_the_midst(kind, run):
    """A run that was killed after its first checkpoint."""
    process = start(kind, run, run.parent / "never.npz", 0.05)
    wait_for_progress(process, run, 0)
    process.send_signal(signal.SIGKILL)
    said(process)
    return run


class WhenAsked(dict):
    """What is made of each kind when a test first asks for it: in CI only one is."""

    def __init__(self, make, folder):
        super().__init__()
        self.make, self.folder = make, folder

    def __missing__(self, kind):
        self[kind] = self.make(kind, self.folder / kind)
        return self[kind]


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """The draws of runs that nothing interrupts."""
    return WhenAsked(finish, tmp_path_factory.mktemp("straight"))


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Runs that were killed in their midst."""
    return WhenAsked(killed_in_the_midst, tmp_path_factory.mktemp("killed"))


@pytest.fixture
def run(killed, kind, tmp_path):
    """A copy of a run that was killed in its midst."""
    return shutil.copytree(killed[kind], tmp_path / "run")


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


@pytest.mark.slow
@one_kind
def test_kills_at_random_times_change_no_draw(kind, straight, tmp_path):
    """In the midst of it, then, started again, once more before it can have done anything."""
    run, pauses = tmp_path / "run", random.Random(kind)
    process = start(kind, run, tmp_path / "never.npz", 0.05)
    wait_for_progress(process, run, steps_of(run))
    time.sleep(pauses.uniform(0.0, 0.1))
    process.send_signal(signal.SIGKILL)
    said(process)
    reached = steps_of(run)
    assert reached > 0
    process = start(kind, run, tmp_path / "never.npz", 0.05)
    time.sleep(pauses.uniform(0.0, 0.5))
    process.send_signal(signal.SIGKILL)
    said(process)
    assert not (tmp_path / "never.npz").exists()
    assert steps_of(run) >= reached
    assert_same(finish(kind, run), straight[kind])


def contents(run):
    """Every file of a run but the lock, which is empty."""
    return {path: path.read_bytes() for path in run.rglob("*") if path.is_file() and path.stat().st_size}


@one_kind
def test_control_c_keeps_the_run(kind, straight, tmp_path):
    run = tmp_path / "run"
    process = start(kind, run, tmp_path / "never.npz", 0.05)
    wait_for_progress(process, run, 0)
    process.send_signal(signal.SIGINT)
    err = said(process)
    assert process.returncode == -signal.SIGINT or "KeyboardInterrupt" in err
    assert "stopping after the work in hand" in err
    assert steps_of(run) > 0
    assert_same(finish(kind, run), straight[kind])


@one_kind
def test_a_second_writer_is_refused_and_does_no_harm(kind, run, tmp_path):
    before = contents(run)
    with geodrift.load(run).locked():
        second = start(kind, run, tmp_path / "second.npz", 0)
        err = said(second)
    assert second.returncode == 1
    assert "is being written by another process" in err
    assert not (tmp_path / "second.npz").exists()
    assert contents(run) == before


@pytest.mark.slow  # a second writer is refused in CI
@one_kind
def test_two_that_start_at_once_do_no_harm(kind, straight, tmp_path):
    """One of them samples; the other is refused, or finds the finished run."""
    run, files = tmp_path / "run", [tmp_path / "one.npz", tmp_path / "two.npz"]
    errors = [said(process) for process in [start(kind, run, file, 0) for file in files]]
    found = [file for file in files if file.exists()]
    assert found, errors
    for file, err in zip(files, errors, strict=True):
        assert file in found or "is being written by another process" in err or "exists already" in err
    for file in found:
        with np.load(file) as stored:
            assert_same(dict(stored), straight[kind])


@pytest.mark.slow
@one_kind
def test_a_full_disk_leaves_the_last_checkpoint(kind, run, straight, tmp_path):
    size = (run / "metrics.jsonl").stat().st_size
    process = start(kind, run, tmp_path / "never.npz", 0.0, size + 600)
    err = said(process)
    assert process.returncode == 1, err
    assert "is kept as of its last checkpoint; make room, then go on with it" in err
    assert_same(finish(kind, run), straight[kind])


@one_kind
def test_a_run_that_was_killed_can_be_read_and_continued(kind, run, straight):
    stored = geodrift.load(run)
    if stored.num_draws:
        name = "topics" if kind == "host" else "position"
        part = stored.draws["posterior"][name].values
        np.testing.assert_array_equal(part, straight[kind][name][:, : part.shape[1]])
    assert_same(finish(kind, run), straight[kind])
