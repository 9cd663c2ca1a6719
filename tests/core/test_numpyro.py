"""NumPyro models as targets: the density against NumPyro's own, and the law against closed forms."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from cases import KEY
from geodrift.manifolds import Euclidean, Sphere, SphericalSimplex
from geodrift.numpyro import from_numpyro
from law_checks import assert_means

numpyro = pytest.importorskip("numpyro", reason="NumPyro is not installed")
dist = pytest.importorskip("numpyro.distributions")
N = 300
X = jax.random.normal(KEY, (N, 2))
Y = X @ jnp.array([1.0, -0.5]) + 0.5 * jax.random.normal(jax.random.key(1), (N,))


def regression(x, y, by_subsample=False):
    """A site of each kind; the plate in both of NumPyro's ways."""
    weights = numpyro.sample("weights", dist.Normal(0.0, 2.0).expand([2]).to_event(1))
    scale = numpyro.sample("scale", dist.HalfNormal(1.0))
    share = numpyro.sample("share", dist.Beta(2.0, 3.0))
    with numpyro.plate("groups", 3):
        offsets = numpyro.sample("offsets", dist.Normal(0.0, 1.0))
    numpyro.factor("outside", -(share**2))
    with numpyro.plate("data", N, subsample_size=20) as index:
        if by_subsample:
            x, y = numpyro.subsample(x, event_dim=1), numpyro.subsample(y, event_dim=0)
        else:
            x, y = x[index], y[index]
        numpyro.factor("inside", 0.1 * share * y)
        with numpyro.handlers.scale(scale=0.5):
            numpyro.sample("y", dist.Normal(x @ weights + share * offsets.sum(), scale), obs=y)


@pytest.mark.parametrize("by_subsample", [pytest.param(True, marks=pytest.mark.slow), False])
def test_density_is_that_of_numpyro(by_subsample):
    target = from_numpyro(regression, X, Y, by_subsample=by_subsample)
    position = jax.tree.map(lambda x: x + 0.1, target.initial(KEY))
    values = target.constrain(position)
    # The density of the unconstrained values: NumPyro's own potential of the same model on all data.
    joint, _ = numpyro.infer.util.log_density(
        _all_rows(regression), (X, Y), {"by_subsample": by_subsample}, values
    )
    jacobian = jnp.log(values["scale"]) + jnp.log(values["share"]) + jnp.log1p(-values["share"])
    parts = target.log_likelihood(position, target.data)
    assert parts.shape == (N,)
    np.testing.assert_allclose(target.log_prior(position) + parts.sum(), joint + jacobian, rtol=1e-10)
    # One value for each datum, whatever batch it is in.
    index = jnp.array([7, 250, 7])
    np.testing.assert_allclose(target.log_likelihood(position, index), parts[index], rtol=1e-12)


def _all_rows(model):
    class AllRows(numpyro.primitives.Messenger):
        def process_message(self, msg):
            if msg["type"] == "plate" and msg["name"] == "data":
                msg["args"], msg["value"] = (N, N), jnp.arange(N)

    return AllRows(model)


def test_improper_sites_of_every_support():
    """Their prior is flat on the support: what is left is the Jacobian of NumPyro's bijection."""
    supports = {
        "real": dist.constraints.real,
        "vector": dist.constraints.real_vector,
        "positive": dist.constraints.positive,
        "share": dist.constraints.unit_interval,
        "cuts": dist.constraints.ordered_vector,
        "shares": dist.constraints.simplex,
        "direction": dist.constraints.sphere,
    }
    vectors = {"vector", "cuts", "shares", "direction"}

    def model():
        for name, support in supports.items():
            numpyro.sample(name, dist.ImproperUniform(support, (), (3,) if name in vectors else ()))
        with numpyro.plate("groups", 2):
            numpyro.sample("of_groups", dist.ImproperUniform(dist.constraints.positive, (), ()))
        with numpyro.plate("data", N, subsample_size=5) as index:
            numpyro.sample("y", dist.Normal(0.0, 1.0), obs=Y[index])

    target = from_numpyro(model)
    position = target.initial(KEY)
    values = target.constrain(position)
    assert np.all(np.diff(values["cuts"]) > 0)
    assert values["of_groups"].shape == (2,)
    expected = target.manifold.tree["shares"].log_volume(position["shares"])
    for name in ("positive", "share", "cuts", "of_groups"):
        support = supports.get(name, dist.constraints.positive)
        bijection = dist.biject_to(support)
        flat = bijection.inv(values[name])
        expected += jnp.sum(bijection.log_abs_det_jacobian(flat, values[name]))
    np.testing.assert_allclose(target.log_prior(position), expected, rtol=1e-6)


