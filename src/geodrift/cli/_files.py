"""Files that commands write."""

import csv
import io
import json
from pathlib import Path
from typing import BinaryIO

import numpy as np

from geodrift.cli import UsageError
from geodrift.files import refuse_existing, write_arrays, write_file
from geodrift.runs import Run, aligned_topics, expected_topics


def check_suffix(path: Path, *allowed: str) -> None:
    """Refuse a name of another kind, or a file that exists, before any work is done."""
    if path.suffix not in allowed:
        raise UsageError(f"--out must end in {' or '.join(allowed)}, got {path}")
    refuse_existing(path)


def write_mixtures(path: Path, mixtures: dict[str, np.ndarray]) -> None:
    """Mixtures [document, topic] as .npz, or as .csv with one row a document and topic."""
    if path.suffix == ".npz":
        write_arrays(path, mixtures)
        return

    def write(stream: BinaryIO) -> None:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text)
        writer.writerow(["document", "topic", "mean", "low", "high"])
        for (document, topic), mean in np.ndenumerate(mixtures["mean"]):
            ends = (mixtures[name][document, topic] for name in ("low", "high"))
            writer.writerow([document, topic, *(f"{value:.6g}" for value in (mean, *ends))])
        text.flush()
        text.detach()

    write_file(path, write)


def write_export(path: Path, run: Run) -> None:
    """Topic draws with everything needed to read them; plain arrays only."""
    topics = aligned_topics(run)
    keys = ("model", "settings", "seed", "chains", "documents", "plan", "geodrift")
    hyperparameters = json.dumps({key: run.config[key] for key in keys if key in run.config})
    arrays = {
        "topics": topics,
        "expected_topics": expected_topics(run, topics),
        "vocabulary": np.array(run.vocabulary, dtype=np.str_),
        "hyperparameters": np.array(hyperparameters),
    }
    write_arrays(path, arrays)
