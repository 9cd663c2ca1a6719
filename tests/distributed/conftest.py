import os
import sys

import pytest

from distributed.runs_of_processes import SETTINGS
from geodrift import cli
from geodrift.data import Corpus
from same_draws import counts

STEPS = 300


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """A corpus of so many tokens that its vocabulary is cut into parts."""
    path = tmp_path_factory.mktemp("corpus") / "corpus"
    Corpus.from_matrix(counts()).save(path)
    return path


@pytest.fixture(scope="session")
def alone(corpus, tmp_path_factory):
    """The run of one process, this one: the start of another would take longer than the run."""
    path, before = tmp_path_factory.mktemp("alone") / "run", sys.argv
    sys.argv = ["geodrift", "fit", "lda", str(corpus), "--run", str(path), *SETTINGS, "--steps", str(STEPS)]
    try:
        with pytest.raises(SystemExit) as end:
            cli.main()
    finally:
        sys.argv = before
    assert end.value.code in (None, 0)
    return path


@pytest.fixture(autouse=True)
def programs_of_users(monkeypatch):
    """Processes that a test starts know nothing of it."""
    for name in [name for name in os.environ if name.startswith("PYTEST")]:
        monkeypatch.delenv(name)
