"""Seconds a draw of logistic regression: our driver, a hand-written `lax.scan` of the same, and blackjax.

N = 100,000 data of D = 100 features, a fresh minibatch of 500 at each draw, every draw kept. SGLD and SGHMC,
with one inner step a draw, and with ten that share the batch. All three draw their rows from the same keys in
the same way. Contestants take turns in one process; the figures are medians of nine, of the clock and of the
processor's time, and the ratios are medians of the ratios within a turn. A check of the first draws comes
before: ours and the hand-written ones must have the same mean log likelihood.

Prints one JSON object; `--json FILE` writes it too.
"""

import argparse
import json
import platform
import statistics
import sys
import time
from pathlib import Path

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

import geodrift as gd

DATA_SIZE, DIM, BATCH, REPEATS = 100_000, 100, 500, 9
STEP_SIZE = {"SGLD": 1e-6, "SGHMC": 1e-3}
FRICTION = 10.0
KEY = jax.random.key(0)


def problem():
    random = np.random.default_rng(0)
    x = random.normal(size=(DATA_SIZE, DIM))
    y = random.random(DATA_SIZE) < 1 / (1 + np.exp(-x @ random.normal(size=DIM) / DIM**0.5))
    return jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)


def log_likelihood(w, batch):
    logits = batch[0] @ w
    return batch[1] * logits - jax.nn.softplus(logits)


def log_prior(w):
    return -0.5 * jnp.sum(w * w)


def draw_rows(key, count):
    key_batch, key_step = jax.random.split(jax.random.fold_in(key, count))
    return jax.random.randint(key_batch, (BATCH,), 0, DATA_SIZE), key_step


def hand_written(algorithm, inner_steps, num_draws):
    """A user's own loop: Euler steps of SGLD; BAOAB, in the order that needs one gradient, of SGHMC."""
    h = STEP_SIZE[algorithm]
    decay = float(np.exp(-FRICTION * h))
    spread = float(np.sqrt(1 - decay**2))

    def gradient(x, batch):
        return jax.grad(lambda w: log_prior(w) + DATA_SIZE / BATCH * jnp.sum(log_likelihood(w, batch)))(x)

    def sgld(phase, key, batch):
        x, v = phase
        return x + h * gradient(x, batch) + (2 * h) ** 0.5 * jax.random.normal(key, x.shape, x.dtype), v

    def sghmc(phase, key, batch):
        x, v = phase
        x = x + h / 2 * v
        v = decay * v + spread * jax.random.normal(key, x.shape, x.dtype)
        x = x + h / 2 * v
        return x, v + h * gradient(x, batch)

    inner = {"SGLD": sgld, "SGHMC": sghmc}[algorithm]

    @jax.jit
    def run(key, data, phase):
        def step(phase, count):
            rows, key_step = draw_rows(key, count)
            batch = jax.tree.map(lambda a: a[rows], data)
            if inner_steps == 1:
                phase = inner(phase, key_step, batch)
            else:
                keys = jax.random.split(key_step, inner_steps)
                phase, _ = jax.lax.scan(lambda p, k: (inner(p, k, batch), None), phase, keys)
            return phase, phase[0]

        return jax.lax.scan(step, phase, jnp.arange(num_draws))[1]

    return lambda data: run(KEY, data, (jnp.zeros(DIM), jnp.zeros(DIM)))


def geodrift(algorithm, inner_steps, num_draws):
    """`geodrift.sample`, as a user calls it."""
    estimator = gd.estimators.Minibatch(log_likelihood, log_prior, DATA_SIZE)
    options = {"num_steps": inner_steps, "reuse_batch": True}
    if algorithm == "SGLD":
        sampler = gd.samplers.SGLD(estimator, gd.manifolds.Euclidean(DIM), STEP_SIZE[algorithm], **options)
    else:
        options |= {"composition": "BAOAB", "friction": FRICTION}
        sampler = gd.samplers.SGHMC(estimator, gd.manifolds.Euclidean(DIM), STEP_SIZE[algorithm], **options)

    def run(data):
        draws = gd.sample(KEY, sampler, data, batch_size=BATCH, num_draws=num_draws, initial=jnp.zeros(DIM))
        return draws.position[0]

    return run


