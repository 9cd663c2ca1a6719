"""The printed formulas that are wrong: Fokker-Planck residuals of each, and of what is right.

`geodrift.recipe.check` takes H, D, Q and a drift, and gives the residual at random points, relative to its
terms. The last row is no drift but a discretisation: its second moment on N(0, 1) is exact, from the
stationary covariance of a linear recursion.
"""

import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from common import write
from jaxtyping import Array
from scipy.linalg import solve_discrete_lyapunov

from geodrift import recipe
from geodrift.recipe import Dense, Outer

STEP, V, A = 0.1, 3.0, 2.0
T, R = jnp.array([0.2, 0.7]), jnp.array([0.5, -0.3])


def potential(t: Array) -> Array:
    """U, neither symmetric nor separable."""
    return jnp.sum(t**4) / 4 + jnp.sin(t[0]) * t[-1]


def slope(t: Array) -> Array:
    """The gradient of U."""
    return jax.grad(potential)(t)


def kinetic(z: dict[str, Array]) -> Array:
    """H = U + r'r/2."""
    return potential(z["t"]) + z["r"] @ z["r"] / 2


def root(t: Array) -> Array:
    """G^-1/2, full."""
    return jnp.array([[2 + t[0] ** 2, t[1] / 2], [t[1] / 2, 2 + jnp.cos(t[0])]])


def inverse(t: Array) -> Array:
    """G^-1."""
    return root(t) @ root(t)


def div(matrix: Any, t: Array) -> Array:
    """The sum over j of d_j m_ij."""
    return jnp.einsum("ijj->i", jax.jacfwd(matrix)(t))


def riemannian_curl(z: dict[str, Array]) -> Any:
    """Q of gSGRHMC."""
    return {"r": {"t": Dense(root(z["t"]))}, "t": {"r": Dense(-root(z["t"]))}}


def thermostat_curl(z: dict[str, Array]) -> Any:
    """Q of SGNHT."""
    column = z["r"][:, None] / z["r"].size
    pair = {"t": 1.0, "x": Outer(column, jnp.ones(1))}
    return {"r": pair, "t": {"r": -1.0}, "x": {"r": Outer(-jnp.ones(1), column)}}


def langevin(factor: float) -> Any:
    """Of SGRLD, Gamma with a factor."""
    return lambda t: -inverse(t) @ slope(t) + factor * div(inverse, t)


def riemannian(friction: float, correction: float) -> Any:
    """Of gSGRHMC, with signs."""

    def drift(z: dict[str, Array]) -> dict[str, Array]:
        t, r = z["t"], z["r"]
        force = -root(t) @ slope(t) + correction * div(root, t)
        return {"t": root(t) @ r, "r": force - friction * inverse(t) @ r}

    return drift


def hamiltonian(friction: float) -> Any:
    """Of SGHMC."""
    return lambda z: {"t": z["r"], "r": -slope(z["t"]) - friction * z["r"]}


def thermostat(trailing: bool) -> Any:
    """Of SGNHT, with (S.28)'s trailing r or without."""

    def drift(z: dict[str, Array]) -> dict[str, Array]:
        excess = z["r"] @ z["r"] / z["r"].size - 1
        change = excess * z["r"][0] if trailing else excess
        return {"t": z["r"], "r": -slope(z["t"]) - z["x"] * z["r"], "x": change}

    return drift


def thermostat_energy(factor: Any) -> Any:
    """H of SGNHT."""
    return lambda z: kinetic(z) + factor(z["r"].size) * (z["x"] - A) ** 2


LANGEVIN = (potential, lambda t: Dense(inverse(t)), 0, T)
RIEMANNIAN = (kinetic, lambda z: {"r": {"r": Dense(inverse(z["t"]))}}, riemannian_curl, {"r": R, "t": T})
NOISY = (kinetic, {"r": {"r": STEP * V / 2}}, {"r": {"t": 1.0}, "t": {"r": -1.0}}, {"r": R, "t": T})
THERMOSTAT = ({"r": {"r": A}}, thermostat_curl, {"r": R, "t": T, "x": jnp.array(1.5)})
RIGHT_ENERGY, PRINTED_ENERGY = thermostat_energy(lambda d: d / 2), thermostat_energy(lambda d: 1 / (2 * d))
# The arguments of recipe.check, and the drift.
ROWS = {
    "eqs_6_9_20_gamma": (
        ("printed", LANGEVIN, langevin(-1)),
        ("ours", LANGEVIN, langevin(1)),
    ),
    "eq_30": (
        ("printed", RIEMANNIAN, riemannian(-1, -1)),
        ("friction_alone_mended", RIEMANNIAN, riemannian(1, -1)),
        ("ours", RIEMANNIAN, riemannian(1, 1)),
    ),
    "eq_27_naive": (("printed", RIEMANNIAN, riemannian(1, 0)),),
    "sgnht_energy": (
        ("printed", (PRINTED_ENERGY, *THERMOSTAT), thermostat(False)),
        ("ours", (RIGHT_ENERGY, *THERMOSTAT), thermostat(False)),
    ),
    "eq_S28": (("printed", (RIGHT_ENERGY, *THERMOSTAT), thermostat(True)),),  # ours is that of the row above
    "sghmc_friction": (
        ("printed", NOISY, hamiltonian(STEP * V)),
        ("ours", NOISY, hamiltonian(STEP * V / 2)),
    ),
    "eq_S24": (("printed", LANGEVIN, langevin(1 / STEP)),),  # ours is that of the first row
}


def second_moment(h: float, semi_implicit: bool) -> float:
    """E x^2 of SGHMC on N(0, 1) with C = 1, exact."""
    noise = np.diag([0, 2 * h])
    if not semi_implicit:
        return float(solve_discrete_lyapunov(np.array([[1, h], [-h, 1 - h]]), noise)[0, 0])
    kick, move = np.array([[1, 0], [-h, 1 - h]]), np.array([[1, h], [0, 1]])
    return float(solve_discrete_lyapunov(kick @ move, noise)[0, 0])


def main() -> None:
    """Check all, write JSON."""
    measured: dict[str, Any] = {}
    for name, forms in ROWS.items():
        measured[name] = {}
        for form, arguments, drift in forms:
            report = recipe.check(*arguments, drift=drift)
            print(f"{name}, {form}: {report}")
            measured[name][form] = report.residual
    measured["eqs_12_18_24_30_time"] = {
        "printed": second_moment(0.1, semi_implicit=False),
        "ours": second_moment(0.1, semi_implicit=True),
    }
    write("misprints", {"step_size": STEP, "gradient_noise": V, "friction": A}, measured)
    print(json.dumps(measured, indent=1))


if __name__ == "__main__":
    main()
