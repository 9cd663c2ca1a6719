"""How damage of a run directory is told."""

from pathlib import Path

from geodrift._errors import InputError
from geodrift.files import Damage

CHANGED = "is not as it was written (checksum)"
MISSING = "is missing"
OF_ANOTHER = "is of another run"


def damaged(run: Path, damage: Damage, good: str = "") -> InputError:
    """The error for a file of a run that cannot be used.

    Args:
        run: The run directory.
        damage: What is wrong.
        good: What is not, in words.
    """
    whole = f"; {good}" if good else ""
    return InputError(
        f"{damage}{whole}; geodrift verify {run} lists the damage, --repair keeps what is whole"
    )
