"""Effects of a group on corpora simulated with one: how often do 90% intervals hold the true difference?

    python benchmarks/calibration/effects.py OUT.json [--corpora 400] [--seconds S] [--kinds]

Topics from their prior; two groups of documents, each with mean shares of its own, drawn from
Dirichlet(2, ..., 2), and mixtures from Dirichlet(1.5 times them). With ``--kinds`` no group is a Dirichlet:
a share of its documents, drawn for each group, are of the first topic alone, and the others are alike in
both groups. The run's prior does not know the groups.
``inside`` counts the topics whose interval of the difference between the groups holds the true one, of those
that the chains share; ``given`` those of all topics where the true ones are known; ``blind`` those of the
composition without priors of the groups' own (stm's: a mixture drawn under the run's prior, regressed on the
group, and a draw of the coefficient). ``slope`` and ``blind_slope`` are those of the truth on the estimates:
1 where these are right, above 1 where they are shrunk. The file is written after every corpus, and a later
call goes on from it; it ends after S seconds, if told.
"""

import argparse
import io
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from fits import keep, kept
from rich.console import Console
from scipy.optimize import linear_sum_assignment

from geodrift.data import Corpus
from geodrift.driver import Length
from geodrift.kernels._streams import LDA_TRANSFORM_ASSIGNMENTS
from geodrift.models import model_named
from geodrift.models.kit import create_run, fit, make_chains
from geodrift.models.kit._effects import effects
from geodrift.models.kit._groups import groups_of
from geodrift.models.latent_dirichlet_allocation.documents._group_shares import group_shares
from geodrift.models.latent_dirichlet_allocation.evaluation._fold_in import DocumentSampler

TOPICS, WORDS, DOCUMENTS, LENGTH = 5, 80, 200, 20
CONCENTRATION, ETA, PRIOR = 1.5, 0.1, 0.3
CHAINS, STEPS, DRAWS = 2, 600, 25


def simulate(seed, kinds):
    """Counts [D, V], topics [K, V], mean shares of the groups [2, K] and the group of each document."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(WORDS, ETA), TOPICS)
    groups = np.arange(DOCUMENTS) % 2
    if kinds:
        base, of_one = rng.dirichlet(np.full(TOPICS, 2.0)), rng.random(2)
        one = np.eye(TOPICS)[0]
        shares = np.outer(of_one, one) + np.outer(1 - of_one, base)
        mixtures = rng.dirichlet(CONCENTRATION * base, DOCUMENTS)
        mixtures[rng.random(DOCUMENTS) < of_one[groups]] = one
    else:
        shares = rng.dirichlet(np.full(TOPICS, 2.0), 2)
        mixtures = np.stack([rng.dirichlet(CONCENTRATION * shares[group]) for group in groups])
    counts = np.stack([rng.multinomial(LENGTH, mixture @ topics) for mixture in mixtures])
    return sp.csr_matrix(counts), topics, shares, groups


def blind(counts, topics, groups, seed):
    """Draws of the differences by composition under the run's prior, [M, K]."""
    rng, chosen = np.random.default_rng(seed), topics[np.linspace(0, len(topics) - 1, 20).astype(int)]
    sampler = DocumentSampler(counts, TOPICS, np.arange(DOCUMENTS), LDA_TRANSFORM_ASSIGNMENTS, seed)
    design = np.stack([np.ones(DOCUMENTS), groups], axis=1)
    inverse = np.linalg.inv(design.T @ design)
    found = []
    for number, draw in enumerate(chosen):
        sampler.set_topics(draw, np.full(TOPICS, PRIOR))
        sampler.sweep(number, 0, 20)
        for step in range(1, 11):
            gammas = rng.standard_gamma(sampler.sweep(number, step) + PRIOR)
            mixtures = gammas / gammas.sum(axis=1, keepdims=True)
            coefficients = inverse @ design.T @ mixtures
            residuals = mixtures - design @ coefficients
            variance = (residuals**2).sum(axis=0) / (DOCUMENTS - 2) * inverse[1, 1]
            found.append(coefficients[1] + np.sqrt(variance) * rng.standard_normal(TOPICS))
    return np.array(found)


