"""Document completion: the split, the fold-in against enumeration, and an independent scorer."""

import importlib.util
import json
import pathlib
import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest
import scipy.sparse as sp

from geodrift.models._registry import model_named
from geodrift.models.kit._agreement import aligned as kit_aligned
from geodrift.models.latent_dirichlet_allocation import completion_perplexity, evaluate, split_tokens
from geodrift.models.latent_dirichlet_allocation.evaluation._completion import fold_in
from geodrift.models.topics._expected_topics import expected_topics
from geodrift.models.topics._topic_scores import topic_scores
from law_checks import assert_means, z_bound
from models.lda_problem import exact_mean_mixture, simulate, tokens_of

SCORER = pathlib.Path(__file__).parents[2].parent / "shared" / "eval" / "lda_completion.py"
PRIOR = np.array([0.3, 0.9, 0.5])


def few_topics(seed=0, num_topics=3, num_words=5):
    return np.random.default_rng(seed).dirichlet(np.full(num_words, 0.7), num_topics)


def corpus(seed=1, num_documents=300, num_words=200, num_topics=6):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(num_words, 0.05), num_topics)
    topics = (topics + 1e-9) / (topics + 1e-9).sum(axis=1, keepdims=True)
    lengths = rng.poisson(60, num_documents)
    lengths[3:6] = 0, 1, 2
    return simulate(rng, topics, 0.2, lengths)[0], topics


def test_split_takes_the_stated_number_from_each_document_and_loses_no_token():
    counts, _ = corpus()
    for share in (0.1, 0.5, 0.9):
        split = split_tokens(counts, share, seed=3)
        assert (split.observed + split.held_out != counts).nnz == 0
        lengths = counts.toarray().sum(axis=1)
        wanted = np.clip(np.floor(share * lengths + 0.5), 1, lengths - 1)
        wanted[lengths < 2] = 0
        np.testing.assert_array_equal(split.held_out.toarray().sum(axis=1), wanted)
        assert split.held_out.data.min() > 0


def test_split_is_uniform_over_tokens():
    """A document's counts (3, 1, 2), 2 of 6 tokens held out: hypergeometric."""
    counts = sp.csr_matrix(np.tile([3, 1, 2], (20_000, 1)))
    held = split_tokens(counts, 0.3, seed=1).held_out.toarray().reshape(100, 200, 3)
    assert_means(held, np.array([1.0, 1 / 3, 2 / 3]))
    # E[n_1 n_3] = 3 * 2 * (2 / 6) * (1 / 5)
    assert_means(held[..., 0] * held[..., 2], 0.4)


@pytest.mark.parametrize("words", [[0, 2, 2, 4, 1, 0], [3], []])
def test_fold_in_against_enumeration(words):
    topics, copies = few_topics(), 400
    row = np.bincount(np.array(words, int), minlength=5)
    observed = sp.csr_matrix(np.tile(row, (copies, 1)))
    mixtures = fold_in(observed, topics, PRIOR, np.arange(copies), 0, 60, 20)
    expected = exact_mean_mixture(words, topics, PRIOR)
    if len(words) == 0:
        np.testing.assert_allclose(mixtures, np.tile(expected, (copies, 1)), rtol=1e-6)
    else:
        assert_means(mixtures[:, None], expected, slack=1e-6)


def test_a_word_that_no_topic_emits_says_nothing():
    topics = few_topics()
    topics[:, 2] = 0.0
    topics /= topics.sum(axis=1, keepdims=True)
    observed = sp.csr_matrix(np.tile([2, 0, 3, 0, 1], (400, 1)))
    mixtures = fold_in(observed, topics, PRIOR, np.arange(400), 0, 60, 20)
    assert_means(mixtures[:, None], exact_mean_mixture([0, 0, 4], topics, PRIOR), slack=1e-6)


