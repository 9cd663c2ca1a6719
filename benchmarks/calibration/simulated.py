"""Corpora simulated from latent Dirichlet allocation and fitted by the command: what do its intervals cover?

    python benchmarks/calibration/simulated.py OUT.json [--corpora 10] [--seconds 60] [--chains 4]
        [--topics 20] [--documents 5000] [--length 80] [--words 2000]

From a cold start. Every true topic counts: one that no shared topic resembles is a miss of all its words.
``of_the_true`` is over the words whose true probability exceeds 1e-3, ``of_the_found`` over those whose
posterior mean does. The file is written after every corpus, and a later call goes on from it.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from fits import SAME, Found, fit, keep, kept
from scipy.optimize import linear_sum_assignment

ALPHA, ETA, LEAST = 0.1, 0.02, 1e-3
DEFAULTS = {
    "corpora": 10,
    "seconds": 60,
    "chains": 4,
    "topics": 20,
    "documents": 5000,
    "length": 80,
    "words": 2000,
}


def simulate(seed, options):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(options.words, ETA), options.topics)
    mixtures = rng.dirichlet(np.full(options.topics, ALPHA), options.documents)
    rows = [sp.csr_matrix(rng.multinomial(options.length, mixture @ topics)) for mixture in mixtures]
    return sp.vstack(rows).tocsr(), topics


def measure(seed, options):
    counts, topics = simulate(seed, options)
    with tempfile.TemporaryDirectory() as folder:
        path, run = Path(folder) / "counts.npz", Path(folder) / "run"
        sp.save_npz(path, counts)
        (Path(folder) / "vocab.txt").write_text("\n".join(f"w{i}" for i in range(options.words)) + "\n")
        seconds = fit("fit", "lda", path, "--vocab", Path(folder) / "vocab.txt", "--run", run, "--seed", seed,
                      "--topics", options.topics, "--doc-topic-prior", ALPHA, "--topic-word-prior", ETA,
                      "--seconds", options.seconds, "--chains", options.chains)  # fmt: skip
        found = Found(run)
    cosines = np.sqrt(topics) @ found.means.T
    inside, number, widths, good = np.zeros(2), np.zeros(2), [], 0
    for true, topic in zip(*linear_sum_assignment(-cosines), strict=True):
        mean = found.of(topic).mean(axis=(0, 1))
        shared = found.agreed.shared[topic] and cosines[true, topic] > SAME
        good += shared
        for place, weights in enumerate((topics[true], mean)):
            words = np.flatnonzero(weights > LEAST)
            number[place] += len(words)
            if shared:
                low, high = found.interval(topic, words)
                value = np.sqrt(topics[true, words])
                inside[place] += ((value >= low) & (value <= high)).sum()
        if shared:
            widths.append(found.relative_width(topic, words))
    return {
        "seed": seed,
        "called_shared": int(found.agreed.shared.sum()),
        "true_topics_found": int(good),
        "of_the_true": inside[0] / number[0],
        "of_the_found": inside[1] / number[1],
        "width_over_a_single_chain_s": float(np.median(widths)) if widths else None,
        "wall_seconds": round(seconds, 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    for name, default in DEFAULTS.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    rows = kept(options.out)
    for seed in range(len(rows), options.corpora):
        rows.append(measure(seed, options))
        keep(options.out, rows)
        print(rows[-1], file=sys.stderr)
    values = {
        name: [row[name] for row in rows] for name in ("true_topics_found", "of_the_true", "of_the_found")
    }
    for name, value in values.items():
        error = np.std(value, ddof=1) / np.sqrt(len(value)) if len(value) > 1 else np.nan
        print(f"{name}: mean {np.mean(value):.4g}, standard error {error:.2g}", end=", ")
        print(f"from {min(value):.4g} to {max(value):.4g}")


if __name__ == "__main__":
    main()
