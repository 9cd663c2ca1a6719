"""Processor seconds of `geodrift report` and of its parts.

    NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/models/report_time.py FOLDER

A corpus is simulated from LDA, with a date for each document, and fitted for 400 steps of four chains; a run
that stands in the folder already is used as it is. Prints one JSON object: seconds from one sign of progress
to the next.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import geodrift as gd
from geodrift.models import model_of

VOCABULARY, YEARS = 8000, 10


def simulate(path: Path, documents: int, words: int, topics: int) -> None:
    """Documents of a theme or two, a date each, as JSON lines."""
    rng = np.random.default_rng(0)
    laws = rng.dirichlet(np.full(VOCABULARY, 0.02), size=topics)
    mixtures = rng.dirichlet(np.full(topics, 0.1), size=documents)
    with path.open("w", encoding="utf-8") as file:
        for number, mixture in enumerate(mixtures):
            drawn = rng.choice(VOCABULARY, words, p=mixture @ laws)
            date = f"{2010 + number * YEARS // documents}-{1 + number % 12:02}-15"
            text = " ".join(f"w{word:04}" for word in drawn)
            file.write(json.dumps({"id": f"d{number}", "date": date, "text": text}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--words", type=int, default=100)
    parser.add_argument("--topics", type=int, default=20)
    arguments = parser.parse_args()
    run_path = arguments.folder / "run"
    if not run_path.exists():
        arguments.folder.mkdir(parents=True, exist_ok=True)
        records = arguments.folder / "records.jsonl"
        simulate(records, arguments.documents, arguments.words, arguments.topics)
        fit = f"fit lda {records} --run {run_path} --topics {arguments.topics} --steps 400 --held-out 200"
        subprocess.run([sys.executable, "-m", "geodrift.cli", *fit.split()], check=True)
    told: list[tuple[str, float]] = []

    def progress(done: int, total: int, what: str) -> None:
        told.append((what, time.process_time()))

    run = gd.load(run_path)
    begun = time.process_time()
    report = model_of(run).answers().report(run, documents=arguments.documents, progress=progress)
    told.append(("writing", time.process_time()))
    report.save(arguments.folder / "report.html")
    ends = [at for _, at in told[1:]] + [time.process_time()]
    parts: dict[str, float] = {}
    for (what, start), end in zip(told, ends, strict=True):
        parts[what] = round(parts.get(what, 0.0) + end - start, 2)
    size = (arguments.folder / "report.html").stat().st_size
    print(json.dumps({"seconds": round(ends[-1] - begun, 2), "parts": parts, "bytes": size}, indent=2))


if __name__ == "__main__":
    main()
