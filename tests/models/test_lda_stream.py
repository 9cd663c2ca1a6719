"""Documents that go by once: the law, what is remembered, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp

from geodrift.models.latent_dirichlet_allocation import Settings, StreamChain
from law_checks import assert_means
from models import lda_problem as problem

pytestmark = pytest.mark.usefixtures("unchecked_types")

SETTINGS = {
    "n_topics": 2,
    "doc_topic_prior": problem.DOC_TOPIC_PRIOR,
    "topic_word_prior": problem.TOPIC_WORD_PRIOR,
    "method": "scir",
}


@pytest.mark.slow
def test_a_stream_of_known_size_has_the_law_of_its_documents():
    """A corpus of three documents in an endless stream, one at a time, told that they are three."""
    _, p, in_words = problem.posterior()
    first, second = problem.topic_moments(p, in_words)
    rows, draws = sp.csr_matrix(problem.COUNTS), []
    settings = Settings(**SETTINGS, batch_size=2, step_size=(0.2, 1.0, 0.0), early_sweeps=16)
    for number in range(8):
        chain, total = StreamChain(3, settings, total_documents=3, chain=number), np.zeros((2, 2, 3))
        rng = np.random.default_rng(number)
        for count in range(1200):
            chain.feed(rows[rng.permutation(3)[:2]])
            if count >= 200:
                topics = chain.topics()
                total += topics, topics**2
        draws.append([total / 1000])
        np.testing.assert_allclose(chain.move.shapes, chain.move.totals + 3 * problem.TOPIC_WORD_PRIOR)
    # The starts that 16 sweeps do not forget, and steps of 0.2.
    assert_means(np.array(draws), np.array([first, second]), slack=0.02)


def documents(seed, number=700):
    return sp.csr_matrix(np.random.default_rng(seed).poisson(0.3, (number, 60)))


def test_of_unknown_size_each_minibatch_stands_for_what_has_gone_by():
    chain, scales = StreamChain(60, Settings(n_topics=4, method="scir", batch_size=250)), []
    for seed in range(3):
        chain.feed(documents(seed))
        scales.append(chain.move.counts.sum() * chain.move.counts_factor)
    assert chain.documents_seen == 2100
    assert chain.move.num_documents == 2100
    assert chain.count == 9
    tokens = [documents(seed).sum() for seed in range(3)]
    # Those of minibatches of 233 or 234, scaled to what had gone by, each with the weight of its step.
    shares = [chain.move.steps.share(count, count + 1.0) for count in range(9)]
    left, expected = 1.0, 0.0
    for count in range(8, -1, -1):
        expected += left * -np.expm1(-shares[count]) * (count + 1) * np.mean(tokens) / 3
        left *= np.exp(-shares[count])
    assert scales[-1] == pytest.approx(expected + left * tokens[0] / 3, rel=0.03)
    assert chain.move.totals.sum() == pytest.approx(scales[-1], rel=1e-4)


@pytest.mark.parametrize(("method", "most"), [("sgld", 0.2), ("sghmc", 0.3)])
@pytest.mark.parametrize("first", [0, 1, 50])
def test_steps_are_as_long_as_the_stream_has_documents_not_its_first_piece(method, most, first):
    """In logs a step of a topic of N tokens is as N: of those of the first piece it went anywhere."""
    rng = np.random.default_rng(0)
    themes = rng.dirichlet(np.full(30, 0.1), 4)
    mixtures = rng.dirichlet(np.full(4, 0.3), 9000)
    rows = sp.csr_matrix(np.array([rng.multinomial(60, theta @ themes) for theta in mixtures]))
    chain = StreamChain(30, Settings(n_topics=4, method=method), seed=1)
    chain.feed(rows[:first] if first else sp.csr_matrix((50, 30)))
    for begin in range(0, 9000, 50):
        chain.feed(rows[begin : begin + 50])
    apart = np.abs(chain.topics()[:, None] - themes).sum(axis=2) / 2
    assert (apart.min(axis=1) < most).all()
    assert len(set(apart.argmin(axis=1))) == 4


def test_what_is_kept_does_not_grow():
    chain = StreamChain(60, Settings(n_topics=4, method="scir", batch_size=250), total_documents=10**7)
    chain.feed(documents(0))
    sizes = {name: np.shape(value) for name, value in chain.state().items()}
    for seed in range(1, 5):
        chain.feed(documents(seed))
    assert {name: np.shape(value) for name, value in chain.state().items()} == sizes
    assert sum(np.prod(shape, dtype=int) for shape in sizes.values()) < 3 * 4 * 60


@pytest.mark.parametrize("cut", [0, 2])
def test_put_down_and_taken_up_is_bit_identical(cut):
    settings = Settings(n_topics=4, method="scir", batch_size=250)
    whole, first, second = (StreamChain(60, settings, seed=3) for _ in range(3))
    for seed in range(4):
        whole.feed(documents(seed))
    for seed in range(cut):
        first.feed(documents(seed))
    second.restore(first.state())
    for seed in range(cut, 4):
        second.feed(documents(seed))
    for name, value in whole.state().items():
        np.testing.assert_array_equal(value, second.state()[name])
    np.testing.assert_array_equal(whole.topics(), second.topics())


def test_what_a_stream_refuses():
    with pytest.raises(ValueError, match="'gibbs', which keeps the assignments"):
        StreamChain(60, Settings(n_topics=4))
    with pytest.raises(ValueError, match="total_documents must be a positive whole number, got 0"):
        StreamChain(60, Settings(n_topics=4, method="scir"), total_documents=0)
    chain = StreamChain(60, Settings(n_topics=4, method="scir"))
    with pytest.raises(ValueError, match="call feed first"):
        chain.topics()
    chain.feed(documents(0))
    before = chain.state()
    for rows, message in (
        (np.ones((3, 59)), "59 columns but the stream has 60 words"),
        (-np.ones((3, 60)), "must not be negative"),
        (0.5 * np.ones((3, 60)), "whole numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            chain.feed(rows)
    for name, value in chain.state().items():
        np.testing.assert_array_equal(value, before[name])
