"""Simulation-based calibration: do intervals hold what they say, with every true component counted?

    python benchmarks/calibration/coverage.py lda OUT.json [--corpora 200]     # some 20 minutes of two cores
    python benchmarks/calibration/coverage.py sam OUT.json [--corpora 200]

Corpora of several shapes are drawn from the model, and fitted by the estimator at its defaults but for the
number of topics and the priors, from a cold start. A true topic that no shared topic resembles (cosine above
0.8) is a miss of all its entries. Entries are chosen by what was found, not by the truth: words of posterior
mean above 1e-3 (of the SAM: the ten leading words), every topic's size, every topic's weight in 30 new
documents. ``p_top10`` is compared with how often a word is among its true topic's ten highest. Of LDA the
intervals that scikit-learn's variational posterior implies stand beside ours. The file is written after every
corpus, and a later call goes on from it.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from fits import SAME, keep, kept
from scipy import stats
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import LatentDirichletAllocation as Variational

from geodrift.models.kit._alignment import directions_of
from geodrift.models.kit._next_draw import next_draw_intervals
from geodrift.models.latent_dirichlet_allocation import LatentDirichletAllocation
from geodrift.models.latent_dirichlet_allocation.documents._mixtures import _sampled
from geodrift.models.spherical_admixture import SphericalAdmixture

LEVELS = np.array([0.5, 0.8, 0.9, 0.95])
LEAST, NEW, BINS = 1e-3, 30, 10
# topics, documents, words of the vocabulary; of LDA the words of a document, alpha and eta too
LDA_SHAPES = ((5, 300, 200, 50, 0.1, 0.05), (10, 600, 400, 50, 0.1, 0.05), (8, 400, 600, 80, 0.3, 0.02),
              (15, 1000, 500, 60, 0.1, 0.02))  # fmt: skip
SAM_SHAPES = ((3, 300, 30), (4, 400, 40), (5, 500, 50))


class Truth:
    """A corpus and what made it: topics, sizes, and new documents with their mixtures."""

    def __init__(self, counts, topics, sizes, new, mixtures):
        self.counts, self.topics, self.sizes, self.new, self.mixtures = counts, topics, sizes, new, mixtures


def lda(seed):
    """A corpus of LDA and its estimator."""
    rng, shape = np.random.default_rng(seed), LDA_SHAPES[seed % len(LDA_SHAPES)]
    num_topics, documents, words, length, alpha, eta = shape
    topics = rng.dirichlet(np.full(words, eta), num_topics)
    mixtures = rng.dirichlet(np.full(num_topics, alpha), documents + NEW)
    in_topics = np.array([rng.multinomial(length, mixture) for mixture in mixtures])
    counts = sp.csr_matrix(
        [sum(rng.multinomial(n, topic) for n, topic in zip(row, topics, strict=True)) for row in in_topics]
    )
    sizes = in_topics[:documents].sum(axis=0) / in_topics[:documents].sum()
    model = LatentDirichletAllocation(
        num_topics, doc_topic_prior=alpha, topic_word_prior=eta, random_state=seed
    )
    return Truth(counts[:documents], topics, sizes, counts[documents:], mixtures[documents:]), model


def sam(seed):
    """A corpus of the SAM at its default concentrations, and its estimator."""
    rng, (num_topics, documents, words) = np.random.default_rng(seed), SAM_SHAPES[seed % len(SAM_SHAPES)]

    def near(direction, concentration):
        return stats.vonmises_fisher(direction, concentration).rvs(random_state=rng).reshape(-1)

    mean = near(np.abs(near(np.eye(words)[0], 1e-6)), 2 * words)
    topics = np.array([near(mean, 2 * words) for _ in range(num_topics)])
    mixtures = rng.dirichlet(np.ones(num_topics), documents + NEW)
    centers = mixtures @ topics
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    rows = sp.csr_matrix(np.array([near(center, 6 * words) for center in centers]))
    model = SphericalAdmixture(num_topics, weighting="none", random_state=seed)
    truth = Truth(rows[:documents], topics, mixtures[:documents].mean(axis=0), rows[documents:], None)
    truth.mixtures = mixtures[documents:]
    return truth, model


def inside(value, low, high):
    return (np.asarray(value) >= low) & (np.asarray(value) <= high)


def measure(seed, simulate):
    """Hits and numbers of entries at each level, by quantity."""
    (truth, model), began = simulate(seed), time.monotonic()
    model.fit(truth.counts)
    seconds, signed, agreed = time.monotonic() - began, model.signed, model.agreement_
    to_directions = directions_of(signed)
    chains, num_topics = len(agreed.cosines), len(truth.topics)
    draws = model.topic_draws_.reshape(chains, -1, *model.topic_draws_.shape[1:])
    sizes = model.topic_size_draws_.reshape(chains, -1, num_topics)
    means = to_directions(draws.mean(axis=(0, 1))) if not signed else draws.mean(axis=(0, 1))
    means = means / np.linalg.norm(means, axis=1, keepdims=True)
    cosines = to_directions(truth.topics) @ means.T
    partner = linear_sum_assignment(-cosines)[1]
    found = agreed.shared[partner] & (cosines[np.arange(num_topics), partner] > SAME)
    tally = {name: np.zeros((len(LEVELS), 2)) for name in ("words", "sizes", "mixtures")}
    told = model.top_words([str(word) for word in range(draws.shape[3])], top=20)
    reliability = np.zeros((BINS, 3))
    mixture_draws = _mixture_draws(model, truth)
    for true, topic in enumerate(partner):
        by = agreed.found[:, topic]
        own, mean = draws[by, :, topic], draws[by, :, topic].mean(axis=(0, 1))
        words = np.argsort(-np.abs(mean))[:10] if signed else np.flatnonzero(mean > LEAST)
        for i, level in enumerate(LEVELS):
            ends = ((1 - level) / 2, (1 + level) / 2)
            tally["words"][i] += 0, len(words)
            tally["sizes"][i] += 0, 1
            if found[true]:
                low, high = next_draw_intervals(to_directions(own), words, ends)
                values = to_directions(truth.topics[true, words])
                tally["words"][i, 0] += inside(values, low, high).sum()
                low, high = next_draw_intervals(np.sqrt(sizes[by][:, :, [topic]]), np.array([0]), ends)
                tally["sizes"][i, 0] += inside(np.sqrt(truth.sizes[true]), low, high).sum()
            weights = truth.mixtures[:, true]
            tally["mixtures"][i] += 0, len(weights)
            if found[true] and mixture_draws is not None:
                low, high = np.quantile(mixture_draws[:, :, topic], ends, axis=0)
                tally["mixtures"][i, 0] += inside(weights, low, high).sum()
        if found[true]:
            highest = set(np.argsort(-truth.topics[true])[:10].tolist())
            for word in told[topic]["words"]:
                place = min(int(word["p_top10"] * BINS), BINS - 1)
                reliability[place] += 1, word["p_top10"], int(word["word"]) in highest
    if mixture_draws is None:
        weights = model.transform_with_intervals(truth.new)
        values = inside(truth.mixtures, weights["low"][:, partner], weights["high"][:, partner])
        tally["mixtures"][:] = np.nan
        tally["mixtures"][LEVELS == 0.9] = (values & found).sum(), values.size
    row = {"seed": seed, "topics": num_topics, "found": int(found.sum()), "seconds": round(seconds, 1)}
    row |= {name: values.tolist() for name, values in tally.items()} | {"p_top10": reliability.tolist()}
    return row | ({} if signed else {"variational_words": variational(truth, model, seed)})


def _mixture_draws(model, truth):
    """Draws of LDA's mixtures of the new documents; None of the SAM."""
    if model.signed:
        return None
    topics = model.topic_draws_[np.linspace(0, len(model.topic_draws_) - 1, 20).astype(int)]
    prior = np.full(topics.shape[:2], model.doc_topic_prior)
    return _sampled(truth.new, topics, prior, 0)[1]


