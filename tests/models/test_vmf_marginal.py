"""SGGMC and gSGNHT on the product of spheres have the law of the collapsed Gibbs sampler."""

import jax
import numpy as np
import pytest

import geodrift as gd
from geodrift.distributions._host_sample import host_sample
from geodrift.kernels._streams import VMF_ASSIGNMENTS, VMF_CONCENTRATIONS
from geodrift.models.von_mises_fisher_mixture._cluster_number import Components
from geodrift.models.von_mises_fisher_mixture._collapsed_gibbs import CollapsedGibbs
from geodrift.models.von_mises_fisher_mixture._concentrations import ConcentrationPrior
from geodrift.models.von_mises_fisher_mixture._marginal import marginal_estimator, marginal_manifold
from geodrift.models.von_mises_fisher_mixture._parameters import Prior
from geodrift.models.von_mises_fisher_mixture._rows_of import rows_of

ROWS, WEIGHT = 60, 2.0
PRIOR = Prior(ConcentrationPrior(8.0, 4.0, 1e4), False, 0.0, np.zeros(3))


def rows():
    rng = np.random.default_rng(0)
    means = np.array([[6.0, 0, 0], [1.0, 7.0, 0]])
    return host_sample(rng, means[np.repeat([0, 1], [35, 25])])


def statistics(directions, log_kappa, weights):
    """Functions of two clusters that no exchange of them changes, [..., 7]."""
    total = (weights[..., None] * directions).sum(axis=-2)
    cosine = (directions[..., 0, :] * directions[..., 1, :]).sum(axis=-1)
    others = [(weights**2).sum(axis=-1), cosine, log_kappa.sum(axis=-1), (weights * log_kappa).sum(axis=-1)]
    return np.concatenate([total, np.stack(others, axis=-1)], axis=-1)


@pytest.fixture(scope="module")
def by_gibbs():
    """Means and their standard errors."""
    x, chains = rows(), []
    for seed in range(8):
        rng, found = np.random.default_rng([1, seed]), []
        gibbs = CollapsedGibbs(
            rows_of(x), Components(2, WEIGHT), PRIOR, np.repeat([0, 1], [35, 25]), np.full(2, 6.0)
        )
        for count in range(1_500):
            names = seed, 0, count
            gibbs.step(
                rng.permutation(ROWS), VMF_ASSIGNMENTS.family(*names), VMF_CONCENTRATIONS.family(*names), rng
            )
            told = gibbs.parameters(rng)
            found.append(statistics(told.directions, np.log(told.concentrations), told.weights))
        chains.append(np.mean(found[100:], axis=0))
    return np.mean(chains, axis=0), np.std(chains, axis=0, ddof=1) / np.sqrt(len(chains))


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("name", ["SGGMC", pytest.param("GSGNHT", marks=pytest.mark.slow)])
def test_geodesic_samplers_have_the_law_of_the_gibbs_sampler(name, by_gibbs):
    x, manifold = rows(), marginal_manifold(2, 3)
    estimator = marginal_estimator(PRIOR, WEIGHT, ROWS)
    sampler = getattr(gd.samplers, name)(estimator, manifold, 0.01, friction=10.0)
    start = {
        "directions": np.array([[1.0, 0, 0], [0, 1.0, 0]]),
        "log_kappa": np.log([6.0, 6.0]),
        "log_gammas": np.log([2.0, 2.0]),
    }
    draws = gd.sample(
        jax.random.key(0), sampler, x, batch_size=30, num_draws=1_500, num_warmup=500, num_chains=16, thin=10,
        initial=start,
    )  # fmt: skip
    found = {leaf: np.asarray(values) for leaf, values in draws.position.items()}
    weights = np.exp(found["log_gammas"])
    weights /= weights.sum(axis=-1, keepdims=True)
    told = statistics(found["directions"], found["log_kappa"], weights).mean(axis=1)
    mean, error = told.mean(axis=0), told.std(axis=0, ddof=1) / np.sqrt(len(told))
    expected, of_gibbs = by_gibbs
    # 0.01 is the bias of the step.
    assert (np.abs(mean - expected) < 4.5 * np.hypot(error, of_gibbs) + 0.01).all(), (mean, expected, error)
    assert (error < 0.03).all()
