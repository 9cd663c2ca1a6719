"""Section 4.1, Figure 2 left: the divergence from two laws on the line of what four samplers draw.

The paper states the metric's constants, 1.5 and C = 0.5, but neither step size, gradient noise, length nor
bins. Here: step sizes 0.1 and 0.03, bins of 0.1 on [-3, 3], no noise, and at the larger step size a noise of
variance 4 that is subtracted. gSGRHMC runs on the two peaks with the printed C = 0.5 and with C = 1.5, which
is above -min U = 1.
"""

import sys
import time
from typing import Any

import jax
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from common import EDGES, HERE, METHODS, Noisy, divergence, law, one_peak, step_key, two_peaks, write

import geodrift as gd

CHAINS, TIME, EVERY = 400, 450.0, 0.3  # time of the equation, and from draw to draw
ENERGIES = {"one_peak": one_peak, "two_peaks": two_peaks}
NOISES = {0.1: (0.0, 4.0), 0.03: (0.0,)}  # by step size
SMALLER = {"sgld": {0.01: (0.0,)}}
SHIFT = {"one_peak": 0.5, "two_peaks": 1.5}
PRINTED = 0.5
LABELS = {name: method.label.replace(", ", ",\n") for name, method in METHODS.items()}
LABELS |= {f"{name}_as_printed": f"{LABELS[name]},\nC = 0.5 as\nprinted" for name in ("naive", "gsgrhmc")}


def positions(sampler: Any, draw: Any, num_draws: int, warmup: int, thin: int) -> np.ndarray:
    """``[chain, draw]``; NaN from where a chain has diverged."""
    options = {"num_draws": num_draws, "num_warmup": warmup, "num_chains": CHAINS, "thin": thin}
    try:
        return gd.sample(jax.random.key(1), sampler, initial=draw, **options).position[..., 0]
    except gd.SamplingError:
        pass  # the driver stops with the first chain; here the others go on

    def chain(key: Any) -> Any:
        key_start, key_init, key_run = jax.random.split(key, 3)

        def step(state: Any, k: Any) -> tuple[Any, None]:
            return sampler.step(jax.random.fold_in(key_run, k), state)[0], None

        def kept(state: Any, k: Any) -> tuple[Any, Any]:
            state, _ = jax.lax.scan(step, state, k * thin + jax.numpy.arange(thin))
            return state, state.position[0]

        state = sampler.init(key_init, draw(key_start))
        return jax.lax.scan(kept, state, jax.numpy.arange(warmup // thin + num_draws))[1]

    x = np.asarray(jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(1), CHAINS)))
    lost = np.maximum.accumulate(~np.isfinite(x) | (np.abs(x) > 1e3), axis=1)
    return np.where(lost, np.nan, x)[:, warmup // thin :]


def run(name: str, target: str, h: float, noise: float, shift: float, exact: Any) -> dict[str, Any]:
    """Divergence of the pooled draws, its Monte Carlo part, moments, and the share of chains that diverge."""
    energy = ENERGIES[target]
    sampler = METHODS[name].make(Noisy(energy, noise), energy, h, shift)
    thin = round(EVERY / h)
    x = positions(sampler, exact.draw, round(TIME / h / thin), round(0.1 * TIME / h), thin)
    counts = np.stack([np.histogram(row[np.isfinite(row)], EDGES)[0] for row in x])
    share = {"diverged": float(np.mean(np.isnan(x[:, -1]))), "draws_kept": float(np.mean(np.isfinite(x)))}
    pooled = counts.sum(axis=0)
    found = {"divergence": float(divergence(pooled, exact.bins)), "bins": pooled / pooled.sum(), **share}
    if share["diverged"]:
        return found
    second = (x**2).mean(axis=1)
    spread = counts.var(axis=0, ddof=1) / CHAINS / x.shape[1] ** 2
    return found | {
        "divergence_by_noise": float(np.sum(spread / exact.bins) / 2),  # to second order
        "second_moment": float(second.mean()),
        "standard_error": float(second.std(ddof=1) / CHAINS**0.5),
        "exact_second_moment": exact.second_moment,
    }


def kl(found: dict[str, Any] | None) -> float:
    """The divergence; NaN where it was not run."""
    return float("nan") if found is None else found["divergence"]


def picture(measured: dict[str, Any]) -> None:
    """Bars at both step sizes without noise; the marks are with it."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    for axis, (target, rows) in zip(axes, measured.items(), strict=True):
        names = list(rows)
        for place, h in enumerate(NOISES):
            values = [rows[name][step_key(h)] for name in names]
            bare, noisy = ([kl(v.get(f"noise {n}")) for v in values] for n in (0, 4))
            left = np.arange(len(names)) + 0.4 * place - 0.2
            axis.bar(left, bare, 0.38, label=f"step size {h:g}")
            axis.plot(left, noisy, "kx", ms=5, label=None if place else "with gradient noise")
        labels = [LABELS[name] for name in names]
        axis.set(yscale="log", xticks=range(len(names)), title=target.replace("_", " "), ylim=(1e-5, 0.3))
        axis.set_xticklabels(labels, fontsize=7)
        axis.legend(fontsize=8)
    axes[0].set_ylabel("KL(draws || law)")
    figure.savefig(HERE / "figure2_left.png", dpi=110)


def main() -> None:
    """Run all, write JSON and PNG."""
    measured: dict[str, Any] = {}
    for target in ENERGIES:
        exact, rows = law(ENERGIES[target]), {}
        rows_of_target = [(name, name, SHIFT[target]) for name in METHODS]
        if SHIFT[target] != PRINTED:
            rows_of_target += [(f"{name}_as_printed", name, PRINTED) for name in ("naive", "gsgrhmc")]
        for row, name, shift in rows_of_target:
            begun = time.monotonic()
            rows[row] = {
                step_key(h): {f"noise {v:g}": run(name, target, h, v, shift, exact) for v in noises}
                for h, noises in (NOISES | SMALLER.get(name, {})).items()
            }
            summary = {
                h: [(v["divergence"], v["diverged"]) for v in by.values()] for h, by in rows[row].items()
            }
            print(f"{target}, {row}, {time.monotonic() - begun:.0f} s: {summary}", file=sys.stderr)
        measured[target] = rows
    picture(measured)
    settings = {"chains": CHAINS, "time": TIME, "between_draws": EVERY, "start": "exact draws", "scale": 1.5}
    settings |= {"shift": SHIFT, "bins": "of 0.1 on [-3, 3]", "friction": 1.0}
    write("figure2_left", settings, measured)


if __name__ == "__main__":
    main()
