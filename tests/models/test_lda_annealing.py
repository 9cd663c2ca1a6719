"""The warm-up of LDA, with larger priors and with powers: its law while they last, and that none is left."""

import sys

import numpy as np
import pytest

from geodrift.driver import Shares
from geodrift.models.hierarchical_dirichlet_process import Chain as ProcessChain
from geodrift.models.hierarchical_dirichlet_process import Settings as ProcessSettings
from geodrift.models.latent_dirichlet_allocation import Chain, Settings
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs import _annealing, _counts
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._annealing import (
    Annealing,
    heat,
    share_left,
)
from law_checks import assert_means
from models import lda_problem as problem

PRIORS = {"doc_topic_prior": problem.DOC_TOPIC_PRIOR, "topic_word_prior": problem.TOPIC_WORD_PRIOR}
LARGER = Annealing(documents=5.0, words=3.0, power=0.5)
STEPS, CHAINS, BURN_IN = 480, 24, 20


def pairs_of(z):
    """Which pairs of tokens share a topic, and which tokens have the second."""
    first, second = np.triu_indices(z.shape[-1], 1)
    return np.concatenate([z == 1, z[..., first] == z[..., second]], axis=-1).astype(float)


def annealed(number, **settings):
    chain = Chain(problem.corpus(), Settings(n_topics=2, **PRIORS | settings), seed=5, chain=number)
    chain.begin(chain.shares.plan(STEPS))
    chain.move.annealing = LARGER
    return chain


def draws_between(begin, end, chains=CHAINS, **settings):
    """[chain, step, statistic] of the assignments after the steps of a part of the plan."""
    found = []
    for number in range(chains):
        chain, kept = annealed(number, **settings), []
        while chain.count < int(end * STEPS):
            chain.step()
            if chain.count > int(begin * STEPS) + BURN_IN:
                kept.append(pairs_of(chain.move.assignments))
        found.append(kept)
    return np.array(found)


def exact(alpha_times=1.0, eta_times=1.0, power=1.0):
    alpha = np.array(problem.DOC_TOPIC_PRIOR) * alpha_times
    every, p, _ = problem.posterior(problem.COUNTS, tuple(alpha), problem.TOPIC_WORD_PRIOR * eta_times)
    p = p**power
    return p @ pairs_of(every) / p.sum()


@pytest.fixture(params=["table", pytest.param("lists", marks=pytest.mark.slow)])
def counts_in(request, monkeypatch):
    monkeypatch.setattr(_counts, "LISTS_FROM", 0 if request.param == "lists" else 10**9)


@pytest.mark.slow  # in CI the law after them
@pytest.mark.usefixtures("counts_in")
def test_the_first_steps_have_the_law_of_the_larger_priors(monkeypatch):
    monkeypatch.setattr(_annealing, "PASSES", (10**6, 10**7))
    monkeypatch.setattr(_annealing, "POWER_FROM", 10**7)
    found = draws_between(0.0, 0.18, warm_up_fraction=0.9)
    assert_means(found, exact(*LARGER[:2]))
    with pytest.raises(AssertionError):
        assert_means(found, exact())


@pytest.mark.usefixtures("counts_in")
@pytest.mark.parametrize(
    "passes",
    [
        pytest.param(_annealing.PASSES, id="by passes"),
        pytest.param((10**6, 10**7), id="by the warm-up", marks=pytest.mark.slow),
    ],
)
def test_after_it_the_law_is_that_of_the_priors(passes, monkeypatch):
    monkeypatch.setattr(_annealing, "PASSES", passes)
    found = draws_between(0.5, 1.0)
    assert_means(found, exact())
    with pytest.raises(AssertionError):
        assert_means(found, exact(*LARGER))


@pytest.mark.slow  # the kernel's draws of a power are in `test_lda_collapsed_kernel`
@pytest.mark.parametrize(("power", "least"), [(0.5, 0.1), pytest.param(1.15, 0.02, marks=pytest.mark.slow)])
def test_between_them_is_about_a_power_of_the_law(power, least, monkeypatch):
    """Its own conditional laws are a power of those of the model but for 7% (see `draw_place`)."""
    monkeypatch.setattr(_annealing, "heat", lambda *_: 1.0)
    monkeypatch.setattr(_annealing, "share_left", lambda *_: 0.0)
    monkeypatch.setattr(sys.modules[__name__], "LARGER", LARGER._replace(power=power))
    found = draws_between(0.0, 0.5, chains=40).mean(axis=(0, 1))
    assert np.abs(found - exact(power=power)).max() < 0.02
    assert np.abs(found - exact()).max() > least


