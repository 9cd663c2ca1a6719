"""The memory that `geodrift fit` announces, against the peak of its process.

    python benchmarks/models/memory.py [CORPUS...]

Each model is fitted for some steps to each corpus directory or file given, and to two made-up ones. A figure
within 25% of the peak is what is promised.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

UNITS = {"bytes": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}


def made_up(folder, documents, words):
    """Counts of a hundred words a document, from a law like Zipf's."""
    rng = np.random.default_rng(0)
    columns = np.minimum(rng.zipf(1.2, size=documents * 100) - 1, words - 1)
    rows = np.repeat(np.arange(documents), 100)
    counts = sp.csr_matrix((np.ones(len(rows), np.int32), (rows, columns)), shape=(documents, words))
    path = folder / f"{documents}-documents.npz"
    sp.save_npz(path, counts)
    return path


def announced_and_peak(model, corpus, run, steps):
    """Bytes."""
    command = [
        sys.executable,
        "-m",
        "geodrift.cli",
        "fit",
        model,
        corpus,
        "--run",
        run,
        "--steps",
        str(steps),
    ]
    with subprocess.Popen(
        list(map(str, command)), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as child:
        told = child.stderr.read().decode()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(told)
    number, unit = re.search(r"needs about ([\d,.]+) (\w+) of memory", told).groups()
    return float(number.replace(",", "")) * UNITS[unit], usage.ru_maxrss * 1024


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpora = [made_up(folder, 500, 1000), made_up(folder, 20_000, 20_000), *map(Path, sys.argv[1:])]
        print(f"{'model':<6} {'corpus':<28} {'announced':>10} {'peak':>10} {'ratio':>6}")
        for number, corpus in enumerate(corpora):
            for model in ("lda", "sam"):
                told, peak = announced_and_peak(model, corpus, folder / f"{model}-{number}", 200)
                sizes = f"{told / 1e6:>7,.0f} MB {peak / 1e6:>7,.0f} MB"
                print(
                    f"{model:<6} {'/'.join(corpus.parts[-2:])[-28:]:<28} {sizes} {told / peak:>6.2f}",
                    flush=True,
                )
