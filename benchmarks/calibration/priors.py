"""Priors of LDA that are learnt, on simulated corpora: how often do their 90% intervals hold the truth?

    python benchmarks/calibration/priors.py OUT.json [--corpora 400] [--seconds S] [--steps N] [--from-prior]

alpha and eta are drawn log-uniformly from what users' corpora have (`RANGES`), or with ``--from-prior``
from the prior of the fit, Gamma(1, 1); then topics, mixtures and words. The estimator learns both from its
defaults (four chains of 25 draws from alpha = 0.1, eta = 0.01), and its own intervals are compared with the
truth. With truths from the prior an exact sampler's intervals hold 90% of them, if the chains are long
enough: where alpha is 1 and more and topics are almost uniform, alpha wanders over two orders of magnitude,
for thousands of sweeps. ``rank`` is the share of the draws below the truth, ``p_uniform`` of a Kolmogorov-
Smirnov test of it. The file is written after every corpus, and a later call goes on from it; it ends after
S seconds, if told.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from fits import keep, kept
from scipy import stats

from geodrift.models import LatentDirichletAllocation

TOPICS, WORDS, DOCUMENTS, LENGTH = 5, 80, 200, 30
RANGES = {"alpha": (0.05, 1.0), "eta": (0.02, 0.5)}
NAMES = {"alpha": "doc_topic_prior", "eta": "topic_word_prior"}


def simulate(seed, from_prior):
    """Counts [D, V], and the priors that they were drawn from."""
    rng = np.random.default_rng([seed, 16])
    alpha, eta = (np.exp(rng.uniform(*np.log(RANGES[name]))) for name in ("alpha", "eta"))
    if from_prior:
        alpha, eta = rng.standard_gamma(1.0, 2)
    # Of small parameters by logarithms: gammas underflow.
    topics, mixtures = dirichlet(rng, eta, (TOPICS, WORDS)), dirichlet(rng, alpha, (DOCUMENTS, TOPICS))
    counts = np.stack([rng.multinomial(LENGTH, p / p.sum()) for p in mixtures @ topics])
    return sp.csr_matrix(counts), {"alpha": alpha, "eta": eta}


def dirichlet(rng, parameter, shape):
    logs = np.log(rng.standard_gamma(parameter + 1.0, shape)) - rng.standard_exponential(shape) / parameter
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def measure(seed, steps, from_prior):
    counts, truth = simulate(seed, from_prior)
    began = time.process_time()
    model = LatentDirichletAllocation(
        TOPICS,
        learn_doc_topic_prior="symmetric",
        learn_topic_word_prior="symmetric",
        n_steps=steps,
        random_state=seed,
    ).fit(counts)
    told = {each["name"]: each for each in model.learnt_priors_}
    draws = {"alpha": model.doc_topic_prior_draws_[:, 0], "eta": model.topic_word_prior_draws_}
    row = {"seed": seed, "processor_seconds": round(time.process_time() - began, 3)}
    for name, value in truth.items():
        interval = told[NAMES[name]]
        row[name] = {
            "truth": float(value),
            "low": interval["low"],
            "high": interval["high"],
            "rank": float((draws[name] < value).mean()),
        }
    return row


def summary(rows):
    told = {"corpora": len(rows)}
    for name in NAMES:
        inside = np.array([row[name]["low"] <= row[name]["truth"] <= row[name]["high"] for row in rows])
        ranks = np.array([row[name]["rank"] for row in rows])
        ratio = [row[name]["high"] / row[name]["low"] for row in rows]
        told[name] = {
            "coverage": float(inside.mean()),
            "error": float(np.sqrt(inside.mean() * (1 - inside.mean()) / len(rows))),
            "p_uniform": float(stats.kstest(ranks, "uniform").pvalue),
            "median_high_over_low": float(np.median(ratio)),
        }
    return told


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--corpora", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--steps", type=int, default=None)
    parser.add_argument("--from-prior", action="store_true")
    options = parser.parse_args()
    began, stored = time.monotonic(), kept(options.out) or {"rows": []}
    while len(stored["rows"]) < options.corpora and time.monotonic() - began < options.seconds:
        stored["rows"].append(measure(len(stored["rows"]), options.steps, options.from_prior))
        stored["summary"] = summary(stored["rows"])
        keep(options.out, stored)
    print(stored.get("summary"))


if __name__ == "__main__":
    main()
