import io
import sys

import pytest
from rich.console import Console

from geodrift import cli


@pytest.fixture
def quiet():
    return Console(file=io.StringIO())


@pytest.fixture
def call(monkeypatch, capsys):
    """Runs a command that has to succeed, and returns what it prints."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["geodrift", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        assert not stop.value.code, err
        return out

    return run
