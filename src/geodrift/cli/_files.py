"""Files that commands write."""

import csv
import io
from pathlib import Path
from typing import BinaryIO

import numpy as np

from geodrift.cli import UsageError
from geodrift.files import refuse_existing, write_arrays, write_file


def check_suffix(path: Path, *allowed: str) -> None:
    """Refuse a name of another kind, or a file that exists, before any work is done."""
    check_name(path, *allowed)
    refuse_existing(path)


def check_name(path: Path, *allowed: str) -> None:
    """Refuse a name of another kind."""
    if path.suffix not in allowed:
        raise UsageError(f"--out must end in {' or '.join(allowed)}, got {path}")


def write_weights(path: Path, weights: dict[str, np.ndarray], component: str) -> None:
    """Weights [document, component] as .npz, or as .csv with one row a document and component.

    An end of an interval that there is not is NaN in the one and empty in the other.
    """
    if path.suffix == ".npz":
        write_arrays(path, weights)
        return

    def write(stream: BinaryIO) -> None:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text)
        writer.writerow(["document", component, "mean", "low", "high"])
        for (document, place), mean in np.ndenumerate(weights["mean"]):
            ends = (weights[name][document, place] for name in ("low", "high"))
            told = ("" if np.isnan(value) else f"{value:.6g}" for value in (mean, *ends))
            writer.writerow([document, place, *told])
        text.flush()
        text.detach()

    write_file(path, write)
