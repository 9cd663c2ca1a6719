"""`recipe.check` on the rows of the literature, on the forms printed wrong, and on errors made on purpose.

The equations are those of Ma, Chen and Fox (2015).
"""

import jax
import jax.numpy as jnp
import pytest

from geodrift import recipe
from geodrift.recipe import Dense, Diagonal, LowRank, Outer, Scalar, SkewLowRank
from law_checks import some_of

CANONICAL = {"r": {"t": 1.0}, "t": {"r": -1.0}}
POINT = {"r": jnp.array([0.5, -0.3]), "t": jnp.array([0.2, 0.7])}


def potential(t):
    """Neither symmetric nor separable."""
    return jnp.sum(t**4) / 4 + jnp.sin(t[0]) * t[-1] + 0.5 * t[0]


def hamiltonian(z):
    return potential(z["t"]) + z["r"] @ z["r"] / 2


def inverse_metric(t):
    """G^-1, full."""
    return jnp.array([[2 + jnp.sin(t[1]), t[0] * t[1] / 9], [t[0] * t[1] / 9, 1 + t[0] ** 2]])


def inverse_root(t):
    return jnp.array([[1 + t[0] ** 2 + t[1] ** 2, t[1]], [t[1], 2 + jnp.cos(t[0])]])


def divergence(matrix, t):
    """sum_j d_j m_ij."""
    return jnp.einsum("ijj->i", jax.jacfwd(matrix)(t))


def riemannian_diffusion(z):
    return {"r": {"r": Dense(inverse_metric(z["t"]))}}


def riemannian_curl(z):
    root = Dense(inverse_root(z["t"]))
    return {"r": {"t": root}, "t": {"r": -root}}


ROWS = {
    "HMC": lambda u: recipe.hmc(u, 0.1, mass=2.0),
    "SGHMC": lambda u: recipe.sghmc(u, 0.1, friction=3.0, mass=jnp.array([2.0, 0.5])),
    "SGLD": lambda u: recipe.sgld(u, 0.1, Diagonal(jnp.array([2.0, 0.5]))),
    "SGRLD": lambda u: recipe.sgrld(u, 0.1, lambda t: Dense(inverse_metric(t))),
    "SGNHT": lambda u: recipe.sgnht(u, 0.1, friction=2.0),
    "gSGRHMC": lambda u: recipe.sgrhmc(
        u, 0.1, lambda t: Dense(inverse_metric(t)), lambda t: Dense(inverse_root(t))
    ),
}


def point_of(sampler):
    state = sampler.init(jax.random.key(1), POINT["t"])
    return {"position": state.position, **state.auxiliary} if state.auxiliary else state.position


@pytest.mark.parametrize("name", some_of(ROWS, {"SGLD", "SGNHT", "gSGRHMC"}))
def test_every_row_is_invariant(name):
    sampler = ROWS[name](potential)
    report = recipe.check(sampler.hamiltonian, sampler.diffusion, sampler.curl, point_of(sampler))
    assert report.ok, str(report)
    assert report.residual < 1e-12


def test_gamma_of_the_rows():
    z = point_of(ROWS["SGNHT"](potential))
    gamma = recipe.gamma(ROWS["SGNHT"](potential).diffusion, ROWS["SGNHT"](potential).curl, z)
    assert gamma["thermostat"] == pytest.approx(-1)
    assert jnp.all(gamma["position"] == 0)
    assert jnp.all(gamma["momentum"] == 0)
    z = point_of(ROWS["gSGRHMC"](potential))
    gamma = recipe.gamma(ROWS["gSGRHMC"](potential).diffusion, ROWS["gSGRHMC"](potential).curl, z)
    assert jnp.allclose(gamma["momentum"], divergence(inverse_root, z["position"]), rtol=1e-12)
    assert jnp.all(gamma["position"] == 0)


# Each: H, D, Q, a point, the right drift, the printed or naive drift, and what the report must say of it.


def riemannian_langevin(sign):
    def drift(t):
        return -inverse_metric(t) @ jax.grad(potential)(t) + sign * divergence(inverse_metric, t)

    return drift


def langevin_1d(factor):
    def drift(t):
        return -(1 + t**2) * jax.grad(lambda t: jnp.sum(t**4))(t) + factor * 2 * t

    return drift


