"""What the tests of hostile input share: warm processes, valid files and runs to damage."""

import pytest
from harness import Worker


@pytest.fixture(scope="session")
def worker():
    with Worker() as made:
        yield made