def test_sites_go_to_their_manifolds():
    def model():
        numpyro.sample("direction", dist.ProjectedNormal(jnp.zeros(3)))
        numpyro.sample("shares", dist.Dirichlet(jnp.ones(4)).expand([2]).to_event(1))
        numpyro.sample("level", dist.Normal(0.0, 1.0))
        with numpyro.plate("data", N, subsample_size=5) as index:
            numpyro.sample("y", dist.Normal(0.0, 1.0), obs=Y[index])

    target = from_numpyro(model)
    tree = target.manifold.tree
    assert {name: type(m) for name, m in tree.items()} == {
        "direction": Sphere,
        "shares": SphericalSimplex,
        "level": Euclidean,
    }
    position = jax.vmap(target.initial)(jax.random.split(KEY, 6))
    values = target.constrain(position)
    assert {name: v.shape for name, v in values.items()} == {
        "direction": (6, 3),
        "shares": (6, 2, 4),
        "level": (6,),
    }
    np.testing.assert_allclose(values["shares"].sum(axis=-1), 1.0)


def run(target, batch_size=30, initial=None, **settings):
    sampler = gd.samplers.SGGMC(target.estimator, target.manifold, **settings)
    return gd.sample(
        KEY,
        sampler,
        target.data,
        batch_size=batch_size,
        num_draws=400,
        num_warmup=100,
        num_chains=48,
        initial=target.initial if initial is None else initial,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "inside"),
    [
        (lambda: dist.Uniform(0.0, jnp.array(3.0)), lambda x: (x > 0) & (x < 3)),
        (lambda: dist.Uniform(jnp.zeros(2), jnp.array([2.0, 5.0])).to_event(1), lambda x: x > 0),
        (lambda: dist.TruncatedNormal(0.0, 1.0, low=jnp.zeros(3)), lambda x: x > 0),
        (lambda: dist.Pareto(jnp.array(1.5), 3.0), lambda x: x > 1.5),
    ],
    ids=["scalar", "vector", "truncated", "below"],
)
def test_bounds_may_be_arrays(law, inside):
    def model(y):
        bounded = numpyro.sample("bounded", law())
        with numpyro.plate("data", N, subsample_size=10) as index:
            numpyro.sample("y", dist.Normal(jnp.sum(bounded), 1.0), obs=y[index])

    target = from_numpyro(model, Y)
    position = jax.tree.map(lambda x: x + 0.1, target.initial(KEY))
    assert inside(target.constrain(position)["bounded"]).all()
    assert np.isfinite(target.log_prior(position))


@pytest.mark.slow  # a model of directions goes the same way in CI
def test_normal_mean_with_known_variance():
    y = 1.0 + jax.random.normal(KEY, (N,))

    def model(y):
        mean = numpyro.sample("mean", dist.Normal(0.0, 0.1))
        with numpyro.plate("data", len(y), subsample_size=10) as index:
            numpyro.sample("y", dist.Normal(mean, 1.0), obs=y[index])

    target = from_numpyro(model, y, noise_variance="scalar-fisher")
    draws = target.constrain(run(target, step_size=0.01, friction=40.0, num_steps=10).position)["mean"]
    precision = 100 + N
    mean = float(y.sum()) / precision
    z = (np.asarray(draws) - mean) * np.sqrt(precision)
    assert_means(np.stack([z, z**2], axis=-1), np.array([0.0, 1.0]), slack=0.02)


