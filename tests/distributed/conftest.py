import os

import pytest

from distributed.runs_of_processes import SETTINGS, of_command
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
    """The run of one process."""
    path = tmp_path_factory.mktemp("alone") / "run"
    status, _, said = of_command("fit", "lda", corpus, "--run", path, *SETTINGS, "--steps", STEPS)
    assert status == 0, said
    return path


@pytest.fixture(autouse=True)
def programs_of_users(monkeypatch):
    """Processes that a test starts know nothing of it."""
    for name in [name for name in os.environ if name.startswith("PYTEST")]:
        monkeypatch.delenv(name)
