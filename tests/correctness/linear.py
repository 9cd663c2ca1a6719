"""The exact law of a sampler whose step is linear, from the step itself: no simulation.

On a Gaussian target many samplers map ``z -> M z + c + G w``, with z all the numbers of the state and w the
standard normals of the step. Putting w in the place of `jax.random.normal` and differentiating gives M, c and
G; a Lyapunov equation then gives the stationary covariance.
"""

from typing import NamedTuple
from unittest import mock

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy import linalg

from geodrift.integrators import _normals


class LinearStep(NamedTuple):
    move: np.ndarray  # M
    offset: np.ndarray  # c
    gain: np.ndarray  # G
    start: np.ndarray  # where the position is in z
    end: np.ndarray


class _Normals:
    """Stands in for `jax.random.normal`, and deals out a vector."""

    def __init__(self, numbers):
        self.numbers, self.used = numbers, 0

    def __call__(self, key, shape=(), dtype=float):
        size = int(np.prod(shape))
        dealt = jnp.zeros(size) if self.numbers is None else self.numbers[self.used : self.used + size]
        self.used += size
        return dealt.reshape(shape).astype(dtype)


def linear_step(sampler, position):
    """The step as a linear map, or None when it is not one."""
    state = sampler.init(jax.random.key(1), position)
    numbers, rest = eqx.partition(state, eqx.is_inexact_array)
    flat, unravel = ravel_pytree(numbers)

    def step(z, w, seed=2, count=0):
        normals = _Normals(w)
        given = eqx.combine(unravel(z), rest)._replace(count=jnp.asarray(count, jnp.int32))
        with mock.patch.object(jax.random, "normal", normals):
            new, _ = sampler.step(jax.random.key(seed), given)
        return ravel_pytree(eqx.filter(new, eqx.is_inexact_array))[0], normals.used

    # Without compilation a scan is a loop, each of whose rounds draws its own normals: not all beforehand,
    # which is the same noise, as tests/core/test_normals.py shows.
    with jax.disable_jit(), mock.patch.object(_normals, "LARGEST_AHEAD", 0):
        _, used = step(flat, None)
        if used == 0:
            return None
        rng = np.random.default_rng(0)
        z, w = (jnp.asarray(rng.normal(size=size)) for size in (flat.size, used))
        move, gain = jax.jacfwd(lambda z, w: step(z, w)[0], (0, 1))(0 * z, 0 * w)
        offset = step(0 * z, 0 * w)[0]
        predicted = move @ z + gain @ w + offset
        for seed, count in ((2, 0), (3, 1), (4, 2), (5, 3)):
            end, again = step(z, w, seed, count)
            if again != used or not np.allclose(end, predicted, rtol=1e-9, atol=1e-9):
                return None
    place = state._replace(position=jax.tree.map(lambda x: x + 1.0, state.position))
    moved = ravel_pytree(eqx.filter(place, eqx.is_inexact_array))[0] - flat
    where = np.flatnonzero(np.asarray(moved))
    return LinearStep(*map(np.asarray, (move, offset, gain)), where[0], where[-1] + 1)


def stationary(step):
    """Mean and covariance of the position in the long run."""
    n = len(step.move)
    assert np.max(np.abs(np.linalg.eigvals(step.move))) < 1 - 1e-9
    mean = np.linalg.solve(np.eye(n) - step.move, step.offset)
    covariance = linalg.solve_discrete_lyapunov(step.move, step.gain @ step.gain.T)
    part = slice(step.start, step.end)
    return mean[part], covariance[part, part]


def expectation(function, mean, covariance):
    """E[f] of a quadratic f under a normal law."""
    hessian = jax.hessian(function)(jnp.asarray(mean))
    return float(function(jnp.asarray(mean)) + 0.5 * jnp.sum(hessian * covariance))