def state_adaptive(friction, correction):
    def drift(z):
        t, r = z["t"], z["r"]
        force = inverse_root(t) @ jax.grad(potential)(t)
        dr = -force + correction * divergence(inverse_root, t) - friction * inverse_metric(t) @ r
        return {"t": inverse_root(t) @ r, "r": dr}

    return drift


STEP, V = 0.1, 3.0  # of eq. 15, whose noise N(0, STEP^2 V) is that of D = STEP V / 2


def noisy_hamiltonian(friction):
    def drift(z):
        return {"t": z["r"], "r": -jax.grad(potential)(z["t"]) - friction * z["r"]}

    return drift


A, POINT_NHT = 2.0, {"r": jnp.array([0.5, -0.3]), "t": jnp.array([0.2, 0.7]), "x": jnp.array(1.5)}
POINT_NHT_1D = {"r": jnp.array([0.5]), "t": jnp.array([0.2]), "x": jnp.array(1.5)}


def thermostat_energy(factor):
    def energy(z):
        return hamiltonian(z) + factor(z["r"].size) * (z["x"] - A) ** 2

    return energy


def thermostat_curl(z):
    column = z["r"][:, None] / z["r"].size
    back = Outer(-jnp.ones(1), column)
    return {"r": {"t": 1.0, "x": Outer(column, jnp.ones(1))}, "t": {"r": -1.0}, "x": {"r": back}}


def thermostat(trailing):
    def drift(z):
        t, r, x = z["t"], z["r"], z["x"]
        excess = r @ r / r.size - 1
        dx = excess * r[0] if trailing else excess
        return {"t": r, "r": -jax.grad(potential)(t) - x * r, "x": dx}

    return drift


FRICTION = {"r": {"r": A}}
RIEMANNIAN = (hamiltonian, riemannian_diffusion, riemannian_curl, POINT)
NAIVE = (hamiltonian, {"r": {"r": STEP * V / 2}}, CANONICAL, POINT)
RIGHT_ENERGY, PRINTED_ENERGY = thermostat_energy(lambda d: d / 2), thermostat_energy(lambda d: 1 / (2 * d))
LANGEVIN = (potential, lambda t: Dense(inverse_metric(t)), 0, POINT["t"])
LANGEVIN_1D = (lambda t: jnp.sum(t**4), lambda t: Diagonal(1 + t**2), 0, jnp.array([0.3]))
MISPRINTS = {
    "eqs. 6, 9, 20 (2-D): minus Gamma": (
        *LANGEVIN, riemannian_langevin(1), riemannian_langevin(-1), ["Gamma of D has the wrong sign"],
    ),
    "eqs. 6, 9, 20 (1-D): minus Gamma": (
        *LANGEVIN_1D, langevin_1d(1), langevin_1d(-1), ["Gamma of D has the wrong sign"],
    ),
    "eq. S.24: Gamma without dt, at a step of 0.1": (
        *LANGEVIN_1D, langevin_1d(1), langevin_1d(1 / STEP), ["Gamma of D has the factor 10 where +1"],
    ),
    "eq. 30 as printed": (
        *RIEMANNIAN, state_adaptive(1, 1), state_adaptive(-1, -1),
        ["of 'r': the term Gamma of Q has the wrong sign", "D['r']['r'] grad H has the wrong sign"],
    ),
    "eq. 30, the friction alone mended": (
        *RIEMANNIAN, state_adaptive(1, 1), state_adaptive(1, -1), ["Gamma of Q has the wrong sign"],
    ),
    "eq. 27, naive": (
        *RIEMANNIAN, state_adaptive(1, 1), state_adaptive(1, 0), ["Gamma of Q is missing"],
    ),
    "eq. 15, naive": (
        *NAIVE, noisy_hamiltonian(STEP * V / 2), noisy_hamiltonian(0), ["D['r']['r'] grad H is missing"],
    ),
    "after eq. 15, friction eps V": (
        *NAIVE, noisy_hamiltonian(STEP * V / 2), noisy_hamiltonian(STEP * V),
        ["D['r']['r'] grad H has the factor -2 where -1"],
    ),
    "eq. S.28: a trailing r": (
        RIGHT_ENERGY, FRICTION, thermostat_curl, POINT_NHT_1D, thermostat(False), thermostat(True),
        ["the drift of 'x': is no sum of"],
    ),
}  # fmt: skip


