"""The number of topics that `geodrift choose-k` names, on corpora simulated with 20.

    python benchmarks/lda/number_of_topics.py OUT.json [--corpora 5] [--steps 300] [--topics 5,10,...]

By the command itself. Of each corpus: which number has the highest held-out score, which cannot be told
from it, and the one that is named. ``held`` counts the corpora in which 20 is not told from the best and
the named one is from 15 to 25. The file is written after every corpus, and a later call goes on from it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

TRUE, WORDS, DOCUMENTS, LENGTH, ALPHA, ETA = 20, 1000, 2000, 80, 0.1, 0.05
RANGE = (15, 25)


def simulate(seed):
    rng = np.random.default_rng([seed, 4])
    topics = rng.dirichlet(np.full(WORDS, ETA), TRUE)
    mixtures = rng.dirichlet(np.full(TRUE, ALPHA), DOCUMENTS)
    return sp.csr_matrix(np.stack([rng.multinomial(LENGTH, mixture @ topics) for mixture in mixtures]))


def measure(seed, options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counts.npz"
        sp.save_npz(path, simulate(seed))
        command = [sys.executable, "-m", "geodrift_command", "choose-k", str(path), "--json"]
        command += ["--run", str(Path(folder) / "runs"), "--topics", options.topics, "--seed", str(seed)]
        began = time.monotonic()
        told = subprocess.run(
            [*command, "--steps", str(options.steps)], check=True, text=True, stdout=subprocess.PIPE
        )
    ladder = json.loads(told.stdout)
    return {
        "seed": seed,
        "wall_seconds": round(time.monotonic() - began, 1),
        "best": ladder["best"],
        "chosen": ladder["chosen"],
        "not_told_apart": [row["topics"] for row in ladder["rows"] if not row["apart"]],
        "rows": ladder["rows"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--corpora", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--topics", default="5,10,15,20,25,30,40")
    options = parser.parse_args()
    stored = json.loads(options.out.read_text()) if options.out.exists() else {"rows": []}
    while len(stored["rows"]) < options.corpora:
        stored["rows"].append(measure(len(stored["rows"]), options))
        stored["held"] = sum(
            TRUE in row["not_told_apart"] and RANGE[0] <= row["chosen"] <= RANGE[1] for row in stored["rows"]
        )
        options.out.write_text(json.dumps(stored, indent=1) + "\n")
        row = stored["rows"][-1]
        print(row["best"], row["chosen"], row["not_told_apart"], file=sys.stderr)
    print(f"{stored['held']} of {len(stored['rows'])}")


if __name__ == "__main__":
    main()
