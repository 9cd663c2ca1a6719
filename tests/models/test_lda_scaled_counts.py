"""Latent Dirichlet allocation by scaled counts: unbiased counts, and the law against enumeration."""

from functools import partial

import numba
import numpy as np
import pytest

from geodrift.driver import Length, chunks, plan_of
from geodrift.kernels._streams import LDA_MINIBATCH_ASSIGNMENTS
from geodrift.models.latent_dirichlet_allocation import Chain, Settings
from geodrift.models.latent_dirichlet_allocation.documents import _assignment_kernel
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import TokenSource
from geodrift.models.latent_dirichlet_allocation.scaled_counts import _cir_topics, _langevin_topics
from geodrift.models.latent_dirichlet_allocation.scaled_counts._expected_counts import expected_counts
from geodrift.models.latent_dirichlet_allocation.scaled_counts._sampler import ScaledCounts
from law_checks import assert_means
from models import lda_problem as problem

SETTINGS = {
    "n_topics": 2,
    "doc_topic_prior": problem.DOC_TOPIC_PRIOR,
    "topic_word_prior": problem.TOPIC_WORD_PRIOR,
}


def minibatches(source, size):
    """Every minibatch of a size, by its documents."""
    every = np.array(list(np.ndindex(*[source.num_documents] * size)))
    every = every[(np.diff(every, axis=1) > 0).all(axis=1)]
    return [source.minibatch(documents) for documents in every]


def chain_moments(steps, *, chain, batch_size, warm_up=0.2, source=None, **settings):
    """Means of the topics and of their squares over one chain, [2 K V]."""
    source = source or TokenSource(problem.corpus())
    settings = Settings(**SETTINGS | settings, batch_size=batch_size)
    sizes = source.num_documents, source.num_words, source.num_tokens
    move = ScaledCounts(*sizes, settings, 0, chain, source.starts)
    batches, rng = minibatches(source, batch_size), np.random.default_rng(chain)
    # Each document comes again and again: all of them have been seen.
    for count, document in enumerate(np.arange(source.num_documents)):
        move.step(source.minibatch(np.array([document])), count, True)
    total, warm = np.zeros((2, 2, source.num_words)), int(warm_up * steps)
    for count in range(source.num_documents, steps):
        move.step(batches[rng.integers(len(batches))], count, count < warm)
        if count >= warm:
            topics = move.topics(count)
            total += topics, topics**2
    return total.ravel() / (steps - warm)


def moments(steps, chains, **arguments):
    """[chain, 1, 2 K V]."""
    return np.array([[chain_moments(steps, chain=chain, **arguments)] for chain in range(chains)])


def exact_moments():
    _, p, in_words = problem.posterior()
    return np.concatenate([moment.ravel() for moment in problem.topic_moments(p, in_words)])


@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_scaled_counts_are_unbiased_over_all_minibatches(size):
    """Mean over minibatches and draws: the sum over documents of their expected counts given the topics."""
    source = TokenSource(problem.corpus())
    topics = np.array([[0.6, 0.1], [0.3, 0.2], [0.1, 0.7]])
    exact = np.zeros((3, 2))
    documents, words = problem.tokens()
    for document in range(source.num_documents):
        own = words[documents == document]
        every, p = problem.document_law(own, topics, problem.DOC_TOPIC_PRIOR)
        exact += np.einsum("n,nwk->wk", p, problem.counts_of(every, own, 3, 2))
    settings = Settings(**SETTINGS, method="scir", batch_size=size, early_sweeps=40)
    estimates = []
    for chain in range(300):
        means = np.zeros((3, 2))
        for batch in (batches := minibatches(source, size)):
            move = ScaledCounts(3, 3, 8, settings, 0, chain, None)
            move.start_moves(0)
            move.gammas.x, move.gammas.sums = np.log(topics).astype(np.float32), topics.sum(axis=0)
            means[batch.vocabulary] += scaled_counts(move, batch) / len(batches)
        estimates.append([means])
    assert_means(np.array(estimates), exact)


def scaled_counts(move, batch):
    """What the topics of a move are given at its first step."""
    seen = []
    move.gammas.move = lambda words, counts, *others: seen.append(counts)
    move.step(batch, 0, False)
    return seen[0]


