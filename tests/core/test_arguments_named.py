"""Each argument of the core that cannot be right is named, with its value, before JAX meets it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

import geodrift as gd
from geodrift import estimators, manifolds, metrics, samplers, schedules

KEY = jax.random.key(0)
DATA = np.asarray(jax.random.normal(jax.random.key(1), (200, 2)) + 1.0)
PLANE = manifolds.Euclidean(2)
FULL = estimators.Full(lambda x: -0.5 * jnp.sum(x**2))


def log_likelihood(mean, batch):
    return -0.5 * jnp.sum((batch - mean) ** 2, axis=-1)


def log_prior(mean):
    return -0.5 * jnp.sum(mean**2)


def minibatch(**changes):
    return estimators.Minibatch(log_likelihood, log_prior, **{"data_size": 200} | changes)


def sgld(estimator=None, step_size=1e-3, manifold=PLANE):
    return samplers.SGLD(minibatch() if estimator is None else estimator, manifold, step_size)


def run(sampler, data=DATA, **changes):
    return gd.sample(KEY, sampler, data, **{"batch_size": 20, "num_draws": 20} | changes)


def run_full(sampler):
    return gd.sample(KEY, sampler, num_draws=20)


def exchange(sampler, **changes):
    return samplers.ReplicaExchange(sampler, [1.0, 2.0], **{"difference_variance": "sample"} | changes)


WRONG = {
    "negative V": (lambda: minibatch(noise_variance=-300.0), "noise_variance = -300.0: variances must be 0"),
    "NaN in V": (lambda: minibatch(noise_variance=np.nan), "noise_variance = nan: .* finite"),
    "V of three": (
        lambda: run(sgld(minibatch(noise_variance=np.ones(3)))),
        r"noise_variance has shape \(3,\) for a leaf of shape \(2,\): give",
    ),
    "negative difference": (
        lambda: exchange(sgld(), difference_variance=-1.0),
        "difference_variance = -1.0: must be 0 or more",
    ),
    "no difference of one": (
        lambda: run(exchange(sgld()), batch_size=1),
        "a batch of 1 has no sample",
    ),
    "SGFS has one temperature": (
        lambda: exchange(samplers.SGFS(minibatch(), PLANE, 1e-3)),
        "sampler = SGFS: .*no other temperatures",
    ),
    "no step of replicas": (lambda: exchange(sgld(step_size=None)), "no step size is found for replicas"),
    "step of a function": (lambda: sgld(step_size=lambda n: 0.1 / (1 + n)), "subclass of geodrift.schedules"),
    "list of steps": (lambda: sgld(step_size=[0.1, 0.2]), r"step_size = \[0.1, 0.2\]: give one number"),
    "friction of words": (
        lambda: samplers.SGGMC(minibatch(), PLANE, 1e-3, friction="auto"),
        "'auto': give a",
    ),
    "list of frictions": (
        lambda: run(samplers.SGGMC(minibatch(), PLANE, 1e-3, friction=[1.0, 2.0])),
        r"friction of the form .*\[\*, \*\].* does not fit .* an array, not a list",
    ),
    "friction of R^3": (
        lambda: samplers.SGGMC(minibatch(), PLANE, 1e-3, friction=np.eye(3)),
        r"friction has shape \(3, 3\): on Euclidean\(n=2\) a matrix must be \[2, 2\]",
    ),
    "mass of three": (
        lambda: run_full(samplers.HMC(FULL, PLANE, 0.1, mass=np.ones(3))),
        r"mass has shape \(3,\): must broadcast to the position's \(2,\)",
    ),
    "matrix of masses": (lambda: samplers.HMC(FULL, PLANE, 0.1, mass=np.eye(2)), "give the diagonal alone"),
    "HMC of minibatches": (lambda: samplers.HMC(minibatch(), PLANE, 0.1), "Minibatch: HMC needs Full"),
    "metric of three": (
        lambda: run_full(samplers.RMHMC(FULL, PLANE, 0.1, metrics.Constant(np.ones(3)))),
        r"metric Constant does not fit positions \(2,\): inverse has shape \(3,\): must broadcast",
    ),
    "dense metric of three": (
        lambda: run_full(samplers.RMHMC(FULL, PLANE, 0.1, metrics.ConstantDense(np.eye(3)))),
        r"metric ConstantDense does not fit positions \(2,\)",
    ),
    "array as metric": (
        lambda: run_full(samplers.RMHMC(FULL, PLANE, 0.1, np.eye(2))),
        r"metric = .*give one of geodrift.metrics",
    ),
    "no rows": (lambda: estimators.SAGA(log_likelihood, log_prior, DATA[:0]), "data has no rows"),
    "R^2.0": (lambda: manifolds.Euclidean(2.0), "n = 2.0: the number of coordinates must be a whole"),
    "frames of 3.0": (lambda: manifolds.Stiefel(3.0, 2), "n = 3.0, p = 2: frames need whole n"),
    "2.5 angles": (lambda: manifolds.Torus(2.5), "n = 2.5: the number of angles must be a whole"),
    "true rows": (lambda: run(sgld(), batch_size=True), "batch_size = True: must be a whole number"),
    "tree of manifolds": (lambda: run(sgld(manifold={"a": PLANE})), "manifold = .* or a Product"),
    "leaf that is missing": (
        lambda: run(sgld(manifold=manifolds.Product({"a": PLANE, "b": PLANE})), initial={"a": jnp.zeros(2)}),
        r"manifold of the form {'a': \*, 'b': \*} does not fit the position's {'a': \*}: .*\(\* is a leaf\)",
    ),
    "no sampler": (lambda: run(None), "sampler = None: give a sampler, made of"),
    "no estimator": (lambda: run(sgld(log_prior)), "a log density goes into geodrift.estimators.Full"),
    "seconds of words": (lambda: run(sgld(), num_draws=None, seconds="3"), "seconds = '3': must be positive"),
    "start of words": (lambda: run(sgld(), initial="prior"), "initial = 'prior': give a position"),
    "start of NaN": (
        lambda: run(sgld(), initial=jnp.full(2, jnp.nan)),
        "initial: position has entries that are NaN",
    ),
    "start of four": (
        lambda: run(sgld(manifold=manifolds.Sphere(3)), initial=jnp.ones(4)),
        r"initial: position has shape \(4,\): Sphere\(n=3\) needs a last axis of length 3",
    ),
    "density of truth values": (
        lambda: run_full(sgld(estimators.Full(lambda x: x[0] > 0))),
        "log_density returned bool, whose gradient is 0 everywhere",
    ),
    "path": (lambda: run(sgld(), "data.npy"), "data = 'data.npy': give arrays, not a path"),
    "sparse data": (lambda: run(sgld(), sp.csr_matrix(DATA)), "a SciPy sparse matrix cannot be cut"),
    "long mean": (
        lambda: gd.distributions.sample(KEY, jnp.array([0.0, 0.0, 2.0]), 5.0),
        "mean must be of unit norm",
    ),
}


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(("wrong", "told"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_right_is_named(wrong, told):
    with pytest.raises(ValueError, match=told):
        wrong()


@pytest.mark.usefixtures("unchecked_types")
def test_whole_numbers_of_numpy_are_whole_numbers():
    estimator, space = minibatch(data_size=np.int64(200)), manifolds.Euclidean(np.int64(2))
    sampler = samplers.SGGMC(estimator, space, 1e-3, num_steps=np.int32(2))
    draws = run(sampler, batch_size=np.int64(20), num_draws=np.int64(20), num_chains=np.int32(2))
    same = samplers.SGGMC(minibatch(), PLANE, 1e-3, num_steps=2)
    np.testing.assert_array_equal(draws.position, run(same, num_chains=2).position)


def test_an_error_of_the_users_function_says_with_what_it_was_called():
    with pytest.raises((TypeError, ValueError)) as caught:
        run(sgld(manifold=manifolds.Sphere(4)))
    told = "log_likelihood was called with a position of shape (4,) and a batch of (20, 2)"
    assert told in caught.value.__notes__


class Halving(schedules.Schedule):
    """A schedule that returns Python's numbers."""

    def __call__(self, count):
        return 1e-3


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("kind", [pytest.param(samplers.SGFS, marks=pytest.mark.slow), samplers.SGLD])
def test_schedules_may_return_plain_numbers_and_priors_0(kind):
    flat = estimators.Minibatch(log_likelihood, lambda mean: 0, 200)
    assert np.isfinite(run(kind(flat, PLANE, Halving())).position).all()
    assert schedules.Cyclical(0.1, 10, 0.5)(3) == pytest.approx(0.05 * (np.cos(0.3 * np.pi) + 1))


