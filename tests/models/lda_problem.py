"""Corpora of latent Dirichlet allocation: simulated ones, and some small enough to be enumerated."""

import itertools

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from geodrift.data import Corpus

COUNTS = np.array([[2, 1, 0], [0, 1, 2], [1, 0, 1]])
DOC_TOPIC_PRIOR = (0.3, 0.8)
TOPIC_WORD_PRIOR = 0.4


def corpus(counts=COUNTS):
    return Corpus.from_matrix(counts)


def tokens(counts=COUNTS):
    """Document and word of every token, in the order of the entries of a sparse matrix."""
    documents, words = np.nonzero(counts)
    times = counts[documents, words]
    return np.repeat(documents, times), np.repeat(words, times)


def assignments_of(num_topics, num_tokens):
    """Every assignment of the tokens, [K^n, n]."""
    return np.array(list(itertools.product(range(num_topics), repeat=num_tokens)))


def counts_of(assignments, items, num_items, num_topics):
    """How often each topic occurs with each item, [..., item, topic]."""
    return np.stack(
        [
            np.stack([((assignments == k) & (items == i)).sum(axis=-1) for k in range(num_topics)], axis=-1)
            for i in range(num_items)
        ],
        axis=-2,
    )


def posterior(counts=COUNTS, doc_topic_prior=DOC_TOPIC_PRIOR, topic_word_prior=TOPIC_WORD_PRIOR):
    """Every assignment [n, tokens], its probability [n], and its counts [n, word, topic]."""
    documents, words = tokens(counts)
    alpha, num_topics = np.asarray(doc_topic_prior), len(doc_topic_prior)
    every = assignments_of(num_topics, len(words))
    in_documents = counts_of(every, documents, counts.shape[0], num_topics)
    in_words = counts_of(every, words, counts.shape[1], num_topics)
    log_p = gammaln(alpha + in_documents).sum(axis=(1, 2)) + gammaln(topic_word_prior + in_words).sum((1, 2))
    log_p -= gammaln(topic_word_prior * counts.shape[1] + in_words.sum(axis=1)).sum(axis=1)
    p = np.exp(log_p - log_p.max())
    return every, p / p.sum(), in_words


def topic_moments(p, in_words, topic_word_prior=TOPIC_WORD_PRIOR):
    """Means of the topics and of their squares under a law of the assignments, two of [topic, word]."""
    shapes = topic_word_prior + np.swapaxes(in_words, 1, 2)
    sums = shapes.sum(axis=2, keepdims=True)
    first = np.einsum("n,nkv->kv", p, shapes / sums)
    second = np.einsum("n,nkv->kv", p, shapes * (shapes + 1) / (sums * (sums + 1)))
    return first, second


def topic_products(p, in_words, topic_word_prior):
    """Means of products of the entries of two topics, [word of the first, word of the second]."""
    shapes = topic_word_prior + np.swapaxes(in_words, 1, 2)
    means = shapes / shapes.sum(axis=2, keepdims=True)  # given the assignments the topics are independent
    return np.einsum("n,nv,nw->vw", p, means[:, 0], means[:, 1])


def simulate(rng, topics, doc_topic_prior, lengths):
    """Counts [D, V] and mixtures [D, K] of documents from the model."""
    prior = np.broadcast_to(doc_topic_prior, len(topics))
    mixtures = rng.dirichlet(prior, len(lengths))
    rows = [rng.multinomial(n, theta @ topics) for n, theta in zip(lengths, mixtures, strict=True)]
    return sp.csr_matrix(np.array(rows)), mixtures


def enumerate_assignments(words, topics, doc_topic_prior):
    """Every assignment's topic counts [A, K] and posterior probability [A], the mixture integrated out."""
    prior = np.broadcast_to(doc_topic_prior, len(topics)).astype(float)
    counts, weights = [], []
    for assignment in itertools.product(range(len(topics)), repeat=len(words)):
        number, weight = np.zeros(len(topics)), 1.0
        for word, topic in zip(words, assignment, strict=True):
            weight *= topics[topic, word] * (number[topic] + prior[topic])
            number[topic] += 1
        counts.append(number)
        weights.append(weight)
    return np.array(counts), np.array(weights) / np.sum(weights)


def exact_mean_mixture(words, topics, doc_topic_prior):
    """Posterior mean of a document's mixture given its tokens and the topics."""
    counts, weights = enumerate_assignments(words, topics, doc_topic_prior)
    prior = np.broadcast_to(doc_topic_prior, len(topics))
    return weights @ (counts + prior) / (len(words) + prior.sum())


def tokens_of(row):
    """The words of a dense row of counts, one for each token."""
    return np.repeat(np.arange(len(row)), row)


def document_law(words, topics, alpha):
    """Every assignment of one document's tokens and its probability; ``topics`` is [word, topic]."""
    every = assignments_of(len(alpha), len(words))
    rises = np.ones(len(every))
    seen = np.tile(np.asarray(alpha, float), (len(every), 1))
    for token, word in enumerate(words):
        rows = np.arange(len(every)), every[:, token]
        rises *= seen[rows] * topics[word, every[:, token]]
        seen[rows] += 1
    return every, rises / rises.sum()
