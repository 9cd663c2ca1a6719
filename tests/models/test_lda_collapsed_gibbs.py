"""Latent Dirichlet allocation with kept assignments: its law against enumeration, and its reproducibility."""

import jax
import numba
import numpy as np
import pytest
from scipy import stats

from geodrift.data import InputError
from geodrift.driver import sampled
from geodrift.kernels._stream_kinds import Family
from geodrift.models.latent_dirichlet_allocation import Chain, Settings, _topics
from geodrift.models.latent_dirichlet_allocation._topics import draw_topics
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs import (
    _counts,
    _sampler,
    _sparse_sweeps,
    _start,
    _sweeps,
)
from geodrift.models.latent_dirichlet_allocation.documents import (
    _assignment_kernel,
    _assignments_in_jax,
    _gibbs_sweeps,
)
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch, TokenSource
from law_checks import assert_means, z_bound
from models import lda_problem as problem

SETTINGS = {
    "n_topics": 2,
    "doc_topic_prior": problem.DOC_TOPIC_PRIOR,
    "topic_word_prior": problem.TOPIC_WORD_PRIOR,
}


def run(steps, *, seed=0, number=0, **settings):
    chain = Chain(problem.corpus(), Settings(**SETTINGS | settings), seed=seed, chain=number)
    chain.begin(chain.shares.plan(steps))
    return chain


@pytest.fixture(params=["table", "lists"])
def counts_in(request, monkeypatch):
    """Either form of the counts, which is otherwise a matter of the number of topics."""
    monkeypatch.setattr(_counts, "LISTS_FROM", 0 if request.param == "lists" else 10**9)
    return request.param


