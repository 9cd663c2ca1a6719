"""Chains that take their steps at the same time: when they do, that no draw depends on it, and what fails."""

import threading
import time

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from fake import CountingChain
from threadpoolctl import threadpool_info

from geodrift import Result, SamplingError
from geodrift.data import Corpus
from geodrift.driver import Length, compile_steps, plan_of, sampled
from geodrift.driver._loop import Loop
from geodrift.driver._side_by_side import SideBySide
from geodrift.driver._timing import steps_in
from geodrift.kernels._blas import one_blas_thread
from geodrift.models import dirichlet_process_mixture as dpm
from geodrift.models import hierarchical_dirichlet_process as hdp
from geodrift.models import latent_dirichlet_allocation as lda
from geodrift.models import spherical_admixture as sam
from geodrift.models.dirichlet_process_mixture.collapsed_gibbs._kernel import seat_rows
from geodrift.models.spherical_admixture.documents._shear_kernel import make_moves
from geodrift.models.von_mises_fisher_mixture import Settings as DirectionSettings
from geodrift.models.von_mises_fisher_mixture._assignment_kernel import redraw_block
from geodrift.models.von_mises_fisher_mixture._chain import Chain as DirectionChain
from geodrift.models.von_mises_fisher_mixture._dense_kernel import redraw_dense
from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of
from geodrift.models.von_mises_fisher_mixture._scan_kernel import restricted_scan


class StepsChain(CountingChain):
    """Each step calls a function."""

    threads_of_a_step = 4

    def __init__(self, step, threads=4) -> None:
        self.of_a_step, self.threads_of_a_step = step, threads

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
    ("chains", "cores", "work", "number"),
    [
        (4, 2, 4, 2),
        (4, 16, 4, 4),
        (4, 6, 4, 2),
        (4, 10, 4, 4),
        (3, 2, 4, 1),
        (3, 3, 4, 3),
        (6, 4, 4, 2),
        (4, 1, 4, 1),
        (1, 8, 4, 1),
        (4, 2, 1, 2),
        (4, 6, 1, 4),
        (6, 4, 1, 3),
    ],
)
def test_no_chain_is_left_over_and_most_threads_have_work(threads, chains, cores, work, number):
    threads(cores)
    assert SideBySide([StepsChain(None, work)] * chains).number == number


def test_they_take_turns_where_threads_could_end_the_process_or_one_chain_may_not(threads):
    threads(2, "workqueue")
    assert SideBySide([StepsChain(None)] * 2).number == 1
    threads(2)
    assert SideBySide([StepsChain(None), StepsChain(None, threads=0)]).number == 1


def test_steps_are_at_the_same_time(threads):
    """Each waits for the other chain's; each chain has half of the threads."""
    shares = threads(2)
    meet = threading.Barrier(2, timeout=60)
    draws = sampled([StepsChain(meet.wait) for _ in range(4)], 30)
    assert draws["count"].shape[0] == 4
    assert shares == [1, 1]


@pytest.mark.parametrize(("number", "share"), [(4, 1), (1, 2)])
def test_kernels_are_compiled_for_the_threads_that_a_step_has(number, share):
    """Of two threads four chains have one each, side by side, and a chain alone has both."""
    seen = []

    class OfThreads(StepsChain):
        def compile(self) -> None:
            seen.append(("compile", numba.get_num_threads()))

        def draw(self):
            seen.append(("draw", numba.get_num_threads()))
            return super().draw()

    chains = [OfThreads(lambda: seen.append(("step", numba.get_num_threads()))) for _ in range(number)]
    before = numba.get_num_threads()
    numba.set_num_threads(2)
    try:
        compile_steps(chains)
        steps_in(0.2, chains)
    finally:
        numba.set_num_threads(before)
    assert seen[0] == ("compile", share)
    assert ("compile", share) not in seen[1:]
    assert {call for call, _ in seen} == {"compile", "step", "draw"}
    assert {threads for _, threads in seen} == {share}


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


@pytest.mark.parametrize("kernel", [seat_rows, redraw_block, redraw_dense, restricted_scan, make_moves])
def test_kernels_of_steps_do_not_hold_the_lock(kernel):
    assert kernel.targetoptions["nogil"]


def threads_of_blas():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_the_blas_has_one_thread_whatever_other_threads_ask_of_it_and_then_as_many_as_before(threads):
    threads(2)
    before, meet = threads_of_blas(), threading.Barrier(2, timeout=60)

    def ask(chain):
        with one_blas_thread():
            meet.wait()
        meet.wait()
        return threads_of_blas()

    chains = [StepsChain(None)] * 2
    with SideBySide(chains) as beside:
        assert beside.each(ask, chains) == [{1}, {1}]
    assert threads_of_blas() == before
    with SideBySide([StepsChain(None, threads=0)]):
        assert threads_of_blas() == before


def directions(sparse):
    def chain(corpus, settings, **names):
        counts = corpus.matrix()
        return DirectionChain(rows_of(counts if sparse else counts.toarray(), True), settings, **names)

    return chain


# Of one kind in CI: they share what sets the threads.
@pytest.mark.parametrize(
    ("make", "settings"),
    [
        (lda.Chain, lda.Settings(batch_size=50, n_topics=4)),
        pytest.param(hdp.Chain, hdp.Settings(batch_size=50), marks=pytest.mark.slow),
        pytest.param(dpm.Chain, dpm.Settings(batch_size=50), marks=pytest.mark.slow),
        pytest.param(sam.Chain, sam.Settings(batch_size=50, n_topics=4), marks=pytest.mark.slow),
        pytest.param(
            directions(sparse=False),
            DirectionSettings(batch_size=50, n_clusters=5),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            directions(sparse=True),
            DirectionSettings(batch_size=50, n_clusters="auto"),
            marks=pytest.mark.slow,  # two kernels are others than of dense rows
        ),
    ],
    ids=["lda", "hdp", "dpm", "sam", "vmf", "vmf sparse"],
)
def test_draws_are_those_of_chains_in_turn(make, settings, threads):
    rng = np.random.default_rng(0)
    counts = sp.csr_matrix(rng.poisson(0.3, (400, 90)))
    found = []
    for number in (1, 2):
        threads(number)
        corpus = Corpus.from_matrix(counts)
        chains = [make(corpus, settings, seed=1, chain=chain) for chain in range(4)]
        assert SideBySide(chains).number == number
        found.append(sampled(chains, 60))
    assert found[0].keys() == found[1].keys()
    for name, values in found[0].items():
        np.testing.assert_array_equal(values, found[1][name], err_msg=name)
