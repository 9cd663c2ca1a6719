"""Documents under topics of which the last is not known: the laws of enumeration."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp

from geodrift.kernels._streams import LDA_TRANSFORM_ASSIGNMENTS
from geodrift.models.hierarchical_dirichlet_process._open_completion import open_completion
from geodrift.models.hierarchical_dirichlet_process._open_mixtures import open_mixtures
from geodrift.models.hierarchical_dirichlet_process._open_sampler import OpenSampler
from geodrift.models.latent_dirichlet_allocation import completion_perplexity, document_mixtures
from geodrift.models.latent_dirichlet_allocation.evaluation import _completion
from geodrift.models.latent_dirichlet_allocation.evaluation._token_split import split_tokens

TOPICS = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.2, 0.6, 0.1], [0.1, 0.2, 0.3, 0.4]])  # the last is m
ALPHA, ETA = np.array([0.9, 0.5, 0.4]), 0.2
DOCUMENT = np.array([2, 0, 1, 3])
COPIES = 20_000


def enumerated(document, topics=TOPICS, alpha=ALPHA, spread=ETA * 4):
    """The mean mixture and the predictive probability of each word, over all assignments of the tokens."""
    tokens, last = np.repeat(np.arange(len(document)), document), len(alpha) - 1
    weights, mixtures, words = [], [], []
    for assigned in itertools.product(range(len(alpha)), repeat=len(tokens)):
        numbers = np.bincount(assigned, minlength=len(alpha))
        in_open = np.bincount(tokens[np.array(assigned) == last], minlength=len(document))
        log = sum(math.lgamma(n + a) - math.lgamma(a) for n, a in zip(numbers, alpha, strict=True))
        log += sum(math.log(topics[k, w]) for k, w in zip(assigned, tokens, strict=True) if k != last)
        shapes = spread * topics[last]
        log += sum(math.lgamma(n + s) - math.lgamma(s) for n, s in zip(in_open, shapes, strict=True))
        log += math.lgamma(spread) - math.lgamma(spread + numbers[last])
        mixture = (numbers + alpha) / (len(tokens) + alpha.sum())
        of_open = (in_open + shapes) / (numbers[last] + spread)
        weights.append(math.exp(log))
        mixtures.append(mixture)
        words.append(mixture[:last] @ topics[:last] + mixture[last] * of_open)
    weights = np.array(weights) / np.sum(weights)
    return weights @ np.array(mixtures), weights @ np.array(words)


def test_mixtures_have_the_law_of_enumeration():
    """Of many copies, each with streams of its own; the standard error is that of their means."""
    counts = sp.csr_matrix(np.tile(DOCUMENT, (COPIES, 1)).astype(np.int32))
    sampler = OpenSampler(ETA * 4, counts, 3, np.arange(COPIES), LDA_TRANSFORM_ASSIGNMENTS, 0)
    totals, kept = np.zeros((COPIES, 3)), np.empty((4, COPIES, 3), np.int32)
    sampler.set_topics(TOPICS, ALPHA)
    sampler.add_mixtures(0, 10, 4, totals, kept)
    expected, _ = enumerated(DOCUMENT)
    error = totals.std(axis=0) / 4 / np.sqrt(COPIES)
    assert (np.abs(totals.mean(axis=0) / 4 - expected) < 4.5 * error).all()
    known = document_mixtures(counts[:1], TOPICS[None], ALPHA)["mean"][0]
    assert np.abs(known - expected).max() > 0.05  # an open topic is another law
    assert (kept.sum(axis=2) == DOCUMENT.sum()).all()


def test_held_out_tokens_have_the_probabilities_of_enumeration():
    documents = np.tile([3, 0, 2, 5], (3_000, 1))  # one token of ten is held out: of every word in turn
    counts = sp.csr_matrix(documents.astype(np.int32))
    found = open_completion(counts, TOPICS[None], ALPHA[None], ETA, sweeps=400, burn_in=20)
    split = split_tokens(counts, 0.1, 0)
    exact, seen = {}, set()
    for row in range(300):
        held = int(split.held_out.indices[split.held_out.indptr[row]])
        seen.add(held)
        if held not in exact:
            exact[held] = math.log(enumerated(split.observed[row].toarray()[0])[1][held])
        # A document's chain has 380 sweeps: its own Monte Carlo error is a few hundredths.
        assert found.document_log_likelihood[row] == pytest.approx(exact[held], abs=0.2)
    assert seen == {0, 2, 3}
    chosen = np.array([split.held_out.indices[start] for start in split.held_out.indptr[:-1]])
    for held, value in exact.items():
        mean = np.exp(found.document_log_likelihood[chosen == held]).mean()
        assert mean == pytest.approx(math.exp(value), rel=0.01)


def test_a_word_that_no_topic_has_and_a_document_repeats_is_expected_again():
    """`burst` is as rare as can be in every topic, and most of one document."""
    topics = np.full((3, 50), 0.02)
    topics[:2, 49] = 1e-6
    topics[:2] /= topics[:2].sum(axis=1, keepdims=True)
    alpha = np.array([[1.0, 1.0, 0.02]])
    document = np.zeros((1, 50), np.int32)
    document[0, 49], document[0, :10] = 20, 1
    told = {"told": 2, "found": np.ones((1, 3), bool)}
    share = open_mixtures(sp.csr_matrix(document), topics[None], alpha, 0.01, **told)["mean"][0, 2]
    assert share == pytest.approx(20 / 30, abs=0.03)
    score = open_completion(sp.csr_matrix(document), topics[None], alpha, 0.01)
    assert (
        score.perplexity < 0.5 * completion_perplexity(sp.csr_matrix(document), topics, alpha[0]).perplexity
    )


def test_a_score_takes_every_document_and_counts_as_lda_does():
    rows = sp.csr_matrix(np.array([[0, 0, 0, 0], [0, 1, 0, 0], [3, 0, 2, 1], [0, 2, 0, 0]], np.int32))
    found = open_completion(rows, TOPICS[None], ALPHA[None], ETA).to_dict()
    lda = completion_perplexity(rows, TOPICS, ALPHA).to_dict()
    of_tokens = [
        name for name in lda if name not in ("perplexity", "log_likelihood_per_token", "standard_error")
    ]
    assert {name: found[name] for name in of_tokens} == {name: lda[name] for name in of_tokens}
    with pytest.raises(ValueError, match="none of the 2 documents has two tokens"):
        open_completion(rows[:2], TOPICS[None], ALPHA[None], ETA)


def test_a_very_wide_spread_is_a_topic_that_is_known():
    rows = sp.csr_matrix(np.array([[3, 0, 2, 1], [0, 2, 0, 5]], np.int32))
    found = open_completion(rows, TOPICS[None], ALPHA[None], 1e7, sweeps=2_000)
    known = completion_perplexity(rows, TOPICS, ALPHA, sweeps=2_000)
    assert found.log_likelihood_per_token == pytest.approx(known.log_likelihood_per_token, abs=0.01)


def test_a_score_is_the_same_in_blocks_of_documents(monkeypatch):
    rng = np.random.default_rng(0)
    rows = sp.csr_matrix(rng.poisson(1.0, (7, 4)).astype(np.int32))
    whole = open_completion(rows, TOPICS[None], ALPHA[None], ETA).document_log_likelihood
    monkeypatch.setattr(_completion, "_DOCUMENTS_AT_ONCE", 3)
    parts = open_completion(rows, TOPICS[None], ALPHA[None], ETA).document_log_likelihood
    np.testing.assert_array_equal(parts, whole)
