"""Every malformed input gets one line that says what is wrong, and nothing is written."""

import re
from pathlib import Path

import pytest
from malformed_inputs import malformed_inputs

from law_checks import some

CASES = list(malformed_inputs())


def tree(folder):
    """Names of everything under a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_there_are_many_and_each_has_its_name():
    assert len(CASES) >= 400
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", some(CASES, {case.name for case in CASES[::3]}))
def test_one_line_and_nothing_written(warm, case, tmp_path):
    """In another process; `Outcome.faults` says what no input may cause."""
    arguments = case.write(tmp_path)
    before = tree(tmp_path)
    outcome = warm[0].call(*arguments)
    assert not outcome.faults(), outcome
    if case.may_be_read and outcome.status == 0:
        return
    assert outcome.status in (1, 2), outcome
    assert not outcome.out
    told = [line for line in outcome.err.splitlines() if "rror" in line]
    assert tree(tmp_path) == before
    assert not warm[0].left_here()
    if outcome.status == 1:
        assert len(told[-1]) < 600, told
        assert re.match(r"error: \S", told[-1])


def test_no_case_reads_outside_of_its_folder(tmp_path):
    for case in CASES[::40]:
        folder = tmp_path / "folder"
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            path.rename(tmp_path / f"{path.name}-{len(tree(tmp_path))}")
        assert all(isinstance(argument, str) for argument in case.write(Path(folder)))
