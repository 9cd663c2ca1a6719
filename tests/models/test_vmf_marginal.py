"""The mixture without its assignments: its density, and SGGMC and gSGNHT against the Gibbs sampler."""

import jax
import numpy as np
import pytest
from scipy import stats

import geodrift as gd
from geodrift.distributions import host_log_normaliser
from geodrift.distributions._host_sample import host_sample
from geodrift.kernels._streams import VMF_ASSIGNMENTS, VMF_CONCENTRATIONS
from geodrift.models.von_mises_fisher_mixture._cluster_number import Components
from geodrift.models.von_mises_fisher_mixture._collapsed_gibbs import CollapsedGibbs
from geodrift.models.von_mises_fisher_mixture._concentrations import ConcentrationPrior
from geodrift.models.von_mises_fisher_mixture._marginal import (
    log_likelihood,
    marginal_estimator,
    marginal_manifold,
)
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


def test_the_target_is_the_density_of_rows_and_parameters():
    """But for a constant: weights Dirichlet as gammas, kappa with its own prior, directions with theirs."""
    x, rng, r0 = rows()[:20], np.random.default_rng(1), np.array([0.4, -1.0, 0.3])
    estimator = marginal_estimator(PRIOR._replace(r0=r0), WEIGHT, len(x))
    gaps = []
    for _ in range(4):
        directions, kappa, gammas = (
            host_sample(rng, np.zeros((2, 3))),
            rng.gamma(3.0, 3.0, 2),
            rng.gamma(2, 1, 2),
        )
        position = {"directions": directions, "log_kappa": np.log(kappa), "log_gammas": np.log(gammas)}
        densities = np.exp(host_log_normaliser(3, kappa) + kappa * (x @ directions.T))
        expected = np.log(densities @ (gammas / gammas.sum())).sum()
        np.testing.assert_allclose(log_likelihood(position, x).sum(), expected, rtol=1e-9)
        # Each with the derivative of kappa, or of the gamma, by its logarithm.
        prior = (PRIOR.concentration.log_density(kappa) + np.log(kappa)).sum() + (directions @ r0).sum()
        prior += (stats.gamma.logpdf(gammas, WEIGHT) + np.log(gammas)).sum()
        gaps.append(float(estimator.log_prior(position)) - prior)
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-9)


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


@pytest.mark.slow
@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("name", ["SGGMC", "GSGNHT"])
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
