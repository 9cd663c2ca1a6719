"""SCIR's moves of words when they are needed: the law of missed moves, the sums, and reproducibility."""

import numba
import numpy as np
import pytest

from geodrift.models.latent_dirichlet_allocation import Chain, Settings
from geodrift.models.latent_dirichlet_allocation.documents import _assignment_kernel
from geodrift.models.latent_dirichlet_allocation.scaled_counts import _deferred_topics, _merged_moves
from geodrift.models.latent_dirichlet_allocation.scaled_counts._deferred_topics import (
    DeferredTopics,
    worth_deferring,
)
from geodrift.models.latent_dirichlet_allocation.scaled_counts._unnormalised_topics import UnnormalisedTopics
from law_checks import assert_means
from models import lda_problem as problem

PRIOR = 0.3
STEP_SIZES = np.array([0.4, 0.05, 1.3, 0.2, 0.01, 0.6])
FACTORS = np.array([1.7, 0.4, 1.1, 3.0, 0.9, 0.2])
THETA = np.array([6.0, 0.05, 3.0, 40.0])


def topics(kind, theta, prior=PRIOR):
    if kind is DeferredTopics:
        return DeferredTopics(theta, prior, 1, 2)
    return UnnormalisedTopics("scir", "posterior", theta, prior, 1, 2)


def move(moved, words, counts, number):
    """A move in which every sum is multiplied by a number that is chosen here."""
    size = moved.x.shape[1]
    moved._factors = lambda shapes, names: np.full(size, FACTORS[number])
    counts = np.broadcast_to(np.float32(counts), (len(words), size)).copy()
    moved.move(np.asarray(words), counts, np.ones(size), STEP_SIZES[number], 0.0, number)


def transform(theta, counts, s):
    """E exp(-s theta') after the moves of `STEP_SIZES`, from the last of them back to the first."""
    log = 0.0
    for h, factor, count in list(zip(STEP_SIZES, FACTORS, counts, strict=True))[::-1]:
        scale = -np.expm1(-h)
        log -= (PRIOR + count) * np.log1p(s * scale)
        s = s * factor * np.exp(-h) / (1 + s * scale)
    return np.exp(log - s * theta)


@pytest.mark.parametrize("kind", [pytest.param(UnnormalisedTopics, marks=pytest.mark.slow), DeferredTopics])
def test_missed_moves_in_one_have_the_law_of_all_of_them(kind, monkeypatch):
    """Laplace transforms of words with counts at each step, at none, at one, and with two looks between."""
    monkeypatch.setattr(_deferred_topics, "WINDOW", 5)
    copies = 60_000
    moved = topics(kind, np.tile(THETA[:, None], copies))
    for number in range(len(STEP_SIZES)):
        words = [0, 3] if number == 2 else [0]
        if number in (2, 4):
            moved.of_words(np.array([2]))
        move(moved, words, 2.0, number)
    counts = np.zeros((4, len(STEP_SIZES)))
    counts[0], counts[3, 2] = 2.0, 2.0
    # Beside the body of the law the lower tail: a gamma of this shape is below 1e-6 with probability 0.02.
    at = np.array([0.03, 0.3, 3.0, 1e3, 1e6])
    draws = np.exp(moved._present().astype(float))
    exact = np.array([transform(*pair, at) for pair in zip(THETA, counts, strict=True)])
    words, places = np.nonzero(exact > 1e-3)
    assert set(words) == set(range(4))
    assert_means(np.exp(-draws[words].T * at[places])[:, None], exact[words, places])


@pytest.mark.parametrize("window", [64, 4])
def test_the_sums_are_means_given_what_has_been_drawn(window, monkeypatch):
    monkeypatch.setattr(_deferred_topics, "WINDOW", window)
    moved = topics(DeferredTopics, THETA[:, None] * np.array([1.0, 0.3, 5.0]))
    mean = np.exp(moved.x.astype(float))
    for number, words in enumerate([[0], [0, 3], [1], [0], [2, 3], [0]]):
        moved.of_words(np.array(words))
        mean[words] = np.exp(moved.x[words].astype(float))
        np.testing.assert_allclose(moved.sums, mean.sum(axis=0), rtol=1e-6)
        move(moved, words, 2.0, number)
        mean = mean * FACTORS[number] * np.exp(-STEP_SIZES[number]) - PRIOR * np.expm1(-STEP_SIZES[number])
        drawn = np.arange(4) if number + 1 == window else words
        mean[drawn] = np.exp(moved.x[drawn].astype(float))
        np.testing.assert_allclose(moved.sums, mean.sum(axis=0), rtol=1e-6)
        rows = moved.all_words()
        np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-6)
        np.testing.assert_allclose(
            moved.of_words(np.array(words)) * moved.sums, np.exp(moved.x[words]), rtol=1e-5
        )


def random_chain(monkeypatch, seed=3, window=8):
    monkeypatch.setattr(_deferred_topics, "LEAST_WORDS", 1)
    monkeypatch.setattr(_deferred_topics, "LEAST_SHAPE", 0.0)
    monkeypatch.setattr(_deferred_topics, "MOST_VISITED", 1.0)
    monkeypatch.setattr(_deferred_topics, "WINDOW", window)
    counts = np.random.default_rng(4).poisson(0.05, (300, 50))
    settings = Settings(n_topics=5, batch_size=9, method="scir")
    chain = Chain(problem.corpus(counts), settings, seed=seed)
    chain.begin(chain.shares.plan(60))
    return chain


@pytest.mark.parametrize("cut", [2, 43, 46])
def test_put_down_and_taken_up_is_bit_identical(cut, monkeypatch):
    whole, first, second = (random_chain(monkeypatch) for _ in range(3))
    for _ in range(cut):
        first.step()
    second.restore({name: np.array(value) for name, value in first.state().items()})
    for chain, steps in ((whole, 60), (second, 60 - cut)):
        for _ in range(steps):
            chain.step()
    assert isinstance(whole.move.gammas, DeferredTopics)
    assert (whole.move.gammas.since < whole.move.gammas.moves).any()
    for name, value in whole.state().items():
        np.testing.assert_array_equal(value, second.state()[name])
    np.testing.assert_array_equal(whole.topics(), second.topics())


def test_a_look_at_all_topics_changes_no_later_one(monkeypatch):
    watched, alone = (random_chain(monkeypatch) for _ in range(2))
    for _ in range(60):
        watched.step()
        watched.topics()
        alone.step()
    np.testing.assert_array_equal(watched.topics(), alone.topics())


def test_what_a_look_shows_is_what_the_next_step_uses(monkeypatch):
    chain = random_chain(monkeypatch)
    for _ in range(45):
        chain.step()
    gammas = chain.move.gammas
    words = np.flatnonzero(gammas.since < gammas.moves)[:3]
    shown = gammas._present()[words]
    gammas.of_words(words)
    np.testing.assert_array_equal(gammas.x[words], shown)


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    for forms in (_merged_moves._forms, _assignment_kernel._redraw_forms):
        monkeypatch.setattr(forms, "worth_threads", 1)
    threads, draws = numba.get_num_threads(), []
    try:
        for number in (1, threads):
            numba.set_num_threads(number)
            chain = random_chain(monkeypatch)
            for _ in range(50):
                chain.step()
            draws.append(chain.topics())
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(*draws)


def test_where_words_wait():
    assert worth_deferring(50_000, 0.01, 10_000)
    assert not worth_deferring(49_999, 0.01, 10_000)
    assert not worth_deferring(50_000, 0.001, 10_000)
    assert not worth_deferring(50_000, 0.01, 20_000)