def test_it_ends_after_so_many_passes_or_late_in_a_shorter_warm_up():
    long, short = Shares().plan(2**14), Shares().plan(2**8)
    of_pass = 4
    hot, cold = (passes * of_pass for passes in _annealing.PASSES)
    assert share_left(hot, long, of_pass) == 1.0
    assert share_left((hot + cold) // 2, long, of_pass) == 0.5
    assert share_left(cold, long, of_pass) == 0.0
    ends = int(0.9 * short.warm_up) + 1
    assert share_left(short.pilot_ends, short, of_pass) == 1.0
    assert 0.0 < share_left(ends - 2, short, of_pass) < 0.1
    assert share_left(ends, short, of_pass) == share_left(short.warm_up, short, of_pass) == 0.0


def test_the_power_rises_from_the_end_of_a_pilot_beyond_1_in_a_warm_up_that_is_long():
    long, short, of_pass = Shares().plan(2**14), Shares().plan(2**7), 4
    first, begins = _annealing.POWER_FROM * of_pass, int(np.ceil(0.4 * long.warm_up))
    for plan in (long, None):
        assert heat(first - 1, plan, of_pass) == 0.0
        assert heat(first, plan, of_pass) == heat(begins, plan, of_pass) == 1.0

    def at(share):
        return heat(begins + round(share * (long.warm_up - begins)), long, of_pass)

    assert [at(0.335), at(0.67)] == pytest.approx([0.5, 0.0], abs=1e-3)
    assert at(0.8) == -0.625
    assert _annealing.POWER ** at(0.8) == pytest.approx(1.15, abs=1e-3)
    assert at(0.98) == heat(long.warm_up, long, of_pass) == 0.0
    assert short.pilot_ends < first
    assert not any(heat(count, short, of_pass) for count in range(short.total))


@pytest.mark.parametrize("fraction", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("total", [5, 20, 1000, 10**5])
def test_a_pilot_needs_no_plan_and_no_draw_is_annealed(fraction, total):
    plan = Shares(fraction, 25).plan(total)
    for count in range(plan.pilot_ends + 1):
        if count < plan.warm_up:
            assert share_left(count, plan, 0.5) == share_left(count, None, 0.5)
        for of_pass in (1e-9, 0.5, 3.0):
            if count < plan.pilot_ends:
                assert heat(count, plan, of_pass) == heat(count, None, of_pass)
    assert share_left(plan.warm_up, plan, 1e9) == heat(plan.warm_up, plan, 1e-9) == 0.0


def test_the_priors_are_worth_a_share_of_the_tokens_at_first():
    counts = np.random.default_rng(0).poisson(0.8, (400, 60))
    source = Chain(problem.corpus(counts), Settings(n_topics=8)).source
    settings = Settings(n_topics=8, doc_topic_prior=0.01, topic_word_prior=0.001)
    found = Annealing.of(source, settings)
    length = source.num_tokens / source.num_documents
    assert 8 * 0.01 * found.documents == pytest.approx(_annealing.OF_DOCUMENT * length)
    of_topic = source.num_tokens / 8
    assert 60 * 0.001 * found.words == pytest.approx(_annealing.OF_TOPIC * of_topic)
    assert found.power == _annealing.POWER
    large = Settings(n_topics=8, doc_topic_prior=5.0, topic_word_prior=50.0)
    assert Annealing.of(source, large) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("learnt", "expected"),
    [("learn_doc_topic_prior", (True, False)), ("learn_topic_word_prior", (False, True))],
)
def test_a_prior_that_is_learnt_is_not_larger(learnt, expected):
    counts = np.random.default_rng(0).poisson(0.8, (400, 60))
    settings = Settings(n_topics=8, doc_topic_prior=0.01, topic_word_prior=0.001, **{learnt: "symmetric"})
    found = Chain(problem.corpus(counts), settings).move.annealing
    assert tuple(factor == 1.0 for factor in found) == (*expected, True)


def test_a_chain_that_is_given_topics_and_a_process_keep_their_priors():
    counts = np.random.default_rng(0).poisson(0.8, (400, 60))
    chain = Chain(problem.corpus(counts), Settings(n_topics=8, topic_word_prior=0.001))
    chain.begin(chain.shares.plan(100))
    assert chain.move.annealing.words > 1.0
    chain.step()
    assert chain.move.annealed == (*chain.move.annealing[:2], 1.0)
    chain = Chain(problem.corpus(counts), Settings(n_topics=8, topic_word_prior=0.001))
    chain.start_from(np.full((2, 60), 1 / 60))
    chain.begin(chain.shares.plan(100))
    chain.step()
    assert chain.move.annealed == Annealing()
    process = ProcessChain(problem.corpus(counts), ProcessSettings(topic_word_prior=0.001))
    assert process.move.annealing == Annealing()
