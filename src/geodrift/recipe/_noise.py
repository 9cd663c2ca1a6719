r"""The noise that a step injects, with the noise of the gradient subtracted; Ma, Chen and Fox (2015), eq. 9.

The estimate of the gradient of H has the noise n ~ N(0, V). The drift of a part of z then has the noise -M n,
with M the sum of the operators in the part's row of D + Q that act on the noisy part of the gradient. A step
of time h injects :math:`N(0, h (2D - h B))`, with :math:`B = M V M^T`.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PyTree

from geodrift._errors import Result
from geodrift._tree import broadcast_prefix
from geodrift._types import NoiseVariance, RandomKey
from geodrift._types import Scalar as Number
from geodrift.integrators._variance_shapes import is_matrix
from geodrift.recipe._blocks import Block, dense
from geodrift.recipe._operators import TOLERANCE, Dense, Diagonal, Operator, Scalar, symmetric_root
from geodrift.recipe._parts import parts, white


def injected_noise(
    key: RandomKey,
    h: Number,
    diffusion: Operator | None,
    noise_operators: list[Operator],
    variance: NoiseVariance,
    x: PyTree,
) -> tuple[PyTree, Int[Array, ""]]:
    """The noise that a step adds to a part of z.

    Args:
        key: Random key.
        h: Step size, time.
        diffusion: D of the part; None for 0.
        noise_operators: The operators whose sum is M; empty where no gradient noise reaches the part.
        variance: V, as the estimator states it; None to subtract nothing.
        x: The part.

    Returns:
        The noise, and a `Result` code: whether 2D - h B is positive semidefinite, and if not whether D is
        (what is negative is taken as 0).

    Raises:
        ValueError: A root of 2D - h B needs a matrix over all entries of the part, and none was given.
    """
    if variance is None or not noise_operators:
        if diffusion is None:
            return jax.tree.map(jnp.zeros_like, x), jnp.asarray(Result.OK, jnp.int32)
        noise, indefinite = diffusion.noise(key, x)
        scale = jnp.sqrt(h)
        return jax.tree.map(lambda n: scale * n, noise), _code(indefinite, indefinite)
    given = [Scalar(jnp.zeros(())) if diffusion is None else diffusion, *noise_operators]
    diagonals = [_entries(operator, x) for operator in given]
    noise = white(key, x)
    variances = broadcast_prefix(variance, x)
    if all(d is not None for d in diagonals):
        d, sums = diagonals[0], [sum(column) for column in zip(*diagonals[1:], strict=True)]
        rows = zip(d, sums, variances, jax.tree.leaves(noise), strict=True)
        leaves = [_leaf_noise(h, *row) for row in rows]
        negative = jnp.stack([n for _, n in leaves])
        indefinite = jnp.stack([jnp.any(entries < 0) for entries in d])
        code = _code(jnp.any(negative), jnp.any(indefinite))
        return jax.tree.unflatten(jax.tree.structure(x), [n for n, _ in leaves]), code
    if not any(isinstance(operator, Dense) for operator in given):
        pairs = zip(given, diagonals, strict=True)
        names = sorted({type(operator).__name__ for operator, diagonal in pairs if diagonal is None})
        raise ValueError(
            f"a noise variance V with {', '.join(names)}: 2D - h B has no factor without a matrix over all"
            " coordinates; give D as dense(D, z), or an estimator with noise_variance=None"
        )
    matrices = [dense(operator, x).matrix for operator in given]
    flat, unflatten = ravel_pytree(noise)
    m = sum(matrices[1:])
    covariance = 2 * h * matrices[0] - h * h * m @ _full_variance(variances, x) @ m.T
    scale = jnp.max(jnp.abs(2 * h * matrices[0]))
    moved, negative, worst = _correlated(covariance, flat, scale)
    indefinite = 2 * h * worst @ matrices[0] @ worst < -TOLERANCE * scale
    return unflatten(moved.astype(flat.dtype)), _code(negative, negative & indefinite)


def _code(negative: Bool[Array, ""], indefinite: Bool[Array, ""]) -> Int[Array, ""]:
    """The `Result` code of a step whose noise has a negative variance, or whose D has one."""
    code = jnp.where(negative, Result.NEGATIVE_NOISE_VARIANCE, Result.OK)
    return jnp.where(indefinite, Result.NOT_SEMIDEFINITE, code).astype(jnp.int32)


def _entries(operator: Operator, x: PyTree) -> list[Array] | None:
    """The diagonal of a diagonal operator, leaf by leaf; None for any other operator."""
    leaves = jax.tree.leaves(x)
    if isinstance(operator, Scalar):
        return [jnp.broadcast_to(operator.value, leaf.shape) for leaf in leaves]
    if isinstance(operator, Diagonal):
        entries = jax.tree.leaves(operator.entries)
        return [jnp.broadcast_to(d, leaf.shape) for d, leaf in zip(entries, leaves, strict=True)]
    if isinstance(operator, Block) and all(row == column for row, column, _ in operator.cells()):
        found: list[Any] = []
        for row, child in parts(x).items():
            cell = operator.blocks.get(row, {}).get(row, Scalar(jnp.zeros(())))
            found.append(_entries(cell, child))
        return None if None in found else [d for child in found for d in child]
    return None


def _leaf_noise(
    h: Number, d: Array, m: Array, variance: Array, white: Array
) -> tuple[Array, Bool[Array, ""]]:
    """The noise of a leaf with D and M diagonal, and whether a variance was negative.

    Args:
        h: Step size, time.
        d: Entries of D.
        m: Entries of M.
        variance: V of the leaf: a number, a variance for each entry, or matrices.
        white: Standard normal numbers in the shape of the leaf.
    """
    fresh = 2 * h * d
    if not is_matrix(variance, white):
        left = fresh - h * h * m * m * variance
        noise = jnp.sqrt(jnp.maximum(left, 0)) * white
        return noise.astype(white.dtype), jnp.any(left < 0)
    identity = jnp.eye(white.shape[-1], dtype=white.dtype)
    covariance = fresh[..., None] * identity - h * h * m[..., :, None] * variance * m[..., None, :]
    noise, negative, _ = _correlated(covariance, white, jnp.max(jnp.abs(fresh)))
    return noise.astype(white.dtype), negative


def _correlated(
    covariance: Float[Array, "... n n"], white: Float[Array, "... n"], scale: Number
) -> tuple[Float[Array, "... n"], Bool[Array, ""], Float[Array, "... n"]]:
    """Noise of this covariance, and whether an eigenvalue was negative beyond the rounding of ``scale``.

    Returns:
        The noise, whether one was negative, and the vector of the least.
    """
    root, eigenvalues, vectors = symmetric_root(covariance)
    # A singular D has eigenvalues 0 up to rounding, which must not count as negative.
    rounding = 100 * covariance.shape[-1] * jnp.finfo(covariance.dtype).eps * scale
    negative = jnp.any(eigenvalues[..., 0] < -rounding)
    return (root @ white[..., None])[..., 0], negative, vectors[..., 0]


def _full_variance(variances: list[Array], x: PyTree) -> Float[Array, "n n"]:
    """V as one matrix over the entries of the part."""
    pieces: list[Array] = []
    for v, leaf in zip(variances, jax.tree.leaves(x), strict=True):
        if is_matrix(v, leaf):
            n = leaf.shape[-1]
            pieces.extend(jnp.broadcast_to(v, (*leaf.shape, n)).reshape(-1, n, n))
        else:
            pieces.append(jnp.diag(jnp.broadcast_to(v, leaf.shape).reshape(-1)))
    return jax.scipy.linalg.block_diag(*pieces)
