"""Held-out perplexity after so many seconds, as a user gets it: `geodrift fit --seconds`, beside tomotopy.

    python benchmarks/lda/marks.py OUT.json FOLDER --topics K [--seconds 5 10 20 60] [--seed 0] [--chains 1]

FOLDER has train-counts.npz, test-counts.npz and vocab.txt. Each of our runs is planned for its own mark, by
the command, with the defaults; what is scored is its files: ``expected_topics`` of `geodrift export`, which
is the mean of the stored draws, against tomotopy's single state at the same mark, on the same held-out tenth
of each test document's tokens. Beside them ours under ten of the draws, which are of the later half of the
run, and tomotopy's under ten states of the time from a half of the mark on. ``--tomotopy-seconds`` gives it
marks of its own, in their order; ``--alpha`` is the document prior of both.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CORES = 2
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = str(CORES)

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from bars import PRIOR  # noqa: E402
from contestants import CONTESTANTS  # noqa: E402

from geodrift.models.latent_dirichlet_allocation import completion_perplexity  # noqa: E402


def perplexity(test, topics):
    return completion_perplexity(test, topics, PRIOR["doc_topic_prior"], seed=0).perplexity


def ours(options, seconds, test):
    def geodrift(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "geodrift_command", *map(str, arguments)],
            check=True, text=True, capture_output=True,
        )  # fmt: skip
        return done.stderr

    with tempfile.TemporaryDirectory() as folder:
        run, exported = Path(folder) / "run", Path(folder) / "exported.npz"
        counts, vocabulary = options.folder / "train-counts.npz", options.folder / "vocab.txt"
        said = geodrift("fit", "lda", counts, "--vocab", vocabulary, "--run", run, "--topics", options.topics,
                        "--seconds", seconds, "--seed", options.seed, "--chains", options.chains,
                        "--doc-topic-prior", options.alpha, "--draws", max(25, options.draws))  # fmt: skip
        geodrift("export", run, "--out", exported)
        with np.load(exported) as arrays:
            draws, expected = arrays["topics"], arrays["expected_topics"]
    spread = np.linspace(0, len(draws) - 1, options.draws).astype(int)
    return {
        "mean": perplexity(test, expected),
        "draws": perplexity(test, draws[spread]),
        "said": next(line for line in said.splitlines() if "from the first step" in line),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--topics", type=int, required=True)
    parser.add_argument("--seconds", type=float, nargs="+", default=[5.0, 10.0, 20.0, 60.0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--chains", type=int, default=1)
    parser.add_argument("--alpha", type=float, default=PRIOR["doc_topic_prior"])
    parser.add_argument("--draws", type=int, default=10, help="states that are averaged")
    parser.add_argument("--tomotopy-seconds", type=float, nargs="+", help="as many as of --seconds")
    options = parser.parse_args()
    PRIOR["doc_topic_prior"] = options.alpha
    marks = dict(zip(options.seconds, options.tomotopy_seconds or options.seconds, strict=True))
    train, test = (sp.load_npz(options.folder / f"{part}-counts.npz").tocsr() for part in ("train", "test"))
    rows = {str(seconds): {"geodrift": ours(options, seconds, test)} for seconds in options.seconds}
    count = options.draws
    wanted = {
        seconds: [mark * (1 + k / count) / 2 for k in range(1, count + 1)] for seconds, mark in marks.items()
    }
    times = sorted(set(itertools.chain(*wanted.values())))
    _, states = CONTESTANTS["tomotopy"](train, options.topics, options.seed, times)
    topics = {time: state[1] for time, state in zip(times, states, strict=True)}
    for seconds, of_draws in wanted.items():
        rows[str(seconds)]["tomotopy"] = {
            "seconds": marks[seconds],
            "state": perplexity(test, topics[of_draws[-1]]),
            "draws": perplexity(
                test, np.stack([topics[time] for time in of_draws if topics[time] is not None])
            ),
        }
        told = {name: round(row.get("mean", row.get("state")), 1) for name, row in rows[str(seconds)].items()}
        print(seconds, told, rows[str(seconds)]["geodrift"], file=sys.stderr)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    settings = {name: str(value) for name, value in vars(options).items() if name not in ("out", "folder")}
    options.out.write_text(json.dumps({"settings": settings, "marks": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
