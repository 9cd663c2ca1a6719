"""Where chains of von Mises-Fisher mixtures start: scores at one concentration, crossings, what is found."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from geodrift.distributions import host_log_normaliser
from geodrift.distributions._host_sample import host_sample
from geodrift.models.von_mises_fisher_mixture import Settings, _start
from geodrift.models.von_mises_fisher_mixture._chain import Chain
from geodrift.models.von_mises_fisher_mixture._cluster_number import Components
from geodrift.models.von_mises_fisher_mixture._cluster_score import ClusterScore
from geodrift.models.von_mises_fisher_mixture._collapsed_gibbs import CollapsedGibbs
from geodrift.models.von_mises_fisher_mixture._crossings import crossed
from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of
from models import vmf_problem


def simulated(clusters, rows, kappa, dim=10, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(clusters, size=rows)
    return host_sample(rng, kappa * host_sample(rng, np.zeros((clusters, dim)))[z]), z


def agreement(z, truth):
    """Share of the rows in the matched cluster."""
    table = np.zeros((z.max() + 1, truth.max() + 1))
    np.add.at(table, (z, truth), 1)
    return table[linear_sum_assignment(-table)].sum() / len(z)


def test_scores_at_one_concentration_differ_as_the_joint_density_does():
    """Between two divisions of the same rows with clusters of the same sizes."""
    x, _ = simulated(3, 60, 20.0, dim=3)
    law = vmf_problem.prior(shared=True, r0=(0.4, -0.7, 1.0))
    rng, told = np.random.default_rng(1), []
    for _ in range(2):
        gibbs = CollapsedGibbs(
            rows_of(x), Components(3, 0.8), law, rng.permutation(np.arange(60) % 3), np.full(3, 6.5)
        )
        score, sums = ClusterScore(law, gibbs.table).at(6.5), gibbs.sums
        told.append((score(sums.counts, sums.squares, sums.along).sum(), gibbs.log_joint()))
    assert told[0][0] - told[1][0] == pytest.approx(told[0][1] - told[1][1], abs=1e-8)
    # Of one cluster, by the formula.
    total = 6.5 * x.sum(axis=0) + law.r0
    by_hand = 60 * host_log_normaliser(3, 6.5) + host_log_normaliser(3, np.linalg.norm(law.r0))
    by_hand -= host_log_normaliser(3, np.linalg.norm(total))
    square, along = (x.sum(axis=0) ** 2).sum(), x.sum(axis=0) @ law.r0
    assert score(*(np.array([v]) for v in (60.0, square, along)))[0] == pytest.approx(by_hand, abs=1e-8)


def test_a_crossing_is_right_where_either_parent_is():
    """One has two pairs of clusters joined and two divided, the other two other pairs."""
    x, truth = simulated(8, 800, 60.0)
    rows = rows_of(x)

    def wrong(pairs):
        z = truth.copy()
        for a, b in pairs:
            joined = np.isin(z, (a, b))
            z[joined] = a
        free = iter(sorted(set(range(8)) - set(z)))
        for a in (k for k in range(8) if k not in np.ravel(pairs)):
            label = next(free, None)
            if label is None:
                break
            members = np.flatnonzero(truth == a)
            z[members[: len(members) // 2]] = label
        return z

    first, second = wrong([(0, 1), (2, 3)]), wrong([(4, 5), (6, 7)])
    rng = np.random.default_rng(0)
    found = [agreement(crossed(rows, first, second, 8, rng), truth) for _ in range(60)]
    assert max(found) > 0.99 > 0.8 > max(agreement(first, truth), agreement(second, truth))


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
def test_clusterings_made_of_others_are_better_and_more_alike_than_those_found_alone(shared, monkeypatch):
    """Of 90 clusters of unlike sizes that are to be taken together to twelve, which has many local optima."""
    rng = np.random.default_rng(3)
    truth = rng.choice(90, size=900, p=rng.dirichlet(np.ones(90)))
    x = host_sample(rng, 40.0 * host_sample(rng, np.zeros((90, 10)))[truth])

    def started(chain):
        found = Chain(rows_of(x), Settings(n_clusters=12, shared_concentration=shared), chain=chain)
        found.prepare()
        return found.gibbs.log_joint()

    several = [started(chain) for chain in range(2)]
    monkeypatch.setattr(_start, "PRODUCTS", 1)
    alone = [started(chain) for chain in range(5)]
    assert np.mean(several) > np.mean(alone) + 0.5 * np.std(alone)
    assert np.ptp(several) < np.ptp(alone)


@pytest.mark.parametrize(
    ("told", "shared"),
    [
        ({}, False),
        ({"n_clusters": 4}, True),
        ({"n_clusters": 4, "shared_concentration": False}, False),
        ({"shared_concentration": True}, True),
    ],
)
def test_clusters_share_a_concentration_where_their_number_is_given(told, shared):
    """What a user gets who has not said: all draws' concentrations are equal, or none are."""
    x, _ = simulated(4, 80, 40.0)
    chain = Chain(rows_of(x), Settings(**told))
    chain.step()
    kappa = chain.draw()["concentrations"]
    assert len(kappa) > 1
    assert (np.ptp(kappa) == 0) == shared
