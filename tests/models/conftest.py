import io

import pytest
from rich.console import Console


@pytest.fixture
def quiet():
    return Console(file=io.StringIO())
