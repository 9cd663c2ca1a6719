"""Seconds a draw of logistic regression: our driver, a hand-written `lax.scan` of the same, and blackjax.

N = 100,000 data of D = 100 features, a fresh minibatch of 500 at each draw, every draw kept. SGLD and SGHMC,
with one inner step a draw, and with several that share the batch. All three draw their rows from keys of the
count, uniformly with replacement. Contestants take turns in one process; the figures are medians of nine, of
the clock and of the processor's time, and the ratios are medians of the ratios within a turn.

Two checks come before. The hand-written loop, given the driver's own keys and velocity, must make our draws.
And the draws of every contestant must change when the labels do: blackjax's SGHMC draws a new momentum for
each draw and ends with a kick, so with one inner step its gradient reaches nothing, the compiler leaves it
out, and a random walk would be timed. It is therefore compared from two inner steps on.

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
INNER_STEPS = {"SGLD": (1, 10), "SGHMC": (1, 2, 10)}
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
    """Rows of a batch and keys of the inner steps, as a user would draw them."""
    key_batch, key_step = jax.random.split(jax.random.fold_in(key, count))
    return jax.random.randint(key_batch, (BATCH,), 0, DATA_SIZE), key_step


def hand_written(algorithm, inner_steps, num_draws, draw_keys=draw_rows, velocity=None):
    """A user's own loop: Euler steps of SGLD; BAOAB, in the order that needs one gradient, of SGHMC.

    ``draw_keys(key, count)`` gives the rows and the keys of the inner steps.
    """
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
            rows, key_step = draw_keys(key, count)
            batch = jax.tree.map(lambda a: a[rows], data)
            if inner_steps == 1:
                phase = inner(phase, key_step, batch)
            else:
                keys = key_step if key_step.shape else jax.random.split(key_step, inner_steps)
                phase, _ = jax.lax.scan(lambda p, k: (inner(p, k, batch), None), phase, keys)
            return phase, phase[0]

        return jax.lax.scan(step, phase, jnp.arange(num_draws))[1]

    velocity = jnp.zeros(DIM) if velocity is None else velocity
    return lambda data: run(KEY, data, (jnp.zeros(DIM), velocity))


def sampler_of(algorithm, inner_steps):
    estimator = gd.estimators.Minibatch(log_likelihood, log_prior, DATA_SIZE)
    options = {"num_steps": inner_steps, "reuse_batch": True}
    if algorithm == "SGLD":
        return gd.samplers.SGLD(estimator, gd.manifolds.Euclidean(DIM), STEP_SIZE[algorithm], **options)
    options |= {"composition": "BAOAB", "friction": FRICTION}
    return gd.samplers.SGHMC(estimator, gd.manifolds.Euclidean(DIM), STEP_SIZE[algorithm], **options)


def geodrift(algorithm, inner_steps, num_draws):
    """`geodrift.sample`, as a user calls it."""
    sampler = sampler_of(algorithm, inner_steps)

    def run(data):
        draws = gd.sample(KEY, sampler, data, batch_size=BATCH, num_draws=num_draws, initial=jnp.zeros(DIM))
        return draws.position[0]

    return run


def peer(algorithm, inner_steps, num_draws):
    """blackjax's kernel in a `lax.scan`; its SGHMC draws a new momentum for each draw."""
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


def check_draws(algorithm, inner_steps, data):
    """The largest relative difference between our draws and the hand-written ones from the driver's keys."""
    chain = jax.random.fold_in(KEY, 0)
    _, key_init, key_steps = jax.random.split(chain, 3)
    streams = jax.random.split(key_steps)
    velocity = None
    if algorithm == "SGHMC":
        velocity = sampler_of(algorithm, inner_steps).init(key_init, jnp.zeros(DIM)).velocity

    def driver_keys(key, count):
        del key
        key_batch, key_step = jax.vmap(jax.random.fold_in, (0, None))(streams, count)
        rows = jax.random.randint(key_batch, (BATCH,), 0, DATA_SIZE)
        keys = jax.random.split(key_step, 2 if inner_steps == 1 else inner_steps + 1)[1:]
        return rows, keys[0] if inner_steps == 1 else keys

    ours = np.asarray(geodrift(algorithm, inner_steps, 30)(data))
    theirs = np.asarray(hand_written(algorithm, inner_steps, 30, driver_keys, velocity)(data))
    off = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    if not off < 1e-3:
        raise AssertionError(f"{algorithm} L={inner_steps}: our draws are off the hand-written by {off}")
    return off


def check_gradients_count(algorithm, inner_steps, functions, data):
    """Draws must change with the labels."""
    for name in functions:
        function = CONTESTANTS[name](algorithm, inner_steps, 5)
        draws, others = function(data), function((data[0], 1 - data[1]))
        if np.array_equal(np.asarray(draws), np.asarray(others)):
            raise AssertionError(
                f"{name}, {algorithm} L={inner_steps}: its draws do not depend on the labels"
            )


def compare(algorithm, inner_steps, num_draws, data):
    names = [n for n in CONTESTANTS if (n, algorithm, inner_steps) != ("blackjax", "SGHMC", 1)]
    functions = {name: CONTESTANTS[name](algorithm, inner_steps, num_draws) for name in names}
    off = check_draws(algorithm, inner_steps, data)
    check_gradients_count(algorithm, inner_steps, functions, data)
    started = {name: seconds(function, data)[0] for name, function in functions.items()}
    times = {name: {"wall": [], "process": []} for name in functions}
    for turn in range(REPEATS):
        # Who begins changes from turn to turn.
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            wall, process, _ = seconds(functions[name], data)
            times[name]["wall"].append(wall / num_draws)
            times[name]["process"].append(process / num_draws)
    ratios = {
        f"{clock}, to {other}": statistics.median(
            a / b for a, b in zip(times["geodrift"][clock], times[other][clock], strict=True)
        )
        for clock in ("wall", "process")
        for other in names[1:]
    }
    medians = {n: {clock: statistics.median(v) for clock, v in t.items()} for n, t in times.items()}
    report = {
        "algorithm": algorithm,
        "inner_steps": inner_steps,
        "draws": num_draws,
        "seconds_a_draw": medians,
        "geodrift_over": ratios,
        "first_call_seconds": started,
        "largest_relative_difference_from_hand_written": off,
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
        for inner_steps in INNER_STEPS[algorithm]:
            num_draws = options.draws // (4 if inner_steps == 10 else 1)
            results.append(compare(algorithm, inner_steps, num_draws, data))
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
