"""Latent Dirichlet allocation by several processes: the bits of one, and so its law, which is enumerated."""

from types import SimpleNamespace

import numba
import numpy as np
import pytest

from distributed.chains_of_teams import assert_same, taken
from distributed.thread_team import together
from geodrift.data import Corpus
from geodrift.distributed import Alone, check_agreement
from geodrift.driver import Plan
from geodrift.models.latent_dirichlet_allocation import Chain, Settings
from geodrift.models.latent_dirichlet_allocation._settings import MOST_PROCESSES
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs import _annealing, _counts, _sampler
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed import (
    _sampler as distributed_sampler,
)
from law_checks import assert_means
from models import lda_problem as problem
from same_draws import counts

STEPS = 40


@pytest.fixture(autouse=True)
def vocabulary_in_parts(monkeypatch):
    """The vocabulary of a small corpus in parts, as that of a large one is."""
    monkeypatch.setattr(_sampler, "WORTH_PARTS", 0)


@pytest.fixture(autouse=True)
def powers_in_a_short_warm_up(monkeypatch):
    """So that they are among the bits that are compared."""
    monkeypatch.setattr(_annealing, "POWER_FROM", 0)


def of_chain(corpus, team=None, steps=STEPS, restored=None, number=0, **settings):
    """Draws of a chain and its state at the end."""
    numba.set_num_threads(1)  # of this thread
    chain = Chain(corpus, Settings(**settings), seed=1, chain=number, team=team)
    return taken(chain, STEPS, steps, 10, restored)


@pytest.fixture(params=["draws travel", "counts travel"])
def what_travels(request, monkeypatch):
    """Either way of sharing a minibatch, whatever its size."""
    travel = 0.0 if request.param == "counts travel" else np.inf
    monkeypatch.setattr(distributed_sampler, "WORTH_TRAVEL", travel)