def given(counts, topics, difference, groups, seed):
    """Topics whose interval of the difference holds the true one, where the true topics are known."""
    of_groups = [
        group_shares(counts[groups == group], np.stack([topics] * 10), PRIOR, group=group, seed=seed)
        for group in (0, 1)
    ]
    low, high = np.quantile(of_groups[1] - of_groups[0], [0.05, 0.95], axis=0)
    return int(((low <= difference) & (difference <= high)).sum())


def measure(seed, kinds):
    counts, topics, shares, groups = simulate(seed, kinds)
    corpus = Corpus.from_matrix(counts, fields={"group": groups})
    model, settings = model_named("lda"), {"n_topics": TOPICS, "doc_topic_prior": PRIOR, "num_draws": DRAWS}
    settings |= {"topic_word_prior": ETA}
    config = {"settings": settings, "seed": seed, "chains": CHAINS, "held_out": 0}
    with tempfile.TemporaryDirectory() as folder:
        chains = make_chains(model, config, corpus)
        run = create_run(Path(folder) / "run", model, config, corpus, chains)
        fit(model, chains, run, Length(steps=STEPS), Console(file=io.StringIO()))
        found = effects(run, model, corpus, groups_of(groups.tolist(), "group"), seed=seed).parts
        drawn = model.answers().aligned(run)[0]["topics"].reshape(-1, TOPICS, WORDS)
    cosines = np.sqrt(topics) @ np.sqrt(drawn.mean(axis=0)).T
    of_blind = blind(counts, drawn, groups, seed)
    row = {"seed": seed, "topics": 0, "inside": 0, "blind": 0, "width": 0.0}
    row["given"] = given(counts, topics, shares[1] - shares[0], groups, seed)
    row |= {f"{name}{what}": 0.0 for name in ("slope", "blind_slope") for what in ("", "_squares")}
    for true, topic in zip(*linear_sum_assignment(-cosines), strict=True):
        told, difference = found[topic], shares[1, true] - shares[0, true]
        if not told["shared"]:
            continue
        estimate = told["groups"][1]["difference"]
        low, high = np.quantile(of_blind[:, topic], [0.05, 0.95])
        row["topics"] += 1
        row["inside"] += int(estimate["low"] <= difference <= estimate["high"])
        row["blind"] += int(low <= difference <= high)
        row["width"] += estimate["high"] - estimate["low"]
        for name, mean in (("slope", estimate["mean"]), ("blind_slope", float(of_blind[:, topic].mean()))):
            row[name] += difference * mean
            row[f"{name}_squares"] += mean**2
    return row


def summary(rows):
    """Coverage with its standard error over corpora, which are independent, and slopes."""
    total = {name: sum(row[name] for row in rows) for name in rows[0]}
    told = {"corpora": len(rows), "topics": total["topics"], "of": TOPICS * len(rows)}
    for name in ("inside", "blind"):
        share = total[name] / total["topics"]
        spread = np.array([row[name] - share * row["topics"] for row in rows])
        told[name] = {"coverage": share, "error": float(np.sqrt((spread**2).sum()) / total["topics"])}
    if "given" in total:  # of all topics, found or not
        told["given"] = total["given"] / told["of"]
    told["width"] = total["width"] / total["topics"]
    slopes = ("slope", "blind_slope")
    return told | {name: float(total[name] / total[f"{name}_squares"]) for name in slopes}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--corpora", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--kinds", action="store_true")
    options = parser.parse_args()
    began, stored = time.monotonic(), kept(options.out) or {"rows": []}
    while len(stored["rows"]) < options.corpora and time.monotonic() - began < options.seconds:
        stored["rows"].append(measure(len(stored["rows"]), options.kinds))
        stored["summary"] = summary(stored["rows"])
        keep(options.out, stored)
    print(stored.get("summary"))


if __name__ == "__main__":
    main()
