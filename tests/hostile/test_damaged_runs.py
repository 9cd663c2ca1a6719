"""Damaged runs and corpora: the right numbers or a line that names the file, and nothing lost."""

from random import Random

import pytest
from campaign import make_warm
from harness import Worker
from run_cases import Ground, faults_of_all_commands

CASES = 40


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ground")
    with Worker() as worker:
        make_warm(worker, tmp_path_factory.mktemp("warm"))
        yield worker, Ground(worker, folder)


def test_damaged_runs_and_corpora(ground):
    worker, whole = ground
    for seed in range(CASES):
        damaged, faults = faults_of_all_commands(whole, worker, Random(seed))
        assert not faults, (seed, damaged, faults)
