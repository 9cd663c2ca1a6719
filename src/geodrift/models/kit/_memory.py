"""What a run will need of memory and disk, before it begins."""

import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from geodrift.data import Corpus, VectorSource
from geodrift.models.kit._chain import ModelChain
from geodrift.models.kit._model import Model


class Needs(NamedTuple):
    """Bytes that a run takes at most.

    Attributes:
        memory: Of the whole process: interpreter, libraries, corpus, chains, draws that wait for the disk.
        disk: Of the run directory.
    """

    memory: int
    disk: int


def needs_of(model: Model, chains: list[ModelChain], corpus: Corpus | VectorSource) -> Needs:
    """What a fit of these chains will need.

    What the process has now is measured, with the libraries that it will load; what comes on top is counted.

    Args:
        model: The model.
        chains: As made for the start of the run.
        corpus: All documents.
    """
    # What writes the draws is loaded now: it is a good part of the memory of a small run.
    from geodrift.driver._draw_store import PENDING_BYTES

    state = sum(np.asarray(a).nbytes for chain in chains for a in chain.state().values())
    draw = sum(
        int(np.prod([size or chains[0].counted_length for size in variable.shape]))
        * np.dtype(variable.dtype).itemsize
        for variable in chains[0].variables.values()
    )
    draws = chains[0].shares.num_draws * draw * len(chains)
    # A corpus in memory is there already; of one on disk all pages will have been read.
    mapped = 0 if corpus.path is None else size_of(corpus.path)
    chains_take = int(model.memory_of_a_step * state) + min(draws, PENDING_BYTES) + mapped
    # The verdict holds one chain's draws at a time.
    chains_take += draws // len(chains)
    return Needs(_resident() + model.memory_of_compiling + chains_take, draws + state)


def size_of(path: Path) -> int:
    """Bytes of a file, or of the files in a folder."""
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _resident() -> int:
    """Bytes of memory that the process has now."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # not Linux: the most that it had until now
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