# In CI of three, among which eight parts are not shared out evenly.
@pytest.mark.usefixtures("what_travels")
@pytest.mark.parametrize(
    "size",
    [
        pytest.param(1, marks=pytest.mark.slow),
        pytest.param(2, marks=pytest.mark.slow),
        3,
        pytest.param(4, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    ("parts", "settings", "lists_from"),
    [
        (8, {}, 600),
        (8, {"learn_doc_topic_prior": "asymmetric", "sweeps": 2}, 600),
        # Two bytes an assignment, and a pair of one group.
        pytest.param(5, {"n_topics": 300}, 600, marks=pytest.mark.slow),
        (1, {"batch_size": 2000}, 600),
        pytest.param(
            5,
            {"n_topics": 40, "learn_topic_word_prior": "symmetric", "sweeps": 2},
            40,
            marks=pytest.mark.slow,
        ),
        pytest.param(8, {"n_topics": 300}, 300, marks=pytest.mark.slow),
    ],
)
def test_any_number_of_processes_has_the_bits_of_one(size, parts, settings, lists_from, monkeypatch):
    monkeypatch.setattr(_sampler, "PARTS", parts)
    monkeypatch.setattr(_counts, "LISTS_FROM", lists_from)
    corpus, settings = Corpus.from_matrix(counts(600, 120)), {"n_topics": 6, "batch_size": 150} | settings
    alone = of_chain(corpus, **settings)
    shared = together(size, lambda team: of_chain(corpus, team, **settings))
    assert_same(alone, shared[0])
    assert not any("move.assignments" in state for _, state in shared[1:])


def test_more_processes_than_have_work_are_refused():
    assert _sampler.PARTS // 2 == MOST_PROCESSES

    def work(team):
        with pytest.raises(ValueError, match=r"5 processes: .* has work for 4 at most"):
            Chain(Corpus.from_matrix(counts(60, 12)), Settings(), team=team)
        return True

    assert all(together(5, work))


def test_threads_of_a_process_change_no_bit(monkeypatch):
    """Waves of pairs on the threads of each process."""
    from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed import _shared_sweep

    corpus, settings = Corpus.from_matrix(counts(600, 120)), {"n_topics": 6, "batch_size": 150}
    alone = of_chain(corpus, **settings)
    monkeypatch.setattr(_shared_sweep.numba, "get_num_threads", lambda: 2)
    assert_same(alone, together(2, lambda team: of_chain(corpus, team, **settings))[0])


def test_what_three_processes_left_one_and_two_go_on_with():
    corpus, settings = Corpus.from_matrix(counts(600, 120)), {"n_topics": 6, "batch_size": 150}
    whole = of_chain(corpus, **settings)
    _, half = together(3, lambda team: of_chain(corpus, team, steps=20, **settings))[0]
    again = [
        of_chain(corpus, restored=half, **settings),
        together(2, lambda team: of_chain(corpus, team, restored=half, **settings))[0],
    ]
    for other in again:
        assert_same((whole[0][2:], whole[1]), other)


def test_what_travels_is_two_bytes_a_token_and_no_array_of_words_and_topics():
    corpus = Corpus.from_matrix(counts(600, 120))
    received = {}

    def work(team):
        chain = Chain(corpus, Settings(n_topics=100, batch_size=150), seed=1, team=team)
        for step in range(16):
            before = team.bytes_received
            chain.step()
            received[step, team.rank] = team.bytes_received - before

    together(2, work)
    tokens, dense = 150 * 80, 120 * 100 * 4
    # After the start. A document's topics come before the step where another process keeps it, and those that
    # the other process draws after it: half of the tokens each, about.
    for step in range(8, 16):
        assert 0.8 * tokens < sum(received[step, rank] for rank in (0, 1)) / 2 < 1.2 * tokens < dense


def test_of_a_large_minibatch_a_process_reads_its_own_rows_and_counts_travel():
    """6,000 tokens a step, where a table of 120 words and 16 places for topics has 1,920 counts."""
    corpus, size = Corpus.from_matrix(counts(600, 120)), 2

    def work(team):
        chain = Chain(corpus, Settings(n_topics=6, batch_size=75), seed=1, team=team)
        chain.begin(chain.shares.plan(100))
        while chain.move.complete_at < 0:
            chain.step()
        before, read = team.bytes_received, []
        rows = chain.source.corpus.rows
        chain.source.corpus = SimpleNamespace(rows=lambda numbers: read.append(len(numbers)) or rows(numbers))
        for _ in range(8):
            chain.step()
        return team.bytes_received - before, sum(read)

    found = together(size, work)
    assert [read for _, read in found] == [8 * 37, 8 * 38]
    # Of each part of eight 7 times the half of what passes from one to the other, and the half of all at the
    # end; before and after a step a topic of one byte for half of its tokens.
    counts_of_step, topics_of_step = (7 + 4) / 8 * 4 * 16 * (120 + 2 * 8), 2 * 75 * 80 / 4
    for received, _ in found:
        assert 0.8 < received / (8 * (counts_of_step + topics_of_step)) < 1.2


@pytest.mark.slow
@pytest.mark.usefixtures("what_travels")
@pytest.mark.parametrize("what_travels", ["counts travel", "draws travel"], indirect=True)
def test_four_processes_have_the_law_of_enumeration(monkeypatch):
    """Eight groups of one document each, a part for each word."""
    monkeypatch.setattr(_sampler, "PARTS", 8)
    matrix = np.zeros((8, 8), int)
    for document, words in enumerate([(0, 1), (1,), (2, 0), (3,), (3, 4), (5, 5), (6,), (7, 6)]):
        np.add.at(matrix[document], list(words), 1)
    every, p, _ = problem.posterior(matrix)
    size = every.shape[1]
    first, second = np.triu_indices(size, 1)

    def statistics(z):
        return np.concatenate([z == 1, z[..., first] == z[..., second]], axis=-1).astype(float)

    settings = Settings(
        n_topics=2,
        doc_topic_prior=problem.DOC_TOPIC_PRIOR,
        topic_word_prior=problem.TOPIC_WORD_PRIOR,
        batch_size=8,
    )

    def work(team):
        numba.set_num_threads(1)
        draws = []
        for number in range(4):
            chain, kept = Chain(Corpus.from_matrix(matrix), settings, chain=number, team=team), []
            chain.begin(Plan.of_steps(270, 20, 1))
            for step in range(270):
                chain.step()
                z = chain.move.shares.whole(chain.move.assignments)
                if step >= 20 and team.rank == 0:
                    kept.append(statistics(z))
            draws.append(kept)
        return np.array(draws) if team.rank == 0 else None

    assert_means(together(4, work)[0], p @ statistics(every))


def test_counts_that_differ_between_processes_are_found():
    def work(team):
        check_agreement(team, [np.arange(3)])
        with pytest.raises(RuntimeError, match="process 2 has other counts than process 0"):
            check_agreement(team, [np.arange(3), np.array([team.rank == 2])])
        return True

    assert all(together(3, work))
    check_agreement(Alone(), [np.arange(3)])
