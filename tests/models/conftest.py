import io
import sys

import pytest
from rich.console import Console

from geodrift import cli
from geodrift.kernels import _device


@pytest.fixture
def quiet():
    return Console(file=io.StringIO())


@pytest.fixture(params=["host", "jax"])
def each_form(request, monkeypatch):
    """The SAM's documents in compiled host code, and in JAX as on a device that is no CPU."""
    monkeypatch.setattr(_device, "in_jax", lambda: request.param == "jax")
    return request.param


@pytest.fixture
def in_jax(monkeypatch):
    """The SAM's documents in JAX, as on a device that is no CPU."""
    monkeypatch.setattr(_device, "in_jax", lambda: True)


@pytest.fixture
def call(monkeypatch, capsys):
    """Runs a command that has to succeed, and returns what it prints."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["geodrift", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsys.readouterr()
        assert not stop.value.code, err
        return out

    return run
