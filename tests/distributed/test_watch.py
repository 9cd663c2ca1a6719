"""When processes are taken for stuck, and when they are given up."""

import sys

import pytest

from geodrift.distributed import supervise
from geodrift.distributed._progress import ProgressFile, Signs, make, read
from geodrift.distributed._watch import Watch


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def look(watch, clock, seconds, signs, cores=0.0):
    """Look every second for a time, in which the processes use so many cores."""
    for _ in range(int(seconds)):
        clock.now += 1.0
        found = watch.look(Signs(*signs), clock.now * cores)
        if found is not None:
            return found
    return None


def test_no_sign_for_a_minute_is_stuck(clock):
    watch = Watch(clock)
    assert look(watch, clock, 59, (0, 0)) is None
    assert look(watch, clock, 5, (0, 0)) == pytest.approx(61, abs=1)


def test_steps_that_take_long_have_longer(clock):
    watch = Watch(clock)
    for step in range(1, 5):
        assert look(watch, clock, 20, (9 * step, step)) is None
    assert watch.limit == pytest.approx(200, abs=15)
    assert look(watch, clock, 170, (36, 4)) is None
    assert look(watch, clock, 60, (36, 4)) is not None


def test_compiling_is_no_standstill_but_work_without_end_is_one(clock):
    watch = Watch(clock)
    assert look(watch, clock, 900, (0, 0), cores=1.0) is None
    for step in range(1, 4):
        look(watch, clock, 1, (step, step), cores=1.0)
    assert look(watch, clock, 1000, (3, 3), cores=1.0) is None
    assert look(watch, clock, 400, (3, 3), cores=1.0) is not None


def test_the_chatter_of_those_that_wait_is_no_work(clock):
    assert look(Watch(clock), clock, 70, (0, 0), cores=0.02) is not None


def test_a_file_shows_the_counts(tmp_path):
    make(tmp_path / "0")
    shown = ProgressFile(str(tmp_path / "0"))
    assert read(tmp_path / "0") == (0, 0)
    shown.write(Signs(3, 2**40))
    assert read(tmp_path / "0") == (3, 2**40)
    ProgressFile(None).write(Signs(1, 1))


def test_processes_that_end_again_and_again_are_given_up(capsys):
    dies = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
    end = supervise(lambda address: [dies], restarts=1)
    told = "process 0 of 1 ended by SIGKILL; all 1 were ended"
    assert end == (1, f"{told}; giving up", True)
    assert (
        f"{told}; starting again from the last checkpoint (1 more starts allowed)" in capsys.readouterr().err
    )