# The chain that is annealed has the law with a table in CI.
@pytest.mark.parametrize("counts_in", [pytest.param("table", marks=pytest.mark.slow), "lists"], indirect=True)
@pytest.mark.parametrize("parts", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_assignments_and_topics_have_the_law_of_enumeration(parts, counts_in, monkeypatch):
    seed = 7 if counts_in == "lists" else 0
    monkeypatch.setattr(_sampler, "WORTH_PARTS", 0)
    monkeypatch.setattr(_sampler, "PARTS", parts)
    every, p, in_words = problem.posterior()
    first, second = problem.topic_moments(p, in_words)
    size = every.shape[1]
    pairs = np.triu_indices(size, 1)

    def statistics(z):
        return np.concatenate([z == 1, (z[..., pairs[0]] == z[..., pairs[1]])], axis=-1).astype(float)

    draws = []
    for number in range(24):
        chain, kept = run(340, seed=seed, number=number, batch_size=2, warm_up_fraction=0.1), []
        while chain.count < 340:
            chain.step()
            if chain.count > chain.plan.warm_up + 20:
                topics = chain.topics()
                kept.append(
                    np.concatenate([statistics(chain.move.assignments), topics.ravel(), (topics**2).ravel()])
                )
        draws.append(kept)
    exact = np.concatenate([p @ statistics(every), first.ravel(), second.ravel()])
    assert_means(np.array(draws), exact)


@pytest.mark.parametrize("first", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "sampler", [_assignment_kernel, pytest.param(_assignments_in_jax, marks=pytest.mark.slow)]
)
def test_redrawn_assignments_have_their_conditional_law(sampler, first):
    copies, words, counts = 40_000, np.array([0, 2], np.int32), np.array([3, 1], np.int32)
    topics = np.array([[0.5, 0.2, 0.05], [0.3, 0.3, 0.3], [0.2, 0.5, 0.65]], np.float32)
    alpha = np.array([0.2, 0.5, 1.1], np.float32)
    starts = 5 * np.arange(copies)  # with a gap between documents
    assignments = np.zeros(5 * copies, np.uint8)
    entries = np.arange(0, 2 * copies + 1, 2, dtype=np.int32)
    batch = Minibatch(
        np.arange(copies), entries, np.tile(words, copies), np.tile(counts, copies), np.arange(3)
    )
    streams = Family(5, 0, 0)
    sampler.gibbs_sweeps(batch, starts, assignments, topics, alpha, sweeps=20, first=first, streams=streams)
    every, p = problem.document_law(np.repeat(words, counts), topics, alpha)
    drawn = assignments.reshape(copies, 5)
    assert not drawn[:, 4].any()
    observed = np.bincount(drawn[:, :4] @ 3 ** np.arange(3, -1, -1), minlength=len(every))
    common = p * copies > 5
    merged = [np.append(x[common], x[~common].sum()) for x in (observed, p * copies)]
    assert stats.chisquare(*merged).pvalue > 0.01 / 4


@pytest.mark.slow  # in CI the law of redrawn assignments
def test_documents_of_many_lengths_in_jax_have_the_kernel_s_means():
    """Means of n_dk of documents that are padded to different lengths, one of them empty."""
    rng, copies, kinds = np.random.default_rng(0), 4000, 5
    counts = rng.poisson(np.array([[0.2], [4.0], [0.0], [1.0], [9.0]]), (kinds, 8))
    source = TokenSource(problem.corpus(np.tile(counts, (copies, 1))))
    topics, alpha = rng.dirichlet(np.ones(8), 3).T.astype(np.float32), np.array([0.1, 0.3, 0.6], np.float32)
    batch, draws = source.minibatch(rng.permutation(kinds * copies)), []
    topics, starts = topics[batch.vocabulary], source.starts[batch.documents]
    for sampler in (_assignment_kernel, _assignments_in_jax):
        z = np.zeros(source.num_tokens, np.uint8)
        sampler.gibbs_sweeps(batch, starts, z, topics, alpha, sweeps=6, first=True, streams=Family(1, 0, 2))
        numbers = [np.bincount(part, minlength=3) for part in np.split(z, source.starts[1:-1])]
        draws.append(np.reshape(numbers, (copies, 1, kinds, 3)))
    kept = [0, 1, 3, 4]
    exact = draws[0].mean(axis=(0, 1))[kept]
    error = z_bound(12) * draws[0].std(axis=(0, 1))[kept] / np.sqrt(copies)
    assert_means(draws[1][:, :, kept], exact, slack=error)
    assert counts.sum(axis=1)[2] == 0


def test_which_gibbs_sweeps_runs_is_a_matter_of_the_device(monkeypatch):
    ran = []
    for module in (_assignment_kernel, _assignments_in_jax):
        monkeypatch.setattr(module, "gibbs_sweeps", lambda *_, name=module.__name__: ran.append(name))
    for backend in ("cpu", "gpu"):
        monkeypatch.setattr(jax, "default_backend", lambda backend=backend: backend)
        _gibbs_sweeps.gibbs_sweeps()
    assert [name.rsplit(".")[-1] for name in ran] == ["_assignment_kernel", "_assignments_in_jax"]


def test_topics_of_some_words_have_the_moments_of_the_whole_dirichlet():
    counts = np.array([[0, 3], [2, 0], [0, 0], [5, 1], [1, 7]], np.int32)
    words, prior = np.array([1, 2, 3]), 0.3
    shapes = prior + counts
    totals = shapes.sum(axis=0)
    draws = np.array(
        [draw_topics(counts, counts.sum(axis=0), words, prior, Family(3, 0, step)) for step in range(20_000)]
    )
    first = shapes[words] / totals
    second = (shapes[words][:, None] * shapes[words][None]) / (totals * (totals + 1))
    second += np.eye(3)[:, :, None] * (shapes[words] / (totals * (totals + 1)))
    products = draws[:, :, None, :] * draws[:, None, :, :]
    assert_means(draws[:, None], first, comparisons=24)
    assert_means(products[:, None], second, comparisons=24)


def test_topics_of_all_words_sum_to_one():
    counts = np.arange(8, dtype=np.int32).reshape(4, 2)
    draw = draw_topics(counts, counts.sum(axis=0), np.arange(4), 0.1, Family(0, 0, 0))
    np.testing.assert_allclose(draw.sum(axis=0), 1.0, atol=1e-6)


def test_topics_of_few_words_with_a_small_prior():
    """All gammas of a topic are 0 in double precision, and one of its words has nearly all probability."""
    counts = np.zeros((3, 2), np.int32)
    draws = np.array(
        [
            draw_topics(counts, counts.sum(axis=0), np.arange(3), 0.001, Family(3, 0, step))
            for step in range(3000)
        ]
    )
    np.testing.assert_allclose(draws.sum(axis=1), 1.0, atol=1e-6)
    assert_means(draws[:, None], np.full((3, 2), 1 / 3), comparisons=12)
    assert_means(draws[:, None] ** 2, np.full((3, 2), 1.001 / 3 / 1.003), comparisons=12)


def test_quotients_of_gammas_that_are_too_small_for_numbers_are_a_dirichlet():
    shapes = np.array([0.4, 0.2, 0.0, 0.7])
    draws = np.array([_topics._tiny(shapes, -3, Family(0, 0, step).word) for step in range(20_000)])
    draws /= draws.sum(axis=1, keepdims=True)
    some, total = [0, 1, 3], shapes.sum()
    assert not draws[:, 2].any()
    assert_means(draws[:, None, some], shapes[some] / total, comparisons=6)
    second = shapes * (shapes + 1) / total / (total + 1)
    assert_means(draws[:, None, some] ** 2, second[some], comparisons=6)


def random_corpus():
    rng = np.random.default_rng(4)
    return problem.corpus(rng.poisson(0.4, (300, 50)))


def draws_of(chain, steps):
    return sampled([chain], steps)["topics"][0]


@pytest.mark.parametrize("counts_in", [pytest.param("table", marks=pytest.mark.slow), "lists"], indirect=True)
@pytest.mark.usefixtures("counts_in")
def test_the_number_of_threads_changes_no_bit(monkeypatch):
    monkeypatch.setattr(_sampler, "WORTH_PARTS", 0)
    for sweeps in (_sweeps, _sparse_sweeps):
        monkeypatch.setattr(sweeps._sweep_forms, "worth_threads", 1)
    settings = Settings(n_topics=5, batch_size=90)
    threads = numba.get_num_threads()
    try:
        runs = []
        for number in (1, threads):
            numba.set_num_threads(number)
            runs.append(draws_of(Chain(random_corpus(), settings, seed=3), 60))
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(*runs)
    assert not np.array_equal(runs[0], draws_of(Chain(random_corpus(), settings, seed=4), 60))


@pytest.fixture
def small_steps(monkeypatch):
    """Minibatches of about 75 documents of `random_corpus`, of which one is the start."""
    monkeypatch.setattr(_start, "TOKENS_OF_A_STEP", 1500)
    monkeypatch.setattr(_start, "MOST", 1)


def assert_counts_are_those_of_the_assignments(move, counts):
    documents, words = problem.tokens(counts)
    seen, num_topics = move.seen[documents], len(move.alpha)
    expected = np.zeros((counts.shape[1], num_topics), int)
    np.add.at(expected, (words[seen], move.assignments[seen]), 1)
    kept = move.counts
    np.testing.assert_array_equal(kept.table(np.arange(counts.shape[1])), expected)
    np.testing.assert_array_equal(np.sort(kept.values[kept.values > 0]), np.sort(expected[expected > 0]))
    parts = np.add.reduceat(expected, kept.bounds[:-1], axis=0)
    np.testing.assert_array_equal(kept.in_parts[:, :num_topics], parts)
    np.testing.assert_array_equal(kept.in_parts[:, num_topics:], 0)


@pytest.mark.usefixtures("small_steps", "counts_in")
def test_the_chain_starts_with_some_documents_and_the_others_join(monkeypatch):
    monkeypatch.setattr(_sampler, "WORTH_PARTS", 0)
    counts = np.random.default_rng(4).poisson(0.4, (300, 50))
    chain = Chain(problem.corpus(counts), Settings(n_topics=5))
    chain.begin(chain.shares.plan(600))
    move = chain.move
    assert move.start_size == move.batch_size < 80
    chain.step()
    start = move.seen.copy()
    assert start.sum() == move.start_size
    for _ in range(_start.SWEEPS - 1):
        chain.step()
        np.testing.assert_array_equal(move.seen, start)
        assert_counts_are_those_of_the_assignments(move, counts)
    for number in range(1, -(-300 // move.batch_size) + 1):
        assert move.complete_at < 0
        chain.step()
        assert move.seen.sum() >= min(300, number * move.batch_size)
        assert_counts_are_those_of_the_assignments(move, counts)
    assert move.seen.all()
    assert move.complete_at == chain.count - 1


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize(("steps", "complete"), [(20, 8), (3, 4), (200, 14)])
def test_all_documents_join_within_half_of_the_warm_up_where_it_can_be(steps, complete):
    chain = Chain(random_corpus(), Settings(n_topics=5))
    chain.begin(chain.shares.plan(steps))
    while chain.move.complete_at < 0:
        chain.step()
    assert -(-300 // chain.move.batch_size) == 4
    assert chain.count == complete


@pytest.mark.usefixtures("small_steps")
def test_documents_that_join_have_assignments_of_the_topics_found(monkeypatch):
    """Two kinds of documents without a common word; the sweeps that would mend a wrong start are left out.

    Either kind has some of the four topics of the start.
    """
    rng, counts = np.random.default_rng(5), np.zeros((300, 60), int)
    counts[:150, :30], counts[150:, 30:] = rng.poisson(0.7, (2, 150, 30))
    chain = Chain(problem.corpus(counts), Settings(n_topics=2))
    chain.begin(chain.shares.plan(600))
    move = chain.move
    for _ in range(_start.SWEEPS):
        chain.step()
    start = move.seen.copy()
    monkeypatch.setattr(move.counts, "sweep", lambda *arguments, **named: None)
    while move.complete_at < 0:
        chain.step()
    documents, words = problem.tokens(counts)
    joined = ~start[documents]
    of_first = np.bincount(move.assignments[joined & (words < 30)], minlength=4)
    of_second = np.bincount(move.assignments[joined & (words >= 30)], minlength=4)
    assert min(of_first.sum(), of_second.sum()) > 1000
    assert np.minimum(of_first, of_second).sum() < 0.02 * (of_first + of_second).sum()


@pytest.mark.usefixtures("small_steps")
def test_the_documents_prior_is_learnt_once_a_pass_when_all_have_joined():
    chain = Chain(random_corpus(), Settings(n_topics=5, learn_doc_topic_prior="asymmetric"))
    chain.begin(chain.shares.plan(600))
    values = []
    for _ in range(140):
        chain.step()
        values.append(chain.move.document_prior.copy())
    changes = [step for step in range(1, 140) if not np.array_equal(values[step], values[step - 1])]
    assert changes == list(range(13, 140, 4))
    np.testing.assert_array_equal(values[0], chain.settings.document_prior)


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("all_seen", [True, False])
def test_seconds_become_steps_at_the_pace_of_most(all_seen):
    """Four steps of a quarter of a second are a pass; of documents that join there are two sweeps more."""
    move = Chain(random_corpus(), Settings(n_topics=5)).move
    if all_seen:
        move.complete_at, move.seen[:] = 0, True
    of_a_draw = 1.0 / move.source.num_tokens
    assert move.steps_within(8.25, of_a_draw, 6) == int((8.25 - (0 if all_seen else 2.0)) / 0.25)
    assert move.steps_within(1e-3, of_a_draw, 51) == (0 if all_seen else 6)  # all documents join in any case


@pytest.mark.usefixtures("small_steps")
def test_documents_that_have_half_joined_take_half_a_pass():
    move = Chain(random_corpus(), Settings(n_topics=5)).move
    number = len(move.seen)
    move.seen[: number - (number - move.start_size) // 2] = True
    assert move.steps_within(1e-3, 1.0 / move.source.num_tokens, 51) == 2 + 2


@pytest.mark.usefixtures("small_steps", "counts_in")
@pytest.mark.parametrize(
    "cut", [pytest.param(2, marks=pytest.mark.slow), 41, pytest.param(57, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("batch_size", [90, pytest.param(None, marks=pytest.mark.slow)])
def test_put_down_and_taken_up_is_bit_identical(cut, batch_size):
    settings = Settings(n_topics=5, batch_size=batch_size)
    whole, first, second = (Chain(random_corpus(), settings, seed=3) for _ in range(3))
    plan = settings.shares.plan(60)
    for chain in (whole, first):
        chain.begin(plan)
    for _ in range(cut):
        first.step()
    second.restore({name: np.array(value) for name, value in first.state().items()})
    second.begin(plan)
    for chain, steps in ((whole, 60), (second, 60 - cut)):
        for _ in range(steps):
            chain.step()
    for name, value in whole.state().items():
        np.testing.assert_array_equal(value, second.state()[name])
    np.testing.assert_array_equal(whole.topics(), second.topics())


@pytest.mark.usefixtures("counts_in")
def test_counts_are_those_of_the_assignments():
    counts = np.random.default_rng(4).poisson(0.4, (300, 50))
    chain = Chain(problem.corpus(counts), Settings(n_topics=5, batch_size=90))
    draws_of(chain, 70)
    assert chain.move.seen.all()
    assert_counts_are_those_of_the_assignments(chain.move, counts)


def test_masses_of_a_topic_without_words_are_those_of_a_dirichlet_whose_gammas_underflow():
    """Nearly all mass is in one part; which, goes by the parts' sizes."""
    bounds, prior = np.array([0, 100, 400]), 1e-6
    draws = np.array(
        [
            _sweeps.draw_masses(
                np.array([[0.0, 3.0], [0.0, 5.0]]), bounds, prior, np.random.default_rng(seed)
            )
            for seed in range(4000)
        ]
    )
    np.testing.assert_allclose(draws.sum(axis=1), 1.0)
    assert_means(draws[:, None, :, 0], np.array([0.25, 0.75]), comparisons=2)
    assert (draws[:, :, 0].max(axis=1) > 0.99).mean() > 0.9


def test_a_table_of_counts_is_not_taken_for_lists(monkeypatch):
    arrays = Chain(random_corpus(), Settings(n_topics=5)).state()
    monkeypatch.setattr(_counts, "LISTS_FROM", 0)
    with pytest.raises(InputError, match=r"the run of 5 topics was begun by a version"):
        Chain(random_corpus(), Settings(n_topics=5)).restore(arrays)
