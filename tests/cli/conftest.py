import sys

import pytest
import scipy.sparse as sp
from command import WORDS, documents

from geodrift import cli


@pytest.fixture
def geodrift_cli(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["geodrift", *map(str, arguments)])
        capsys.readouterr()
        try:
            cli.main()
            status = 0
        except SystemExit as stop:
            status = stop.code or 0
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture(scope="session")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    sp.save_npz(folder / "train.npz", documents(60, 0))
    sp.save_npz(folder / "test.npz", documents(10, 1))
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    return folder
