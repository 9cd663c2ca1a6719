"""The README's first Python example runs, and its table of commands is the command line's."""

import re
from pathlib import Path

import jax
import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_sampling_example_has_the_law_it_promises():
    code = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)[0]
    names: dict = {}
    with jax.enable_x64(False):  # as a reader runs it
        exec(compile(code, "README.md", "exec"), names)
    draws, data = names["draws"], names["data"]
    assert draws.position.shape == (4, 1000, 3)
    # A von Mises-Fisher posterior: in R^3, 1 - E[direction.x] is 1/concentration up to exp(-2 concentration).
    total = data.sum(axis=0)
    length = float((total @ total) ** 0.5)
    spread = (1 - draws.position @ (total / length)).mean(axis=1) * 5.0 * length
    # Each draw is an exponential variable of mean 1, nearly independent of the last, so the standard error is
    # below 0.025; with V ignored the mean is above 1.4.
    assert spread.mean() == pytest.approx(1.0, abs=0.1)


def test_the_table_names_every_command():
    typer_main = pytest.importorskip("typer.main")
    from geodrift.cli._app import app

    listed = re.findall(r"^\| `geodrift ([\w-]+)", README, flags=re.MULTILINE)
    assert sorted(listed) == sorted(typer_main.get_command(app).commands)
