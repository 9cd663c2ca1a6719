"""Tests whether D is symmetric and positive semidefinite and Q skew, without forming a full matrix."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from geodrift._errors import Result
from geodrift._tree import axpy
from geodrift.recipe._blocks import Block
from geodrift.recipe._dynamics import Coefficients, is_constant
from geodrift.recipe._low_rank import LowRank, Outer, SkewLowRank
from geodrift.recipe._operators import TOLERANCE, Dense, Diagonal, Operator, Scalar
from geodrift.recipe._parts import parts, white


class Defects(NamedTuple):
    """How far D and Q are from what they must be, relative to their size; 0 up to rounding is right."""

    asymmetry: Float[Array, ""]  # size of D - D^T
    negativity: Float[Array, ""]  # minus the least eigenvalue of D; 0 where it is positive
    symmetry: Float[Array, ""]  # size of Q + Q^T


def defects(diffusion: Operator, curl: Operator, z: PyTree) -> Defects:
    """The defects at z.

    Raises:
        ValueError: D holds an operator for which there is no way to draw noise.
    """
    least, largest = _eigenvalue_bounds(diffusion)
    return Defects(
        asymmetry=_symmetry_defect(diffusion, diffusion, -1.0, z, z),
        negativity=jnp.where(least < 0, -least / jnp.where(largest > 0, largest, 1.0), 0.0),
        symmetry=_symmetry_defect(curl, curl, 1.0, z, z),
    )


def symmetry_code(coefficients: Coefficients, z: PyTree) -> Int[Array, ""]:
    """A `Result` code: whether D is symmetric and Q skew at z, where they are `Dense` functions of z.

    Constants are what they were where the chain started. Of other operators the comparison would cost a step
    more than a few percent, and most of them are right by construction.
    """
    code = jnp.asarray(Result.OK, jnp.int32)
    told = zip(coefficients, (-1.0, 1.0), (Result.NOT_SEMIDEFINITE, Result.NOT_SKEW), strict=True)
    for function, sign, wrong in told:
        operator = function(z)
        if isinstance(operator, Dense) and not is_constant(function):
            defect = _symmetry_defect(operator, operator, sign, z, z)
            code = jnp.where(defect > TOLERANCE, wrong, code).astype(jnp.int32)
    return code


def sentences(found: Defects) -> list[str]:
    """A sentence for each defect beyond rounding: what is wrong and what to do.

    Args:
        found: Defects at one point, or at several along leading axes, of which the largest counts.
    """
    asymmetry, negativity, symmetry = (float(jnp.max(defect)) for defect in found)
    wrong = []
    if not asymmetry <= TOLERANCE:
        wrong.append(
            f"D is not symmetric: D - D^T is {asymmetry:.2g} of it; give (D + D^T)/2 and put the rest in Q"
        )
    if not negativity <= TOLERANCE:
        wrong.append(
            f"D is not positive semidefinite: it has an eigenvalue of -{negativity:.2g} times its largest; a"
            " noise cannot have a negative variance, so give a D of the form B B^T"
        )
    if not symmetry <= TOLERANCE:
        wrong.append(
            f"Q is not skew: Q + Q^T is {symmetry:.2g} of it; make each block minus the transpose of its"
            " mirror image, or give SkewLowRank, and put a symmetric part in D"
        )
    return wrong


def _symmetry_defect(
    upper: Operator | None, lower: Operator | None, sign: float, row: PyTree, column: PyTree
) -> Float[Array, ""]:
    """Size of ``upper + sign lower^T`` over that of the larger operator.

    Blocks are compared one by one, since their units may differ, and the largest defect counts.

    Args:
        upper: A block of the operator, or all of it; None for 0.
        lower: The block at the transposed place.
        sign: -1 to test for symmetry, 1 to test for skewness.
        row: The part that ``upper`` maps to.
        column: The part that ``upper`` acts on.
    """
    sizes = [jnp.zeros(()) if m is None else _size(m) for m in (upper, lower)]
    size = jnp.maximum(*sizes)
    if upper is None or lower is None:
        return jnp.where(size > 0, 1.0, 0.0)
    if isinstance(upper, Block) and isinstance(lower, Block):
        pairs = {(i, j) for i, j, _ in upper.cells()} | {(i, j) for j, i, _ in lower.cells()}
        defects = [
            _symmetry_defect(
                upper.blocks.get(i, {}).get(j),
                lower.blocks.get(j, {}).get(i),
                sign,
                parts(row)[i],
                parts(column)[j],
            )
            for i, j in pairs
        ]
        return jnp.max(jnp.stack([jnp.zeros(()), *defects]))
    if isinstance(upper, Dense) and isinstance(lower, Dense):
        defect = _largest(upper.matrix + sign * lower.matrix.T)
    else:
        v = white(jax.random.key(0), column)
        defect = _largest(axpy(sign, lower.transpose().matvec(v), upper.matvec(v)))
    return jnp.where(size > 0, defect / jnp.where(size > 0, size, 1.0), 0.0)


def _size(operator: Operator) -> Float[Array, ""]:
    """A bound on the operator's entries, in whose computation nothing cancels."""
    if isinstance(operator, Block):
        return jnp.max(jnp.stack([jnp.zeros(()), *(_size(cell) for _, _, cell in operator.cells())]))
    if isinstance(operator, Outer | SkewLowRank):
        return _largest(operator.left) * _largest(operator.right)
    if isinstance(operator, LowRank):
        return _largest(operator.directions) ** 2 + _largest(operator.diagonal)
    return _largest(operator)


def _largest(v: PyTree) -> Float[Array, ""]:
    return jnp.max(jnp.stack([jnp.max(jnp.abs(leaf)) for leaf in jax.tree.leaves(v)]))


def _eigenvalue_bounds(operator: Operator) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """A bound that is 0 or more if and only if noise can be drawn, and the size of the eigenvalues.

    The bound is the least eigenvalue; of `LowRank` that of its diagonal, whose root its noise needs.
    """
    if isinstance(operator, Scalar):
        return operator.value, jnp.abs(operator.value)
    if isinstance(operator, Diagonal):
        entries = jnp.concatenate([jnp.ravel(d) for d in jax.tree.leaves(operator.entries)])
        return jnp.min(entries), jnp.max(jnp.abs(entries))
    if isinstance(operator, LowRank):
        least, size = _eigenvalue_bounds(operator.diagonal_operator)
        squares = sum(jnp.sum(u * u) for u in jax.tree.leaves(operator.directions))
        return least, size + squares
    if isinstance(operator, Dense):
        eigenvalues = jnp.linalg.eigvalsh((operator.matrix + operator.matrix.T) / 2)
        return eigenvalues[0], jnp.max(jnp.abs(eigenvalues))
    if isinstance(operator, Block) and all(row == column for row, column, _ in operator.cells()):
        bounds = [_eigenvalue_bounds(cell) for _, _, cell in operator.cells()]
        if not bounds:
            return jnp.zeros(()), jnp.zeros(())
        least = [jnp.where(size > 0, low / jnp.where(size > 0, size, 1.0), 0.0) for low, size in bounds]
        return jnp.min(jnp.stack(least)), jnp.ones(())
    if isinstance(operator, Block):
        coupled = next((row, column) for row, column, _ in operator.cells() if row != column)
        raise ValueError(f"D has a block between {coupled}: give LowRank or Dense over both parts")
    raise ValueError(
        f"D holds {type(operator).__name__}: the noise has a factor for Scalar, Diagonal, LowRank, Dense and"
        " blocks of these on the diagonal alone"
    )
