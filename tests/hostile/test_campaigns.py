"""An hour of random cases: damaged inputs, damaged runs, kills, signals and full disks."""

import os
import time

import campaign
import pytest
from interruptions import killed, on_a_full_disk, stopped

pytestmark = pytest.mark.slow

SECONDS = 720.0  # each
# Other cases every day; what fails names its seed.
SEED = int(time.time() // 86400) * 1_000_000


def test_damaged_inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not campaign.inputs(SECONDS, SEED)


def test_damaged_runs():
    assert not campaign.runs(SECONDS, SEED)


def test_kills():
    assert not campaign.interruptions(killed, SECONDS, SEED)


def test_signals():
    assert not campaign.interruptions(stopped, SECONDS, SEED)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_full_disks():
    assert not campaign.interruptions(on_a_full_disk, SECONDS, SEED)
