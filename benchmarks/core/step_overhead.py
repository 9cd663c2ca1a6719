"""Our SGGMC step against a hand-written `lax.scan` of the same step, on S^99.

Both draw the same minibatch of 50 of 1,000 vMF data, take one ABOBA step, repair the position and keep it.
Interleaved; medians of nine. Writes JSON to stdout: seconds a step and the ratio, for 1 and 100 chains.
"""

import json
import statistics
import time

import jax
import jax.numpy as jnp

import geodrift as gd

DIM, DATA_SIZE, BATCH, STEPS, REPEATS = 100, 1000, 50, 2000, 9
STEP_SIZE, FRICTION, KAPPA = 0.01, 1.0, 0.1


def hand_written(key, data, x, v):
    """A user's own loop for one chain."""
    h, decay = STEP_SIZE, jnp.exp(-FRICTION * STEP_SIZE)
    sigma = jnp.sqrt(1 - decay**2)

    def tangent(x, u):
        return u - x * jnp.vdot(x, u)

    def drift(x, v, t):
        speed = jnp.sqrt(jnp.vdot(v, v))
        c, s = jnp.cos(speed * t), jnp.sin(speed * t)
        y = x * c + v / speed * s
        y = y / jnp.sqrt(jnp.vdot(y, y))
        return y, tangent(y, v * c - x * speed * s)

    def step(carry, count):
        x, v = carry
        key_batch, key_noise = jax.random.split(jax.random.fold_in(key, count))
        batch = data[jax.random.randint(key_batch, (BATCH,), 0, DATA_SIZE)]
        x, v = drift(x, v, h / 2)
        g = tangent(x, jax.grad(lambda p: DATA_SIZE / BATCH * jnp.sum(KAPPA * batch @ p))(x))
        v = v + h / 2 * g
        v = decay * v + tangent(x, sigma * jax.random.normal(key_noise, x.shape, x.dtype))
        v = v + h / 2 * g
        x, v = drift(x, v, h / 2)
        return (x, v), x

    return jax.lax.scan(step, (x, v), jnp.arange(STEPS))[1]


def library(key, data, x, v):
    """The same with the library's kernel."""
    estimator = gd.estimators.Minibatch(lambda p, y: KAPPA * y @ p, lambda p: 0.0 * p[0], DATA_SIZE)
    sampler = gd.samplers.SGGMC(estimator, gd.manifolds.Sphere(DIM), STEP_SIZE, friction=FRICTION)
    state = gd.samplers.SGGMCState(x, v, estimator.init(key, x), jnp.zeros((), jnp.int32))

    def step(state, count):
        key_batch, key_step = jax.random.split(jax.random.fold_in(key, count))
        batch = data[jax.random.randint(key_batch, (BATCH,), 0, DATA_SIZE)]
        state, info = sampler.step(key_step, state, batch)
        return state, (state.position, info)

    return jax.lax.scan(step, state, jnp.arange(STEPS))[1]


def seconds(function, arguments):
    begun = time.perf_counter()
    jax.block_until_ready(function(*arguments))
    return (time.perf_counter() - begun) / STEPS


def compare(chains):
    sphere = gd.manifolds.Sphere(DIM)
    keys = jax.random.split(jax.random.key(0), chains)
    data = sphere.random_point(jax.random.key(1), (DATA_SIZE,))
    x = sphere.random_point(jax.random.key(2), (chains,))
    v = sphere.random_tangent(jax.random.key(3), x)
    functions = {name: jax.jit(jax.vmap(f, (0, None, 0, 0))) for name, f in CONTESTANTS.items()}
    arguments = (keys, data, x, v)
    for function in functions.values():
        seconds(function, arguments)
    times = {name: [] for name in functions}
    for _ in range(REPEATS):
        for name, function in functions.items():
            times[name].append(seconds(function, arguments))
    medians = {name: statistics.median(values) for name, values in times.items()}
    return medians | {"chains": chains, "ratio": medians["library"] / medians["hand_written"]}


CONTESTANTS = {"hand_written": hand_written, "library": library}

if __name__ == "__main__":
    results = [compare(chains) for chains in (1, 100)]
    print(json.dumps({"bar": 1.15, "unit": "seconds a step", "results": results}, indent=1))
