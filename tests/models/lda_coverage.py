"""How often 90% intervals hold the truth, on corpora whose topics and mixtures are drawn from the prior.

Averaged over the prior, intervals of the exact posterior hold it with their nominal probability. Widths are
compared with those of a long run of the collapsed Gibbs sampler of Griffiths and Steyvers (2004), written
down here without anything of the library's, which starts from the true assignments.
"""

from typing import NamedTuple

import numba
import numpy as np

from geodrift.data import Corpus
from geodrift.driver import sampled
from geodrift.models.kit._alignment import matched
from geodrift.models.latent_dirichlet_allocation import Chain, Settings, document_mixtures

NUM_TOPICS, NUM_WORDS, NUM_DOCUMENTS, LENGTH = 5, 80, 150, 60
DOC_TOPIC_PRIOR, TOPIC_WORD_PRIOR = 0.4, 0.1
NUM_DRAWS, STEPS, BATCH_SIZE = 400, 9000, 50
COLLAPSED_SWEEPS, COLLAPSED_BURN_IN, COLLAPSED_THIN = 12_000, 400, 10
LEAST_MEAN = 1e-3  # of the entries that count


class Simulated(NamedTuple):
    """A corpus and the truth behind it; tokens stand by document, then by word."""

    counts: np.ndarray  # [D, V]
    topics: np.ndarray  # [K, V]
    mixtures: np.ndarray  # [D, K]
    documents: np.ndarray  # of each token
    words: np.ndarray
    assignments: np.ndarray


def simulate(seed):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(NUM_WORDS, TOPIC_WORD_PRIOR), NUM_TOPICS)
    mixtures = rng.dirichlet(np.full(NUM_TOPICS, DOC_TOPIC_PRIOR), NUM_DOCUMENTS)
    of_topics = np.array([rng.multinomial(LENGTH, mixture) for mixture in mixtures])
    cells = np.stack(
        [[rng.multinomial(n, topic) for n, topic in zip(row, topics, strict=True)] for row in of_topics]
    )  # [D, K, V]
    documents, words, assignments = np.nonzero(cells.transpose(0, 2, 1))
    times = cells.transpose(0, 2, 1)[documents, words, assignments]
    return Simulated(
        cells.sum(axis=1), topics, mixtures, *(np.repeat(x, times) for x in (documents, words, assignments))
    )


class Intervals(NamedTuple):
    """Ends and means of one kind of entry."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def intervals_of(draws):
    low, high = np.quantile(draws, (0.05, 0.95), axis=0)
    return Intervals(draws.mean(axis=0), low, high)


def in_order_of(truth, draws):
    """For each draw the topic that stands in each true one's place."""
    return matched(draws, np.sqrt(truth.topics), np.sqrt)


def ours(truth, seed):
    """Intervals of topics and of the documents' mixtures by a `Chain`, from a cold start."""
    settings = Settings(
        n_topics=NUM_TOPICS,
        doc_topic_prior=DOC_TOPIC_PRIOR,
        topic_word_prior=TOPIC_WORD_PRIOR,
        batch_size=BATCH_SIZE,
        num_draws=NUM_DRAWS,
        warm_up_fraction=0.1,
    )
    corpus = Corpus.from_matrix(truth.counts)
    chain = Chain(corpus, settings, seed=seed)
    draws = sampled([chain], STEPS)["topics"][0]
    topics = np.take_along_axis(draws, in_order_of(truth, draws)[:, :, None], axis=1)
    found = document_mixtures(corpus.rows(np.arange(NUM_DOCUMENTS)), topics, DOC_TOPIC_PRIOR, seed=seed)
    return intervals_of(topics), Intervals(found["mean"], found["low"], found["high"])


