"""How far a process has come, in a file that its supervisor reads without asking it."""

import mmap
import os
import struct
from pathlib import Path
from typing import NamedTuple

VARIABLE = "GEODRIFT_PROGRESS"  # the file; of one process
_FORM = struct.Struct("<QQ")


class Signs(NamedTuple):
    """Counts that grow while a process gets on.

    Attributes:
        exchanges: With the other processes.
        steps: Of all chains.
    """

    exchanges: int
    steps: int


class ProgressFile:
    """The counts of this process.

    Args:
        path: Of a file from `make`; None: nobody looks.
    """

    def __init__(self, path: str | None) -> None:
        self._memory: mmap.mmap | None = None
        if path is not None:
            with Path(path).open("r+b") as stream:
                self._memory = mmap.mmap(stream.fileno(), _FORM.size)

    @classmethod
    def of_environment(cls) -> "ProgressFile":
        """The one that the supervisor has named."""
        return cls(os.environ.get(VARIABLE))

    def write(self, signs: Signs) -> None:
        """Show the counts."""
        if self._memory is not None:
            _FORM.pack_into(self._memory, 0, *signs)


def make(path: Path) -> None:
    """A file of counts that are 0."""
    path.write_bytes(_FORM.pack(0, 0))


def read(path: Path) -> Signs:
    """What a process shows."""
    return Signs(*_FORM.unpack(path.read_bytes()[: _FORM.size]))
