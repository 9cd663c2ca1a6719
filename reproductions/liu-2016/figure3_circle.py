"""Section 5.1, Figure 3: a density with two modes on the circle, from gradients with a known noise.

Settings of Appendix F.1: 10,000 draws, L = 30, epsilon = 0.01 for GMC and SGGMC, rho = 0.1, bins of 0.1,
noise N(0, 1000 I) whose variance is V. The noise variance left to inject, 2C - epsilon V = 20 - 10, is
positive.

The figure shows one run. Here many runs start from exact draws, so that the law which a method samples is
seen apart from what one run of 10,000 draws happens to show.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from common import (
    HERE,
    Histogram,
    angle,
    bin_edges,
    binned,
    compare,
    grid,
    over_chains,
    point,
    timed_rows,
    write,
)
from jaxtyping import Array

import geodrift as gd

CHAINS, DRAWS, BINS = 512, 10_000, 63
STEP_SIZE, STEPS, RHO, NOISE = 0.01, 30, 0.1, 1000.0
MU = point(np.array(np.pi / 3))


def log_density(x: Array) -> Array:
    """log(exp(5 mu_1.x) + 2 exp(5 mu_2.x)) with mu_2 = -mu_1."""
    along = 5 * (x @ jnp.asarray(MU, x.dtype))
    return jnp.logaddexp(along, jnp.log(2.0) - along)


class Corrupted(gd.estimators.Estimator):
    """The exact gradient plus noise of a known variance, drawn by ``prepare``: once for each batch."""

    variance: float = eqx.field(static=True)
    subtracted: float | None = eqx.field(static=True)

    def init(self, key: Array, position: Array) -> tuple[()]:
        """Nothing is kept."""
        return ()

    def prepare(self, key: Array, state: tuple[()], position: Array, batch: Any) -> tuple[Array, tuple[()]]:
        """The noise."""
        return self.variance**0.5 * jax.random.normal(key, position.shape, position.dtype), state

    def gradient(self, position: Array, prepared: Array) -> Array:
        """Gradient and noise."""
        return jax.grad(log_density)(position) + prepared

    def noise_variance(self, position: Array, prepared: Array) -> float | None:
        """What the sampler is told."""
        return self.subtracted


def exact() -> np.ndarray:
    """Probabilities of the grid's cells."""
    density = np.exp(np.asarray(jax.vmap(log_density)(jnp.asarray(point(grid())))))
    return density / density.sum()


def run(sampler: Any, cells: np.ndarray, seed: int) -> tuple[Histogram, dict[str, Any]]:
    """Chains from exact draws: histogram and summary."""
    points = jnp.asarray(point(grid()))

    def start(key: Array) -> Array:
        return jax.random.choice(key, points, p=jnp.asarray(cells))

    draws = gd.sample(jax.random.key(seed), sampler, num_draws=DRAWS, num_chains=CHAINS, initial=start)
    histogram = compare(angle(draws.position), binned(cells, BINS))
    in_larger = np.mean(draws.position @ MU < 0, axis=1)
    weight = over_chains(in_larger, cells[point(grid()) @ MU < 0].sum())
    exact_weight = weight["exact"]
    summary = {
        "total_variation": histogram.summary,
        "larger_mode": weight,
        "independent_draws_of_the_mode_in_one_run": exact_weight
        * (1 - exact_weight)
        / weight["one_run_sd"] ** 2,
        "kinetic_temperature": float(np.mean(draws.info.kinetic_temperature)),
    }
    return histogram, summary


def picture(histograms: dict[str, Histogram], cells: np.ndarray) -> None:
    """The law of each method, and eight single runs."""
    centre = bin_edges(BINS)[:-1] + np.pi / BINS
    width = 2 * np.pi / BINS
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), sharey=True, layout="constrained")
    shown = [("as in Fig. 3(b): what each method samples", ("gmc", "sggmc"))]
    shown.append(("what goes wrong", ("noise_ignored", "noise_held")))
    for axis, (title, names) in zip(axes, shown, strict=False):
        axis.plot(grid(), cells / (2 * np.pi / len(cells)), "k", lw=1.2, label="exact")
        for name, style in zip(names, ("C0o", "C1^"), strict=True):
            axis.plot(centre, histograms[name].pooled / width, style, ms=3, label=name.replace("_", " "))
        axis.set(title=title, xlabel="angle")
        axis.legend()
    axes[2].plot(grid(), cells / (2 * np.pi / len(cells)), "k", lw=1.2)
    axes[2].plot(centre, histograms["sggmc"].single[:8].T / width, lw=0.7)
    axes[2].set(title="eight runs of sggmc, 10,000 draws each", xlabel="angle")
    axes[0].set_ylabel("density")
    figure.savefig(HERE / "figure3_circle.png", dpi=110)


def main() -> None:
    """Run all, write JSON and PNG."""
    cells = exact()
    friction = RHO / STEP_SIZE
    circle = gd.manifolds.Sphere(2)

    def sggmc(subtracted: float | None, held: bool = False) -> gd.samplers.SGGMC:
        estimator = Corrupted(NOISE, subtracted)
        return gd.samplers.SGGMC(
            estimator, circle, STEP_SIZE, friction, STEPS, composition="liu", reuse_batch=held
        )

    gmc = gd.samplers.GMC(gd.estimators.Full(log_density), circle, STEP_SIZE, STEPS)
    methods = {
        "gmc": gmc,
        "sggmc": sggmc(NOISE),
        "noise_ignored": sggmc(None),
        "noise_held": sggmc(NOISE, held=True),
    }
    rows = timed_rows(
        {
            name: (lambda sampler=sampler, seed=seed: run(sampler, cells, seed))
            for seed, (name, sampler) in enumerate(methods.items())
        }
    )
    picture({name: histogram for name, (histogram, _) in rows.items()}, cells)
    settings = {
        "chains": CHAINS,
        "draws": DRAWS,
        "bins": BINS,
        "step_size": STEP_SIZE,
        "friction": friction,
        "num_steps": STEPS,
        "noise_variance": NOISE,
        "left_to_inject": 2 * friction - STEP_SIZE * NOISE,
        "composition": "liu",
    }
    write("figure3_circle", settings, {name: summary for name, (_, summary) in rows.items()})


if __name__ == "__main__":
    main()