@pytest.mark.slow  # that the density is NumPyro's, with its Jacobian, is in CI
def test_gamma_rate_on_the_half_line():
    # Exponential data under a gamma prior: the posterior is a gamma. The Jacobian of the bijection counts.
    y = jax.random.exponential(KEY, (20,)) / 2

    def model(y):
        rate = numpyro.sample("rate", dist.Gamma(3.0, 1.0))
        with numpyro.plate("data", len(y)):
            numpyro.sample("y", dist.Exponential(rate), obs=y)

    target = from_numpyro(model, y)
    sampler = gd.samplers.SGGMC(target.estimator, target.manifold, 0.05, 4.0, num_steps=10)
    draws = gd.sample(
        KEY, sampler, target.data, num_draws=600, num_warmup=50, num_chains=48, initial=target.initial
    )
    rate = target.constrain(draws.position)["rate"]
    shape, inverse = 23.0, 1.0 + float(y.sum())
    moments = np.stack([rate * inverse / shape, (rate * inverse) ** 2 / (shape * (shape + 1))], axis=-1)
    assert_means(moments, np.ones(2), slack=0.003)


@pytest.mark.slow
def test_direction_of_a_von_mises_fisher_law():
    kappa, size = 4.0, 100
    truth = jnp.array([0.0, 0.6, 0.8])
    y = gd.distributions.sample(KEY, truth, kappa, (size,))

    def model(y):
        direction = numpyro.sample("direction", dist.ProjectedNormal(jnp.zeros(3)))
        with numpyro.plate("data", size, subsample_size=10) as index:
            numpyro.factor("y", kappa * y[index] @ direction)

    target = from_numpyro(model, y, noise_variance="scalar-fisher")
    draws = run(target, step_size=0.01, friction=20.0, num_steps=10).position["direction"]
    total = np.asarray(y.sum(axis=0))
    concentration = kappa * np.linalg.norm(total)
    along = (1 - draws @ (total / np.linalg.norm(total))) * concentration
    # In R^3, 1 - the cosine is exponential with the concentration as rate.
    assert_means(np.stack([along, along**2 / 2], axis=-1), np.ones(2), slack=0.02)


@pytest.mark.slow  # a model of directions goes the same way in CI
def test_dirichlet_multinomial():
    alpha = jnp.array([2.0, 1.0, 3.0])
    y = jax.random.categorical(KEY, jnp.log(jnp.array([0.2, 0.3, 0.5])), shape=(60,))

    def model(y):
        shares = numpyro.sample("shares", dist.Dirichlet(alpha))
        with numpyro.plate("data", len(y), subsample_size=30) as index:
            numpyro.sample("y", dist.Categorical(probs=shares), obs=y[index])

    target = from_numpyro(model, y)
    draws = run(target, batch_size=None, step_size=0.02, friction=8.0, num_steps=10)
    theta = np.asarray(target.constrain(draws.position)["shares"])
    a = np.asarray(alpha) + np.bincount(np.asarray(y), minlength=3)
    total = a.sum()
    sd = np.sqrt(a * (total - a) / (total**2 * (total + 1)))
    z = (theta - a / total) / sd
    assert_means(np.concatenate([z, z**2], axis=-1), np.repeat([0.0, 1.0], 3), slack=0.03)


