"""Topics of the start are merged by the joint probability, to the topics that there are."""

import numpy as np
import pytest
from scipy.special import gammaln

from geodrift.models.latent_dirichlet_allocation import Chain, Settings
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs import _merging, _start
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._log_joint import log_joint
from models import lda_problem as problem

ALPHA, ETA = 0.3, 0.2


def joint_of(z, counts, num_topics, alpha):
    """The log joint of assignments by the enumeration's own formula, and by the chain's."""
    documents, words = problem.tokens(counts)
    in_documents = problem.counts_of(z[None], documents, len(counts), num_topics)[0]
    in_words = problem.counts_of(z[None], words, counts.shape[1], num_topics)[0]
    expected = (gammaln(alpha + in_documents) - gammaln(alpha)).sum() + (
        gammaln(ETA + in_words) - gammaln(ETA)
    ).sum()
    expected += len(counts) * gammaln(alpha.sum()) - gammaln(alpha.sum() + counts.sum(axis=1)).sum()
    whole = ETA * counts.shape[1]
    expected += (gammaln(whole) - gammaln(whole + in_words.sum(axis=0))).sum()
    starts = np.concatenate([[0], np.cumsum(counts.sum(axis=1))])
    padded = np.zeros((counts.shape[1], 16), np.int32)
    padded[:, :num_topics] = in_words
    found = log_joint(padded, starts, np.ones(len(counts), bool), z.astype(np.uint8), alpha, ETA)
    assert found == pytest.approx(expected, rel=1e-12)
    return found


def random_state(num_topics, seed=0):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.5, (40, 25)) + (rng.uniform(size=(40, 25)) < 0.05) * 3
    z = rng.integers(num_topics, size=counts.sum())
    return counts, z


def merge(counts, z, num_topics, left):
    words = problem.tokens(counts)[1]
    starts = np.concatenate([[0], np.cumsum(counts.sum(axis=1))])
    in_words = problem.counts_of(z[None], words, counts.shape[1], num_topics)[0].astype(np.int32)
    seen = np.ones(len(counts), bool)
    return _merging.merged(in_words, starts, seen, z.astype(np.uint8), np.full(left, ALPHA), ETA)


def test_the_pair_that_is_merged_costs_the_joint_probability_least():
    counts, z = random_state(5)
    prior = np.full(5, ALPHA)
    by_pair = {}
    for i in range(5):
        for j in range(i):
            by_pair[j, i] = joint_of(np.where(z == i, j, z), counts, 5, prior)
    places = merge(counts, z, 5, 4)
    pairs = [(j, i) for i in range(5) for j in range(i) if places[i] == places[j]]
    assert pairs == [max(by_pair, key=by_pair.get)]
    sizes = np.bincount(places[z], minlength=4)
    assert (np.diff(sizes) <= 0).all()


def test_merges_one_after_another_are_those_of_the_best_pair_each_time():
    counts, z = random_state(6, seed=3)
    step = z
    for left in (5, 4, 3):
        step = merge(counts, step, left + 1, left)[step]
    at_once = merge(counts, z, 6, 3)[z]
    np.testing.assert_array_equal(at_once, step)


def simulated(seed, num_topics=8, num_words=300, num_documents=600, length=60):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(num_words, 0.02), num_topics)
    counts, _ = problem.simulate(rng, topics, 0.1, np.full(num_documents, length))
    return counts, topics


def found_by(counts, topics, **patched):
    """How many true topics a chain from a cold start finds."""
    settings = Settings(n_topics=len(topics), doc_topic_prior=0.1, topic_word_prior=0.02)
    chain = Chain(problem.corpus(counts), settings, seed=1)
    chain.begin(chain.shares.plan(300))
    while chain.count < 200:
        chain.step()
    cosines = np.sqrt(topics) @ np.sqrt(chain.expected_topics()).T
    return int((cosines.max(axis=1) > 0.8).sum())


def test_every_topic_that_made_the_documents_is_found_from_a_cold_start(monkeypatch):
    """With as many topics as are asked for from the start, several are missed."""
    corpora = [simulated(seed) for seed in range(6)]
    assert [found_by(*corpus) for corpus in corpora] == [8] * 6
    monkeypatch.setattr(_start, "MOST_TOPICS_MORE", 0)
    assert sum(found_by(*corpus) for corpus in corpora) < 46


def test_larger_topics_get_the_larger_prior_and_the_counts_follow():
    counts = np.random.default_rng(4).poisson(0.4, (300, 50))
    chain = Chain(problem.corpus(counts), Settings(n_topics=3, doc_topic_prior=(0.1, 0.9, 0.4)))
    chain.begin(chain.shares.plan(200))
    move = chain.move
    while move.num_topics > 3:
        assert len(move.alpha) == move.num_topics == 6
        assert chain.expected_topics().shape == chain.topics().shape == (3, 50)
        chain.step()
    words = problem.tokens(counts)[1]
    expected = problem.counts_of(move.assignments[None].astype(int), words, 50, 3)[0]
    np.testing.assert_array_equal(move.word_topic[:, :3], expected)
    np.testing.assert_array_equal(move.alpha.astype(np.float32), chain.settings.document_prior)
    assert chain.count <= 50 + 1


@pytest.mark.parametrize("steps", [1, 2, 5, 30])
def test_no_draw_is_stored_before_the_topics_are_merged(steps):
    counts = np.random.default_rng(4).poisson(0.4, (300, 50))
    chain = Chain(problem.corpus(counts), Settings(n_topics=3, batch_size=50))
    chain.begin(chain.shares.plan(steps))
    while chain.count < steps:
        chain.step()
        if not chain.count <= chain.plan.warm_up:
            assert chain.move.num_topics == 3
