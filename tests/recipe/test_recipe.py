"""What the recipe's sampler promises beside its law."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import geodrift as gd
from cases import KEY
from geodrift import recipe
from geodrift.recipe import Dense, Diagonal, LowRank, Momentum, Recipe, SkewLowRank, Thermostat
from geodrift.recipe._noise import injected_noise
from law_checks import some_of, z_bound

CANONICAL = {"momentum": {"position": 1.0}, "position": {"momentum": -1.0}}


def normal(t):
    return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(t)) / 2


def test_momentum_persists():
    # Without noise the energy is kept to second order of the step over ten periods.
    sampler = recipe.hmc(normal, 0.01)
    state = sampler.init(KEY, jnp.array([1.0, -0.5]))
    first = sampler.hamiltonian({"position": state.position, **state.auxiliary})

    def energy_after(state, count):
        state, _ = sampler.step(jax.random.fold_in(KEY, count), state)
        return state, sampler.hamiltonian({"position": state.position, **state.auxiliary})

    energies = jax.jit(lambda state: jax.lax.scan(energy_after, state, jnp.arange(600))[1])(state)
    assert np.ptp(energies) > 1e-5
    np.testing.assert_allclose(energies, first, rtol=0.02)


def test_one_gradient_a_step():
    def energy(t):
        return jnp.sum(jnp.sin(t))

    for sampler in (recipe.sghmc(energy, 0.1), recipe.sgnht(energy, 0.1)):
        state = sampler.init(KEY, jnp.ones(3))
        text = jax.jit(sampler.step).lower(KEY, state).as_text()
        assert text.count("stablehlo.cosine") == 1


def test_step_is_the_written_equation():
    # Without noise, in both discretisations, against the equation written out.
    z = {"r": jnp.array([0.3, -1.0]), "t": jnp.array([0.5, 0.8])}

    def hamiltonian(z):
        return jnp.sum(z["t"] ** 4) / 4 + z["r"] @ z["r"] / 2

    def curl(z):
        g = Diagonal(1 + z["t"] ** 2, elementwise=True)
        return {"r": {"t": g}, "t": {"r": -g}}

    h = 0.1
    g, slope = 1 + z["t"] ** 2, 2 * z["t"]
    r = z["r"] + h * (-g * z["t"] ** 3 + slope)
    expected = {"semi-implicit": z["t"] + h * g * r, "euler": z["t"] + h * g * z["r"]}
    for form, t in expected.items():
        sampler = Recipe(hamiltonian, 0, curl, h, discretisation=form)
        state, info = sampler.step(KEY, sampler.init(KEY, z))
        np.testing.assert_allclose(state.position["r"], r, rtol=1e-12)
        np.testing.assert_allclose(state.position["t"], t, rtol=1e-12)
        assert info.result == gd.Result.OK


def test_thermostat_is_the_friction():
    # Ma, Chen and Fox (2015), eq. 24. Any energy of the thermostat would leave the position's law as it is.
    position = jnp.array([0.5, 0.8])
    sampler = recipe.sgnht(normal, 0.1, friction=2.0)
    z = {"momentum": jnp.array([0.3, -1.0]), "position": position, "thermostat": jnp.array(1.5)}
    found = recipe.drift(sampler.hamiltonian, sampler.diffusion, sampler.curl, z)
    r = z["momentum"]
    np.testing.assert_allclose(found["momentum"], -position - 1.5 * r, rtol=1e-12)
    np.testing.assert_allclose(found["position"], r, rtol=1e-12)
    np.testing.assert_allclose(found["thermostat"], r @ r / 2 - 1, rtol=1e-12)


def test_auxiliary_variables_start_with_the_law_of_their_energy():
    position, count = jnp.zeros(3), 40_000
    for augmentation, number in ((Momentum(jnp.array([0.5, 1.0, 2.0])), 3), (Thermostat(2.0), 1)):

        def energy(key, augmentation=augmentation):
            drawn = augmentation.draw(key, position)
            return augmentation.energy({"position": position, augmentation.name: drawn})

        energies = jax.jit(jax.vmap(energy))(jax.random.split(KEY, count))
        # Half a chi-square of as many degrees of freedom.
        assert abs(jnp.mean(energies) - number / 2) < z_bound(2) * (number / 2 / count) ** 0.5


def test_whole_operators_and_blocks_take_the_same_euler_step():
    z = {"r": jnp.array([0.3, -1.0]), "t": jnp.array([0.5, 0.8])}
    identity, zero = jnp.eye(2), jnp.zeros((2, 2))
    whole = Dense(jnp.block([[zero, identity], [-identity, zero]]))
    blocks = {"r": {"t": 1.0}, "t": {"r": -1.0}}
    ends = []
    for curl in (whole, blocks):
        sampler = Recipe(lambda z: normal(z), 0, curl, 0.1, discretisation="euler")
        ends.append(sampler.step(KEY, sampler.init(KEY, z))[0].position)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), *ends)


X = jnp.zeros((2, 2))
M, D, H = jnp.array([[1.0, 0.5], [2.0, 1.5]]), jnp.array([[2.0, 3.0], [1.5, 4.0]]), jnp.array(0.1)
V_LEAF, V_MATRIX = jnp.array([[1.0, 2.0], [0.5, 0.2]]), jnp.array([[[1.0, 0.4], [0.4, 2.0]]])
FULL = jnp.array([[3.0, 0.5, 0, 0], [0.5, 2.0, 0, 0.1], [0, 0, 1.0, 0], [0, 0.1, 0, 2.0]])


@pytest.mark.parametrize(
    "form",
    [
        pytest.param("entries", marks=pytest.mark.slow),
        pytest.param("matrix", marks=pytest.mark.slow),
        "dense",
    ],
)
def test_injected_covariance(form):
    if form == "dense":
        diffusion, reach = Dense(FULL), [Dense(FULL), Dense(jnp.triu(FULL, 1) - jnp.triu(FULL, 1).T)]
        full, through = FULL, FULL + jnp.triu(FULL, 1) - jnp.triu(FULL, 1).T
    else:
        diffusion, reach = Diagonal(D), [Diagonal(M)]
        full, through = jnp.diag(D.ravel()), jnp.diag(M.ravel())
    variance = V_MATRIX if form == "matrix" else V_LEAF
    spread = jnp.kron(jnp.eye(2), V_MATRIX[0]) if form == "matrix" else jnp.diag(V_LEAF.ravel())
    expected = H * (2 * full - H * through @ spread @ through.T)

    count = 40_000
    draw = jax.jit(jax.vmap(lambda key: injected_noise(key, H, diffusion, reach, variance, X)))
    noise, code = draw(jax.random.split(KEY, count))
    assert jnp.all(code == gd.Result.OK)
    noise = noise.reshape(count, 4)
    error = jnp.sqrt((expected**2 + jnp.outer(jnp.diag(expected), jnp.diag(expected))) / count)
    assert jnp.max(jnp.abs(noise.T @ noise / count - expected) / error) < z_bound(3 * 10)
    code = injected_noise(KEY, 40 * H, diffusion, reach, variance, X)[1]
    assert code == gd.Result.NEGATIVE_NOISE_VARIANCE


class Noisy(gd.estimators.Estimator):
    """States a variance."""

    variance: jax.Array

    def init(self, key, position):
        return ()

    def prepare(self, key, state, position, batch):
        return (), ()

    def gradient(self, position, prepared):
        return jax.tree.map(jnp.negative, position)

    def noise_variance(self, position, prepared):
        return self.variance


class NormalWithNoise(Noisy):
    """The gradient of N(0, I) with the noise that is stated."""

    def prepare(self, key, state, position, batch):
        return jnp.sqrt(self.variance) * jax.random.normal(key, position.shape), ()

    def gradient(self, position, prepared):
        return prepared - position


STATED = NormalWithNoise(jnp.array(4.0))


@pytest.mark.parametrize(
    ("sampler", "part", "diffusion"),
    [
        (recipe.sghmc(STATED, 0.05), "momentum", 1.0),
        (recipe.sgld(STATED, 0.04, Diagonal(jnp.array([3.0, 0.5]))), "position", jnp.array([3.0, 0.5])),
        (
            recipe.sgrhmc(STATED, 0.05, lambda t: Diagonal(1 + t**2), lambda t: Diagonal(2 + t)),
            "momentum",
            1 + jnp.array([0.3, -0.6]) ** 2,
        ),
    ],
)
def test_stated_gradient_noise_is_subtracted_in_a_step(sampler, part, diffusion):
    # The noise of the gradient and what is injected make N(0, 2hD) together, through whatever operator.
    state = sampler.init(KEY, jnp.array([0.3, -0.6]))

    def moved(key):
        after = sampler.step(key, state)[0]
        return {"position": after.position, **after.auxiliary}[part]

    count = 100_000
    ends = jax.jit(jax.vmap(moved))(jax.random.split(KEY, count))
    expected = 2 * sampler.step_size(0) * diffusion
    z = (jnp.var(ends, axis=0) / expected - 1) * jnp.sqrt(count / 2)
    assert jnp.max(jnp.abs(z)) < z_bound(6)


def test_too_much_gradient_noise_is_a_result_code():
    for variance, code in ((39.0, gd.Result.OK), (41.0, gd.Result.NEGATIVE_NOISE_VARIANCE)):
        sampler = recipe.sghmc(Noisy(jnp.array(variance)), 0.05)  # 2C - h V
        _, info = sampler.step(KEY, sampler.init(KEY, jnp.zeros(2)))
        assert info.result == code
    diverging = Recipe(lambda t: jnp.sum(t) * jnp.inf, 1.0, 0, 0.1)
    _, info = diverging.step(KEY, diverging.init(KEY, jnp.ones(2)))
    assert info.result == gd.Result.NON_FINITE


def across(z):
    """0 where a chain starts, symmetric away from there."""
    return Dense(z[0] * jnp.array([[0.0, 1.0], [1.0, 0.0]]))


LEFT = {
    "number": (lambda z: 0.5 - z[0], 0, "NOT_SEMIDEFINITE"),
    "diagonal": (lambda z: Diagonal(jnp.array([1.0, 0.0]) + (0.5 - z[0])), 0, "NOT_SEMIDEFINITE"),
    "diagonal of low rank": (lambda z: LowRank(jnp.ones((2, 1)), 0.5 - z[0]), 0, "NOT_SEMIDEFINITE"),
    "dense": (lambda z: Dense(jnp.diag(jnp.stack([0.5 - z[0], 1.0 + 0 * z[0]]))), 0, "NOT_SEMIDEFINITE"),
    "not symmetric": (lambda z: Dense(jnp.eye(2) + jnp.triu(across(z).matrix)), 0, "NOT_SEMIDEFINITE"),
    "Q": (1.0, across, "NOT_SKEW"),
}


@pytest.mark.parametrize("name", some_of(LEFT, {"dense"}))
def test_operators_that_go_wrong_away_from_the_start_are_result_codes(name):
    diffusion, curl, code = LEFT[name]
    sampler = Recipe(normal, diffusion, curl, 0.05)
    state = sampler.init(KEY, jnp.zeros(2))
    assert sampler.step(KEY, state)[1].result == gd.Result.OK
    away = state._replace(position=jnp.array([0.6, 0.0]))
    assert sampler.step(KEY, away)[1].result == gd.Result[code]
    with pytest.raises(
        gd.SamplingError, match=rf"{'Q' if curl else 'D'} of the recipe.*recipe\.check.*{code}"
    ):
        gd.sample(KEY, sampler, num_draws=1000, initial=jnp.zeros(2))


@pytest.mark.parametrize("form", ["entries", "matrix", "dense"])
def test_negative_diffusion_is_not_called_gradient_noise(form):
    matrix = jnp.diag(jnp.array([1.0, -0.1]))
    diffusion = Dense(matrix) if form == "dense" else Diagonal(jnp.diag(matrix))
    variance = {"entries": jnp.ones(2), "matrix": jnp.eye(2), "dense": jnp.ones(2)}[form]
    for h, negative in ((1e-3, diffusion), (10.0, type(diffusion)(jnp.abs(jax.tree.leaves(diffusion)[0])))):
        code = injected_noise(KEY, jnp.array(h), negative, [negative], variance, jnp.zeros(2))[1]
        expected = "NOT_SEMIDEFINITE" if negative is diffusion else "NEGATIVE_NOISE_VARIANCE"
        assert code == gd.Result[expected]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    ["low rank", "dense", "zero"],
)
def test_rounding_of_a_singular_diffusion_is_no_negative_eigenvalue(kind):
    # In float32 the least eigenvalues of B B^T, whose rank is 2 of 12, are about -1e-7 of the largest.
    b = jax.random.normal(KEY, (12, 2), jnp.float32) * jnp.geomspace(1, 1e3, 12, dtype=jnp.float32)[:, None]

    def diffusion(z):
        factor = b * (1.5 + jnp.sin(z[0]))
        return {
            "low rank": lambda: LowRank(factor),
            "dense": lambda: Dense(factor @ factor.T),
            "zero": lambda: Dense(0 * factor @ factor.T),
        }[kind]()

    assert jnp.linalg.eigvalsh(b @ b.T)[0] < 0
    sampler = Recipe(normal, diffusion, 0, 1e-8)
    draws = gd.sample(KEY, sampler, num_draws=200, num_chains=10, initial=jnp.zeros(12, jnp.float32))
    assert draws.position.dtype == jnp.float32
    assert np.all(draws.info.result == gd.Result.OK)


@pytest.mark.parametrize("row", [recipe.sgnht, pytest.param(recipe.sgld, marks=pytest.mark.slow)])
def test_dtype_and_tree_are_kept(row):
    # In float64, of which the numbers are that a sampler is made with, float32 is what may be lost.
    start = {"a": jnp.ones(2, jnp.float32), "b": (jnp.ones((1, 2), jnp.float32),)}
    sampler = row(normal, 0.1)
    state, info = jax.jit(lambda key: sampler.step(key, sampler.init(key, start)))(KEY)
    assert jax.tree.structure(state.position) == jax.tree.structure(start)
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves((state.position, state.auxiliary)))
    assert info.result == gd.Result.OK


def test_a_grid_of_settings_is_one_vmap():
    def one(step, friction):
        sampler = recipe.sghmc(normal, step, friction)
        return sampler.step(KEY, sampler.init(KEY, jnp.ones(2)))[0].position

    steps, frictions = jnp.array([0.1, 0.2]), jnp.array([1.0, 3.0])
    together, alone = jax.jit(jax.vmap(one))(steps, frictions), jax.jit(one)
    for row, step, friction in zip(together, steps, frictions, strict=True):
        np.testing.assert_allclose(row, alone(step, friction), rtol=1e-12)


Z = {"r": jnp.zeros(2), "t": jnp.zeros(2)}
ONE, NOISY = jnp.ones((2, 1)), Noisy(jnp.ones(()))
SKEW = {"r": {"t": 1.0}, "t": {"r": -1.0}}


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Recipe(normal, 1.0, 0, 0.0), r"step_size = 0\.0"),
        (lambda: Recipe(normal, 1.0, 0, -0.1), r"step_size = -0\.1"),
        (lambda: Recipe(3.0, 1.0, 0, 0.1), "target = 3.0"),
        (lambda: Recipe(normal, 1.0, 0, 0.1, discretisation="leapfrog"), "discretisation = 'leapfrog'"),
        (lambda: Recipe(normal, 1.0, 0, 0.1, [Momentum(), Momentum()]), "each needs its own"),
        (lambda: Momentum(-1.0), r"mass = -1\.0"),
        (lambda: Recipe(normal, jnp.ones(2), 0, 0.1), r"say Diagonal\(entries\)"),
        (lambda: Recipe(normal, -1.0, 0, 0.1).init(KEY, jnp.zeros(2)), "not positive semidefinite"),
        (lambda: Recipe(normal, 1.0, 1.0, 0.1).init(KEY, jnp.zeros(2)), "Q is not skew"),
        (lambda: Recipe(normal, Diagonal(jnp.ones(3)), 0, 0.1).init(KEY, jnp.zeros(2)), "must broadcast"),
        (lambda: Recipe(normal, Dense(jnp.eye(3)), 0, 0.1).init(KEY, jnp.zeros(2)), r"must be \(2, 2\)"),
        (lambda: Recipe(normal, {"q": {"q": 1.0}}, 0, 0.1).init(KEY, Z), r"has a block 'q'.*\['r', 't'\]"),
        (lambda: Recipe(normal, {"r": {"t": 1.0}}, SKEW, 0.1).init(KEY, Z), "D has a block between"),
        (lambda: sampled(Recipe(normal, SkewLowRank(ONE, ONE), 0, 0.1)), "D holds SkewLowRank"),
        (lambda: sampled(Recipe(normal, lambda t: Diagonal(t), 0, 0.1)), "not positive semidefinite"),
        (lambda: sampled(Recipe(normal, 1.0, Dense(jnp.eye(2)), 0.1)), "Q is not skew"),
        (lambda: sampled(Recipe(NOISY, LowRank(ONE), 0, 0.1)), "noise variance V with LowRank"),
        (lambda: recipe.sghmc(NOISY, 0.1).hamiltonian(Z), "gives gradients alone"),
        (lambda: one_step(Recipe(NOISY, {"r": {"r": 1.0}}, SKEW, 0.1), Z), "V cannot be subtracted"),
        (lambda: one_step(Recipe(normal, LowRank({"r": ONE, "t": ONE}), SKEW, 0.1), Z), "both as blocks"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("unchecked_types")
def test_wrong_arguments_raise(make, match):
    with pytest.raises(ValueError, match=match):
        make()


def sampled(sampler):
    return gd.sample(KEY, sampler, num_draws=1, num_chains=2, initial=jnp.array([0.5, -0.5]))


def one_step(sampler, z):
    return sampler.step(KEY, sampler.init(KEY, z))