@pytest.mark.slow
def test_logistic_regression_against_nuts():
    labels = jnp.asarray(Y > 0.3, float)

    def model(x, y):
        weights = numpyro.sample("weights", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
        with numpyro.plate("data", N, subsample_size=30) as index:
            numpyro.sample("y", dist.Bernoulli(logits=x[index] @ weights), obs=y[index])

    nuts = numpyro.infer.NUTS(_all_rows(model))
    mcmc = numpyro.infer.MCMC(nuts, num_warmup=300, num_samples=4000, progress_bar=False)
    mcmc.run(KEY, X, labels)
    reference = np.asarray(mcmc.get_samples()["weights"])
    mean, sd = reference.mean(axis=0), reference.std(axis=0)
    target = from_numpyro(model, X, labels, noise_variance="diagonal-fisher")
    start = {"weights": jnp.zeros(2)}
    draws = run(target, initial=start, step_size=0.02, friction=50.0, num_steps=20).position["weights"]
    z = (np.asarray(draws) - mean) / sd
    # NUTS has an error of its own, 0.025 sd at an effective size of 1600.
    assert_means(np.concatenate([z, z**2], axis=-1), np.repeat([0.0, 1.0], 2), slack=0.1)


def local(y):
    with numpyro.plate("data", N, subsample_size=10) as index:
        z = numpyro.sample("z", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(z, 1.0), obs=y[index])


def discrete(y):
    k = numpyro.sample("k", dist.Bernoulli(0.5))
    with numpyro.plate("data", N, subsample_size=10) as index:
        numpyro.sample("y", dist.Normal(k, 1.0), obs=y[index])


def two_plates(y):
    m = numpyro.sample("m", dist.Normal(0.0, 1.0))
    for name in ("a", "b"):
        with numpyro.plate(name, N, subsample_size=10) as index:
            numpyro.sample(f"y{name}", dist.Normal(m, 1.0), obs=y[index])


def no_plate(y):
    numpyro.sample("y", dist.Normal(numpyro.sample("m", dist.Normal(0.0, 1.0)), 1.0), obs=y)


def moving_support(y):
    low = numpyro.sample("low", dist.Normal(0.0, 1.0))
    numpyro.sample("m", dist.Uniform(low, low + 1))
    with numpyro.plate("data", N, subsample_size=10) as index:
        numpyro.sample("y", dist.Normal(low, 1.0), obs=y[index])


def moving_bounds(y):
    low = numpyro.sample("low", dist.Normal(jnp.zeros(2), 1.0).to_event(1))
    numpyro.sample("m", dist.Uniform(low, low + 1).to_event(1))
    with numpyro.plate("data", N, subsample_size=10) as index:
        numpyro.sample("y", dist.Normal(low[0], 1.0), obs=y[index])


def observed_as_it_is(y):
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    with numpyro.plate("data", N, subsample_size=10) as index:
        numpyro.sample("y", dist.Normal(slope * X[index, 0], 1.0), obs=y)


def factor_of_all(y):
    m = numpyro.sample("m", dist.Normal(0.0, 1.0))
    with numpyro.plate("data", N, subsample_size=10) as index:
        numpyro.sample("y", dist.Normal(m, 1.0), obs=y[index])
        numpyro.factor("extra", jnp.sum(y**2) * jnp.ones(10))


def factor_outside(y):
    m = numpyro.sample("m", dist.Normal(0.0, 1.0))
    with numpyro.plate("data", N, subsample_size=10) as index:
        rows = y[index]
    numpyro.factor("all", dist.Normal(m, 1.0).log_prob(rows).sum())


def prior_of_the_batch(y):
    with numpyro.plate("data", N, subsample_size=10) as index:
        rows = y[index]
    m = numpyro.sample("m", dist.Normal(rows.mean(), 1.0))
    with numpyro.plate("data", N, subsample_size=10):
        numpyro.sample("y", dist.Normal(m, 1.0), obs=rows)


def one_share(y):
    shares = numpyro.sample("shares", dist.Dirichlet(jnp.ones(1)))
    with numpyro.plate("data", N, subsample_size=10) as index:
        numpyro.sample("y", dist.Normal(shares[0], 1.0), obs=y[index])


LOOK_UP = "2 rows of the plate 'data'.*look all data up by the plate's indices"


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (local, "'z': a latent variable inside the plate 'data'.*integrate"),
        (discrete, "'k': a discrete latent variable.*MixtureSameFamily"),
        (two_plates, "a, b are several plates.*subsample_size to that one"),
        (no_plate, "no plate with observed data; put the observed site"),
        (moving_support, "'m': its support depends"),
        (moving_bounds, "'m': its support depends"),
        (one_share, "'shares': has vectors of 1 number.*leave the site out"),
        (observed_as_it_is, f"'y': .*{LOOK_UP}"),
        (factor_of_all, f"'extra': .*{LOOK_UP}"),
        (factor_outside, "'all': is outside the plate 'data'.*move it into the plate"),
        (prior_of_the_batch, "'m': is outside the plate 'data'.*move it into the plate"),
    ],
)
def test_models_that_have_no_target_say_what_to_do(model, match):
    with pytest.raises(ValueError, match=match):
        from_numpyro(model, Y)


