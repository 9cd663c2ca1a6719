"""Gradients of one datum that a posterior costs: SGGMC with a control variate against NUTS on all data.

Logistic regression, N = 100,000 data of D = 100 correlated features of unequal scale, a standard normal
prior. For us everything is counted from the start: the search for the mode, the metric, the full gradient
at the centre, the noise variance, warm-up and sampling; with settings by hand, and without any, by
``step_size=None`` and ``batch_size="auto"``. NUTS (blackjax) is given its best case, a start at the exact
mode, the exact inverse Hessian there as the mass matrix and a tuned step size, all free of charge: only N
for each leapfrog step of its draws is counted. A run is done when, for the first time, the largest error
of a posterior mean is at most 0.1 sd and every sd is within 5%. The truth comes from importance sampling
of the Laplace approximation at the exact mode, with antithetic pairs, until the effective sample size is
1e5. NUTS stops at 25 times our median count: a lower bound is then what is known of it.

On paper: with the posterior whitened, a batch of B leaves noise V of about D/B (1 + c^2), where c is the
centre's distance in sd. ABOBA is exact for a Gaussian at any stable h, with V subtracted as long as V h^2 (1
+ e^(-Ch))^2 / 4 < 1 - e^(-2Ch): B = 200, h = 0.5, C = 1.5 forget a position in about five steps.

Prints one JSON object; `--json FILE` writes it too. `--reference FILE.npz` keeps the reference for the next
time.
"""

import argparse
import json
import math
import platform
import statistics
import sys
import time
from pathlib import Path

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
import scipy.optimize

import geodrift as gd

MEAN_BOUND, SD_BOUND, REFERENCE_ESS = 0.1, 0.05, 100_000
OURS = {"batch_size": 200, "step_size": 0.5, "friction": 1.5, "variance_every": 10, "metric_data": 5_000}
MODE = {"batch_size": 500, "passes": 4, "learning_rate": 0.03}
WARMUP = 50  # steps of ours
NUTS = {"step_size": 0.5, "draws_at_once": 10, "stop_at_ratio": 25}


def problem(data_size, dim):
    random = np.random.default_rng(2014)
    scales = np.exp(random.uniform(-0.7, 0.7, dim))
    correlation = 0.5 ** np.abs(np.subtract.outer(np.arange(dim), np.arange(dim)))
    x = random.normal(size=(data_size, dim)) @ np.linalg.cholesky(correlation).T * scales
    truth = random.normal(size=dim) / scales / dim**0.5
    y = random.random(data_size) < 1 / (1 + np.exp(-x @ truth))
    return {"x": x.astype(np.float32), "y": y.astype(np.float32)}


def log_likelihood(w, batch):
    logits = batch["x"] @ w
    return batch["y"] * logits - jax.nn.softplus(logits)


def log_prior(w):
    return -0.5 * jnp.sum(w * w)


