"""One step of time h, part by part; Ma, Chen and Fox (2015), eq. 9 with the right sign of Gamma."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree

from geodrift import _tree
from geodrift._types import NoiseVariance, RandomKey
from geodrift._types import Scalar as Number
from geodrift.recipe._blocks import Block
from geodrift.recipe._dynamics import Coefficients, cells, in_parts, part_drift, row_names
from geodrift.recipe._noise import injected_noise
from geodrift.recipe._operators import Operator
from geodrift.recipe._parts import WHOLE, part, parts, replaced
from geodrift.recipe._properties import symmetry_code


class Dynamics(NamedTuple):
    """The process that a step discretises, with noisy gradients."""

    coefficients: Coefficients  # D and Q
    gradient: Callable[[PyTree, set], PyTree]  # of H at z; only the parts that are named need be right
    variance: Callable[[PyTree], NoiseVariance]  # V of that gradient at z, a prefix of z's tree
    noisy_part: Any  # the part of z whose gradient has noise; WHOLE for all of z


def move(
    key: RandomKey, h: Number, dynamics: Dynamics, start: PyTree, semi_implicit: bool
) -> tuple[PyTree, dict[Any, PyTree], Int[Array, ""]]:
    """One step.

    Args:
        key: Random key.
        h: Step size, time.
        dynamics: The process.
        start: z before the step.
        semi_implicit: Whether a part moves with the new values of the parts before it.

    Returns:
        z after the step; the parts of the gradient that were used, by name; and a `Result` code that tells
        of D, Q and the noise.
    """
    z, code = start, symmetry_code(dynamics.coefficients, start)
    used: dict[Any, PyTree] = {}
    for i, row in enumerate(row_names(dynamics.coefficients, start, strict=semi_implicit)):
        at = z if semi_implicit else start
        columns = _columns(dynamics.coefficients, row, at)
        gradient = dynamics.gradient(at, columns)
        velocity = part_drift(dynamics.coefficients, row, at, gradient)
        noise, of_noise = _part_noise(jax.random.fold_in(key, i), h, dynamics, row, at)
        z = replaced(z, row, _tree.axpy(1.0, noise, _tree.axpy(h, velocity, part(at, row))))
        used |= {column: part(gradient, column) for column in columns}
        code = jnp.maximum(code, of_noise)
    return z, used, code


def _columns(coefficients: Coefficients, row: Any, z: PyTree) -> set:
    """The parts of the gradient that the drift of a row depends on."""
    if row is WHOLE:
        return {WHOLE}
    return {column for operator in in_parts(coefficients, z) for column in cells(operator, row)}


def _part_noise(
    key: RandomKey, h: Number, dynamics: Dynamics, row: Any, z: PyTree
) -> tuple[PyTree, Int[Array, ""]]:
    """The noise that a step adds to the part ``row``, and a `Result` code that tells of it."""
    x = part(z, row)
    if row is WHOLE:
        diffusion, curl = (fn(z) for fn in dynamics.coefficients)
        return injected_noise(key, h, diffusion, [diffusion, curl], dynamics.variance(z), x)
    blocks = in_parts(dynamics.coefficients, z)
    block = cells(blocks[0], row).get(row)
    noise_operators = _noise_operators(dynamics, blocks, row, z)
    if not noise_operators:
        return injected_noise(key, h, block, [], None, x)
    (column, operators), *_ = noise_operators.items()
    variance = dynamics.variance(z)
    if variance is not None:
        _check_independent(dynamics, blocks, z)
        leaves = _tree.broadcast_prefix(variance, z)
        variance = part(jax.tree.unflatten(jax.tree.structure(z), leaves), column)
    return injected_noise(key, h, block, operators, variance, x)


def _noise_operators(
    dynamics: Dynamics, blocks: tuple[Block, Block], row: Any, z: PyTree
) -> dict[Any, list[Operator]]:
    """The operators of a row through which gradient noise enters it, by the part of the gradient."""
    noisy = parts(z) if dynamics.noisy_part is WHOLE else [dynamics.noisy_part]
    found = {c: [cells(m, row)[c] for m in blocks if c in cells(m, row)] for c in noisy}
    return {column: operators for column, operators in found.items() if operators}


def _check_independent(dynamics: Dynamics, blocks: tuple[Block, Block], z: PyTree) -> None:
    """Raise ValueError unless the noise of each part of the gradient enters one row, and each row from one.

    Noise that enters two rows is correlated between them, so that it cannot be subtracted row by row.
    """
    paths = [(row, column) for row in parts(z) for column in _noise_operators(dynamics, blocks, row, z)]
    if len({row for row, _ in paths}) < len(paths) or len({column for _, column in paths}) < len(paths):
        listed = ", ".join(f"{column!r} to {row!r}" for row, column in paths)
        raise ValueError(
            f"V cannot be subtracted where its noise goes from {listed}: where the auxiliary parts have no"
            " noise give the estimator of the position and augmentation=[...], else D and Q as Dense over all"
            " of z, or noise_variance=None to the estimator"
        )
