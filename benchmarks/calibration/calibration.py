"""Simulation-based calibration: do intervals hold what they say, with every true component counted?

    python benchmarks/calibration/calibration.py lda OUT.json [--corpora 200]     # half an hour of two cores
    python benchmarks/calibration/calibration.py sam OUT.json [--corpora 200]     # two hours

Corpora of several shapes are drawn from the model, and fitted by the estimator at its defaults but for the
number of topics and the priors, from a cold start. A true topic that no shared topic resembles (cosine above
0.8) is a miss of all its entries. Entries are chosen by what was found, not by the truth: words of posterior
mean above 1e-3 (of the SAM: the ten leading words), every topic's size, every topic's weight in 30 new
documents. ``p_top10`` is compared with how often a word is among its true topic's ten highest. Beside LDA
stand the laws that other programs' posteriors imply (`others.py`). Corpora are fitted side by side, each by
one core. The file is written after every corpus, and a later call goes on from it; `ecdf.py` draws it.
"""

import argparse
import functools
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import corpora
import numpy as np
from fits import SAME, keep, kept
from others import LEAST, OTHERS, places_in
from ranks import EDGES, add, coverage, tally
from scipy.optimize import linear_sum_assignment

from geodrift.models.kit import _places as places
from geodrift.models.kit._alignment import directions_of
from geodrift.models.kit._next_draw import next_draw_intervals
from geodrift.models.latent_dirichlet_allocation.documents._chain_means import chain_means
from geodrift.models.latent_dirichlet_allocation.documents._mixtures import Mixtures
from geodrift.models.spherical_admixture.documents._mixtures import mixture_draws
from geodrift.models.topics._facade import spaced

P_BINS = 10  # of p_top10
OWN = ("words", "sizes", "mixtures")


class Fitted:
    """A fitted estimator beside the truth.

    Attributes:
        partner: Of each true topic the one that was found for it.
        found: Of each true topic whether that is shared and resembles it.
    """

    def __init__(self, truth, model):
        self.truth, self.model, self.agreed = truth, model, model.agreement_
        self.to_directions = directions_of(model.signed)
        chains, num_topics = len(self.agreed.cosines), len(truth.topics)
        self.draws = model.topic_draws_.reshape(chains, -1, *model.topic_draws_.shape[1:])
        self.sizes = model.topic_size_draws_.reshape(chains, -1, num_topics)
        means = self.to_directions(self.draws.mean(axis=(0, 1)))
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        cosines = self.to_directions(truth.topics) @ means.T
        self.partner = linear_sum_assignment(-cosines)[1]
        alike = cosines[np.arange(num_topics), self.partner] > SAME
        self.found = self.agreed.shared[self.partner] & alike

    def words(self, true):
        """The words that count of the topic found for a true one, and their true weights and quantiles."""
        topic = self.partner[true]
        own = self.draws[self.agreed.found[:, topic], :, topic]
        mean = own.mean(axis=(0, 1))
        words = np.argsort(-np.abs(mean))[:10] if self.model.signed else np.flatnonzero(mean > LEAST)
        return self.to_directions(self.truth.topics[true, words]), _quantiles(self.to_directions(own), words)

    def size(self, true):
        """The true size of a topic, and the quantiles of that found."""
        topic = self.partner[true]
        by = self.agreed.found[:, topic]
        beside = self.agreed.found[by].all(axis=0)  # as in `component_size`
        at = np.array([np.flatnonzero(beside).searchsorted(topic)])
        return np.sqrt(self.truth.sizes[[true]]), _quantiles(np.sqrt(self.sizes[by][:, :, beside]), at)

    def mixtures(self):
        """Quantiles of the new documents' weights, [edge, document, true topic]."""
        topics = spaced(self.model.topic_draws_)
        if self.model.signed:
            draws = mixture_draws(self.truth.new, topics, self.model.settings_).swapaxes(0, 1)
        else:
            # As `transform` weighs new documents.
            chosen = places.spaced(len(self.model.topic_draws_), len(topics))
            topics = chain_means(self.draws, chosen)
            prior = np.full(topics.shape[:2], self.model.doc_topic_prior)
            _, draws = Mixtures(topics, prior, seed=0)._sampled(self.truth.new, intervals=True)
        return np.quantile(draws[:, :, self.partner], EDGES, axis=0)

    def reliability(self):
        """Of bins of ``p_top10``: how many words, the sum of what was told, and how often it was so."""
        told, counts = self.model.top_words([str(w) for w in range(self.draws.shape[3])], top=20), []
        for true in np.flatnonzero(self.found):
            highest = set(np.argsort(-self.truth.topics[true])[:10].tolist())
            for word in told[self.partner[true]]["words"]:
                counts.append((word["p_top10"], int(word["word"]) in highest))
        p, hits = np.array(counts, float).reshape(-1, 2).T
        places = np.minimum((p * P_BINS).astype(int), P_BINS - 1)
        return np.array([np.bincount(places, weight, P_BINS) for weight in (None, p, hits)]).T


def _quantiles(directions, words):
    """Of the next draw of the next chain, [edge, word]."""
    ends = [next_draw_intervals(directions, words, (edge, 1 - edge)) for edge in EDGES if edge <= 0.5]
    return np.array([low for low, _ in ends] + [high for _, high in ends[-2::-1]])


def measure(name, seed):
    """Tallies of one corpus of a model, by quantity."""
    (truth, model), began = {"lda": corpora.lda, "sam": corpora.sam}[name](seed), time.monotonic()
    fitted = Fitted(truth, model.fit(truth.counts))
    seconds = time.monotonic() - began
    tallies, mixtures = {name: tally() for name in OWN}, fitted.mixtures()
    for true, found in enumerate(fitted.found):
        entries = {"words": fitted.words(true), "sizes": fitted.size(true)}
        entries["mixtures"] = truth.mixtures[:, true], mixtures[:, :, true]
        for name, (values, quantiles) in entries.items():
            if found:
                add(tallies[name], values, quantiles)
            else:
                tallies[name][-1] += len(values)
    if not model.signed:
        priors = model.doc_topic_prior, model.topic_word_prior
        for name, program in OTHERS.items():
            tallies[name] = places_in(program(truth.counts, len(truth.topics), *priors, seed), truth.topics)
    row = {"seed": seed, "topics": len(truth.topics), "found": int(fitted.found.sum()), "seconds": seconds}
    told = {name: counts.tolist() for name, counts in tallies.items()}
    return row | told | {"p_top10": fitted.reliability().tolist()}


def summary(rows):
    """Coverage at each level with its standard error over corpora, and the calibration error of p_top10."""
    told = {"corpora": len(rows), "topics_found": sum(row["found"] for row in rows)}
    told["topics"] = sum(row["topics"] for row in rows)
    for name in (*OWN, *OTHERS):
        if name in rows[0]:
            told[name] = coverage(np.array([row[name] for row in rows]))
    number, p, hits = np.array([row["p_top10"] for row in rows]).sum(axis=0).T
    told["p_top10_calibration_error"] = float(np.abs(p - hits).sum() / number.sum())
    return told


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=("lda", "sam"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--corpora", type=int, default=200)
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"  # of the processes that follow
    rows = kept(options.out)
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        seeds = range(len(rows), options.corpora)
        for row in pool.map(functools.partial(measure, options.model), seeds):
            rows.append(row)
            keep(options.out, rows)
            print(row["seed"], row["found"], row["topics"], round(row["seconds"], 1), file=sys.stderr)
    for name, value in summary(rows).items():
        print(name, value)


if __name__ == "__main__":
    main()
