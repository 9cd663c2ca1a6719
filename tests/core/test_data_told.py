"""What data and log likelihoods would do to the law of the draws is told before it does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from geodrift.driver._narrow_numbers import narrow_numbers

KEY = jax.random.key(0)
LINE = gd.manifolds.Euclidean(1)
N, NOISE = 200, 2.0
NOISES = NOISE * np.random.default_rng(0).standard_normal(N)


@pytest.fixture
def in_32_bits():
    """As JAX is unless told otherwise."""
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", True)


def minibatch(log_likelihood, **options):
    return gd.estimators.Minibatch(log_likelihood, lambda mean: 0.0, N, **options)


def of_own(mean, batch):
    return -0.5 * ((batch - mean[0]) / NOISE) ** 2


def run(log_likelihood, data, estimator=None, batch_size=20, **options):
    sampler = gd.samplers.SGLD(estimator or minibatch(log_likelihood), LINE, step_size=1e-4)
    options = {"num_draws": 20, "initial": jnp.zeros(1)} | options
    return gd.sample(KEY, sampler, data, batch_size=batch_size, **options)


# 1e8 has steps of 8 in float32: the posterior mean was .87 standard deviations off, R-hat 1.001.
@pytest.mark.usefixtures("in_32_bits")
@pytest.mark.parametrize("source", [np.asarray, gd.HostData])
def test_rows_that_become_one_in_float32_are_told(source):
    with pytest.warns(gd.RunWarning, match="data: rounding to float32 changes its numbers by .* of their"):
        run(lambda mean, batch: of_own(mean, batch - 1e8), source(1e8 + NOISES))


@pytest.mark.usefixtures("in_32_bits")
@pytest.mark.parametrize(
    ("data", "told"),
    [
        (1e6 + NOISES, []),
        ({"when": np.array([1e9, 1e9 + 1.0, 1e9 + 3.0]), "x": NOISES[:3]}, [r"data['when']: rounding"]),
        (np.stack([NOISES, 5e7 + NOISES], axis=1), ["data, column 1: rounding"]),
        (np.full(3, 0.1), []),
        (np.array([1e8, np.nan, 1e8 + 1.0]), ["data: rounding"]),
        (np.array([3.0, 4.0]) * 1e-60, ["data: rounding"]),
        (np.float32(1e8) + np.float32(NOISES), []),
        (np.array([2**31 - 1, -(2**31)]), []),
        (np.array([], dtype=float), []),
        (["a", "b"], []),
        (iter([NOISES]), []),
    ],
)
def test_what_is_lost_is_told_by_array_and_column(data, told):
    found = narrow_numbers(data)
    assert len(found) == len(told)
    assert all(line.startswith(start) for line, start in zip(found, told, strict=True))


@pytest.mark.usefixtures("in_32_bits")
@pytest.mark.parametrize(
    ("data", "told"),
    [
        (np.arange(N) + 2**33, "data: whole numbers from 8589934592 to .* do not fit int32"),
        (NOISES * 1e40, "data: has numbers beyond the largest of float32"),
    ],
)
def test_numbers_that_would_be_others_are_refused(data, told):
    """Before, whole numbers wrapped around with nothing said."""
    with pytest.raises(ValueError, match=told):
        run(of_own, data)


@pytest.mark.parametrize(
    "source",
    [lambda a: a, gd.HostData, lambda a: iter([a[:20]] * 100)],
    ids=["device", "host", "stream"],
)
def test_data_that_a_mask_hides_are_refused(source):
    """Before, hidden numbers of a stream were used: a mean of 26, not 2, where half hid 50."""
    hides = np.ma.masked_array(NOISES, mask=np.arange(N) < 10)
    batch_size = None if hasattr(source(hides[10:]), "__next__") else 20
    with pytest.raises(
        ValueError, match=r"data: a masked array that hides 10 of .* values: leave such rows out"
    ):
        run(of_own, source(hides), batch_size=batch_size)


@pytest.mark.parametrize("batches", ["rows", "blocks"])
@pytest.mark.parametrize(
    "log_likelihood",
    [
        lambda mean, batch: -0.5 * ((batch - mean[0]) / batch.std()) ** 2,
        lambda mean, batch: -0.5 * (batch - batch.mean() - mean[0]) ** 2,
        lambda mean, batch: -0.5 * jnp.sum((batch - mean[0]) ** 2) * jnp.ones(len(batch)),
    ],
    ids=["scale", "mean", "sum"],
)
def test_a_likelihood_that_looks_at_the_other_rows_of_a_batch_is_refused(log_likelihood, batches):
    """Its sum over a batch is no estimate of that over all data, whatever the step size."""
    estimator = minibatch(log_likelihood, replacement=False)
    with pytest.raises(ValueError, match="log_likelihood: of one and the same datum it returned"):
        run(log_likelihood, NOISES, estimator, batches=batches)


def test_likelihoods_of_rows_apart_and_of_all_data_are_not():
    run(of_own, NOISES)
    run(of_own, gd.HostData(NOISES))
    run(of_own, NOISES, gd.estimators.SAGA(of_own, lambda mean: 0.0, NOISES))
    run(lambda mean, batch: -0.5 * ((batch - mean[0]) / batch.std()) ** 2, NOISES, batch_size=None)


@pytest.mark.filterwarnings("ignore:geodrift.sample")
@pytest.mark.slow
def test_chosen_numbers_go_with_epochs():
    """N(0, 1) by 200 data, an epoch of 10 batches: V subtracted, the variance was .54 of the exact one.

    The variance of 10,000 draws has a standard error below .08. More inner steps than an epoch has batches,
    which ended in an error, are not chosen.
    """
    estimator = minibatch(of_own, noise_variance="scalar-fisher", replacement=False)
    sampler = gd.samplers.SGGMC(estimator, LINE, step_size=None)
    draws = gd.sample(
        KEY,
        sampler,
        NOISES,
        batch_size=20,
        batches="epochs",
        num_draws=2500,
        num_chains=4,
        initial=jnp.zeros(1),
    )
    assert draws.tuned.num_steps <= 10
    scaled = (draws.position[..., 0] - NOISES.mean()) * N**0.5 / NOISE
    error = float((scaled**2).std() / np.sqrt(gd.diagnostics.ess(scaled**2)))
    assert error < 0.08
    assert (scaled**2).mean() == pytest.approx(1, abs=0.05 + 3 * error)
