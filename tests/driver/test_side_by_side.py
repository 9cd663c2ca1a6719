"""Chains that take their steps at the same time: when they do, that no draw depends on it, and what fails."""

import threading
import time

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from fake import CountingChain

from geodrift import Result, SamplingError
from geodrift.data import Corpus
from geodrift.driver import Length, plan_of, sampled
from geodrift.driver._loop import Loop
from geodrift.driver._side_by_side import SideBySide
from geodrift.driver._timing import steps_in
from geodrift.models import hierarchical_dirichlet_process as hdp
from geodrift.models import latent_dirichlet_allocation as lda


class StepsChain(CountingChain):
    """Each step calls a function."""

    beside_others = True

    def __init__(self, step) -> None:
        self.of_a_step = step

    def step(self) -> None:
        self.of_a_step()
        super().step()


@pytest.fixture
def threads(monkeypatch):
    """Says how many threads there are, and of which layer, without having them; what workers were given."""
    shares = []

    def say(number, layer="omp"):
        monkeypatch.setattr(numba, "get_num_threads", lambda: number)
        monkeypatch.setattr(numba, "threading_layer", lambda: layer)
        monkeypatch.setattr(numba, "set_num_threads", shares.append)
        return shares

    return say


@pytest.mark.parametrize(
    ("chains", "cores", "number"),
    [(4, 2, 2), (4, 16, 4), (4, 6, 2), (3, 2, 1), (3, 3, 3), (6, 4, 2), (4, 1, 1), (1, 8, 1)],
)
def test_no_chain_is_left_over_and_no_thread(threads, chains, cores, number):
    threads(cores)
    assert SideBySide([StepsChain(None)] * chains).number == number


def test_they_take_turns_where_threads_could_end_the_process_or_one_chain_may_not(threads):
    threads(2, "workqueue")
    assert SideBySide([StepsChain(None)] * 2).number == 1
    threads(2)
    alone = StepsChain(None)
    alone.beside_others = False
    assert SideBySide([StepsChain(None), alone]).number == 1


def test_steps_are_at_the_same_time(threads):
    """Each waits for the other chain's; each chain has half of the threads."""
    shares = threads(2)
    meet = threading.Barrier(2, timeout=60)
    draws = sampled([StepsChain(meet.wait) for _ in range(4)], 30)
    assert draws["count"].shape[0] == 4
    assert shares == [1, 1]


def test_a_time_holds_as_many_steps_as_chains_take_side_by_side(threads):
    steps = []
    for number in (1, 2):
        threads(number)
        began = time.perf_counter()
        chains = [StepsChain(lambda: time.sleep(0.004)) for _ in range(4)]
        steps.append(steps_in(4.0, chains).steps)
        assert time.perf_counter() - began < 4.0
    assert 1.5 < steps[1] / steps[0] < 2.5


def test_what_another_chain_drew_beside_one_that_fails_is_kept(threads):
    threads(2)
    took = []

    def fail():
        raise SamplingError(Result.NON_FINITE, failing.count, 0)

    failing = StepsChain(fail)
    chains = [failing, StepsChain(lambda: None)]
    plan = plan_of(chains, Length(steps=20))
    loop = Loop(chains, plan, observer=lambda index, chunk, plan: took.append((index, chains[1].count)))
    with pytest.raises(SamplingError, match="chain 0, step 0"):
        loop.go()
    assert took
    assert took[0] == (1, chains[1].count)


def test_an_error_is_raised_when_the_others_have_ended(threads):
    threads(2)
    ended = []

    def call(item):
        if item == 0:
            raise RuntimeError("one of them")
        time.sleep(0.2)
        ended.append(item)

    with SideBySide([StepsChain(None)] * 2) as beside, pytest.raises(RuntimeError, match="one of them"):
        beside.each(call, [0, 1])
    assert ended == [1]


@pytest.mark.parametrize("model", [lda, hdp])
def test_draws_are_those_of_chains_in_turn(model, threads):
    rng = np.random.default_rng(0)
    counts = sp.csr_matrix(rng.poisson(0.3, (400, 90)))
    made = {"n_topics": 4} if model is lda else {}
    found = []
    for number in (1, 2):
        threads(number)
        corpus = Corpus.from_matrix(counts)
        settings = model.Settings(batch_size=50, **made)
        chains = [model.Chain(corpus, settings, seed=1, chain=chain) for chain in range(4)]
        assert SideBySide(chains).number == number
        found.append(sampled(chains, 60))
    assert found[0].keys() == found[1].keys()
    for name, values in found[0].items():
        np.testing.assert_array_equal(values, found[1][name], err_msg=name)
