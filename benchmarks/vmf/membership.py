"""Calibration of membership: are rows in a cluster as often as they are said to be?

    python benchmarks/vmf/membership.py OUT.json [--dims 10 50 768] [--sets 10] [--rows 2000] [--each]

Rows of K = 10 overlapping clusters, weights Dirichlet(2), directions uniform, one kappa (with --each one for
each, within about a fifth of the median), fitted by the estimator from a cold start at its defaults but for
K. Told are the probabilities of 10,000 new rows, and of those fitted, by `transform_with_intervals`, in the
clusters of `findings`, matched with the truth's on the fitted rows by the largest overlaps. Expected
calibration error (ECE): over ten bins of equal width, for the most probable cluster ("top") and for all
clusters ("all"), the mean of |how often - what was said|, weighted by the number in a bin. It is told of all
sets together, as probabilities that are right are so over the sets, and as the mean over the sets, in each of
which all rows share what the fit has wrong. Beside it the same of the truth's own probabilities, which is
what chance leaves. "off": the largest distance of a row's sum from 1.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from geodrift.distributions import host_log_normaliser
from geodrift.distributions._host_sample import host_sample
from geodrift.models import VonMisesFisherMixture

K, BINS, NEW = 10, 10, 10_000
WHO = ("new", "truth", "fitted")


def median_of(dim):
    """Where clusters overlap: a tenth to a quarter of the rows are nearer to another cluster."""
    return max(10.0, 3.2 * dim**0.5)


def simulated(dim, rows, rng, each):
    kappa = median_of(dim) * np.exp(0.2 * rng.standard_normal(K) if each else np.zeros(K))
    directions, weights = host_sample(rng, np.zeros((K, dim))), rng.dirichlet(np.full(K, 2.0))
    z = rng.choice(K, size=rows + NEW, p=weights)
    x = host_sample(rng, (kappa[:, None] * directions)[z])
    scores = np.log(weights) + host_log_normaliser(dim, kappa) + x @ (kappa[:, None] * directions).T
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return x, z, p / p.sum(axis=1, keepdims=True)


def gaps(said, happened):
    """How often less what was said, summed over what is in each bin, divided by the number of all."""
    bins = np.minimum((said * BINS).astype(int), BINS - 1)
    return ((np.bincount(bins, happened, BINS) - np.bincount(bins, said, BINS)) / len(said)).tolist()


def both(p, z):
    """Gaps of the most probable cluster, and of all."""
    inside = np.arange(p.shape[1]) == z[:, None]
    best = p.argmax(axis=1)
    return {"top": gaps(p.max(axis=1), best == z), "all": gaps(p.ravel(), inside.ravel())}


def errors(sets, who, of):
    """ECE of all sets together, and the mean over the sets."""
    found = np.array([one[who][of] for one in sets])
    return {
        "together": float(np.abs(found.mean(axis=0)).sum()),
        "a set": float(np.abs(found).sum(axis=1).mean()),
    }


def one_set(dim, number, rows, each):
    x, z, truth = simulated(dim, rows, np.random.default_rng([number, dim]), each)
    began = time.process_time()
    model = VonMisesFisherMixture(K, shared_concentration=not each, random_state=number).fit(x[:rows])
    of_fitted, p = (model.transform_with_intervals(part)["mean"] for part in (x[:rows], x[rows:]))
    overlap = np.zeros((p.shape[1], K))
    np.add.at(overlap.T, z[:rows], of_fitted)
    order = linear_sum_assignment(-overlap.T)[1]
    fitted, ordered = (part[:, order].astype(float) for part in (of_fitted, p))
    told = {"dim": dim, "set": number, "off": float(np.abs(p.sum(axis=1, dtype=float) - 1).max())}
    told |= {"processor_seconds": time.process_time() - began, "right": float((truth.argmax(1) == z).mean())}
    told |= {"new": both(ordered, z[rows:]), "truth": both(truth[rows:], z[rows:])}
    return told | {"fitted": both(fitted, z[:rows])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--dims", type=int, nargs="+", default=[10, 50, 768])
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--each", action="store_true", help="a concentration for each cluster")
    told = parser.parse_args()
    sets = []
    for dim in told.dims:
        for number in range(told.sets):
            sets.append(one_set(dim, number, told.rows, told.each))
            print(json.dumps(sets[-1]), flush=True)
    summary = {}
    for dim in told.dims:
        of_dim = [one for one in sets if one["dim"] == dim]
        summary[dim] = {who: {of: errors(of_dim, who, of) for of in ("top", "all")} for who in WHO}
        summary[dim]["off"] = max(one["off"] for one in of_dim)
    told.out.write_text(json.dumps({"summary": summary, "sets": sets}, indent=1))
    print(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
