"""Is D symmetric and positive semidefinite, is Q skew? Measured on their structure, without a full matrix."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from geodrift._tree import axpy
from geodrift.recipe._blocks import Block
from geodrift.recipe._low_rank import LowRank
from geodrift.recipe._operators import Dense, Diagonal, Operator, Scalar
from geodrift.recipe._parts import white

# Relative to the operator's largest entry or eigenvalue; rounding is far below.
TOLERANCE = 1e-4


class Defects(NamedTuple):
    """How far D and Q are from what they must be, relative to their size; right is 0 up to rounding."""

    asymmetry: Float[Array, ""]  # of D: D - D^T
    negativity: Float[Array, ""]  # of D: the least eigenvalue with its sign turned, 0 where it is positive
    symmetry: Float[Array, ""]  # of Q: Q + Q^T


def defects(diffusion: Operator, curl: Operator, z: PyTree) -> Defects:
    """The defects at z.

    Raises:
        ValueError: D is of a form without a factor for its noise.
    """
    least, largest = _eigenvalue_bounds(diffusion)
    return Defects(
        asymmetry=_transpose_distance(diffusion, -1.0, z),
        negativity=jnp.where(least < 0, -least / jnp.where(largest > 0, largest, 1.0), 0.0),
        symmetry=_transpose_distance(curl, 1.0, z),
    )


def sentences(found: Defects) -> list[str]:
    """What is wrong beyond rounding and what to do; the numbers may have axes, the largest counts."""
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


def _transpose_distance(operator: Operator, sign: float, z: PyTree) -> Float[Array, ""]:
    """Size of M + sign M^T over that of M, by their products with a random vector, entry by entry."""
    v = white(jax.random.key(0), z)
    product = operator.matvec(v)
    distance = axpy(sign, operator.transpose().matvec(v), product)
    size = _largest(product)
    return jnp.where(size > 0, _largest(distance) / jnp.where(size > 0, size, 1.0), _largest(distance))


def _largest(v: PyTree) -> Float[Array, ""]:
    return jnp.max(jnp.stack([jnp.max(jnp.abs(leaf)) for leaf in jax.tree.leaves(v)]))


def _eigenvalue_bounds(operator: Operator) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The least eigenvalue (of `LowRank`, that of its diagonal: its factor needs no less), and a size."""
    if isinstance(operator, Scalar):
        return operator.value, jnp.abs(operator.value)
    if isinstance(operator, Diagonal):
        entries = jnp.concatenate([jnp.ravel(d) for d in jax.tree.leaves(operator.entries)])
        return jnp.min(entries), jnp.max(jnp.abs(entries))
    if isinstance(operator, LowRank):
        least, size = _eigenvalue_bounds(operator.rest)
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
