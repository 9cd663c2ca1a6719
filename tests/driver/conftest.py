import io

import pytest
from fake import FakeChain
from rich.console import Console

from geodrift.driver import Labels, Run

WORDS = ["a", "b", "école", "d e", "f"]


@pytest.fixture
def quiet():
    return Console(file=io.StringIO())


@pytest.fixture
def make_run(tmp_path):
    def make(name, chains=1, **options):
        config = {"kind": "fake", "chains": chains, "identity": "of the settings"}
        run = Run.create(tmp_path / name, config, [Labels("word", "words.txt", WORDS)])
        return run, [FakeChain(chain=chain, **options) for chain in range(chains)]

    return make
