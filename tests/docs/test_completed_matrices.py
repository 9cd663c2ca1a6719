"""What the page on matrix completion says of its intervals."""

import numpy as np
import pytest

from docs.pages import blocks_of, run_page

PAGE = "tutorials/matrix-completion.md"


@pytest.mark.slow
@pytest.mark.usefixtures("optimised")
def test_hidden_entries_of_simulated_matrices_are_in_their_intervals():
    names, _ = run_page(PAGE, blocks_of(PAGE)[:3])
    shares = [(names["entries"], names["means"]), *(names["covered"](seed)[:2] for seed in (1, 2, 3))]
    entries, means = np.mean(shares, axis=0)
    # 1,200 hidden entries a set, and their means move together: four sets scatter by 1% and 2%.
    assert 0.87 < entries < 0.93
    assert 0.84 < means < 0.95


@pytest.mark.slow
@pytest.mark.usefixtures("optimised")
def test_hidden_pixels_are_nearer_to_their_means_than_to_those_of_columns():
    blocks = blocks_of(PAGE)
    names, printed = run_page(PAGE, [*blocks[:2], *blocks[3:]])
    assert names["error"](names["means"]) < 0.85 * names["error"](0 * names["values"])
    assert 0.8 < names["inside"][names["hidden"]].mean() < 0.95
    assert "<svg" in printed
