"""What a corpus directory is made of: a build that was killed goes on only where all of it is the same."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from geodrift.data._manifest import MANIFEST
from geodrift.data._sources import Source
from geodrift.data._stores import state_of
from geodrift.data._text import TextOptions
from geodrift.files import read_json, write_json

PLAN = "plan.json"
_LAYOUT = 2  # of the files between the steps; another one begins anew


class Plan(NamedTuple):
    """The build of a corpus directory.

    Attributes:
        digest: Of the sources, with sizes and times of change, of all options and of a given vocabulary.
    """

    digest: str

    def fits(self, folder: Path) -> bool:
        """Whether a directory that was left is of this very build."""
        try:
            return read_json(folder / PLAN, "a plan") == self._asdict()
        except ValueError:
            return False


def plan_of(parts: Sequence[Source], options: TextOptions, words: list[str] | None) -> Plan:
    """The plan of a build.

    Raises:
        InputError: A file is not there.
    """
    from geodrift import __version__

    states = {path: state_of(path) for part in parts for path in part.paths}
    told: list[Any] = [
        _LAYOUT,
        __version__,
        [asdict(part) for part in parts],
        states,
        options.to_dict(),
        words,
    ]
    return Plan(hashlib.sha256(json.dumps(told).encode()).hexdigest())


def begin(plan: Plan, folder: Path) -> None:
    """Say in a new directory what is built there; one that was left loses its manifest, if it has one."""
    (folder / MANIFEST).unlink(missing_ok=True)
    if not (folder / PLAN).exists():
        write_json(folder / PLAN, plan._asdict())
