"""How damage of a run directory is told."""

from pathlib import Path

from geodrift._errors import InputError
from geodrift.files import Damage

CHANGED = "is not as it was written (checksum)"
MISSING = "is missing"
OF_ANOTHER = "is of another run"


DIAGNOSTICS = "sample_stats/"  # arrays of which a repair leaves out those that are damaged
NOTHING_KEPT = (
    "no draw is before the damage, so --repair can keep none: a new run of the same settings, seed and length"
    " has all of them again"
)


def keeps_any(chunk: str) -> bool:
    """Whether a repair keeps draws where a chunk, by its path in the store, is lost: those before it."""
    _, inside, place = chunk.partition("/c/")
    return chunk.startswith(DIAGNOSTICS) or not inside or place.split("/")[1] != "0"


def damaged(run: Path, damage: Damage, good: str = "", *, kept: bool = True) -> InputError:
    """The error for a file of a run that cannot be used.

    Args:
        run: The run directory.
        damage: What is wrong.
        good: What is not, in words.
        kept: Whether a repair can keep something.
    """
    whole = f"; {good}" if good else ""
    advice = ", --repair keeps what is whole" if kept else f"; {NOTHING_KEPT}"
    return InputError(f"{damage}{whole}; geodrift verify {run} lists the damage{advice}")
