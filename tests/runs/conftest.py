import io
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parent))

from fake import FakeEngine

from geodrift.runs import Run

WORDS = ["a", "b", "école", "d e", "f"]


@pytest.fixture
def quiet():
    return Console(file=io.StringIO())


@pytest.fixture
def make_run(tmp_path):
    def make(name, chains=1, **options):
        config = {"model": "fake", "chains": chains, "words": len(WORDS), "seed": 0}
        run = Run.create(tmp_path / name, config, WORDS, np.arange(5))
        return run, [FakeEngine(chain=chain, **options) for chain in range(chains)]

    return make
