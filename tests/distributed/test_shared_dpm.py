"""The Dirichlet-process mixture by several processes: the bits of one, and the law, which is enumerated."""

import numpy as np
import pytest

from distributed.chains_of_teams import assert_same, taken
from distributed.thread_team import together
from geodrift.data import Corpus
from geodrift.models.dirichlet_process_mixture import Chain, Settings
from law_checks import assert_means
from models.model_laws import dpm as dpm_law
from same_draws import counts

STEPS = 24


def of_chain(corpus, team=None, steps=STEPS, restored=None, **settings):
    """Draws of a chain and its state at the end."""
    chain = Chain(corpus, Settings(**settings), seed=1, team=team)
    return taken(chain, STEPS, steps, 8, restored)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"cluster_groups": 8, "store_assignments": True}, marks=pytest.mark.slow),
        pytest.param(
            {"cluster_groups": 3, "batch_size": 250, "cluster_word_prior": 0.05, "concentration": 200.0},
            marks=pytest.mark.slow,
        ),
        {"cluster_groups": 8, "n_clusters": 20, "batch_size": 250},
        pytest.param({"cluster_groups": 1}, marks=pytest.mark.slow),
    ],
)
def test_any_number_of_processes_has_the_bits_of_one(settings):
    corpus = Corpus.from_matrix(counts(600, 120))
    alone = of_chain(corpus, **settings)
    assert len(np.unique(alone[1]["move.assignments"])) > 1
    for size in (2, 4):
        for shared in together(size, lambda team: of_chain(corpus, team, **settings)):
            assert_same(alone, shared)


def test_what_three_processes_left_one_and_two_go_on_with():
    corpus, settings = Corpus.from_matrix(counts(600, 120)), {"cluster_groups": 8, "batch_size": 250}
    whole = of_chain(corpus, **settings)
    _, half = together(3, lambda team: of_chain(corpus, team, steps=16, **settings))[0]
    for other in (
        of_chain(corpus, restored=half, **settings),
        together(2, lambda team: of_chain(corpus, team, restored=half, **settings))[0],
    ):
        assert_same((whole[0][2:], whole[1]), other)


@pytest.mark.slow
def test_four_processes_have_the_law_of_enumeration():
    """Partitions of four rows, under a concentration that is learnt."""
    law = dpm_law()
    settings = Settings(**law.settings | {"cluster_groups": 3})

    def work(team):
        found = []
        for number in range(4):
            chain, draws = Chain(law.corpus, settings, seed=5, chain=number, team=team), []
            chain.begin(chain.shares.plan(400))
            for step in range(400):
                chain.step()
                if step >= 40:
                    draws.append(chain.draw())
            found.append(draws)
        return found

    found = together(4, work)[0]
    names = ("assignments", "concentration")
    draws = [law.statistics({name: np.array([draw[name] for draw in of]) for name in names}) for of in found]
    assert_means(np.array(draws), law.expected)
