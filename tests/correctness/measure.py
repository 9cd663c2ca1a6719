"""Bias of a sampler at one step size, from many short chains that start at exact draws of the target."""

import time
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geodrift import Result

CHAINS = 4000
SPAN = 8.0  # chains are continued by this time until the error is small enough
MOST_SPANS = 60


class Measured(NamedTuple):
    step_size: float
    bias: np.ndarray  # of each moment of the target
    error: np.ndarray  # its standard error
    ess_per_second: float  # of the first moment, a CPU second; settling and compilation not counted
    failure: str  # what a step reported; empty when all went well


@eqx.filter_jit
def _start(sampler, draw, key):
    keys = jax.random.split(key, (2, CHAINS))
    return jax.vmap(sampler.init)(keys[0], jax.vmap(draw)(keys[1]))


@eqx.filter_jit
def _advance(sampler, functions, key, state, first, last):
    """Sums of the moments over the steps from ``first`` to ``last``, and the worst result."""

    def step(count, carry):
        state, sums, worst = carry
        keys = jax.random.split(jax.random.fold_in(key, count), CHAINS)
        state, info = jax.vmap(sampler.step)(keys, state)
        values = jnp.stack([jax.vmap(f)(state.position) for f in functions], axis=-1)
        return state, sums + values, jnp.maximum(worst, jnp.max(info.result))

    zero = jnp.zeros((CHAINS, len(functions)))
    return jax.lax.fori_loop(first, last, step, (state, zero, jnp.zeros((), jnp.int32)))


def _between(sampler, functions, key, state, first, last):
    # Arrays, since a plain number would be compiled in.
    return jax.block_until_ready(
        _advance(sampler, functions, key, state, jnp.asarray(first), jnp.asarray(last))
    )


def measure(sampler, target, step_size, seed, warmup=0):
    """Bias and error of each moment of the target.

    Each chain gives one number a moment, its mean over time; the spread over the chains is the error, with
    all autocorrelation in it.
    """
    names = list(target.moments)
    functions = tuple(target.moments[name][0] for name in names)
    exact = np.array([target.moments[name][1] for name in names])
    key_start, key_run = jax.random.split(jax.random.key(seed))
    state = _start(sampler, target.draw, key_start)
    goal = target.error * deviations(target)
    count = warmup + round(target.settle / step_size)
    state, _, worst = _between(sampler, functions, key_run, state, 0, count)
    sums, steps, seconds = 0.0, 0, 0.0
    for _ in range(MOST_SPANS):
        last = count + max(round(SPAN / step_size), 8)
        begun = time.process_time()
        state, more, failed = _between(sampler, functions, key_run, state, count, last)
        seconds += time.process_time() - begun
        sums, steps, count, worst = sums + np.asarray(more), steps + last - count, last, max(worst, failed)
        means = sums / steps
        error = means.std(axis=0, ddof=1) / np.sqrt(CHAINS)
        if worst or np.all(error <= goal) or not np.all(np.isfinite(means)):
            break
    ess = (deviations(target)[0] / error[0]) ** 2
    failure = Result(int(worst)).name if worst else ""
    return Measured(step_size, means.mean(axis=0) - exact, error, ess / seconds, failure)


_DEVIATIONS = {}


def exact_values(target, seed, number):
    """The moments' functions at exact draws of the target, ``[draw, moment]``."""

    def values(key):
        x = target.draw(key)
        return jnp.stack([function(x) for function, _ in target.moments.values()])

    return np.asarray(jax.jit(jax.vmap(values))(jax.random.split(jax.random.key(seed), number)))


def deviations(target):
    """Standard deviation of each moment's function under the target: the unit of the error bars."""
    kind = (target.name, repr(target.manifold))
    if kind not in _DEVIATIONS:
        _DEVIATIONS[kind] = exact_values(target, 7, 20_000).std(axis=0)
    return _DEVIATIONS[kind]
