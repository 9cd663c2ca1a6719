"""What a user does wrong is told in the user's words: data that are not finite, data that nothing takes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd

KEY = jax.random.key(0)
DATA = np.asarray(jax.random.normal(jax.random.key(1), (500,)) + 1.0)
LINE = gd.manifolds.Euclidean(1)


def log_likelihood(mean, batch):
    return -0.5 * (batch - mean[0]) ** 2


def minibatch(log_prior=lambda mean: 0.0):
    return gd.estimators.Minibatch(log_likelihood, log_prior, len(DATA), noise_variance="scalar-fisher")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:geodrift.sample")
@pytest.mark.parametrize(("manifold", "alpha"), [(gd.manifolds.Simplex(3), [0.3, 0.5, 1.0])])
def test_velocities_with_tails_that_no_law_of_theirs_has_are_told(manifold, alpha):
    """The Monte Carlo error of their temperature is as large as it is, and no excuse."""
    powers = jnp.array(alpha) - 1.0
    target = gd.estimators.Full(lambda x: (powers * jnp.log(x)).sum())
    sampler = gd.samplers.SGGMC(target, manifold, step_size=0.05, friction=6.0)
    with pytest.warns(gd.RunWarning, match="kinetic temperature is .*not stable"):
        draws = gd.sample(KEY, sampler, num_draws=500, num_warmup=100, num_chains=4)
    assert draws.report.temperature > 3
    assert "variances by the gradients" in str(draws.report)
    assert "4 chains, 500 each, of shape (3,)" in repr(draws)


@pytest.mark.parametrize("step_size", [1e-2, None])
def test_a_number_that_is_not_finite_is_found_in_the_data(step_size):
    sampler = gd.samplers.SGGMC(minibatch(), LINE, step_size)
    data = DATA.copy()
    data[[3, 8]] = np.nan
    with pytest.raises((gd.SamplingError, ValueError), match=r"not finite, the first in row 3$"):
        gd.sample(KEY, sampler, data, batch_size=50, num_draws=10, num_warmup=20)


def test_data_that_the_density_does_not_take_are_refused():
    sampler = gd.samplers.HMC(gd.estimators.Full(lambda x: -0.5 * (x**2).sum()), LINE, 0.1, num_steps=5)
    with pytest.raises(ValueError, match="data: Full takes none"):
        gd.sample(KEY, sampler, DATA, batch_size=50, num_draws=10, initial=jnp.zeros(1))


def test_chains_that_do_not_move_are_told_so():
    sampler = gd.samplers.HMC(gd.estimators.Full(lambda x: -0.5 * (x**2).sum()), LINE, 1e6, num_steps=5)
    with pytest.warns(gd.RunWarning, match="the chains have not moved"):
        gd.sample(KEY, sampler, num_draws=50, num_chains=4, initial=jnp.ones(1))


@pytest.mark.slow  # `test_arguments_named` has priors of 0 in CI
@pytest.mark.filterwarnings("ignore:geodrift.sample")
@pytest.mark.parametrize(
    "estimator",
    [
        gd.estimators.ControlVariate(log_likelihood, lambda mean: 0, DATA),
        gd.estimators.SAGA(log_likelihood, lambda mean: 0, DATA),
    ],
    ids=["control variate", "SAGA"],
)
def test_step_sizes_are_found_with_a_flat_prior_of_0(estimator):
    """Of a whole number, which has no gradient; and of batches that know their rows."""
    sampler = gd.samplers.SGLD(estimator, LINE, None)
    draws = gd.sample(KEY, sampler, DATA, batch_size=50, num_draws=1000, num_chains=4)
    assert draws.position.mean() == pytest.approx(DATA.mean(), abs=0.006)
    assert draws.position.std() == pytest.approx(len(DATA) ** -0.5, rel=0.1)


@pytest.mark.usefixtures("unchecked_types")
def test_a_word_is_no_step_size():
    with pytest.raises(ValueError, match="step_size = 'auto': give a number, a schedule, or None"):
        gd.samplers.SGGMC(minibatch(), LINE, step_size="auto")


@pytest.mark.parametrize("number", [2.5, "3", 1])
@pytest.mark.usefixtures("unchecked_types")
def test_a_dimension_is_a_whole_number(number):
    with pytest.raises(ValueError, match="needs a whole n of 2 or more"):
        gd.manifolds.Sphere(number)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: minibatch(None), "log_prior = None: give a function of the position; a flat prior is"),
        (lambda: gd.estimators.Full(None), "log_density = None: give a function"),
        (
            lambda: gd.manifolds.Sphere(3).project([1.0, 2.0, 2.0]),
            "position is a list: give an array of real",
        ),
        (lambda: gd.manifolds.Sphere(3).project(np.array([1, 2, 2])), "position is an array of int64"),
        (lambda: gd.diagnostics.rhat(DATA), r"draws: of shape \(500,\): must be \[chain, draw"),
    ],
)
def test_what_is_no_function_or_array_is_named(wrong, told):
    with pytest.raises(ValueError, match=told):
        wrong()


@pytest.mark.usefixtures("unchecked_types")
def test_log_densities_that_return_arrays_are_told_so():
    sampler = gd.samplers.SGLD(minibatch(lambda mean: -(mean**2)), LINE, 1e-3)
    with pytest.raises(ValueError, match=r"log_prior returned shape \(1,\): return one number"):
        gd.sample(KEY, sampler, DATA, batch_size=50, num_draws=10)
    sampler = gd.samplers.HMC(gd.estimators.Full(lambda mean: -(mean**2)), LINE, 0.1, num_steps=5)
    with pytest.raises(ValueError, match=r"log_density returned shape \(1,\): return one number"):
        gd.sample(KEY, sampler, num_draws=10)


def test_data_of_words_are_refused():
    with pytest.raises(ValueError, match=r"data: an array of <U1 cannot be used.*codes of labels"):
        gd.sample(KEY, gd.samplers.SGLD(minibatch(), LINE, 1e-3), np.array(["a", "b"]), num_draws=10)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("step_size", [1e-4, None])
def test_draws_are_no_start(step_size):
    sampler = gd.samplers.SGLD(minibatch(), LINE, 1e-4)
    draws = gd.sample(KEY, sampler, DATA, batch_size=50, num_draws=10)
    sampler = gd.samplers.SGLD(minibatch(), LINE, step_size)
    with pytest.raises(ValueError, match=r"initial: is the Draws of an earlier run: give draws\.state"):
        gd.sample(KEY, sampler, DATA, batch_size=50, num_draws=10, initial=draws)


def test_a_state_of_another_sampler_is_named():
    density = gd.estimators.Full(lambda x: -0.5 * jnp.sum(x**2))
    of_sggmc = gd.samplers.SGGMC(density, gd.manifolds.Euclidean(2), step_size=0.1)
    state = gd.sample(jax.random.key(0), of_sggmc, num_draws=5, num_chains=2, initial=jnp.zeros(2)).state
    again = gd.sample(jax.random.key(1), of_sggmc, num_draws=5, num_chains=2, initial=state)
    assert again.state.count == 10
    other = gd.samplers.GMC(density, gd.manifolds.Euclidean(2), step_size=0.1)
    with pytest.raises(ValueError, match=r"initial: is a SGGMCState .* from which GMC cannot go on"):
        gd.sample(jax.random.key(1), other, num_draws=5, num_chains=2, initial=state)


@pytest.mark.parametrize(
    "log_likelihood",
    [
        lambda mean, batch: np.array(batch - mean[0]),
        lambda mean, batch: batch - float(mean[0]),
        lambda mean, batch: batch if mean[0] > 0 else -batch,
        lambda mean, batch: batch[batch > mean[0]],
    ],
)
@pytest.mark.parametrize("step_size", [1e-2, None])
def test_what_jax_cannot_compile_is_told_in_the_user_s_terms(log_likelihood, step_size):
    """JAX's own error names a line of the library or of NumPy."""
    target = gd.estimators.Minibatch(log_likelihood, lambda mean: 0.0, len(DATA))
    sampler = gd.samplers.SGLD(target, LINE, step_size)
    with pytest.raises((TypeError, IndexError)) as told:
        gd.sample(KEY, sampler, DATA, batch_size=50, num_draws=10, initial=jnp.zeros(1))
    assert "such as log_likelihood" in told.value.__notes__[-1]
