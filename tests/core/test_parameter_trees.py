"""Models of other libraries as positions: their parameters are pytrees."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from cases import KEY
from law_checks import assert_means

# Linear regression with known noise: the posterior of weight and bias is normal, by formula.
NOISE, PRIOR = 0.5, 2.0
X = np.random.default_rng(5).normal(size=(40, 2))
Y = X @ [1.0, -0.5] + 0.3 + NOISE * np.random.default_rng(6).normal(size=40)
DESIGN = np.column_stack([X, np.ones(40)])
PRECISION = DESIGN.T @ DESIGN / NOISE**2 + np.eye(3) / PRIOR**2
MEAN = np.linalg.solve(PRECISION, DESIGN.T @ Y / NOISE**2)
DATA = {"x": jnp.asarray(X), "y": jnp.asarray(Y)}


def log_prior(parameters):
    return -0.5 * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(parameters)) / PRIOR**2


def draw(log_likelihood, initial, **options):
    plain = gd.estimators.Minibatch(log_likelihood, log_prior, 40)
    initial = gd.estimators.find_mode(KEY, plain, EVERYWHERE, DATA, initial, batch_size=10, num_steps=800)
    estimator = gd.estimators.ControlVariate(
        log_likelihood, log_prior, DATA, initial, noise_variance="scalar-fisher"
    )
    sampler = gd.samplers.SGGMC(estimator, EVERYWHERE, 0.03, friction=10.0)
    return gd.sample(
        KEY,
        sampler,
        DATA,
        batch_size=20,
        num_draws=300,
        num_warmup=300,
        thin=5,
        num_chains=24,
        initial=initial,
        **options,
    )


def check(weight, bias):
    draws = np.concatenate([weight.reshape(*weight.shape[:2], 2), bias.reshape(*bias.shape[:2], 1)], axis=-1)
    sd = np.sqrt(np.diag(np.linalg.inv(PRECISION)))
    assert_means((draws - MEAN) / sd, np.zeros(3), slack=0.01)
    assert_means(((draws - MEAN) / sd) ** 2, np.ones(3), slack=0.02)


EVERYWHERE = gd.manifolds.Product(gd.manifolds.Euclidean())
ESTIMATOR = gd.estimators.Full(log_prior)


class Regression(eqx.Module):
    """A model that can be called, with a function among its leaves."""

    linear: eqx.nn.Linear
    link: callable

    def __call__(self, x):
        return self.link(self.linear(x)[0])


@pytest.mark.slow
def test_equinox_model_as_position():
    model = Regression(eqx.nn.Linear(2, 1, key=KEY), jnp.asarray)
    parameters, rest = eqx.partition(model, eqx.is_inexact_array)

    def log_likelihood(parameters, batch):
        predicted = jax.vmap(eqx.combine(parameters, rest))(batch["x"])
        return -0.5 * ((batch["y"] - predicted) / NOISE) ** 2

    draws = draw(log_likelihood, parameters)
    assert isinstance(draws.position, Regression)
    check(draws.position.linear.weight, draws.position.linear.bias)
    # Every draw is a model again.
    last = eqx.combine(jax.tree.map(lambda a: a[0, -1], draws.position), rest)
    linear = draws.position.linear
    expected = linear.weight[0, -1, 0] @ X[0] + linear.bias[0, -1, 0]
    assert last(jnp.asarray(X[0])) == pytest.approx(expected)
    assert {"linear.weight", "linear.bias"} <= set(draws.to_datatree()["posterior"].data_vars)
    with pytest.raises(ValueError, match=r"initial: .link is a function, .* equinox.partition"):
        gd.sample(KEY, gd.samplers.SGGMC(ESTIMATOR, EVERYWHERE, 0.1), num_draws=1, initial=model)


@dataclasses.dataclass
class Unregistered:
    mean: jax.Array


@pytest.mark.parametrize(
    ("initial", "told"),
    [
        (Unregistered(jnp.zeros(1)), "initial: the position is a Unregistered: JAX does not look into"),
        ({"a": Unregistered(jnp.zeros(1))}, r"initial: \['a'\] is a Unregistered: .*register_dataclass"),
        (lambda key: Unregistered(jax.random.normal(key, (1,))), "initial: the position is a Unregistered"),
        (gd.PerChain(Unregistered(jnp.zeros((4, 1)))), "initial: the position is a Unregistered"),
    ],
)
@pytest.mark.parametrize("step_size", [0.1, None])
def test_a_dataclass_that_jax_does_not_know_is_told_with_what_to_do(initial, told, step_size):
    """Before, these were JAX's own TypeErrors, of broadcast_to and the like."""
    sampler = gd.samplers.SGGMC(ESTIMATOR, EVERYWHERE, step_size)
    with pytest.raises(ValueError, match=told):
        gd.sample(KEY, sampler, num_draws=1, num_chains=4, initial=initial)


def test_such_a_dataclass_of_manifolds_or_of_data_is_told_too():
    with pytest.raises(ValueError, match=r"tree holds a Unregistered: .*register_dataclass"):
        gd.manifolds.Product(Unregistered(gd.manifolds.Sphere(3)))
    plain = gd.estimators.Minibatch(lambda mean, batch: batch.mean, lambda mean: 0.0, 40)
    sampler = gd.samplers.SGLD(plain, gd.manifolds.Euclidean(1), 0.1)
    with pytest.raises(ValueError, match=r"data: is a Unregistered: .*register_dataclass"):
        gd.sample(KEY, sampler, Unregistered(X), batch_size=10, num_draws=1)


def test_flax_parameters_as_position():
    linen = pytest.importorskip("flax.linen")
    model = linen.Dense(1)
    parameters = model.init(KEY, DATA["x"])

    def log_likelihood(parameters, batch):
        predicted = model.apply(parameters, batch["x"])[:, 0]
        return -0.5 * ((batch["y"] - predicted) / NOISE) ** 2

    draws = draw(log_likelihood, parameters)
    check(draws.position["params"]["kernel"], draws.position["params"]["bias"])


@pytest.mark.parametrize("kind", ["SGGMC", "HMC", "RMHMC"])
def test_a_leaf_may_be_empty(kind):
    """As the weights of features of which there are none."""
    target = gd.estimators.Full(lambda p: -0.5 * jnp.sum(p["a"] ** 2))
    metric = {"metric": gd.metrics.Constant(1.0)} if kind == "RMHMC" else {}
    sampler = getattr(gd.samplers, kind)(target, EVERYWHERE, 0.3, **metric)
    start = {"a": jnp.ones(2), "b": jnp.zeros(0)}
    state, info = sampler.step(KEY, sampler.init(KEY, start))
    assert info.result == gd.Result.OK
    assert state.position["b"].shape == (0,)
    assert not np.array_equal(state.position["a"], start["a"])
