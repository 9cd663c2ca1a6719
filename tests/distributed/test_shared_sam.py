"""The Spherical Admixture Model by several processes: the bits of one, whose law is tested elsewhere."""

import pytest

from distributed.chains_of_teams import assert_same, taken
from distributed.thread_team import together
from geodrift.data import Corpus
from geodrift.models.spherical_admixture import Settings
from geodrift.models.spherical_admixture._chain import Chain
from same_draws import counts

STEPS = 12


def of_chain(corpus, team=None, **settings):
    """Draws of a chain and its state at the end."""
    chain = Chain(corpus, Settings(n_topics=4, **settings), seed=1, team=team)
    return taken(chain, STEPS, STEPS, 1)


@pytest.mark.parametrize(
    ("size", "settings"),
    [
        pytest.param(3, {}, marks=pytest.mark.slow),
        (2, {"latents": "fresh", "batch_size": 3}),
        pytest.param(2, {"method": "gmc-gibbs"}, marks=pytest.mark.slow),
    ],
)
def test_any_number_of_processes_has_the_bits_of_one(size, settings):
    corpus = Corpus.from_matrix(counts(60, 40))
    alone = of_chain(corpus, **settings)
    for shared in together(size, lambda team: of_chain(corpus, team, **settings)):
        assert_same(alone, shared)