def reference(data):
    """Mean and sd of the posterior, and what they rest on."""
    x, y = data["x"], data["y"]

    def negative(w):
        z = x @ w.astype(np.float32)
        residual = 1 / (1 + np.exp(-z)) - y
        value = np.sum(np.logaddexp(0, z) - y * z, dtype=float) + 0.5 * w @ w
        return value, (residual @ x).astype(float) + w

    mode = scipy.optimize.minimize(negative, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x
    for _ in range(2):  # Newton's last digits
        p = 1 / (1 + np.exp(-(x @ mode)))
        hessian = (x * (p * (1 - p))[:, None]).T @ x + np.eye(x.shape[1])
        mode = mode - np.linalg.solve(hessian, (p - y) @ x + mode)
    root = scipy.linalg.solve_triangular(np.linalg.cholesky(hessian), np.eye(len(mode)), lower=True)
    # Logits move by a tenth or two: six terms of softplus's series, of which the first cancels at the mode.
    p = 1 / (1 + np.exp(-(x @ mode)))
    u, q = p * (1 - p), 1 - 2 * p
    derivatives = [u, u * q, u * q**2 - 2 * u**2, u * q**3 - 8 * u**2 * q]
    derivatives.append(u * q**4 - 22 * u**2 * q**2 + 16 * u**3)
    series = [np.asarray(d / math.factorial(k), np.float32)[:, None] for k, d in enumerate(derivatives, 2)]
    random, chunk = np.random.default_rng(1), 256
    draws, log_weights = [], []

    @jax.jit
    def rise(steps):
        """Minus the log likelihood, less its value at the mode and its first-order part."""
        moves = x @ steps.T
        total = jnp.zeros_like(moves)
        for coefficient in series[::-1]:
            total = (total + coefficient) * moves
        return jnp.sum(total * moves, axis=0)

    while True:
        white = random.normal(size=(chunk, len(mode)))
        white = np.concatenate([white, -white])
        steps = white @ root
        target = -0.5 * np.sum(steps**2, axis=1) - np.asarray(rise(steps.astype(np.float32)), float)
        draws.append(steps)
        log_weights.append(target + 0.5 * np.sum(white**2, axis=1))
        weights = np.exp(np.concatenate(log_weights) - np.max(log_weights[0]))
        ess = weights.sum() ** 2 / np.sum(weights**2)
        if ess >= REFERENCE_ESS:
            break
    weights /= weights.sum()
    steps = np.concatenate(draws)
    mean = weights @ steps
    sd = np.sqrt(weights @ (steps - mean) ** 2)
    return {
        "mean": mode + mean,
        "sd": sd,
        "ess": ess,
        "draws": len(steps),
        "mode": mode,
        "inverse_hessian": root @ root.T,
    }


def deviations(draws, truth):
    """The largest error of a mean, in sd, and the largest of a ratio of sds; and the mean ratio."""
    ratios = draws.std(axis=0, ddof=1) / truth["sd"]
    return {
        "mean": float(np.max(np.abs(draws.mean(axis=0) - truth["mean"]) / truth["sd"])),
        "sd": float(np.max(np.abs(ratios - 1))),
        "mean_sd_ratio": float(np.mean(ratios)),
    }


def first_pass(draws, truth, counts):
    """The count at the first of the prefixes that meets both bounds, its index, or None."""
    for number, count in counts:
        part = np.asarray(draws[:number], float)
        off = deviations(part, truth)
        if off["mean"] <= MEAN_BOUND and off["sd"] <= SD_BOUND:
            return {"gradients": int(count), "draws": number}
    return None


def centre_and_root(keys, plain, device_data):
    """The mode found from minibatches, and the inverse root of the Fisher matrix of some data there."""
    size, dim = device_data["x"].shape
    centre = gd.estimators.find_mode(
        keys[0],
        plain,
        gd.manifolds.Euclidean(dim),
        device_data,
        jnp.zeros(dim),
        batch_size=MODE["batch_size"],
        num_steps=MODE["passes"] * size // MODE["batch_size"],
        learning_rate=MODE["learning_rate"],
    )
    rows = jax.random.choice(keys[1], size, (OURS["metric_data"],), replace=False)
    some = {name: array[rows] for name, array in device_data.items()}
    gradients = plain.per_datum_gradients(centre, some)
    fisher = size / len(rows) * gradients.T @ gradients + jnp.eye(dim)
    return centre, jax.scipy.linalg.solve_triangular(jnp.linalg.cholesky(fisher), jnp.eye(dim), lower=True).T


def whitened(centre, root, device_data):
    """The control variate at the centre, in coordinates in which the posterior is close to N(0, I)."""

    def likelihood(z, rows):
        return log_likelihood(centre + root @ z, rows)

    return gd.estimators.ControlVariate(
        likelihood,
        lambda z: log_prior(centre + root @ z),
        device_data,
        jnp.zeros(len(centre)),
        noise_variance="scalar-fisher",
        refresh_variance_every=OURS["variance_every"],
    )


def ours(seeds, data, truth, max_draws):
    """One chain a seed, each with a search for the mode of its own."""
    size, dim = data["x"].shape
    device_data = jax.tree.map(jnp.asarray, data)
    plain = gd.estimators.Minibatch(log_likelihood, log_prior, size)
    before = MODE["passes"] * size // MODE["batch_size"] * MODE["batch_size"] + OURS["metric_data"] + size
    per_step = 2 * OURS["batch_size"] * (1 + 1 / OURS["variance_every"])
    counts = [(n, before + (WARMUP + n) * per_step) for n in range(50, max_draws + 1, 50)]
    results = []
    for seed in seeds:
        keys = jax.random.split(jax.random.key(seed), 3)
        centre, root = centre_and_root(keys, plain, device_data)
        estimator = whitened(centre, root, device_data)
        sampler = gd.samplers.SGGMC(
            estimator, gd.manifolds.Euclidean(dim), OURS["step_size"], friction=OURS["friction"]
        )
        draws = gd.sample(
            keys[2],
            sampler,
            device_data,
            batch_size=OURS["batch_size"],
            num_draws=max_draws,
            num_warmup=WARMUP,
            initial=jnp.zeros(dim),
        )
        state = jax.tree.map(lambda x: x[0] if x.ndim and x.shape[0] == 1 else x, draws.state.estimator)
        last = jnp.asarray(draws.position[0, -1])
        position = np.asarray(centre + draws.position[0] @ np.asarray(root).T)
        from_centre = (np.asarray(centre) - truth["mean"]) / truth["sd"]
        results.append(
            {
                "seed": seed,
                "passed": first_pass(position, truth, counts),
                "at_the_end": deviations(position, truth),
                "centre_distance_sd": float(np.sqrt(np.mean(from_centre**2))),
                "noise_ratio": gd.estimators.noise_ratio(estimator, state, last, data, chunk_size=5000),
                "gradients_before_sampling": before,
                "gradients_so_far": counts[-1][1],
                "gradients_a_step": per_step,
            }
        )
        print(results[-1], file=sys.stderr, flush=True)
    return results


def without_settings(seeds, data, truth, max_draws):
    """`geodrift.sample` finds everything, from zeros; a product of a Hessian counts as two gradients."""
    size, dim = data["x"].shape
    device_data = jax.tree.map(jnp.asarray, data)
    results = []
    for seed in seeds:
        estimator = gd.estimators.ControlVariate(
            log_likelihood, log_prior, device_data, noise_variance="scalar-fisher"
        )
        sampler = gd.samplers.SGHMC(estimator, gd.manifolds.Euclidean(dim), step_size=None)
        draws = gd.sample(
            jax.random.key(seed),
            sampler,
            device_data,
            batch_size="auto",
            num_draws=max_draws,
            initial=jnp.zeros(dim),
        )
        found = draws.tuned
        # Two gradients of each datum of a batch, and one of all data at the centre.
        per_step = 2 * found.batch_size * found.num_steps
        before = found.gradients + size + found.warm_up * per_step
        counts = [(n, before + n * per_step) for n in range(50, max_draws + 1, 50)]
        results.append(
            {
                "seed": seed,
                "passed": first_pass(draws.position[0], truth, counts),
                "at_the_end": deviations(np.asarray(draws.position[0], float), truth),
                "gradients_of_the_warm_up": found.gradients,
                "gradients_before_sampling": before,
                "gradients_so_far": counts[-1][1],
                "batch_size": found.batch_size,
                "chosen": str(found),
                "told": draws.report.warnings,
            }
        )
        print(results[-1], file=sys.stderr, flush=True)
    return results


def nuts(seeds, data, truth, most_gradients):
    """From the exact mode, with the exact inverse Hessian there as the mass matrix; none of it counted."""
    size = len(data["x"])
    x, y = jnp.asarray(data["x"]), jnp.asarray(data["y"])
    root = jnp.asarray(np.linalg.cholesky(truth["inverse_hessian"]), jnp.float32)
    mode = jnp.asarray(truth["mode"], jnp.float32)

    # Whitened, which is that mass matrix: the exact posterior of z is close to a standard normal. The value
    # is kept relative to the mode's: a sum of 1e5 terms in float32 has no digits left for an energy.
    logits_mode = x @ mode

    def log_density(z):
        step = root @ z
        moved = logits_mode + x @ step
        rises = y * (x @ step) - (jax.nn.softplus(moved) - jax.nn.softplus(logits_mode))
        return jnp.sum(rises) - step @ mode - 0.5 * step @ step

    kernel = blackjax.nuts.build_kernel()

    @jax.jit
    def draw(key, state):
        def one(state, key):
            state, info = kernel(
                key, state, log_density, step_size=NUTS["step_size"], inverse_mass_matrix=jnp.ones(len(mode))
            )
            return state, (state.position, info.num_integration_steps, info.acceptance_rate)

        return jax.lax.scan(one, state, jax.random.split(key, NUTS["draws_at_once"]))

    results = []
    for seed in seeds:
        key = jax.random.key(seed)
        state = blackjax.nuts.init(jnp.zeros(len(mode)), log_density)
        positions, steps, acceptance, passed, call = [], 0, [], None, 0
        while passed is None and steps * size < most_gradients:
            state, (position, taken, rate) = draw(jax.random.fold_in(key, call), state)
            call += 1
            positions.append(np.asarray(mode + position @ root.T, float))
            steps += int(taken.sum())
            acceptance.append(float(rate.mean()))
            drawn = np.concatenate(positions)
            passed = first_pass(drawn, truth, [(len(drawn), size * steps)])
        results.append(
            {
                "seed": seed,
                "passed": passed,
                "at_the_end": deviations(drawn, truth),
                "draws": len(drawn),
                "acceptance": statistics.mean(acceptance),
                "leapfrogs_a_draw": steps / len(drawn),
                "gradients_so_far": size * steps,
            }
        )
        print(results[-1], file=sys.stderr, flush=True)
    return results


def median_gradients(results):
    """And whether it is a lower bound only, because half the runs or more were stopped too early."""
    passed = [r["passed"]["gradients"] if r["passed"] else float("inf") for r in results]
    median = statistics.median(passed)
    if median < float("inf"):
        return {"gradients": median, "lower_bound": False}
    return {"gradients": statistics.median(r["gradients_so_far"] for r in results), "lower_bound": True}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-size", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 11, 12, 13, 14])
    parser.add_argument("--max-draws", type=int, default=12_000, help="of ours")
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    begun, times = time.perf_counter(), {}
    data = problem(options.data_size, options.dim)
    if options.reference is not None and options.reference.exists():
        truth = dict(np.load(options.reference))
    else:
        truth = reference(data)
        if options.reference is not None:
            np.savez(options.reference, **truth)
    times["reference"] = time.perf_counter() - begun
    print(f"reference: ess {truth['ess']:.0f} of {truth['draws']}, {times}", file=sys.stderr, flush=True)
    results = {}
    most = dict.fromkeys(("ours", "without_settings"), options.max_draws)
    medians = {}
    for name, run in (("ours", ours), ("without_settings", without_settings), ("nuts", nuts)):
        begun = time.perf_counter()
        results[name] = run(options.seeds, data, truth, most[name])
        times[name] = time.perf_counter() - begun
        medians[name] = median_gradients(results[name])
        most["nuts"] = NUTS["stop_at_ratio"] * medians["ours"]["gradients"]
    report = {
        "bar": 10,
        "goal": 20,
        "ratio": medians["nuts"]["gradients"] / medians["ours"]["gradients"],
        "ratio_is_a_lower_bound": medians["nuts"]["lower_bound"],
        "median_gradients": medians,
        "settings": {
            "data_size": options.data_size,
            "dim": options.dim,
            "ours": OURS,
            "mode": MODE,
            "nuts": NUTS,
        },
        "reference": {"ess": float(truth["ess"]), "draws": int(truth["draws"])},
        "results": results,
        "seconds": times,
        "versions": {"geodrift": gd.__version__, "jax": jax.__version__, "blackjax": blackjax.__version__},
        "machine": platform.machine(),
    }
    text = json.dumps(report, indent=1)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
