"""Tokens a second of `geodrift fit lda`: one process with all cores beside several with their share of them.

    python benchmarks/lda/processes_by_the_clock.py --json OUT.json [--documents N] [--batch-size N]

Documents of 60 words, V = 28,000, are simulated from latent Dirichlet allocation of 100 topics and made a
corpus directory; then the command fits it with and without ``--processes``; its own metrics tell when each
step ended. Counted are the steps of a whole minibatch after the last document has joined, with five stored
draws and checkpoints (``mean``), and the median one (``median``). ``same`` says whether both ended in the
same state. Ten million documents take 4 GB of disk, and 12 GB of memory while they are made.
"""

import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numba
import numpy as np
import scipy.sparse as sp

LENGTH, TOPICS, ALPHA, SEED, BLOCK = 60, 100, 0.1, 0, 100_000


@numba.njit(parallel=True)
def words_of(mixtures, choices, places, cumulative):
    """Words of each document, increasing, [documents, LENGTH], from cumulative sums and uniform numbers."""
    out = np.empty(choices.shape, np.int32)
    for document in numba.prange(choices.shape[0]):
        mixture = mixtures[document]
        for token in range(LENGTH):
            topic = np.searchsorted(mixture, choices[document, token] * mixture[-1])
            out[document, token] = np.searchsorted(cumulative[topic], places[document, token])
        out[document].sort()
    return out


@numba.njit
def counted(tokens):
    """The same as columns, counts and ends of the rows of a sparse matrix."""
    first = np.ones(tokens.shape, np.bool_)
    first[:, 1:] = tokens[:, 1:] != tokens[:, :-1]
    size = first.sum()
    columns, counts = np.empty(size, np.int32), np.zeros(size, np.int32)
    ends = np.zeros(tokens.shape[0] + 1, np.int64)
    at = -1
    for row in range(tokens.shape[0]):
        for token in range(tokens.shape[1]):
            if first[row, token]:
                at += 1
                columns[at] = tokens[row, token]
            counts[at] += 1
        ends[row + 1] = at + 1
    return columns, counts, ends


def simulate(documents, words):
    """Counts [documents, words]; the words' frequencies fall as in a language, in any order."""
    random = np.random.default_rng(SEED)
    shape = random.permutation(1.0 / np.arange(1, words + 1))
    shape = np.maximum(0.05 * words * shape / shape.sum(), 1e-3)
    cumulative = np.minimum(np.cumsum(random.dirichlet(shape, TOPICS), axis=1), 1.0)
    cumulative[:, -1] = 1.0
    tokens = np.empty((documents, LENGTH), np.int32)
    for begin in range(0, documents, BLOCK):
        some = tokens[begin : begin + BLOCK]
        mixtures = np.cumsum(random.standard_gamma(ALPHA, (len(some), TOPICS)), axis=1)
        some[:] = words_of(mixtures, random.random(some.shape), random.random(some.shape), cumulative)
    columns, counts, ends = counted(tokens)
    return sp.csr_matrix((counts, columns, ends), (documents, words))


def command(*words):
    words = [sys.executable, "-m", "geodrift.cli", *map(str, words)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def rate(run, batch_size):
    """Million tokens a second of steps of a whole minibatch, after all documents have joined."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    steps = [later["seconds"] - earlier["seconds"] for earlier, later in itertools.pairwise(lines)]
    whole = [
        seconds
        for seconds, line in zip(steps, lines[1:], strict=True)
        if line["token_draws"] == batch_size * LENGTH
    ]
    tokens = batch_size * LENGTH / 1e6
    return {"mean": round(tokens / np.mean(whole), 2), "median": round(tokens / np.median(whole), 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--words", type=int, default=28_000)
    parser.add_argument("--batch-size", type=int, default=500_000)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--corpus", type=pathlib.Path, help="a corpus directory in place of simulated documents"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder, corpus = pathlib.Path(scratch), options.corpus
        if corpus is None:
            counts, corpus = folder / "counts.npz", folder / "corpus"
            sp.save_npz(counts, simulate(options.documents, options.words), compressed=False)
            command("corpus", counts, "--out", corpus)
            counts.unlink()
        told = {name: str(value) for name, value in vars(options).items()} | {"runs": {}}
        for processes in (1, options.processes):
            run, began = folder / f"run-{processes}", time.monotonic()
            how = ["--topics", TOPICS, "--chains", 1, "--batch-size", options.batch_size, "--draws", 5]
            how += ["--steps", options.steps, "--run", run]
            command("fit", "lda", corpus, *how, *(["--processes", processes] if processes > 1 else []))
            told["runs"][processes] = rate(run, options.batch_size) | {
                "seconds": round(time.monotonic() - began, 1)
            }
            print(processes, told["runs"][processes], file=sys.stderr)
        states = [np.load(folder / f"run-{number}/checkpoint/state.npz") for number in told["runs"]]
        told["same"] = all(np.array_equal(states[0][k], states[1][k]) for k in states[0] if "move." in k)
        alone, several = told["runs"].values()
        told["ratio"] = {name: round(several[name] / alone[name], 3) for name in ("mean", "median")}
    options.json.write_text(json.dumps(told, indent=1) + "\n")
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
