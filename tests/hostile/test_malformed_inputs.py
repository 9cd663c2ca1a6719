"""Every malformed input gets one line that says what is wrong, and nothing is written."""

import re
import sys
from pathlib import Path

import pytest
from malformed_inputs import malformed_inputs

from geodrift import cli

CASES = list(malformed_inputs())


def tree(folder):
    """Names of everything under a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_there_are_many_and_each_has_its_name():
    assert len(CASES) >= 400
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_line_and_nothing_written(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("geodrift.data._token_pattern._SECONDS", 0.5)
    arguments = case.write(tmp_path)
    before = tree(tmp_path)
    monkeypatch.setattr(sys, "argv", ["geodrift", *arguments])
    capsys.readouterr()
    status = 0
    try:
        cli.main()
    except SystemExit as stop:
        status = stop.code or 0
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    if case.may_be_read and status == 0:
        return
    assert status in (1, 2), (out, err)
    assert not out
    told = [line for line in err.splitlines() if "rror" in line]
    assert told, err
    assert tree(tmp_path) == before
    if status == 1:
        assert len(told[-1]) < 600, told
        assert re.match(r"error: \S", told[-1])


def test_no_case_reads_outside_of_its_folder(tmp_path):
    for case in CASES[::40]:
        folder = tmp_path / "folder"
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            path.rename(tmp_path / f"{path.name}-{len(tree(tmp_path))}")
        assert all(isinstance(argument, str) for argument in case.write(Path(folder)))
