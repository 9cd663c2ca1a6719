"""``step_size=None`` where the density has no mode and grows where the posterior is ever narrower."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from geodrift._errors import Result, SamplingError
from geodrift.driver._data_at_fault import told_of_warm_up
from geodrift.estimators._affine import Layout
from geodrift.tuning._climb import climb_together
from law_checks import assert_means

# Eight schools (Rubin 1981), centred: the effects given the spread tau of all, whose logarithm is sampled.
EFFECTS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12], np.float32)
ERRORS = np.array([15.0, 10, 16, 11, 9, 11, 10, 18], np.float32)
SPACE = gd.manifolds.Product(
    {
        "mean": gd.manifolds.Euclidean(),
        "log_tau": gd.manifolds.Euclidean(),
        "effects": gd.manifolds.Euclidean(),
    }
)


def log_prior(x):
    tau = jnp.exp(x["log_tau"])
    of_effects = jnp.sum(-0.5 * ((x["effects"] - x["mean"]) / tau) ** 2 - x["log_tau"])
    return -0.5 * (x["mean"] / 5) ** 2 - 0.5 * (tau / 5) ** 2 + x["log_tau"] + of_effects


def log_likelihood(x, school):
    return -0.5 * ((x["effects"][school["number"]] - school["effect"]) / school["error"]) ** 2


DATA = {"number": jnp.arange(8), "effect": jnp.asarray(EFFECTS), "error": jnp.asarray(ERRORS)}
FULL = gd.estimators.Full(lambda x: log_prior(x) + jnp.sum(log_likelihood(x, DATA)))


def start(key):
    shapes = {"mean": (), "log_tau": (), "effects": (8,)}
    return {
        name: jax.random.uniform(jax.random.fold_in(key, i), shape, jnp.float32, -2.0, 2.0)
        for i, (name, shape) in enumerate(shapes.items())
    }


def exact():
    """The means of mu and tau, and the sd of tau, by quadrature: the effects integrate out."""
    mu, tau = np.meshgrid(np.linspace(-20, 28, 481), np.linspace(0.005, 40, 4000), indexing="ij")
    log_mass = -0.5 * (mu / 5) ** 2 - 0.5 * (tau / 5) ** 2
    for effect, error in zip(EFFECTS, ERRORS, strict=True):
        variance = error**2 + tau**2
        log_mass += -0.5 * (effect - mu) ** 2 / variance - 0.5 * np.log(variance)
    mass = np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    mean = np.sum(mass * tau)
    return np.sum(mass * mu), mean, np.sqrt(np.sum(mass * (tau - mean) ** 2))


def sampler_of(kind):
    if kind in ("HMC", "GMC"):
        return getattr(gd.samplers, kind)(FULL, SPACE, step_size=None), None
    estimator = gd.estimators.Minibatch(log_likelihood, log_prior, 8)
    return gd.samplers.SGGMC(estimator, SPACE, step_size=None), DATA


def sampled(kind, seed):
    """Draws, of which the user is told that the density has no mode."""
    sampler, data = sampler_of(kind)
    with pytest.warns(gd.RunWarning, match=r"no mode: it grows without bound toward \['log_tau'\] = -"):
        return gd.sample(jax.random.key(seed), sampler, data, num_draws=1500, num_chains=4, initial=start)


def test_climbs_do_not_leave_the_mass():
    starts = jax.vmap(start)(jax.random.split(jax.random.key(0), 4))
    layout = Layout.of(jax.tree.map(lambda x: x[0], starts))
    for found in climb_together(FULL, layout, list(layout.numbers(starts))):
        assert not found.arrived
        # The numbers of a position are in the order of the names: effects, log_tau, mean.
        assert found.position[8] > -2.5
        assert found.pole[8] < found.position[8] - 1
        assert np.isfinite(found.log_mass)


def test_the_mass_is_found_and_a_missing_mode_told():
    draws = sampled("HMC", 0)
    mean_of_mu, mean, sd = exact()
    # Of what is narrower than a quarter of a step, a fiftieth of the mass, some is missing.
    tau = jnp.exp(draws.position["log_tau"])[..., None]
    assert_means(tau, np.array([mean]), slack=np.array([0.1 * sd]))
    assert_means(draws.position["mean"][..., None], np.array([mean_of_mu]), slack=np.array([0.1]))

    def failing():
        raise SamplingError(Result.NON_FINITE, 3, 0)

    with pytest.raises(SamplingError, match=r"not finite.*no mode.*non-centred"):
        told_of_warm_up(draws.tuned, failing)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("kind", ["HMC", "GMC", "SGGMC"])
def test_all_samplers_find_the_mass(kind, seed):
    draws = sampled(kind, seed)
    _, mean, sd = exact()
    tau = jnp.exp(draws.position["log_tau"])[..., None]
    assert_means(tau, np.array([mean]), slack=np.array([0.1 * sd]))