RIGHT = ("eqs. 6, 9, 20 (2-D): minus Gamma", "eq. 30 as printed", "eq. 15, naive", "eq. S.28: a trailing r")


@pytest.mark.parametrize(
    "name", [*RIGHT[:2], *(pytest.param(name, marks=pytest.mark.slow) for name in RIGHT[2:])]
)
def test_right_form_passes(name):
    energy, diffusion, curl, point, right, *_ = MISPRINTS[name]
    report = recipe.check(energy, diffusion, curl, point, drift=right)
    assert report.ok, str(report)
    assert report.residual < 1e-12


@pytest.mark.parametrize("name", some_of(MISPRINTS, RIGHT))
def test_printed_form_is_named(name):
    energy, diffusion, curl, point, _, printed, said = MISPRINTS[name]
    report = recipe.check(energy, diffusion, curl, point, drift=printed)
    assert report.residual > 1e-3
    assert len(report.wrong) == len(said), str(report)
    assert all(words in str(report) for words in said), str(report)


@pytest.mark.slow
def test_energy_of_the_thermostat_is_printed_wrong():
    # Sgnht's dynamics, eq. 24, leave d/2 (xi - A)^2 invariant; the printed 1/(2d) is the same only for d = 1.
    check = recipe.check
    assert check(RIGHT_ENERGY, FRICTION, thermostat_curl, POINT_NHT, drift=thermostat(False)).ok
    assert check(PRINTED_ENERGY, FRICTION, thermostat_curl, POINT_NHT_1D, drift=thermostat(False)).ok
    report = check(PRINTED_ENERGY, FRICTION, thermostat_curl, POINT_NHT, drift=thermostat(False))
    assert report.residual > 1e-3
    assert "Q['r']['x'] grad H has the factor -4 where -1 is right" in str(report)


def test_metric_that_vanishes_is_found():
    # Ma, Chen and Fox, appendix F.1: G^-1 = 1.5 sqrt|U + 0.5| with U = t^4 - 2t^2 is 0 at t^2 = 1 +- .7.
    def energy(t):
        return jnp.sum(t**4 - 2 * t**2)

    def metric(shift):
        return lambda t: Diagonal(1.5 * jnp.sqrt(jnp.abs(t**4 - 2 * t**2 + shift)), elementwise=True)

    for t in (0.5411961001, 1.3065629649):
        near = jnp.array([t + 1e-8])
        assert jnp.abs(recipe.gamma(metric(0.5), 0, near)[0]) > 1e3
        assert metric(0.5)(near).entries[0] < 1e-3
    grid = jnp.linspace(-3, 3, 10_001)
    assert jnp.min(metric(1.5)(grid).entries) > 1
    assert jnp.max(jnp.abs(recipe.gamma(metric(1.5), 0, grid))) < 20
    assert recipe.check(energy, metric(1.5), 0, jnp.zeros(1)).ok


SKEW = SkewLowRank(jnp.array([[1.0], [2.0]]), jnp.array([[0.5], [-1.0]]))
WRONG = {
    "negative number": (-1.0, 0, "D is not positive semidefinite"),
    "negative entry": (Diagonal(jnp.array([1.0, -0.1])), 0, "an eigenvalue of -0.1 times"),
    "indefinite matrix": (Dense(jnp.array([[1.0, 2.0], [2.0, 1.0]])), 0, "D is not positive semidefinite"),
    "D not symmetric": (Dense(jnp.array([[1.0, 0.5], [0.0, 1.0]])), 0, "D is not symmetric"),
    "diagonal of D = UU^T + d": (LowRank(jnp.ones((2, 1)), -0.1), 0, "D is not positive semidefinite"),
    "Q a number": (1.0, 0.5, "Q is not skew"),
    "Q symmetric": (1.0, Dense(jnp.array([[0.0, 1.0], [1.0, 0.0]])), "Q is not skew"),
    "Q of low rank": (1.0, LowRank(jnp.ones((2, 1))), "Q is not skew"),
}


@pytest.mark.parametrize(
    "name", some_of(WRONG, {"negative number", "indefinite matrix", "D not symmetric", "Q of low rank"})
)
def test_wrong_operators_are_named_and_refused(name):
    diffusion, curl, said = WRONG[name]
    report = recipe.check(potential, diffusion, curl, POINT["t"])
    assert not report.ok
    assert said in str(report)
    with pytest.raises(ValueError, match=said.split(":")[0].replace(".", r"\.")):
        recipe.Recipe(potential, diffusion, curl, 0.1).init(jax.random.key(0), POINT["t"])


