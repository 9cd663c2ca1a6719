"""One step of time h, part by part; Ma, Chen and Fox (2015), eq. 9 with the sign of Gamma mended."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree

from geodrift import _tree
from geodrift._types import NoiseVariance, RandomKey
from geodrift._types import Scalar as Number
from geodrift.recipe._blocks import Block
from geodrift.recipe._dynamics import Coefficients, cells, in_parts, part_drift, row_names
from geodrift.recipe._noise import injected_noise
from geodrift.recipe._operators import Operator
from geodrift.recipe._parts import WHOLE, part, parts, replaced


class Surroundings(NamedTuple):
    """What a step needs of its sampler."""

    coefficients: Coefficients
    gradient: Callable[[PyTree, set], PyTree]  # of H at z, right in the parts that are named
    variance: Callable[[PyTree], NoiseVariance]  # of the gradient of H, as a prefix of z's tree
    noisy: Any  # the part whose gradient has noise; WHOLE for all of z
    semi_implicit: bool


def move(
    key: RandomKey, h: Number, around: Surroundings, start: PyTree
) -> tuple[PyTree, dict[Any, PyTree], Bool[Array, ""]]:
    """Z after a step, the parts of the gradient that were used, and whether a noise was negative."""
    z, used, negative = start, {}, jnp.zeros((), bool)
    for i, row in enumerate(row_names(around.coefficients, start, strict=around.semi_implicit)):
        at = z if around.semi_implicit else start
        columns = _columns(around.coefficients, row, at)
        gradient = around.gradient(at, columns)
        velocity = part_drift(around.coefficients, row, at, gradient)
        noise, below = _part_noise(jax.random.fold_in(key, i), h, around, row, at)
        z = replaced(z, row, _tree.axpy(1.0, noise, _tree.axpy(h, velocity, part(at, row))))
        used |= {column: part(gradient, column) for column in columns}
        negative = negative | below
    return z, used, negative


def _columns(coefficients: Coefficients, row: Any, z: PyTree) -> set:
    """The parts of the gradient that a row reads."""
    if row is WHOLE:
        return {WHOLE}
    return {column for operator in in_parts(coefficients, z) for column in cells(operator, row)}


def _part_noise(
    key: RandomKey, h: Number, around: Surroundings, row: Any, z: PyTree
) -> tuple[PyTree, Bool[Array, ""]]:
    x = part(z, row)
    if row is WHOLE:
        operators = tuple(fn(z) for fn in around.coefficients)
        return injected_noise(key, h, operators[0], list(operators), around.variance(z), x)
    blocks = in_parts(around.coefficients, z)
    diffusion = cells(blocks[0], row).get(row)
    reach = _reach(around, blocks, row, z)
    if not reach:
        return injected_noise(key, h, diffusion, [], None, x)
    (column, operators), *_ = reach.items()
    variance = around.variance(z)
    if variance is not None:
        _check_one_way(around, blocks, z)
        leaves = _tree.broadcast_prefix(variance, z)
        variance = part(jax.tree.unflatten(jax.tree.structure(z), leaves), column)
    return injected_noise(key, h, diffusion, operators, variance, x)


def _reach(
    around: Surroundings, blocks: tuple[Block, Block], row: Any, z: PyTree
) -> dict[Any, list[Operator]]:
    """The operators that bring gradient noise to a row, by the part that it comes from."""
    noisy = parts(z) if around.noisy is WHOLE else [around.noisy]
    found = {c: [cells(m, row)[c] for m in blocks if c in cells(m, row)] for c in noisy}
    return {column: operators for column, operators in found.items() if operators}


def _check_one_way(around: Surroundings, blocks: tuple[Block, Block], z: PyTree) -> None:
    """Each part's gradient noise must reach one part alone: noise that two share is not of blocks."""
    ways = [(row, column) for row in parts(z) for column in _reach(around, blocks, row, z)]
    if len({row for row, _ in ways}) < len(ways) or len({column for _, column in ways}) < len(ways):
        listed = ", ".join(f"{column!r} to {row!r}" for row, column in ways)
        raise ValueError(
            f"V cannot be subtracted where its noise goes from {listed}: where the auxiliary parts have no"
            " noise give the estimator of the position and augmentation=[...], else D and Q as Dense over all"
            " of z, or noise_variance=None to the estimator"
        )