@pytest.mark.parametrize("value", [1.0, jnp.array(1.0)], ids=["number", "array"])
def test_a_delta_has_its_value_and_is_not_moved(value):
    def model(y):
        fixed = numpyro.sample("fixed", dist.Delta(value))
        mean = numpyro.sample("mean", dist.Normal(0.0, 1.0))
        shifted = numpyro.sample("shifted", dist.Delta(mean + fixed).mask(True))
        with numpyro.plate("data", N, subsample_size=10) as index:
            numpyro.sample("y", dist.Normal(shifted, 1.0), obs=y[index])

    target = from_numpyro(model, Y)
    position = target.initial(KEY)
    assert set(position) == {"mean"}
    assert target.log_prior(position) == dist.Normal(0.0, 1.0).log_prob(position["mean"][0])
    found = jax.grad(lambda at: target.log_likelihood(at, target.data).sum())(position)
    np.testing.assert_allclose(found["mean"], jnp.sum(Y - position["mean"] - 1.0), rtol=1e-5)


@pytest.mark.parametrize(("x_found", "y_found"), [(False, False), (True, False), (False, True)])
def test_a_model_that_looks_nothing_up_takes_all_data_and_no_fewer(x_found, y_found):
    def model(y):
        slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
        with numpyro.plate("data", N) as index:
            x = X[index, 0] if x_found else X[:, 0]
            numpyro.sample("y", dist.Normal(slope * x, 1.0), obs=y[index] if y_found else y)

    target = from_numpyro(model, Y)
    position = target.initial(KEY)
    exact = dist.Normal(position["slope"] * X[:, 0], 1.0).log_prob(Y)
    np.testing.assert_allclose(target.log_likelihood(position, target.data), exact, rtol=1e-6)
    # A batch of as many rows as there are data has them in another order, and some twice.
    rows = jax.random.randint(KEY, (N,), 0, N)
    np.testing.assert_allclose(target.log_likelihood(position, rows), exact[rows], rtol=1e-6)
    for index in (jnp.arange(1), jnp.arange(2)):
        with pytest.raises(ValueError, match=f"'y': .*{LOOK_UP}"):
            target.log_likelihood(position, index)
    sampler = gd.samplers.SGLD(target.estimator, target.manifold, step_size=0.001)
    with pytest.raises(ValueError, match=f"'y': .*{LOOK_UP}"):
        gd.sample(KEY, sampler, target.data, batch_size=10, num_draws=1, initial=target.initial)


@pytest.mark.parametrize("shape", [(), (2,)])
def test_a_start_of_another_shape_than_the_site_is_refused(shape):
    def model(y):
        mean = numpyro.sample("mean", dist.Normal(0.0, 1.0))
        with numpyro.plate("data", N, subsample_size=10) as index:
            numpyro.sample("y", dist.Normal(mean, 1.0), obs=y[index])

    target = from_numpyro(model, Y)
    sampler = gd.samplers.SGHMC(target.estimator, target.manifold, step_size=0.01, friction=1.0)
    with pytest.raises(ValueError, match=r"position\['mean'\] has shape .*must be \(1,\).*target.initial"):
        gd.sample(KEY, sampler, target.data, batch_size=10, num_draws=2, initial={"mean": jnp.zeros(shape)})


def test_without_numpyro_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpyro", None)
    with pytest.raises(ImportError, match=r"geodrift\[numpyro\]"):
        from_numpyro(no_plate, Y)
