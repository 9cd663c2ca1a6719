"""Held-out perplexity after so many seconds, as a user gets it: `geodrift fit --seconds`, beside tomotopy.

    python benchmarks/lda/marks.py OUT.json FOLDER --topics K [--seconds 5 10 20] [--seeds 0 1] [--chains 1]

FOLDER has train-counts.npz, test-counts.npz and vocab.txt. Each of our runs is planned for its own mark, by
the command, with the defaults; what is scored is its files: ``expected_topics`` of `geodrift export`, which
is the mean of the stored draws, against tomotopy's single state at the same mark, on the same held-out tenths
of each test document's tokens: so many random tenths, ten at most, that `TOKENS` tokens are scored, because
the perplexity of a thousand short documents goes up and down by more than a percent with the tenth. ``ratio``
is our perplexity over tomotopy's, with its standard error over documents. Beside them ours under ten of the
draws, which are of the later half of the run, and tomotopy's under ten states of the time from a half of the
mark on. ``--tomotopy-seconds`` gives it marks of its own, in their order; ``--alpha`` is the document prior
of both.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CORES, TOKENS = 2, 100_000
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = str(CORES)

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from bars import PRIOR  # noqa: E402
from contestants import CONTESTANTS  # noqa: E402

from geodrift.models.latent_dirichlet_allocation import completion_perplexity  # noqa: E402


class Scored:
    """Log likelihoods of each test document's held-out tokens, summed over tenths."""

    def __init__(self, test, topics):
        alpha, wanted = PRIOR["doc_topic_prior"], int(np.ceil(TOKENS / (0.1 * test.sum())))
        scores = [completion_perplexity(test, topics, alpha, seed=tenth) for tenth in range(min(10, wanted))]
        self.logs = sum(score.document_log_likelihood for score in scores)
        self.tokens = sum(score.document_held_out_tokens for score in scores)

    @property
    def perplexity(self):
        return float(np.exp(-self.logs.sum() / self.tokens.sum()))

    def over(self, other):
        """The ratio of the perplexities, and its standard error over documents."""
        gains = other.logs - self.logs
        mean, number = gains.sum() / self.tokens.sum(), np.count_nonzero(self.tokens)
        squares = ((gains - mean * self.tokens) ** 2).sum() * number / (number - 1)
        ratio = float(np.exp(mean))
        return [ratio, float(ratio * np.sqrt(squares) / self.tokens.sum())]


def ours(options, seconds, seed, test):
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
                        "--seconds", seconds, "--seed", seed, "--chains", options.chains,
                        "--doc-topic-prior", options.alpha, "--draws", max(25, options.draws))  # fmt: skip
        geodrift("export", run, "--out", exported)
        with np.load(exported) as arrays:
            draws, expected = arrays["topics"], arrays["expected_topics"]
    spread = np.linspace(0, len(draws) - 1, options.draws).astype(int)
    scored = {"state": Scored(test, expected), "draws": Scored(test, draws[spread])}
    return scored, next(line for line in said.splitlines() if "from the first step" in line)


def tomotopys(options, marks, seed, train, test):
    count = options.draws
    wanted = [[mark * (1 + k / count) / 2 for k in range(1, count + 1)] for mark in marks]
    times = sorted(set(itertools.chain(*wanted)))
    _, states = CONTESTANTS["tomotopy"](train, options.topics, seed, times)
    topics = {time: state[1] for time, state in zip(times, states, strict=True)}
    for of_draws in wanted:
        kept = [topics[time] for time in of_draws if topics[time] is not None]
        yield {"state": Scored(test, topics[of_draws[-1]]), "draws": Scored(test, np.stack(kept))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--topics", type=int, required=True)
    parser.add_argument("--seconds", type=float, nargs="+", default=[5.0, 10.0, 20.0, 60.0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--chains", type=int, default=1)
    parser.add_argument("--alpha", type=float, default=PRIOR["doc_topic_prior"])
    parser.add_argument("--draws", type=int, default=10, help="states that are averaged")
    parser.add_argument("--tomotopy-seconds", type=float, nargs="+", help="as many as of --seconds")
    options = parser.parse_args()
    PRIOR["doc_topic_prior"] = options.alpha
    marks = options.tomotopy_seconds or options.seconds
    train, test = (sp.load_npz(options.folder / f"{part}-counts.npz").tocsr() for part in ("train", "test"))
    rows = []
    options.out.parent.mkdir(parents=True, exist_ok=True)
    settings = {name: str(value) for name, value in vars(options).items() if name not in ("out", "folder")}
    for seed in options.seeds:
        own = [ours(options, seconds, seed, test) for seconds in options.seconds]
        for seconds, mark, (mine, said), theirs in zip(
            options.seconds, marks, own, tomotopys(options, marks, seed, train, test), strict=True
        ):
            row = {"seconds": seconds, "tomotopy_seconds": mark, "seed": seed, "said": said}
            for kind in ("state", "draws"):
                pair = {"geodrift": mine[kind].perplexity, "tomotopy": theirs[kind].perplexity}
                row[kind] = pair | {"ratio": mine[kind].over(theirs[kind])}
            rows.append(row)
            print(json.dumps(row), file=sys.stderr)
        options.out.write_text(json.dumps({"settings": settings, "marks": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
