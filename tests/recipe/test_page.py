"""The code of docs/how-to/invent-a-sampler.md runs, and prints what the page says."""

import re
from pathlib import Path

import jax
import numpy as np
import pytest

from law_checks import assert_means

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "invent-a-sampler.md"


def run_page(shorter=False):
    """The names that the page's code leaves, and what it printed."""
    blocks = re.findall(r"```python exec[^\n]*\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    names, printed = {}, []
    names["print"] = lambda text: printed.append(str(text))
    with jax.enable_x64(False):  # as a reader runs it
        for block in blocks:
            code = block.replace("num_draws=2000", "num_draws=20") if shorter else block
            exec(compile(code, PAGE.name, "exec"), names)
    return names, printed, blocks


@pytest.fixture(scope="module")
def page():
    return run_page()


@pytest.mark.slow
def test_a_sampler_of_ones_own_takes_fifteen_lines_and_has_the_law(page):
    names, _, blocks = page
    lines = [line for line in blocks[0].splitlines() if line.strip() and "import" not in line]
    assert len(lines) <= 15
    x = np.asarray(names["draws"].position["x"], float)
    moments = np.stack([(x**2).mean(axis=-1), (x**4).mean(axis=-1)], axis=-1)
    assert_means(moments, [0.8327454871, 1.0827454871], slack=0.004)
    assert_means((np.asarray(names["draws"].position["r"], float) ** 2).mean(axis=-1), 1.0, slack=0.04)


def test_check_says_what_the_page_says():
    """With few draws, of which the check says nothing: their law is in the slow suite."""
    _, printed, _ = run_page(shorter=True)
    assert "exp(-H) is invariant" in printed[1]
    assert "Q is not skew" in printed[2]
    assert "the drift of 'r': the term Gamma of Q is missing" in printed[3]


@pytest.mark.slow  # as the page's other draws
def test_posterior_from_minibatches(page):
    draws = np.asarray(page[0]["posterior"].position, float)
    data = np.asarray(page[0]["data"], float)
    # At this step and friction the discretisation adds less than 0.2% to the variance.
    assert_means((draws - data.mean()) ** 2 * 1000, 1.0, slack=0.02)