def test_a_mean_over_sweeps_is_that_of_their_counts():
    """The sweeps that are dropped and those that are counted, against the law of one document."""
    words = np.array([0, 0, 0, 2, 1])
    topics = np.array([[0.5, 0.2, 0.05], [0.3, 0.3, 0.3], [0.2, 0.5, 0.65]], np.float32)
    alpha = np.array([0.2, 0.5, 1.1], np.float32)
    every, p = problem.document_law(words, topics, alpha)
    exact = np.einsum("n,nwk->wk", p, problem.counts_of(every, words, 3, 3))
    source = TokenSource(problem.corpus(np.array([[3, 1, 1], [0, 1, 0]])))
    batch, draws = source.minibatch(np.array([0])), []
    for chain in range(3000):
        streams = partial(LDA_MINIBATCH_ASSIGNMENTS.family, 0, chain)
        assignments = np.zeros(5, np.uint8)
        counts = expected_counts(
            batch, assignments, topics, alpha, sweeps=30, averaged=5, first=True, streams=streams
        )
        draws.append([counts])
        assert counts.sum() == pytest.approx(5)
    assert_means(np.array(draws), exact)


def test_scir_on_all_documents_has_the_law_of_enumeration():
    """At a step as long as this: without noise of minibatches only the topics' sums are not exact."""
    draws = moments(4000, 8, method="scir", batch_size=3, step_size=(1.0, 1.0, 0.0))
    assert_means(draws, exact_moments())


@pytest.mark.slow
def test_scir_by_default_has_the_means_of_enumeration():
    draws = moments(5000, 8, method="scir", batch_size=2)
    assert_means(draws, exact_moments())


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 3])
def test_scir_by_default_has_the_means_of_enumeration_in_long_runs(batch_size):
    assert_means(moments(60_000, 20, method="scir", batch_size=batch_size), exact_moments())


def random_chain(method, gammas_on, seed=3):
    counts = np.random.default_rng(4).poisson(0.4, (300, 50))
    settings = Settings(n_topics=5, batch_size=90, method=method, gammas_on=gammas_on)
    chain = Chain(problem.corpus(counts), settings, seed=seed)
    chain.begin(chain.shares.plan(60))
    return chain


@pytest.mark.parametrize("method", ["scir", "sgrhmc"])
def test_the_number_of_threads_changes_no_bit(method, monkeypatch):
    for forms in (_cir_topics._forms, _langevin_topics._forms, _assignment_kernel._redraw_forms):
        monkeypatch.setattr(forms, "worth_threads", 1)
    threads, draws = numba.get_num_threads(), []
    try:
        for number in (1, threads):
            numba.set_num_threads(number)
            chain = random_chain(method, "posterior")
            for _ in range(12):
                chain.step()
            draws.append(chain.topics())
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(*draws)


@pytest.mark.parametrize(
    ("method", "gammas_on", "cut"),
    [("scir", "posterior", 2), ("scir", "posterior", 37), ("sgrld", "prior", 9), ("sgrhmc", "posterior", 9)],
)
def test_put_down_and_taken_up_is_bit_identical(method, gammas_on, cut):
    whole, first, second = (random_chain(method, gammas_on) for _ in range(3))
    for _ in range(cut):
        first.step()
    second.restore({name: np.array(value) for name, value in first.state().items()})
    for chain, steps in ((whole, 60), (second, 60 - cut)):
        for _ in range(steps):
            chain.step()
    for name, value in whole.state().items():
        np.testing.assert_array_equal(value, second.state()[name])
    np.testing.assert_array_equal(whole.topics(), second.topics())
    np.testing.assert_array_equal(whole.expected_topics(), second.expected_topics())
    other = random_chain(method, gammas_on, seed=4)
    other.step()
    assert not np.array_equal(other.topics(), whole.topics())


