"""Logs of Gamma draws as a kernel for GPUs, in which the trials of a draw stay in registers.

In JAX each trial of `_gamma.log_gamma` goes through memory, and all draws wait for the last one. Here those
of one program of the GPU wait for each other. A draw reads 4 bytes and writes 4; it takes some 200
operations, most of them for random numbers, by Threefry (Salmon et al. 2011) of the draw and the trial.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Float, Int, UInt32

from geodrift._types import RandomKey

DRAWS = 512  # of a program
WARPS = 4
BOOST = 2**31 - 1  # the place of trials that is taken for what follows them
ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)
PARITY = 0x1BD11BDA


def log_gamma_of_gpu(
    key: RandomKey, shape: Float[Array, "..."], *, interpret: bool = False
) -> Float[Array, "..."]:
    """Log of a Gamma draw of rate 1 for each shape; the law of `_gamma.log_gamma`, in float32.

    Args:
        key: Of the draws.
        shape: Fewer than 2^31.
        interpret: Whether to run the kernel step by step as it stands, on any device.
    """
    shapes = shape.ravel()
    programs = -(-shapes.size // DRAWS)
    shapes = jnp.pad(shapes, (0, programs * DRAWS - shapes.size), constant_values=1.0)
    drawn = pl.pallas_call(
        _draws,
        grid=(programs,),
        out_shape=jax.ShapeDtypeStruct(shapes.shape, jnp.float32),
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=WARPS, num_stages=1),
    )(jax.random.bits(key, (2,), jnp.uint32), shapes)
    return drawn[: shape.size].reshape(shape.shape)


def _draws(key: Any, shapes: Any, out: Any) -> None:
    """The draws of one program; Marsaglia and Tsang (2000)."""
    first = pl.program_id(0) * DRAWS
    shape, words = shapes[pl.ds(first, DRAWS)], (key[0], key[1])
    numbers = first + jnp.arange(DRAWS, dtype=jnp.int32)
    below_one = shape < 1
    d = jnp.where(below_one, shape + 1, shape) - 1 / 3
    c = 1 / jnp.sqrt(9 * d)

    def trial(state: tuple) -> tuple:
        i, log_draw, waiting = state
        bits = _threefry(words, numbers, i)
        x = jnp.sqrt(jnp.float32(2)) * jax.lax.erf_inv(2 * _uniform(bits[0]) - 1)
        y = jnp.maximum(c * x, -0.999999)
        log_y = jnp.log1p(y)
        # d (1 - v + log v) for v = (1 + y)^3, from terms of size 1.
        bend = d * (3 * (log_y - y) - y * y * (3 + y))
        taken = (c * x > -1) & (jnp.log(_uniform(bits[1])) < 0.5 * x * x + bend)
        log_draw = jnp.where(waiting > 0, jnp.log(d) + 3 * log_y, log_draw)
        return i + 1, log_draw, jnp.where(taken, 0, waiting)

    # A shape that is not positive and finite has no draw: NaN, and no endless loop.
    right = (shape > 0) & (shape < jnp.inf)
    start = (jnp.int32(0), jnp.zeros_like(shape), right.astype(jnp.int32))
    log_draw = jax.lax.while_loop(lambda state: jnp.max(state[2]) > 0, trial, start)[1]
    boost = jnp.log(_uniform(_threefry(words, numbers, jnp.int32(BOOST))[0])) / shape
    drawn = jnp.where(below_one, log_draw + boost, log_draw)
    out[pl.ds(first, DRAWS)] = jnp.where(right, drawn, jnp.nan)


def _uniform(bits: UInt32[Array, " n"]) -> Float[Array, " n"]:
    """From 2^-25 to 1 - 2^-24, the middles of equal parts but for rounding: never 0, and never 1."""
    return jnp.minimum((bits >> 8).astype(jnp.int32).astype(jnp.float32) + 0.5, 2.0**24 - 1) * 2.0**-24


def _threefry(
    key: tuple[UInt32[Array, ""], UInt32[Array, ""]], number: Int[Array, " n"], trial: Int[Array, ""]
) -> tuple[UInt32[Array, " n"], UInt32[Array, " n"]]:
    """Two random words of each number; Threefry-2x32 of 20 rounds."""
    keys = (*key, key[0] ^ key[1] ^ jnp.uint32(PARITY))
    x = number.astype(jnp.uint32) + keys[0]
    y = jnp.broadcast_to(trial.astype(jnp.uint32), x.shape) + keys[1]
    for part in range(5):
        for rotation in ROTATIONS[part % 2]:
            x = x + y
            y = ((y << rotation) | (y >> (32 - rotation))) ^ x
        x = x + keys[(part + 1) % 3]
        y = y + keys[(part + 2) % 3] + jnp.uint32(part + 1)
    return x, y