@numba.njit(cache=True)
def _collapsed(documents, words, assignments, alpha, eta, shape, plan, rng):
    """Counts [draw, document, topic] and [draw, word, topic] after every ``thin`` sweeps."""
    (num_documents, num_words, num_topics), (sweeps, burn_in, thin) = shape, plan
    by_document = np.zeros((num_documents, num_topics))
    by_word, totals = np.zeros((num_words, num_topics)), np.zeros(num_topics)
    for i in range(len(words)):
        by_document[documents[i], assignments[i]] += 1
        by_word[words[i], assignments[i]] += 1
        totals[assignments[i]] += 1
    stored = (sweeps - burn_in) // thin
    kept_documents = np.empty((stored, num_documents, num_topics))
    kept_words = np.empty((stored, num_words, num_topics))
    sums = np.empty(num_topics)
    for sweep in range(sweeps):
        for i in range(len(words)):
            d, w, k = documents[i], words[i], assignments[i]
            by_document[d, k] -= 1
            by_word[w, k] -= 1
            totals[k] -= 1
            total = 0.0
            for j in range(num_topics):
                total += (by_document[d, j] + alpha) * (by_word[w, j] + eta) / (totals[j] + num_words * eta)
                sums[j] = total
            at, k = rng.random() * total, 0
            while sums[k] <= at:
                k += 1
            assignments[i] = k
            by_document[d, k] += 1
            by_word[w, k] += 1
            totals[k] += 1
        number = (sweep - burn_in + 1) // thin - 1
        if sweep >= burn_in and (sweep - burn_in + 1) % thin == 0:
            kept_documents[number], kept_words[number] = by_document, by_word
    return kept_documents, kept_words


def collapsed(truth, seed):
    """The same intervals by a long collapsed Gibbs run; mixtures and topics are drawn given the counts."""
    rng = np.random.default_rng(seed)
    by_document, by_word = _collapsed(
        truth.documents,
        truth.words,
        truth.assignments.copy(),
        DOC_TOPIC_PRIOR,
        TOPIC_WORD_PRIOR,
        (NUM_DOCUMENTS, NUM_WORDS, NUM_TOPICS),
        (COLLAPSED_SWEEPS, COLLAPSED_BURN_IN, COLLAPSED_THIN),
        rng,
    )

    def dirichlet(shapes):
        draws = rng.standard_gamma(shapes)
        return draws / draws.sum(axis=-1, keepdims=True)

    topics = dirichlet(TOPIC_WORD_PRIOR + by_word.transpose(0, 2, 1))
    mixtures = dirichlet(DOC_TOPIC_PRIOR + by_document)
    orders = in_order_of(truth, topics)
    topics = np.take_along_axis(topics, orders[:, :, None], axis=1)
    return intervals_of(topics), intervals_of(np.take_along_axis(mixtures, orders[:, None, :], axis=2))


def measure(seed):
    """Coverage and widths on one corpus, for topics and for mixtures."""
    truth, out = simulate(seed), {}
    pairs = zip(ours(truth, seed), collapsed(truth, seed), (truth.topics, truth.mixtures), strict=True)
    for name, (mine, theirs, true) in zip(("topics", "mixtures"), pairs, strict=True):
        chosen = mine.mean > LEAST_MEAN
        width, reference = (np.mean((x.high - x.low)[chosen]) for x in (mine, theirs))
        out[name] = {
            "entries": int(chosen.sum()),
            "coverage": held(mine, true, chosen),
            "coverage_of_collapsed_gibbs": held(theirs, true, chosen),
            "width": float(width),
            "width_of_collapsed_gibbs": float(reference),
            "largest_difference_of_means": float(np.abs(mine.mean - theirs.mean).max()),
        }
    return out


def held(intervals, true, chosen):
    return float(((intervals.low <= true) & (true <= intervals.high))[chosen].mean())


def summarise(corpora):
    """Means over corpora with their standard errors."""
    out = {}
    for name in ("topics", "mixtures"):
        coverage = np.array([corpus[name]["coverage"] for corpus in corpora])
        widths = np.array([[c[name]["width"], c[name]["width_of_collapsed_gibbs"]] for c in corpora])
        out[name] = {
            "coverage": float(coverage.mean()),
            "standard_error": float(coverage.std(ddof=1) / np.sqrt(len(corpora))),
            "coverage_of_collapsed_gibbs": float(
                np.mean([c[name]["coverage_of_collapsed_gibbs"] for c in corpora])
            ),
            "width_ratio": float(widths[:, 0].mean() / widths[:, 1].mean()),
            "largest_width_ratio_of_a_corpus": float((widths[:, 0] / widths[:, 1]).max()),
        }
    return out
