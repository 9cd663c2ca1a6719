"""A warm process that plays commands, for all tests of hostile input, and a run."""

import pytest
from campaign import make_warm
from harness import Worker


@pytest.fixture(scope="session")
def warm(tmp_path_factory):
    """A `Worker`, and the path of a run of the words of `valid_inputs`."""
    with Worker() as worker:
        yield worker, make_warm(worker, tmp_path_factory.mktemp("warm"))