def variational(truth, model, seed):
    """Coverage of words by the beta distributions of scikit-learn's variational Dirichlets."""
    fitted = Variational(len(truth.topics), doc_topic_prior=model.doc_topic_prior, random_state=seed,
                         topic_word_prior=model.topic_word_prior, max_iter=50).fit(truth.counts)  # fmt: skip
    shapes = fitted.components_
    means = shapes / shapes.sum(axis=1, keepdims=True)
    cosines = np.sqrt(truth.topics) @ np.sqrt(means).T
    tally = np.zeros((len(LEVELS), 2))
    for true, topic in zip(*linear_sum_assignment(-cosines), strict=True):
        words = np.flatnonzero(means[topic] > LEAST)
        law = stats.beta(shapes[topic, words], shapes[topic].sum() - shapes[topic, words])
        for i, level in enumerate(LEVELS):
            hit = inside(truth.topics[true, words], *law.interval(level)) & (cosines[true, topic] > SAME)
            tally[i] += hit.sum(), len(words)
    return tally.tolist()


def summary(rows):
    """Coverage at each level with its standard error over corpora, and the calibration error of p_top10."""
    told = {"corpora": len(rows), "topics_found": sum(row["found"] for row in rows)}
    told["topics"] = sum(row["topics"] for row in rows)
    for name in ("words", "sizes", "mixtures", "variational_words"):
        if name in rows[0]:
            counts = np.array([row[name] for row in rows])
            share = counts[:, :, 0].sum(axis=0) / counts[:, :, 1].sum(axis=0)
            spread = counts[:, :, 0] - share * counts[:, :, 1]
            error = np.sqrt((spread**2).sum(axis=0)) / counts[:, :, 1].sum(axis=0)
            told[name] = {str(level): [float(share[i]), float(error[i])] for i, level in enumerate(LEVELS)}
    number, p, hits = np.array([row["p_top10"] for row in rows]).sum(axis=0).T
    told["p_top10_calibration_error"] = float(np.abs(p - hits).sum() / number.sum())
    return told


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=("lda", "sam"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--corpora", type=int, default=200)
    options = parser.parse_args()
    rows = kept(options.out)
    for seed in range(len(rows), options.corpora):
        rows.append(measure(seed, {"lda": lda, "sam": sam}[options.model]))
        keep(options.out, rows)
        print(seed, rows[-1]["found"], rows[-1]["topics"], rows[-1]["seconds"], file=sys.stderr)
    for name, value in summary(rows).items():
        print(name, value)


if __name__ == "__main__":
    main()
