"""Documents, and what every command's test asks of a failure."""

import numpy as np
import scipy.sparse as sp

WORDS = [f"w{i:02d}" for i in range(30)]


def documents(number, seed):
    """Documents of three groups, each with ten words of its own."""
    rng = np.random.default_rng(seed)
    rates = np.kron(np.eye(3), np.ones(10)) * 1.5 + 0.05
    return sp.csr_matrix(rng.poisson(rates[rng.integers(3, size=number)]))


def tree(path):
    """Names and contents of everything under a folder."""
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def assert_one_line(status, out, err, *, code=1):
    assert status == code
    assert out == ""
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert "Traceback" not in err