def peer(algorithm, inner_steps, num_draws):
    """blackjax's kernel in a `lax.scan`; its SGHMC draws a new momentum for each draw.

    With one inner step the gradient therefore reaches nothing but a momentum that is thrown away, the
    compiler leaves it out, and what is timed is a random walk: no comparison.
    """
    h = STEP_SIZE[algorithm]
    estimate = blackjax.sgmcmc.gradients.grad_estimator(log_prior, log_likelihood, DATA_SIZE)
    if algorithm == "SGLD":
        kernel = blackjax.sgld(estimate)
    else:
        kernel = blackjax.sghmc(estimate, num_integration_steps=inner_steps, alpha=FRICTION)

    @jax.jit
    def run(key, data, x):
        def step(x, count):
            rows, key_step = draw_rows(key, count)
            batch = jax.tree.map(lambda a: a[rows], data)
            if algorithm == "SGHMC" or inner_steps == 1:
                x = kernel.step(key_step, x, batch, h)
            else:
                keys = jax.random.split(key_step, inner_steps)
                x, _ = jax.lax.scan(lambda x, k: (kernel.step(k, x, batch, h), None), x, keys)
            return x, x

        return jax.lax.scan(step, x, jnp.arange(num_draws))[1]

    return lambda data: run(KEY, data, jnp.zeros(DIM))


CONTESTANTS = {"geodrift": geodrift, "hand_written": hand_written, "blackjax": peer}


def seconds(function, data):
    wall, process = time.perf_counter(), time.process_time()
    draws = jax.block_until_ready(function(data))
    return time.perf_counter() - wall, time.process_time() - process, draws


def compare(algorithm, inner_steps, num_draws, data):
    functions = {name: make(algorithm, inner_steps, num_draws) for name, make in CONTESTANTS.items()}
    started, end = {}, {}
    for name, function in functions.items():
        started[name], _, draws = seconds(function, data)
        # Where each has come to: the mean log likelihood over the last half.
        middle = jnp.mean(jnp.asarray(draws)[num_draws // 2 :], axis=0)
        end[name] = float(jnp.mean(log_likelihood(middle, data)))
    times = {name: {"wall": [], "process": []} for name in functions}
    for turn in range(REPEATS):
        # Who begins changes from turn to turn.
        names = list(functions)
        for name in names[turn % 3 :] + names[: turn % 3]:
            wall, process, _ = seconds(functions[name], data)
            times[name]["wall"].append(wall / num_draws)
            times[name]["process"].append(process / num_draws)
    ratios = {
        f"{clock}, to {other}": statistics.median(
            a / b for a, b in zip(times["geodrift"][clock], times[other][clock], strict=True)
        )
        for clock in ("wall", "process")
        for other in ("hand_written", "blackjax")
    }
    medians = {n: {clock: statistics.median(v) for clock, v in t.items()} for n, t in times.items()}
    report = {
        "algorithm": algorithm,
        "inner_steps": inner_steps,
        "draws": num_draws,
        "seconds_a_draw": medians,
        "geodrift_over": ratios,
        "first_call_seconds": started,
        "mean_log_likelihood_at_the_end": end,
        "all_times": times,
    }
    print({k: report[k] for k in ("algorithm", "inner_steps", "geodrift_over")}, file=sys.stderr, flush=True)
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--algorithms", nargs="+", default=["SGLD", "SGHMC"])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    data = problem()
    results = []
    for algorithm in options.algorithms:
        for inner_steps in (1, 10):
            results.append(
                compare(algorithm, inner_steps, options.draws // (1 if inner_steps == 1 else 4), data)
            )
    report = {
        "bars": {"to hand_written": 1.1, "to blackjax": 1.0},
        "settings": {"data_size": DATA_SIZE, "dim": DIM, "batch": BATCH, "repeats": REPEATS},
        "results": results,
        "versions": {"geodrift": gd.__version__, "jax": jax.__version__, "blackjax": blackjax.__version__},
        "machine": {"processor": platform.machine(), "devices": [str(d) for d in jax.devices()]},
    }
    text = json.dumps(report, indent=1)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
