"""Calibration of the Dirichlet-process mixture: does what it says of the number of clusters hold?

    python benchmarks/dpm/calibration.py benchmarks/results/dpm-calibration.json [--sets 100] [--fixed 20]

Process: alpha ~ Gamma(1, 1), a partition of the rows by the Chinese restaurant, words of each cluster
Dirichlet(a0), rows of `TOKENS` tokens, all of it the model's own prior. The truth's number of clusters that
have rows, and of those above 1% of the rows, is ranked among the draws, ties broken at random; over the sets
the ranks are uniform if the draws are the posterior's. Fixed: ten clusters with weights Dirichlet(1), of
which the process is not the law; whether the number above 1% lies in the 90% interval, and how wide that is.
Every fit is the estimator's, at its defaults, from a cold start. The file is written after every set, and a
later call goes on from it.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy import stats

from geodrift.models import DirichletProcessMixture
from geodrift.models.clusters import cluster_count

ROWS = {"process": 300, "fixed": 1_000}
WORDS, TOKENS, PRIOR = 20, 20, 0.5  # the prior is the default
FIXED = 10  # clusters
COUNTED = {"clusters": 0.0, "clusters_above": 0.01}  # above which share of the rows


def restaurant(rows, alpha, rng):
    """A partition from the Chinese restaurant process."""
    labels, sizes = np.zeros(rows, int), [1]
    for i in range(1, rows):
        weights = np.cumsum([*sizes, alpha])
        k = int(np.searchsorted(weights, rng.random() * weights[-1], side="right"))
        if k == len(sizes):
            sizes.append(0)
        sizes[k] += 1
        labels[i] = k
    return labels


def simulated(kind, rng):
    """Counts and the truth's assignments; assignments come first, as the model has them."""
    if kind == "process":
        labels = restaurant(ROWS[kind], rng.gamma(1.0), rng)
    else:
        labels = rng.choice(FIXED, size=ROWS[kind], p=rng.dirichlet(np.ones(FIXED)))
    words = rng.dirichlet(np.full(WORDS, PRIOR), size=labels.max() + 1)
    return sp.csr_matrix(rng.multinomial(TOKENS, words[labels])), labels


def one_set(kind, number):
    rng = np.random.default_rng([number, list(ROWS).index(kind)])
    counts, labels = simulated(kind, rng)
    model, began = DirichletProcessMixture(store_assignments=True, random_state=number), time.perf_counter()
    model.fit(counts)
    told = {"kind": kind, "set": number, "seconds": time.perf_counter() - began}
    draws = model.assignment_draws_.reshape(model.n_chains, -1, len(labels))
    for name, share in COUNTED.items():
        truth = int(cluster_count(labels[None], share).draws[0])
        law = cluster_count(draws, share)
        below, equal = int((law.draws < truth).sum()), int((law.draws == truth).sum())
        told[name] = {
            "truth": truth,
            "low": law.low,
            "high": law.high,
            "rank": (below + rng.random() * (equal + 1)) / (len(law.draws) + 1),
            "means_of_chains": law.draws.reshape(model.n_chains, -1).mean(axis=1).tolist(),
        }
    return told


def summary(sets):
    found = {}
    for kind in ROWS:
        of = [one for one in sets if one["kind"] == kind]
        for name in COUNTED if of else ():
            these = [one[name] for one in of]
            ranks = np.array([one["rank"] for one in these])
            width = [one["high"] - one["low"] for one in these]
            found[f"{kind}: {name}"] = {
                "sets": len(of),
                "in_interval": sum(one["low"] <= one["truth"] <= one["high"] for one in these),
                "median_width": float(np.median(width)),
                "mean_truth": float(np.mean([one["truth"] for one in these])),
                "tenths": np.histogram(ranks, 10, (0, 1))[0].tolist(),
                "chi_square_p": float(stats.chisquare(np.histogram(ranks, 10, (0, 1))[0]).pvalue),
                "kolmogorov_smirnov_p": float(stats.kstest(ranks, "uniform").pvalue),
            }
    return found | {"median_seconds_of_a_set": float(np.median([one["seconds"] for one in sets]))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", type=int, default=100, help="drawn from the process's prior")
    parser.add_argument("--fixed", type=int, default=20, help="with ten clusters")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no set after so many")
    told, began = parser.parse_args(), time.perf_counter()
    arguments = {"rows": ROWS, "words": WORDS, "tokens": TOKENS}
    kept = json.loads(told.out.read_text()) if told.out.exists() else {"arguments": arguments, "sets": []}
    if kept["arguments"] != arguments:
        parser.error(f"{told.out} was made with {kept['arguments']}")
    done = {(one["kind"], one["set"]) for one in kept["sets"]}
    told.out.parent.mkdir(parents=True, exist_ok=True)
    wanted = [("process", i) for i in range(told.sets)] + [("fixed", i) for i in range(told.fixed)]
    for kind, number in wanted:
        if (kind, number) in done or time.perf_counter() - began > told.seconds:
            continue
        kept["sets"].append(one_set(kind, number))
        kept["summary"] = summary(kept["sets"])
        part = told.out.with_suffix(".part")
        part.write_text(json.dumps(kept))
        os.replace(part, told.out)
    print(json.dumps(kept.get("summary", {}), indent=1))


if __name__ == "__main__":
    main()