def test_completion_of_short_documents_against_enumeration():
    """Two topic draws: the held-out probability is averaged over them before the logarithm."""
    draws = np.stack([few_topics(0), few_topics(5)])
    counts, _ = simulate(np.random.default_rng(2), draws[0], PRIOR, np.full(400, 6))
    score = completion_perplexity(counts, draws, PRIOR, held_out=0.2, seed=4, sweeps=220, burn_in=20)
    split = split_tokens(counts, 0.2, 4)
    exact, memory = np.zeros(400), {}
    for number, (row, aside) in enumerate(
        zip(split.observed.toarray(), split.held_out.toarray(), strict=True)
    ):
        if tuple(row) not in memory:
            words = tokens_of(row)
            memory[tuple(row)] = sum(exact_mean_mixture(words, draw, PRIOR) @ draw for draw in draws) / 2
        exact[number] = aside @ np.log(memory[tuple(row)])
    deviations = score.document_log_likelihood - exact
    error = deviations.std(ddof=1) / np.sqrt(400)
    # The logarithm of an estimate is low by half its relative variance, 4e-4 here.
    assert abs(deviations.mean()) < z_bound(1) * error + 1e-3
    assert deviations.std() < 0.08
    np.testing.assert_allclose(score.perplexity, np.exp(-exact.sum() / 400), rtol=4e-3)
    assert score.held_out_tokens == 400
    assert score.draws == 2


def test_counts_of_what_is_passed_over_and_exact_cases():
    counts, topics = corpus()
    score = completion_perplexity(counts, topics, 0.2)
    assert (score.documents, score.documents_scored) == (300, 298)
    assert (score.documents_empty, score.documents_of_one_token) == (1, 1)
    assert score.held_out_tokens == score.document_held_out_tokens.sum()
    assert score.held_out_tokens + score.observed_tokens == counts.sum() - 1
    # The delete-one jackknife of minus the mean log likelihood.
    rest = score.document_log_likelihood.sum() - score.document_log_likelihood
    without = (rest / (score.held_out_tokens - score.document_held_out_tokens))[
        score.document_held_out_tokens > 0
    ]
    jackknife = np.sqrt(297 * without.var())
    np.testing.assert_allclose(score.standard_error, jackknife, rtol=0.01)
    flat = np.full((4, 200), 1 / 200)
    np.testing.assert_allclose(completion_perplexity(counts, flat, 0.2).perplexity, 200, rtol=1e-12)
    frequencies = np.asarray(counts.sum(axis=0)).ravel() + 1.0
    unigram = frequencies / frequencies.sum()
    held = split_tokens(counts).held_out
    expected = np.exp(-(held @ np.log(unigram)).sum() / held.sum())
    np.testing.assert_allclose(
        completion_perplexity(counts, unigram[None], 0.7).perplexity, expected, rtol=1e-9
    )


def test_an_impossible_word_makes_the_perplexity_infinite_and_is_counted():
    counts, topics = corpus()
    word = int(np.argmax(np.asarray(counts.sum(axis=0)).ravel()))
    topics[:, word] = 0.0
    score = completion_perplexity(counts, topics / topics.sum(axis=1, keepdims=True), 0.2)
    assert score.perplexity == np.inf
    assert score.impossible_tokens == split_tokens(counts).held_out[:, [word]].sum() > 0
    assert np.isnan(score.standard_error)


def test_a_prior_for_each_draw_is_used_with_its_draw():
    """Each draw's topics and prior scored alone give the average's terms."""
    counts, topics = corpus()
    one = counts[:1]
    draws, priors = np.stack([topics, topics[::-1] ** 0.5]), np.array([np.full(6, 0.01), np.full(6, 5.0)])
    draws /= draws.sum(axis=2, keepdims=True)
    held = split_tokens(one, 0.02).held_out
    assert held.sum() == 1
    alone = [
        completion_perplexity(one, draws[i], priors[i], held_out=0.02, sweeps=500).perplexity for i in (0, 1)
    ]
    both = completion_perplexity(one, draws, priors, held_out=0.02, sweeps=500).perplexity
    np.testing.assert_allclose(1 / both, np.mean(1 / np.array(alone)), rtol=0.03)
    swapped = completion_perplexity(one, draws, priors[::-1], held_out=0.02, sweeps=500).perplexity
    assert abs(np.log(swapped / both)) > 0.05


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": sp.csr_matrix(np.array([[0.5, 2.0, 0, 0, 0]]))}, "whole numbers"),
        ({"counts": sp.csr_matrix(np.array([[-1, 2, 0, 0, 0]]))}, "whole numbers"),
        ({"counts": sp.csr_matrix(np.eye(5, dtype=int))}, "two tokens"),
        ({"topics": 2 * few_topics()}, "sum to 1"),
        ({"topics": few_topics(num_words=4)}, "5 words"),
        ({"doc_topic_prior": np.ones(4)}, "doc_topic_prior"),
        ({"doc_topic_prior": 0.0}, "doc_topic_prior"),
        ({"held_out": 1.0}, "held_out"),
        ({"burn_in": 50}, "burn_in"),
        ({"seed": -1}, "seed"),
    ],
)
def test_refusals(change, message):
    arguments = {
        "counts": sp.csr_matrix(np.array([[2, 2, 1, 0, 0]])),
        "topics": few_topics(),
        "doc_topic_prior": 0.1,
    }
    with pytest.raises(ValueError, match=message):
        completion_perplexity(**(arguments | change))


