"""Method "gibbs" on devices, in JAX on the CPU: its law, its counts, and what its bits depend on."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

import geodrift
from geodrift.kernels import _device
from geodrift.models import latent_dirichlet_allocation as lda
from geodrift.models.latent_dirichlet_allocation import Chain, Settings
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs import (
    _annealing,
    _counts,
    _log_joint,
    _start,
)
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._annealing import Annealing
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sampler import CollapsedGibbs
from geodrift.models.latent_dirichlet_allocation.documents import _draw_in_jax
from geodrift.models.latent_dirichlet_allocation.on_device import _sampler, _topics
from geodrift.models.latent_dirichlet_allocation.on_device._chain_arrays import ChainArrays
from geodrift.models.latent_dirichlet_allocation.on_device._devices import mesh_of_devices
from geodrift.models.latent_dirichlet_allocation.on_device._redraw import redraw
from geodrift.models.latent_dirichlet_allocation.on_device._sampler import GibbsOnDevice
from law_checks import assert_means
from models import lda_problem as problem

PRIORS = {"doc_topic_prior": problem.DOC_TOPIC_PRIOR, "topic_word_prior": problem.TOPIC_WORD_PRIOR}
PROGRAM = Path(__file__).with_name("on_device_program.py")
COUNTS = np.random.default_rng(4).poisson(np.random.default_rng(1).gamma(0.7, 0.6, (120, 1)), (120, 40))


@pytest.fixture
def on_device(monkeypatch):
    monkeypatch.setattr(_device, "in_jax", lambda: True)


def chain_of(counts, steps, *, seed=3, number=0, **settings):
    chain = Chain(problem.corpus(counts), Settings(**settings), seed=seed, chain=number)
    chain.begin(chain.shares.plan(steps))
    return chain


def statistics(chain):
    """Which tokens have the second topic, which pairs share one, the topics and their squares."""
    z, topics = chain.move.assignments, chain.topics().ravel()
    first, second = np.triu_indices(z.shape[-1], 1)
    return np.concatenate([z == 1, z[first] == z[second], topics, topics**2]).astype(float)


def exact():
    every, p, in_words = problem.posterior()
    first, second = np.triu_indices(every.shape[-1], 1)
    of_assignments = p @ np.concatenate([every == 1, every[:, first] == every[:, second]], axis=1)
    return np.concatenate([of_assignments, *(x.ravel() for x in problem.topic_moments(p, in_words))])


@pytest.mark.slow
@pytest.mark.usefixtures("on_device", "optimised")
@pytest.mark.parametrize("annealed", [False, True])
def test_assignments_and_topics_have_the_law_of_enumeration(annealed, monkeypatch):
    """Minibatches of two of three documents; with larger priors in steps before those that are counted."""
    monkeypatch.setattr(_annealing, "PASSES", (10**6, 10**7))
    draws, steps, share = [], 200, 0.4 if annealed else 0.1
    for number in range(8):
        chain = chain_of(problem.COUNTS, steps, number=number, n_topics=2, batch_size=2,
                         warm_up_fraction=share, **PRIORS)  # fmt: skip
        assert isinstance(chain.move, GibbsOnDevice)
        assert chain.threads_of_a_step == 0
        chain.move.annealing = Annealing(5.0, 3.0) if annealed else Annealing()
        kept = []
        while chain.count < steps:
            chain.step()
            if chain.count > chain.plan.warm_up + 20:
                kept.append(statistics(chain))
        draws.append(kept)
    assert_means(np.array(draws), exact())


@pytest.mark.slow
@pytest.mark.usefixtures("on_device", "optimised")
def test_the_first_steps_have_the_law_of_the_larger_priors(monkeypatch):
    monkeypatch.setattr(_annealing, "PASSES", (10**6, 10**7))
    draws, larger = [], Annealing(5.0, 3.0)
    for number in range(24):
        chain, kept = (
            chain_of(problem.COUNTS, 400, number=number, n_topics=2, warm_up_fraction=0.9, **PRIORS),
            [],
        )
        chain.move.annealing = larger
        while chain.count < 140:
            chain.step()
            if chain.count > 20:
                kept.append(chain.move.assignments == 1)
        draws.append(kept)
    alpha = tuple(np.array(problem.DOC_TOPIC_PRIOR) * larger.documents)
    every, p, _ = problem.posterior(problem.COUNTS, alpha, problem.TOPIC_WORD_PRIOR * larger.words)
    assert_means(np.array(draws, float), p @ (every == 1))


def told(chain, steps):
    """Numbers that no order of the topics changes, after each step of the second half."""
    found = []
    while chain.count < steps:
        chain.step()
        if chain.count > steps // 2:
            sizes, topics = chain.move.topic_sizes(), chain.topics()
            found.append(
                [chain.move.log_joint() / 100, (sizes**2).sum(), 10 * (topics**2).sum(axis=1).mean()]
            )
    return np.array(found)


@pytest.mark.slow
@pytest.mark.usefixtures("optimised")
def test_posterior_means_are_those_of_the_compiled_kernel(monkeypatch):
    """The spread of independent chains, of either sampler, holds the autocorrelation."""
    counts = np.random.default_rng(2).poisson(0.5, (30, 12))
    settings = {"n_topics": 4, "doc_topic_prior": 0.5, "topic_word_prior": 0.3, "batch_size": 11}
    draws = []
    for forced in (False, True):
        monkeypatch.setattr(_device, "in_jax", lambda forced=forced: forced)
        chains = [chain_of(counts, 300, number=number, **settings) for number in range(12)]
        assert isinstance(chains[0].move, GibbsOnDevice) == forced
        draws.append(np.array([told(chain, 300) for chain in chains]))
    means = draws[0].mean(axis=1)
    assert_means(draws[1] - (means - means.mean(axis=0))[:, None], means.mean(axis=0))


def assert_counts_are_those_of_the_assignments(move, counts):
    documents, words = problem.tokens(counts)
    seen, z = move.seen[documents], move.assignments
    expected = np.zeros((counts.shape[1], len(move.alpha)), int)
    np.add.at(expected, (words[seen], z[seen]), 1)
    np.testing.assert_array_equal(move.held.host_table(), expected)
    np.testing.assert_array_equal(move.counts.table(np.arange(counts.shape[1])), expected)
    whole = np.asarray(move.held.counts).sum(axis=0)
    assert whole.sum() == expected.sum()  # none in the padding


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("form", ["table", "lists"])
def test_counts_are_those_of_the_assignments_while_documents_join_and_later(form, monkeypatch):
    monkeypatch.setattr(_counts, "LISTS_FROM", 0 if form == "lists" else 10**9)
    monkeypatch.setattr(_start, "TOKENS_OF_A_STEP", 600)
    monkeypatch.setattr(_sampler, "TOKENS_OF_A_STEP", 600)
    monkeypatch.setattr(_start, "MOST", 1)
    chain, programs = chain_of(COUNTS, 200, n_topics=5, batch_size=25), None
    chain.compile()
    lengths = len(chain.move.held.blocks.rows)
    assert lengths >= 3
    while chain.count < 60:
        chain.step()
        if chain.count % 9 == 0 or not chain.move.seen.all():
            assert_counts_are_those_of_the_assignments(chain.move, COUNTS)
        programs = redraw._cache_size() if programs is None else programs
    assert chain.move.seen.all()
    assert redraw._cache_size() == programs  # a step compiles nothing


@pytest.mark.slow
def test_bits_depend_on_neither_the_devices_nor_the_blocks():
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
    told = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, PROGRAM], env=told, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    digests = done.stdout.split()
    assert len(digests) == 5
    assert len(set(digests)) == 1


def same_state(first, second):
    for name, value in first.state().items():
        np.testing.assert_array_equal(value, second.state()[name])


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize(
    "cut", [pytest.param(2, marks=pytest.mark.slow), 17, pytest.param(33, marks=pytest.mark.slow)]
)
def test_put_down_and_taken_up_is_bit_identical(cut):
    settings = {"n_topics": 5, "batch_size": 50, "learn_doc_topic_prior": "asymmetric"}
    whole, first = (chain_of(COUNTS, 40, **settings) for _ in range(2))
    for _ in range(cut):
        first.step()
    second = Chain(problem.corpus(COUNTS), Settings(**settings), seed=3)
    second.restore({name: np.array(value) for name, value in first.state().items()})
    second.begin(second.shares.plan(40))
    for chain in (whole, second):
        while chain.count < 40:
            chain.step()
    same_state(whole, second)
    np.testing.assert_array_equal(whole.topics(), second.topics())


@pytest.mark.parametrize("form", ["table", "lists"])
def test_a_chain_goes_on_on_the_other_kind_of_machine(form, monkeypatch):
    monkeypatch.setattr(_counts, "LISTS_FROM", 0 if form == "lists" else 10**9)
    settings = {"n_topics": 5, "batch_size": 50}
    for first, second in ((True, False), (False, True)):
        monkeypatch.setattr(_device, "in_jax", lambda first=first: first)
        chain = chain_of(COUNTS, 40, **settings)
        for _ in range(20):
            chain.step()
        monkeypatch.setattr(_device, "in_jax", lambda second=second: second)
        other = Chain(problem.corpus(COUNTS), Settings(**settings), seed=3)
        other.restore(chain.state())
        assert isinstance(other.move, GibbsOnDevice if second else CollapsedGibbs)
        np.testing.assert_array_equal(chain.move.assignments, other.move.assignments)
        assert chain.move.log_joint() == pytest.approx(other.move.log_joint(), rel=1e-12)
        np.testing.assert_allclose(chain.expected_topics(), other.expected_topics(), rtol=2e-6)
        other.begin(other.shares.plan(40))
        for _ in range(5):
            other.step()
        assert other.move.log_joint() > -1e5


@pytest.mark.parametrize(
    "num_topics",
    [
        pytest.param(2, marks=pytest.mark.slow),
        pytest.param(5, marks=pytest.mark.slow),
        1000,
        pytest.param(10_000, marks=pytest.mark.slow),
    ],
)
def test_a_topic_of_weight_zero_is_never_drawn_and_others_by_their_weight(num_topics):
    rng = np.random.default_rng(num_topics)
    weights = _draw_in_jax.pad_topics(
        np.where(rng.random(num_topics) < 0.5, 0.0, rng.gamma(0.1, size=num_topics))
    )
    weights[0], size = 1e-30, _draw_in_jax.group_size(num_topics)
    assert size == _draw_in_jax.group_size(len(weights))
    topics = jnp.asarray(weights.astype(np.float32)).reshape(1, -1, size)
    number = 20_000
    grids = np.stack([rng.permutation(number), rng.permutation(number)], axis=1) / number
    grids[:2] = (0.0, 0.0), (1 - 2.0**-23, 1 - 2.0**-23)
    words, ones = jnp.zeros(number, jnp.int32), jnp.ones(topics.shape[1:], jnp.float32)
    drawn = _draw_in_jax.draw_topic(
        topics,
        words,
        ones,
        jnp.zeros((number, *topics.shape[1:]), jnp.float32),
        jnp.asarray(grids, jnp.float32),
    )
    assert (np.asarray(topics).ravel()[np.asarray(drawn)] > 0).all()
    shares = weights / weights.sum()
    found = np.bincount(np.asarray(drawn), minlength=len(weights)) / number
    assert (np.abs(found - shares) < 6 * np.sqrt(shares / number) + 2 / number).all()


@pytest.mark.slow
@pytest.mark.parametrize("part", [2**24, 8])
def test_topics_are_draws_of_a_dirichlet_in_parts_of_the_vocabulary_too(part, monkeypatch):
    """Of a topic without a token, and a prior for which every gamma underflows, too."""
    monkeypatch.setattr(_topics, "PART", part)
    table, mesh = np.zeros((5, 4), np.int32), mesh_of_devices()
    table[:, 0], table[1, 1] = [3, 0, 1, 7, 40], 2
    padded = np.zeros((1, _topics.padded_words(5, 4)[1], 4), np.int32)
    padded[0, :5] = table
    for prior in (0.3, 1e-5):
        draws = np.array(
            [
                _topics.draw_topics(mesh, 5, 3, jax.random.key(step), padded, np.float32(prior))[:5]
                for step in range(3000)
            ]
        )
        assert not draws[..., 3].any()
        np.testing.assert_allclose(draws[..., :3].sum(axis=1), 1.0, rtol=1e-5)
        shapes = prior + table[:, :3]
        some = shapes.min(axis=0) > 0.1 if prior > 0.1 else np.array([False, False, True])
        means = shapes / shapes.sum(axis=0)
        second = means * (shapes + 1) / (shapes.sum(axis=0) + 1)
        assert_means(draws[:, None, :, :3][..., some], means[:, some], comparisons=15)
        assert_means(draws[:, None, :, :3][..., some] ** 2, second[:, some], comparisons=15)


@pytest.mark.usefixtures("on_device")
def test_an_estimator_has_draws_sizes_and_scores():
    rng = np.random.default_rng(6)
    topics = rng.dirichlet(np.full(30, 0.05), 3)
    counts, _ = problem.simulate(rng, topics, 0.2, np.full(200, 30))
    model = lda.LatentDirichletAllocation(
        3, n_chains=2, n_steps=60, n_draws=10, random_state=0, learn_topic_word_prior="symmetric"
    )
    model.fit(counts)
    assert model.topic_draws_.shape == (20, 3, 30)
    assert np.isfinite(model.number_draws_["log_joint"]).all()
    closest = np.abs(model.topics_[:, None] - topics[None]).sum(axis=2)
    assert np.sort(closest.argmin(axis=0)).tolist() == [0, 1, 2]
    assert closest.min(axis=0).max() < 0.25
    assert model.perplexity(counts) < 1.1 * np.exp(
        -(
            np.log((model.transform(counts) @ topics[closest.argmin(axis=1)])[counts.nonzero()]) * counts.data
        ).sum()
        / counts.sum()
    )
    assert (model.topic_word_prior_draws_ > 0).all()


@pytest.mark.slow  # the estimator, which fits by the same driver, is in CI
@pytest.mark.usefixtures("on_device")
def test_the_command_fits_and_resumes(call, tmp_path):
    rng = np.random.default_rng(0)
    counts = np.zeros((80, 24), int)
    counts[::2, :12], counts[1::2, 12:] = rng.poisson(2.0, (2, 40, 12))
    counts += rng.poisson(0.1, counts.shape)  # some words of the other topic, whose assignments move
    sp.save_npz(tmp_path / "counts.npz", sp.csr_matrix(counts))
    run = tmp_path / "run"
    call(
        "fit",
        "lda",
        tmp_path / "counts.npz",
        "--run",
        run,
        "--topics=2",
        "--steps=40",
        "--chains=2",
        "--draws=8",
    )
    call("resume", run, "--steps=10")
    draws = geodrift.load(run).draws["posterior"].to_dataset().load()
    of_first = np.sort(draws["topics"].values[..., :12].sum(axis=-1), axis=-1)
    assert (of_first[..., 0] < 0.1).all()
    assert (of_first[..., 1] > 0.9).all()
    share = counts[:, :12].sum() / counts.sum()
    sizes = np.sort(draws["topic_sizes"].values, axis=-1)
    np.testing.assert_allclose(sizes[..., 0], min(share, 1 - share), atol=0.05)
    assert (np.diff(draws["log_joint"].values) != 0).any()
    assert call("topics", run).count("90% interval") == 2


@pytest.mark.usefixtures("on_device")
def test_steps_and_the_log_joint_s_words_fetch_no_counts(monkeypatch):
    """Some hundred megabytes for many topics: it once was most of a pass."""
    monkeypatch.setattr(_sampler, "TOKENS_OF_A_STEP", 1)
    chain = chain_of(COUNTS, 200, n_topics=5, batch_size=25)
    while chain.move.complete_at < 0:
        chain.step()
    expected = chain.move.topic_sizes(), chain.move.log_joint()
    table = chain.move.counts  # fetched
    words = _log_joint.log_of_words(table.values, chain.move.eta)

    def fetched(*_):
        raise AssertionError("counts were fetched")

    monkeypatch.setattr(ChainArrays, "host_table", fetched)
    chain.move.fetched = None
    assert chain.move.log_joint() == pytest.approx(expected[1], rel=1e-12)
    assert chain.move._log_of_words() == pytest.approx(words, rel=1e-12)
    np.testing.assert_array_equal(chain.move.topic_sizes(), expected[0])
    for _ in range(2 * chain.move._start.of_all + 1):
        chain.step()
