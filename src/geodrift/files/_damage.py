"""What is found wrong in files that were written by this library."""

from pathlib import Path
from typing import NamedTuple


class Damage(NamedTuple):
    """One file that is not as it was written.

    Attributes:
        file: Where it is.
        what: What is wrong with it, such as ``"is missing"`` or ``"is not as it was written (checksum)"``.
    """

    file: Path
    what: str

    def __str__(self) -> str:
        return f"{self.file} {self.what}"
