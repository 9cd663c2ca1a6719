"""Section 4.1, Figure 2 right: a correlated law in the plane, by SGLD, SGHMC and gSGRHMC.

The paper shows the first ten points of one path of each, without step sizes. Here each method takes the
largest step size of a grid at which its own moments are right to 3% of a standard deviation (of x^2 and
of y), or to 3% of the variance; what counts is then the number of effective draws of x in 1000 gradients.
"""

import sys
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from common import HERE, METHODS, Noisy, correlated, write
from scipy import integrate, special, stats

import geodrift as gd

NAMES = ("sgld", "sghmc", "gsgrhmc")
STEPS = (0.2, 0.1, 0.05, 0.02, 0.01)
CHAINS, GRADIENTS, WARMUP, KEPT = 400, 10_000, 1000, 500
SHIFT, TOLERANCE = 0.5, 0.03
SECOND = float(np.sqrt(10) * special.gamma(0.75) / special.gamma(0.25))  # E x^2
# Of y = x^2/4 - 1.2 + N(0, 1/16); E x^4 = 5/2.
TRUTH = {
    "x2": SECOND,
    "y": SECOND / 4 - 1.2,
    "var_y": 1 / 16 + (2.5 - SECOND**2) / 16,
    "cov_x2_y": (2.5 - SECOND**2) / 4,
}
SCALE = {"x2": (2.5 - SECOND**2) ** 0.5, "y": TRUTH["var_y"] ** 0.5}


def exact_draw(key: Any) -> Any:
    """By the marginal of x on a grid, and y given x."""
    key_x, key_y = jax.random.split(key)
    points = jnp.linspace(-5, 5, 10_001)
    x = jax.random.choice(key_x, points, p=jax.nn.softmax(-(points**4) / 10))
    return jnp.stack([x, x**2 / 4 - 1.2 + 0.25 * jax.random.normal(key_y)])


def draws(name: str, h: float, **options: Any) -> np.ndarray:
    """``[chain, draw, 2]``."""
    sampler = METHODS[name].make(Noisy(correlated), correlated, h, SHIFT)
    return gd.sample(jax.random.key(4), sampler, **options).position


def run(name: str, h: float) -> dict[str, Any] | None:
    """Moments and the number of effective draws in 1000 gradients; None where the chains diverge."""
    try:
        z = draws(
            name,
            h,
            num_draws=KEPT,
            num_warmup=WARMUP,
            thin=GRADIENTS // KEPT,
            num_chains=CHAINS,
            initial=exact_draw,
        )
    except gd.SamplingError:
        return None
    x, y = z[..., 0], z[..., 1]
    values = {
        "x2": x**2,
        "y": y,
        "var_y": (y - TRUTH["y"]) ** 2,
        "cov_x2_y": (x**2 - SECOND) * (y - TRUTH["y"]),
    }
    found, errors = {}, {}
    for key, value in values.items():
        means = value.mean(axis=1)
        scale = SCALE.get(key, TRUTH[key])
        errors[key] = float((means.mean() - TRUTH[key]) / scale)
        found[key] = {
            "mean": float(means.mean()),
            "standard_error": float(means.std(ddof=1) / CHAINS**0.5),
            "exact": float(TRUTH[key]),
        }
    # The variance of a chain's mean says how many independent draws it is worth, without a model.
    effective = {key: v.var() / v.mean(axis=1).var(ddof=1) for key, v in (("x", x), ("y", y))}
    found["largest_relative_error"] = float(np.max(np.abs(list(errors.values()))))
    found["effective_draws_in_1000_gradients"] = {
        k: float(1000 * v / GRADIENTS) for k, v in effective.items()
    }
    found["distance_of_x"] = float(np.abs(stats.kstest(x.ravel(), cdf).statistic))
    return found


def cdf(x: np.ndarray) -> np.ndarray:
    """Of x: x^4/10 is Gamma(1/4)."""
    return 0.5 + 0.5 * np.sign(x) * special.gammainc(0.25, x**4 / 10)


def picture(best: dict[str, float]) -> None:
    """Contours, and ten points of each method, 20 gradients apart."""
    grid_x, grid_y = np.meshgrid(np.linspace(-3, 3, 200), np.linspace(-2.5, 2, 200))
    level = grid_x**4 / 10 + (4 * (grid_y + 1.2) - grid_x**2) ** 2 / 2
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained", sharey=True)
    for axis, name in zip(axes, NAMES, strict=True):
        z = draws(name, best[name], num_draws=10, thin=20, num_chains=3, initial=jnp.array([-1.5, -0.6]))
        axis.contour(grid_x, grid_y, np.exp(-level), 6, colors="0.7", linewidths=0.7)
        for path in z:
            axis.plot(path[:, 0], path[:, 1], ".-", lw=0.8, ms=4)
        axis.set(title=f"{METHODS[name].label}, step size {best[name]:g}", xlabel="x", xlim=(-3, 3))
    axes[0].set_ylabel("y")
    figure.savefig(HERE / "figure2_right.png", dpi=110)


def main() -> None:
    """Run all, write JSON and PNG."""
    total = integrate.quad(lambda x: np.exp(-(x**4) / 10), -8, 8)[0]
    second = integrate.quad(lambda x: x * x * np.exp(-(x**4) / 10), -8, 8)[0] / total
    assert abs(second - SECOND) < 1e-9
    measured: dict[str, Any] = {}
    best: dict[str, float] = {}
    for name in NAMES:
        for h in STEPS:
            found = run(name, h)
            error = None if found is None else found["largest_relative_error"]
            print(name, h, error, found and found["effective_draws_in_1000_gradients"], file=sys.stderr)
            if found is not None and found["largest_relative_error"] < TOLERANCE:
                best[name] = h
                measured[name] = {"step_size": h, **found}
                break
    picture(best)
    same = run("sghmc", best["gsgrhmc"])
    assert same is not None
    measured["sghmc_at_the_step_of_gsgrhmc"] = {"step_size": best["gsgrhmc"], **same}
    rate = {k: measured[k]["effective_draws_in_1000_gradients"]["x"] for k in measured}
    measured["gsgrhmc_over_sghmc"] = rate["gsgrhmc"] / rate["sghmc"]
    measured["gsgrhmc_over_sghmc_at_its_step"] = rate["gsgrhmc"] / rate["sghmc_at_the_step_of_gsgrhmc"]
    measured["gsgrhmc_over_sgld"] = rate["gsgrhmc"] / rate["sgld"]
    settings = {"chains": CHAINS, "gradients": GRADIENTS, "start": "exact draws", "step_sizes": list(STEPS)}
    write("figure2_right", settings | {"shift": SHIFT, "tolerance": TOLERANCE}, measured)


if __name__ == "__main__":
    main()
