"""Damaged runs and corpora: the right numbers or a line that names the file, and nothing lost."""

from random import Random

import pytest
from run_cases import Ground, faults_of_all_commands

CASES = 8  # of which test_campaigns.py has many


@pytest.mark.slow  # `test_damage` and `test_verify` damage every kind of file in CI
def test_damaged_runs_and_corpora(warm, tmp_path):
    worker, whole = warm[0], Ground(warm[0], tmp_path)
    for seed in range(CASES):
        damaged, faults = faults_of_all_commands(whole, worker, Random(seed))
        assert not faults, (seed, damaged, faults)
