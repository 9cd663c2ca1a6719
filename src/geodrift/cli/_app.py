"""All commands. Heavy imports stand inside them, so that `--help` is quick."""

from geodrift.cli import (
    _checking,
    _choosing,
    _comparing,
    _documents,
    _effect,
    _exporting,
    _making,
    _reading,
    _renaming,
    _reporting,
    _transforming,
)
from geodrift.cli._root import app

__all__ = [
    "_checking",
    "_choosing",
    "_comparing",
    "_documents",
    "_effect",
    "_exporting",
    "_making",
    "_reading",
    "_renaming",
    "_reporting",
    "_transforming",
    "app",
]