@pytest.mark.slow  # enumeration tells the same law in CI
def test_expected_topics_are_the_mean_of_the_gammas_given_the_counts():
    """Of SCIR's moves, given all estimates of the counts: the mean over the noise of the moves."""
    rng, estimates = np.random.default_rng(1), []
    for _ in range(6):
        estimates.append((rng.permutation(3)[:2], rng.gamma(3.0, size=(2, 2)).astype(np.float32)))
    totals, move = np.zeros((2, 3)), None
    for chain in range(4000):
        move = ScaledCounts(3, 3, 800, Settings(**SETTINGS, method="scir", batch_size=1), 0, chain, None)
        move.counts[:] = 100.0
        move.start_moves(0)
        move.gammas.x[:], move.gammas.sums[:] = np.log(100.4), 3 * 100.4
        for count, (words, counts) in enumerate(estimates):
            share = move.steps.share(count, 3.0)
            move._follow(words, counts, share)
            move.gammas.gammas_on = "neither"  # the sums as they are, which the mean is of
            move.gammas.move(words, counts, move.shapes, move.steps.size(share), 0.0, count)
        totals += np.exp(move.gammas.x.T.astype(float)) / 4000
    expected = move.counts.T * move.counts_factor + problem.TOPIC_WORD_PRIOR
    np.testing.assert_allclose(totals, expected, rtol=0.02)
    scale = (move.totals + 3 * problem.TOPIC_WORD_PRIOR)[:, None]
    np.testing.assert_allclose(move.expected_topics(), expected / scale, rtol=1e-5)


@pytest.mark.parametrize("gammas_on", ["posterior", "prior"])
def test_moves_begin_at_a_draw_given_the_mean_counts(gammas_on):
    """Every topic with the same mean counts: a draw of its law, and of its sum's."""
    copies, means = 20_000, np.array([4.0, 0.5, 1.5])
    settings = Settings(copies, 0.1, topic_word_prior=0.4, method="sgrld", gammas_on=gammas_on)
    move = ScaledCounts(3, 3, 18, settings, 0, 0, None)
    move.counts[:], move.counts_factor, move.totals[:] = 2 * means[:, None], 0.5, means.sum()
    moved = move.start_moves(7)
    shapes = means + 0.4
    sums = shapes.sum() if gammas_on == "posterior" else 3 * 0.4
    topics = (moved.x / moved.sums).T[:, None]
    second = shapes * (shapes + 1) / shapes.sum() / (shapes.sum() + 1)
    assert_means(topics, shapes / shapes.sum(), comparisons=8)
    assert_means(topics**2, second, comparisons=8)
    assert_means(moved.sums[:, None], sums, comparisons=8)
    assert_means(moved.sums[:, None] ** 2, sums * (sums + 1), comparisons=8)
    np.testing.assert_allclose(move.shapes, shapes.sum(), rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "gradient"}, "method must be one of"),
        ({"gammas_on": "data"}, "gammas_on must be one of posterior, prior, got 'data'"),
        ({"method": "scir", "gammas_on": "prior"}, "moves gammas on the posterior"),
        ({"step_size": (1.0, 2.0)}, r"three numbers \(a, b, c\)"),
        ({"step_size": (1.0, 0.0, 0.5)}, "must have b a number from 1e-06"),
    ],
)
@pytest.mark.usefixtures("unchecked_types")
def test_wrong_settings_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Settings(**SETTINGS | arguments)


@pytest.mark.parametrize("method", ["scir", "sgrhmc"])
def test_the_trial_of_a_plan_in_seconds_leaves_nothing_behind(method):
    settings, topics = Settings(**SETTINGS, method=method, num_draws=5), []
    timed, counted = (Chain(problem.corpus(), settings, seed=2) for _ in range(2))
    plan = plan_of([timed], Length(seconds=0.2))
    for chain in (timed, counted):
        for _ in chunks(chain, plan_of([chain], Length(steps=plan.total))):
            pass
        topics.append(chain.topics())
    assert timed.count == counted.count == plan.total > plan.warm_up
    np.testing.assert_array_equal(*topics)


def test_a_plan_in_seconds_counts_the_moves_that_warm_up_does_not_make():
    # Of 100 seconds, warm-up steps of a second and moves of three: 100 = T + 3 T / 2; 15 steps are taken.
    source = TokenSource(problem.corpus())
    sizes = source.num_documents, source.num_words, source.num_tokens
    move = ScaledCounts(*sizes, Settings(**SETTINGS, method="scir"), 0, 0, None)
    move._seconds_of_a_move = lambda: 3.0
    assert 15 + move.steps_within(85.0, 1.0, 15) == 40
