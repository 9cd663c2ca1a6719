"""Calibration of the hierarchical Dirichlet process: does what it says of the number of topics hold?

    python benchmarks/hdp/calibration.py benchmarks/results/hdp-calibration.json [--sets 100] [--fixed 20]

Process: alpha_0 ~ Gamma(1, 1), gamma ~ Gamma(1, 0.1), tables and topics of all tokens from the Chinese
restaurant franchise, words of each topic Dirichlet(eta): all of it the model's own prior. The truth's number
of topics that have tokens, of those above 1% of the tokens, and the two concentrations are ranked among the
draws, ties broken at random; over the sets the ranks are uniform if the draws are the posterior's. Fixed:
`FIXED` topics and mixtures Dirichlet(0.1), of which the process is not the law; whether the number above 1%
lies in the 90% interval, and how wide that is. Every fit is from a cold start with the default number of
first topics. The file is written after every set, and a later call goes on from it.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy import stats

from geodrift.driver import sampled
from geodrift.models.clusters._cluster_count import law_of_count
from geodrift.models.hierarchical_dirichlet_process import Chain, Settings
from geodrift.models.kit._facade import MatrixCorpus
from geodrift.models.kit._places import numbers_above

DOCUMENTS = {"process": 100, "fixed": 400}
TOKENS = {"process": 40, "fixed": 80}  # of a document
WORDS = {"process": 60, "fixed": 300}
PRIOR = {"process": 0.1, "fixed": 0.05}  # eta
FIXED = 20  # topics
CHAINS, DRAWS = 4, 25
STEPS = {"process": 1_200, "fixed": 1_000}  # of each chain, each a pass; half of them are warm-up
SHARE = 0.01


def seats(customers, alpha, rng):
    """Tables of customers, from the Chinese restaurant process."""
    tables, sizes = np.zeros(customers, int), []
    for i in range(customers):
        at = rng.random() * (i + alpha)
        k = int(np.searchsorted(np.cumsum(sizes), at, side="right")) if sizes else 0
        if k == len(sizes):
            sizes.append(0)
        sizes[k] += 1
        tables[i] = k
    return tables


def franchise(alpha, gamma, rng):
    """Topics of the tokens of all documents, [document, token]."""
    tables = [seats(TOKENS["process"], alpha, rng) for _ in range(DOCUMENTS["process"])]
    numbers = np.array([of.max() + 1 for of in tables])
    dishes = seats(int(numbers.sum()), gamma, rng)
    firsts = np.cumsum(numbers) - numbers
    return np.array([dishes[first + of] for first, of in zip(firsts, tables, strict=True)])


def simulated(kind, rng):
    """Counts, and the truth: the topics of all tokens, which come first, and the concentrations."""
    alpha, gamma = rng.gamma(1.0), rng.gamma(1.0) / 0.1
    if kind == "process":
        topics = franchise(alpha, gamma, rng)
    else:
        mixtures = rng.dirichlet(np.full(FIXED, 0.1), DOCUMENTS[kind])
        topics = np.array([rng.choice(FIXED, TOKENS[kind], p=theta) for theta in mixtures])
    words = rng.dirichlet(np.full(WORDS[kind], PRIOR[kind]), topics.max() + 1)
    counts = np.zeros((DOCUMENTS[kind], WORDS[kind]), int)
    for row, of in zip(counts, topics, strict=True):
        for k, number in zip(*np.unique(of, return_counts=True), strict=True):
            row += rng.multinomial(number, words[k])
    return sp.csr_matrix(counts), np.bincount(topics.ravel()) / topics.size, alpha, gamma


def told_of(name, truth, draws, rng):
    """The truth's rank among the draws, [chain, draw], and the 90% interval; of numbers of topics as told."""
    below, equal = int((draws < truth).sum()), int((draws == truth).sum())
    if draws.dtype.kind in "iu":
        low, high = law_of_count(draws, 0.0)[3:5]
    else:
        low, high = np.quantile(draws, [0.05, 0.95], method="inverted_cdf")
    return {
        "truth": float(truth),
        "low": float(low),
        "high": float(high),
        "rank": (below + rng.random() * (equal + 1)) / (draws.size + 1),
        "means_of_chains": draws.mean(axis=1).tolist(),
    }


def one_set(kind, number):
    rng = np.random.default_rng([number, list(TOKENS).index(kind)])
    counts, shares, alpha, gamma = simulated(kind, rng)
    settings = Settings(topic_word_prior=PRIOR[kind], num_draws=DRAWS)
    corpus, began = MatrixCorpus(counts), time.process_time()
    found = sampled([Chain(corpus, settings, seed=number, chain=c) for c in range(CHAINS)], STEPS[kind])
    told = {"kind": kind, "set": number, "processor_seconds": time.process_time() - began}
    above = numbers_above(found["topic_sizes"], SHARE)
    truths = {
        "topics": ((shares > 0).sum(), found["number_of_topics"]),
        "topics_above": ((shares.astype(np.float32) > np.float32(SHARE)).sum(), above),
        "mixture_concentration": (alpha, found["mixture_concentration"]),
        "weight_concentration": (gamma, found["weight_concentration"]),
    }
    return told | {name: told_of(name, *of, rng) for name, of in truths.items()}


def summary(sets):
    found = {}
    for kind in TOKENS:
        of = [one for one in sets if one["kind"] == kind]
        names = ("topics", "topics_above", "mixture_concentration", "weight_concentration")
        for name in (names if kind == "process" else names[:2]) if of else ():
            these = [one[name] for one in of]
            ranks = np.array([one["rank"] for one in these])
            width = [one["high"] - one["low"] for one in these]
            found[f"{kind}: {name}"] = {
                "sets": len(of),
                "in_interval": sum(one["low"] <= one["truth"] <= one["high"] for one in these),
                "intervals": [[one["truth"], one["low"], one["high"]] for one in these],
                "median_width": float(np.median(width)),
                "mean_truth": float(np.mean([one["truth"] for one in these])),
                "spread_of_chains": float(np.mean([np.std(one["means_of_chains"]) for one in these])),
                "tenths": np.histogram(ranks, 10, (0, 1))[0].tolist(),
                "chi_square_p": float(stats.chisquare(np.histogram(ranks, 10, (0, 1))[0]).pvalue),
                "kolmogorov_smirnov_p": float(stats.kstest(ranks, "uniform").pvalue),
            }
    spent = [one["processor_seconds"] for one in sets]
    return found | {"processor_seconds": float(np.sum(spent))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", type=int, default=100, help="drawn from the process's prior")
    parser.add_argument("--fixed", type=int, default=20, help="with twenty topics")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no set after so many")
    told, began = parser.parse_args(), time.perf_counter()
    arguments = {
        "documents": DOCUMENTS,
        "tokens": TOKENS,
        "words": WORDS,
        "prior": PRIOR,
        "chains": CHAINS,
        "draws": DRAWS,
        "steps": STEPS,
    }
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