def test_one_small_block_that_is_not_skew_is_found():
    # Among blocks of another size, whose entries would hide it.
    curl = {"r": {"t": 1e6, "r": Dense(jnp.array([[0.0, 1e-6], [1e-6, 0.0]]))}, "t": {"r": -1e6}}
    assert "Q is not skew" in str(recipe.check(hamiltonian, FRICTION, curl, POINT))
    half = {"r": {"t": 1e6}}
    assert "Q is not skew" in str(recipe.check(hamiltonian, FRICTION, half, POINT))


@pytest.mark.slow  # `test_page` has a drift by hand in CI
def test_gamma_by_hand():
    def gamma(t):
        return divergence(inverse_metric, t)

    right = recipe.check(*LANGEVIN, gamma=gamma)
    assert right.ok, str(right)
    wrong = recipe.check(*LANGEVIN, gamma=lambda t: -gamma(t))
    assert wrong.wrong == ("Gamma: the term Gamma of D has the wrong sign",)


def test_false_claim_of_elementwise_is_found():
    def entries(t):
        return 2 + jnp.sin(t[::-1] * t)

    honest = recipe.check(potential, lambda t: Diagonal(entries(t)), 0, POINT["t"])
    assert honest.ok
    claimed = recipe.check(potential, lambda t: Diagonal(entries(t), elementwise=True), 0, POINT["t"])
    assert "called elementwise" in str(claimed)


@pytest.mark.slow
def test_drift_of_another_curl_is_invariant_too():
    def drift(t):
        gradient = jax.grad(potential)(t)
        return -gradient - SKEW.matvec(gradient)

    assert recipe.check(potential, 1.0, SKEW, POINT["t"], drift=drift).ok
    assert recipe.check(potential, 1.0, 0, POINT["t"], drift=drift).ok
    assert not recipe.check(potential, 2.0, SKEW, POINT["t"], drift=drift).ok


@pytest.mark.slow
@pytest.mark.parametrize(("length", "time"), [(1e-5, 1.0), (1e4, 1e6)])
def test_verdict_does_not_depend_on_units(length, time):
    def energy(t):
        return potential(t / length)

    def metric(t):
        return Dense(length**2 / time * inverse_metric(t / length))

    def draw(key):
        return length * jax.random.normal(key, (2,))

    assert recipe.check(energy, metric, 0, draw).residual < 1e-12
    wrong = recipe.check(energy, metric, 0, draw, gamma=lambda t: -recipe.gamma(metric, 0, t))
    assert wrong.wrong == ("Gamma: the term Gamma of D has the wrong sign",)


def test_points_outside_the_domain_are_reported():
    def energy(t):
        return jnp.sum(t - 0.3 * jnp.log(t))

    report = recipe.check(energy, 1.0, 0, jnp.zeros(4))
    assert "give a function that draws points" in str(report)

    def draw(key):
        return jax.random.exponential(key, (4,))

    assert recipe.check(energy, 1.0, 0, draw).ok


def test_check_is_in_float64_for_a_float32_user():
    with jax.enable_x64(False):
        point = jnp.zeros(2)
        assert point.dtype == jnp.float32
        weights = jnp.array([1.3, 0.7])
        report = recipe.check(lambda t: weights @ t**4, lambda t: Diagonal(weights + t**2), 0, point)
    assert report.residual < 1e-12


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: recipe.check(lambda t: t, 1.0, 0, jnp.zeros(2)), "must be one number"),
        (lambda: recipe.check(potential, Diagonal(jnp.ones(3)), 0, jnp.zeros(2)), "must broadcast to"),
        (lambda: recipe.check(hamiltonian, {"q": {"q": 1.0}}, 0, POINT), "has a block 'q'"),
        (lambda: recipe.check(potential, 1.0, 0, jnp.zeros(2), drift=lambda t: t[:1]), "drift maps"),
        (lambda: recipe.check(potential, jnp.ones(2), 0, jnp.zeros(2)), "Diagonal"),
        (lambda: recipe.check(potential, Scalar(jnp.ones(2)), 0, jnp.zeros(2)), "give one number"),
    ],
)
def test_shape_misuse_raises(call, match):
    with pytest.raises(ValueError, match=match):
        call()