def test_draws_of_the_adaptation_are_not_stored():
    sampler = samplers.PreconditionedSGLD(minibatch(), PLANE, 1e-3, adaptation_steps=500)
    draws = run(sampler)
    assert draws.state.count == 520
    assert draws.position.shape == (1, 20, 2)


@pytest.mark.slow
@pytest.mark.parametrize("distance", [0.5, 1.5, 2.5])
def test_velocities_of_geodesic_monte_carlo_are_measured_where_they_were_drawn(distance):
    """On a manifold whose metric differs from point to point; the dimension is 2: v.v / 2 is exponential."""
    space = manifolds.Hyperbolic(2)
    sampler = samplers.GMC(estimators.Full(lambda x: -2.0 * x[0]), space, 0.3, num_steps=5)
    far, _ = space.geodesic(jnp.array([1.0, 0.0, 0.0]), jnp.array([0.0, distance, 0.0]), 1.0)
    state = sampler.init(KEY, far)
    keys = jax.random.split(KEY, 10_000)
    found = jax.vmap(lambda key: sampler.step(key, state)[1])(keys).kinetic_temperature
    assert float(found.mean()) == pytest.approx(1.0, abs=0.04)


@pytest.mark.slow  # SAGA, and the law of replicas, are in CI
def test_replicas_take_batches_that_know_their_rows():
    """Normal data with a normal prior: the posterior of their mean is N(n m / (n + 1), 1 / (n + 1))."""
    saga = estimators.SAGA(log_likelihood, log_prior, DATA)
    sampler = exchange(samplers.SGLD(saga, PLANE, 1e-4))
    draws = run(sampler, num_draws=4000, num_warmup=500, num_chains=4)
    assert draws.position.mean((0, 1)) == pytest.approx(DATA.sum(axis=0) / 201, abs=0.012)
    assert draws.position.std((0, 1)) == pytest.approx(np.full(2, 201**-0.5), rel=0.1)