def test_all_scores_in_one_table():
    counts, topics = corpus()
    draws = np.stack([topics, topics[::-1]])
    table = json.loads(json.dumps(evaluate(counts, draws, 0.2, top=5), allow_nan=False))
    assert table["completion"] == completion_perplexity(counts, draws, 0.2).to_dict()
    alone = topic_scores(topics[::-1], counts, draws=draws[[1, 1]], top=5)
    assert table["npmi"]["value"] == alone["npmi"]["value"] == table["npmi"]["low"]
    for one in table["npmi"]["topics"]:
        np.testing.assert_allclose([one["low"], one["high"]], one["value"])
    assert table["diversity"]["value"] == alone["diversity"]["value"]
    assert evaluate(counts, draws, 0.2, top=5, reference=counts[:50])["reference_documents"] == 49


def test_against_the_independent_scorer(request, monkeypatch):
    if not SCORER.exists():
        pytest.skip(f"the independent scorer is not at {SCORER}")
    # Its folder is for reading: its compiled functions are kept with the tests' own cache.
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(request.config.cache.mkdir("scorer")))
    spec = importlib.util.spec_from_file_location("lda_completion", SCORER)
    scorer = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "lda_completion", scorer)
    spec.loader.exec_module(scorer)
    counts, topics = corpus()
    rng = np.random.default_rng(4)
    draws = 0.7 * topics + 0.3 * rng.dirichlet(np.full(200, 0.05), (3, 6))
    for share in (0.1, 0.5):
        theirs = scorer.perplexity(counts, draws, PRIOR.repeat(2), share, 5, per_document=True)
        ours = completion_perplexity(counts, draws, PRIOR.repeat(2), held_out=share, seed=5)
        np.testing.assert_array_equal(ours.document_held_out_tokens, theirs["document_held_out_words"])
        np.testing.assert_allclose(ours.standard_error, theirs["standard_error_of_log"], rtol=0.02)
        deviations = ours.document_log_likelihood - theirs["document_log_likelihood"]
        error = np.sqrt((deviations**2).sum()) / ours.held_out_tokens
        difference = np.log(ours.perplexity / theirs["perplexity"])
        assert abs(difference) < z_bound(2) * error < 0.01


@pytest.mark.usefixtures("unchecked_types")
def test_scores_of_topics_have_the_numbers_that_topics_have_elsewhere(monkeypatch):
    """One of three chains has another topic in one place; each chain has an order of its own."""
    rng, chains = np.random.default_rng(0), []
    base = rng.dirichlet(np.full(60, 0.1), 6)
    for chain in range(3):
        here = base.copy()
        if chain == 2:
            here[4] = rng.dirichlet(np.full(60, 0.1))
        here = rng.permutation(here)
        chains.append([np.stack([rng.dirichlet(2000 * row + 1e-3) for row in here]) for _ in range(4)])
    draws = np.array(chains, np.float32)
    ordered, agreed = kit_aligned({"topics": draws}, "topics", np.sqrt)
    answers = model_named("lda").answers()
    monkeypatch.setattr(type(answers), "aligned", lambda self, run: (ordered, agreed))
    rows = sp.csr_matrix(rng.poisson(20 * base.mean(axis=0), (30, 60)))
    run = SimpleNamespace(config={"settings": {"doc_topic_prior": 0.1}})
    some = {"topics": draws[:, [1, 3]].reshape(-1, 6, 60)}
    told = answers.score(run, rows, some, seed=0, options={})
    expected = expected_topics(ordered["topics"], agreed, False)
    own = ordered["topics"][:, [1, 3]].reshape(-1, 6, 60)
    found = topic_scores(expected, rows, draws=own, found=np.repeat(agreed.found, 2, axis=0))
    assert {name: told[name] for name in found} == found
    assert len(found["npmi"]["topics"]) == 6
