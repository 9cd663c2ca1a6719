"""Section 3, Figure 1: effective sample sizes of Langevin dynamics in three charts of the simplex.

110,000 steps, 10,000 of them burn-in, thinned by 100: 1000 draws of pi under Dirichlet(n + 0.1), with
n = 90, 5, 5 and seven zeros. Each sampler has a Metropolis test, as section 3 says; the expanded mean is run
without it too. The paper's epsilon is twice the library's h. Four chains for each setting.
"""

import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from common import HERE, load_baker, write

import geodrift as gd
from geodrift.metrics import Constant, ExpandedMean, ExpandedNatural, ReducedNatural

COUNTS, ALPHA = np.array([90.0, 5, 5, 0, 0, 0, 0, 0, 0, 0]), 0.1
STEPS, BURN_IN, THIN, CHAINS = 110_000, 10_000, 100, 4
EPSILONS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
SHAPES = COUNTS + ALPHA
# The chart, its metric, and whether there is a test.
SAMPLERS: dict[str, tuple[Any, Any, bool]] = {
    "expanded_mean": (ExpandedMean(), ExpandedMean(), True),
    "reduced_natural": (ReducedNatural(), Constant(), True),
    "expanded_natural": (ExpandedNatural(), Constant(), True),
    "expanded_mean_unadjusted": (ExpandedMean(), ExpandedMean(), False),
}
distance = load_baker().distance


def starts() -> dict[str, np.ndarray]:
    """theta = n + alpha in each chart."""
    pi = jnp.asarray(SHAPES / SHAPES.sum())
    return {
        "expanded_mean": SHAPES,
        "expanded_mean_unadjusted": SHAPES,
        "reduced_natural": ReducedNatural().from_simplex(pi),
        "expanded_natural": np.log(SHAPES),
    }


def run(name: str, epsilon: float) -> tuple[dict[str, Any], np.ndarray]:
    """Summary, and the draws of log10 pi of the first chain."""
    chart, metric, tested = SAMPLERS[name]
    full = gd.estimators.Full(lambda x: chart.log_posterior(x, ALPHA, jnp.asarray(COUNTS)))
    kind = gd.samplers.RMLD if tested else gd.samplers.SGRLD
    draws = gd.sample(
        jax.random.key(7),
        kind(full, gd.manifolds.Euclidean(), epsilon / 2, metric),
        num_draws=(STEPS - BURN_IN) // THIN,
        num_warmup=BURN_IN,
        thin=THIN,
        num_chains=CHAINS,
        initial=jnp.asarray(starts()[name]),
    )
    log_pi = np.asarray(chart.log_simplex(jnp.asarray(draws.position)))
    pi = np.exp(log_pi)
    sizes = np.array([effective(row) for row in pi])
    mean = pi[..., 3:].mean(axis=(1, 2))  # the seven empty categories are alike
    summary = {
        "ess_mean": float(sizes.mean(axis=1).mean()),
        "ess_median": float(np.median(sizes, axis=1).mean()),
        "acceptance": float(draws.info.acceptance.mean()) if tested else 1.0,
        "d_ks": float(distance(log_pi, SHAPES).mean()),
        "mean_pi_4": float(mean.mean()),
        "mean_pi_4_error": float(mean.std(ddof=1) / CHAINS**0.5),
        "mean_pi_4_over_exact": float(mean.mean() / (ALPHA / SHAPES.sum())),
        "log10_smallest": float(log_pi.min() / np.log(10)),
    }
    return summary, log_pi[0] / np.log(10)


def effective(pi: np.ndarray) -> np.ndarray:
    """ESS of each component of one chain; 1 where it never moved."""
    moved = np.ptp(pi, axis=0) > 0
    found = np.ones(pi.shape[1])
    if moved.any():
        found[moved] = np.minimum(gd.diagnostics.ess(pi[None][..., moved], method="mean"), len(pi))
    return found


def picture(measured: dict[str, Any], paths: dict[str, np.ndarray]) -> None:
    """Effective sample size and acceptance by step size, and the smallest draws of one chain."""
    figure, axes = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
    for name, style in zip(SAMPLERS, ("C0o-", "C1s-", "C2^-", "C0x--"), strict=True):
        label = name.replace("_", " ")
        for axis, key in zip(axes, ("ess_mean", "acceptance"), strict=False):
            axis.plot(EPSILONS, [measured[name][f"{e:g}"][key] for e in EPSILONS], style, ms=4, label=label)
        shown = np.sort(paths[name][:, 3:].ravel())
        axes[2].plot(shown, np.linspace(0, 1, len(shown)), style[:2], ls=style[3:] or "-", label=label)
    rng = np.random.default_rng(0)
    exact = np.sort(np.log10(rng.beta(ALPHA, SHAPES.sum() - ALPHA, 100_000)))
    axes[2].plot(exact, np.linspace(0, 1, len(exact)), "k", lw=2.5, alpha=0.5, label="exact")
    axes[0].set(
        xscale="log", xlabel="epsilon", ylabel="effective draws of 1000", title="mean over components"
    )
    axes[1].set(xscale="log", xlabel="epsilon", title="acceptance")
    axes[2].set(xlabel="log10 of pi_4 to pi_10", xlim=(-30, 0), title="their law, epsilon = 0.1, one chain")
    axes[0].legend(fontsize=8)
    axes[2].legend(fontsize=8)
    figure.savefig(HERE / "figure1_ess.png", dpi=110)


def main() -> None:
    """Run all, write JSON and PNG."""
    measured: dict[str, Any] = {}
    paths = {}
    for name in SAMPLERS:
        measured[name] = {}
        for epsilon in EPSILONS:
            begun = time.monotonic()
            summary, path = run(name, epsilon)
            measured[name][f"{epsilon:g}"] = summary
            if epsilon == 0.1:
                paths[name] = path
            print(f"{name}, {epsilon:g}, {time.monotonic() - begun:.0f} s: {summary}", file=sys.stderr)
        measured[name]["largest_ess_mean"] = max(v["ess_mean"] for v in measured[name].values())
    picture(measured, paths)
    # A dotted path cannot name "0.1".
    measured["at_0p1"] = {name: measured[name]["0.1"] for name in SAMPLERS}
    measured["expanded_mean_over_reduced_natural"] = (
        measured["expanded_mean"]["largest_ess_mean"] / measured["reduced_natural"]["largest_ess_mean"]
    )
    settings = {"steps": STEPS, "burn_in": BURN_IN, "thin": THIN, "chains": CHAINS, "alpha": ALPHA}
    write("figure1_ess", settings, measured)


if __name__ == "__main__":
    main()
