"""A chain starts from topics that a factorisation finds in some of the documents."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import gammaln

from geodrift.models.latent_dirichlet_allocation import Chain, Settings
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs import _log_joint, _sampler, _start
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._log_joint import log_joint, log_of_words
from geodrift.models.topics import _factorisation
from geodrift.models.topics._factorisation import factorised_topics
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
    words = (log_of_words(padded.reshape(-1), ETA), in_words.sum(axis=0).astype(float), counts.shape[1])
    found = log_joint(*words, starts, np.ones(len(counts), bool), z.astype(np.uint8), alpha, ETA)
    assert found == pytest.approx(expected, rel=1e-12)
    return found


def random_state(num_topics, seed=0):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.5, (40, 25)) + (rng.uniform(size=(40, 25)) < 0.05) * 3
    z = rng.integers(num_topics, size=counts.sum())
    return counts, z


@pytest.mark.parametrize("alpha", [ALPHA, 1e-60, 200.0])
def test_the_log_joint_is_the_enumeration_s(alpha):
    """Also of a document without words, and of one so long that a product of its factors is no number."""
    counts, z = random_state(5)
    joint_of(z, counts, 5, np.full(5, alpha))
    counts[7], counts[8] = 0, 40
    joint_of(np.random.default_rng(1).integers(5, size=counts.sum()), counts, 5, np.full(5, alpha))


def test_threads_sum_the_log_joint_as_one_does(monkeypatch):
    number = 2 * _log_joint.BLOCK + 5
    z = np.random.default_rng(0).integers(5, size=3 * number).astype(np.uint8)
    starts, seen = 3 * np.arange(number + 1), np.arange(number) % 7 > 0
    given = 0.0, np.zeros(5), 25, starts, seen, z, np.full(5, ALPHA), ETA
    alone = log_joint(*given)
    monkeypatch.setattr(_log_joint._sum_blocks, "worth_threads", 0)
    assert log_joint(*given) == alone


def simulated(seed, num_topics=8, num_words=300, num_documents=600, length=60):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(num_words, 0.02), num_topics)
    counts, _ = problem.simulate(rng, topics, 0.1, np.full(num_documents, length))
    return counts, topics


def found_by(counts, topics, power=None):
    """How many true topics a chain from a cold start finds, with another power in its warm-up if given."""
    settings = Settings(n_topics=len(topics), doc_topic_prior=0.1, topic_word_prior=0.02)
    chain = Chain(problem.corpus(counts), settings, seed=1)
    chain.begin(chain.shares.plan(300))
    if power is not None:
        chain.move.annealing = chain.move.annealing._replace(power=power)
    while chain.count < 200:
        chain.step()
    cosines = np.sqrt(topics) @ np.sqrt(chain.expected_topics()).T
    return int((cosines.max(axis=1) > 0.8).sum())


def test_every_topic_that_made_the_documents_is_found_from_a_cold_start(monkeypatch):
    """From topics that are alike, several are missed where the warm-up has no powers."""
    corpora = [simulated(seed) for seed in range(2, 5)]
    assert [found_by(*corpus) for corpus in corpora] == [8] * 3

    def alike(counts, num_topics, seed, given):
        frequencies = np.asarray(counts.sum(axis=0), np.float32).ravel() + 1
        return np.repeat((frequencies / frequencies.sum())[:, None], num_topics, axis=1)

    monkeypatch.setattr(_sampler, "first_topics", alike)
    assert sum(found_by(*corpus, power=1.0) for corpus in corpora) < 24


def test_the_topics_of_the_start_are_near_those_that_made_the_documents():
    counts, topics = simulated(0)
    first = _start.first_topics(sp.csr_matrix(counts), 8, 0)
    np.testing.assert_allclose(first.sum(axis=0), 1.0, rtol=1e-5)
    assert (first > 0).all()
    cosines = np.sqrt(topics) @ np.sqrt(first)
    assert (cosines.max(axis=1) > 0.7).sum() >= 7


def test_more_topics_than_a_factorisation_finds_start_from_a_document_each():
    rows = sp.csr_matrix(np.random.default_rng(0).poisson(0.1, (250, 400)))
    first = _start.first_topics(rows, 300, 0)
    np.testing.assert_allclose(first.sum(axis=0), 1.0, rtol=1e-5)
    assert (first > 0).all()
    shares = rows.toarray() / rows.sum(axis=1)
    for topic in (0, 249, 250, 299):  # fifty documents serve twice
        distances = np.abs(first[:, topic] - np.asarray(shares)).sum(axis=1)
        assert np.argmin(distances) == topic % 250


def test_the_largest_topic_of_the_start_has_the_largest_prior():
    """Two kinds of documents without a common word, one three times as frequent."""
    rng, counts = np.random.default_rng(5), np.zeros((400, 60), int)
    counts[:300, :30], counts[300:, 30:] = rng.poisson(1.0, (300, 30)), rng.poisson(1.0, (100, 30))
    for prior in ((0.1, 0.9), (0.9, 0.1)):
        chain = Chain(problem.corpus(counts), Settings(n_topics=2, doc_topic_prior=prior))
        chain.begin(chain.shares.plan(40))
        chain.step()
        sizes = chain.move.counts.in_parts.sum(axis=0)[:2]
        assert np.argmax(sizes) == np.argmax(prior)


def test_chains_start_from_documents_of_their_own():
    counts, _ = simulated(1)
    chains = [Chain(problem.corpus(counts), Settings(n_topics=8), chain=number) for number in range(2)]
    for chain in chains:
        chain.begin(chain.shares.plan(40))
        chain.step()
    first, second = (chain.move.seen for chain in chains)
    assert abs(first.sum() - 450) <= 1
    assert 315 < (first & second).sum() < 360  # 338 of independent choices


@pytest.mark.parametrize(("documents", "words", "topics"), [(1, 4, 3), (9, 5, 7), (40, 300, 220)])
def test_a_factorisation_of_few_documents_has_all_topics(documents, words, topics):
    rows = np.random.default_rng(3).poisson(0.5, (documents, words))
    found = factorised_topics(sp.csr_matrix(rows), topics, 1)
    assert found.shape == (topics, words)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    again = factorised_topics(sp.csr_matrix(rows), topics, 1)
    np.testing.assert_array_equal(found, again)


def test_documents_without_a_word_have_topics_all_the_same():
    np.testing.assert_allclose(factorised_topics(sp.csr_matrix((3, 5)), 2, 0), 0.2)


def test_the_largest_topic_comes_first():
    rng, rows = np.random.default_rng(0), np.zeros((90, 20))
    rows[:30, :10], rows[30:, 10:] = rng.uniform(1, 2, (30, 10)), rng.uniform(1, 2, (60, 10))
    found = factorised_topics(sp.csr_matrix(rows), 2, 0)
    np.testing.assert_allclose(found[:, 10:].sum(axis=1), [1.0, 0.0], atol=0.01)


def test_words_that_are_not_factorised_follow_from_the_documents(monkeypatch):
    """Themes of 40 words each, in documents of one or two: half of the words are enough to find them."""
    rng = np.random.default_rng(0)
    themes = np.kron(np.eye(5), rng.gamma(0.5, size=(1, 40)))
    themes /= themes.sum(axis=1, keepdims=True)
    mixtures = rng.dirichlet(np.full(5, 0.1), 400)
    rows = sp.csr_matrix(rng.poisson(80 * mixtures @ themes).astype(float))
    monkeypatch.setattr(_factorisation, "MOST_WORDS", 100)
    found = factorised_topics(rows, 5, 0)
    cosines = found @ themes.T / np.outer(np.linalg.norm(found, axis=1), np.linalg.norm(themes, axis=1))
    assert sorted(cosines.argmax(axis=1)) == list(range(5))
    assert cosines.max(axis=1).min() > 0.95
    rare = np.asarray(rows.sum(axis=0)).ravel().argsort()[:100]
    of_own = (found[cosines.argmax(axis=0)] * (themes > 0))[:, rare].sum() / found[:, rare].sum()
    assert of_own > 0.8
