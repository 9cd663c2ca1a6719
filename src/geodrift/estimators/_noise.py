"""The noise variance of a minibatch gradient: given, or estimated by the empirical Fisher information."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from geodrift._errors import is_concrete
from geodrift._tree import as_float_arrays, broadcast_prefix, fits
from geodrift._types import Count, NoiseVariance, Position
from geodrift.manifolds import Manifold, leaf_manifolds

_KINDS = ("scalar-fisher", "diagonal-fisher")


class Fisher(eqx.Module):
    """In place of a noise variance: estimate it, in this form.

    Args:
        kind: ``"scalar-fisher"`` or ``"diagonal-fisher"``.

    Raises:
        ValueError: ``kind`` is neither.
    """

    kind: str = eqx.field(static=True)

    def __check_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ValueError(
                f"noise_variance = {self.kind!r}: must be None, an array or one of {', '.join(_KINDS)}"
            )


def as_noise_variance(given: Any) -> Fisher | NoiseVariance:
    """The value of the field ``variance`` for the argument ``noise_variance``."""
    if given is None or isinstance(given, Fisher):
        return given
    if isinstance(given, str):
        return Fisher(given)
    variance = as_float_arrays(given)
    for leaf in jax.tree.leaves(variance):
        if is_concrete(leaf) and not _may_be_variance(leaf):
            raise ValueError(
                f"noise_variance = {leaf}: variances must be 0 or more and finite, also on the diagonal of a"
                " matrix"
            )
    return variance


def check_given_variance(variance: Fisher | NoiseVariance, position: Position, manifold: Manifold) -> None:
    """Raise ValueError where a given V has no shape that fits, or two that do."""
    if variance is None or isinstance(variance, Fisher):
        return
    spread = broadcast_prefix(variance, position, name="noise_variance")
    leaves = zip(leaf_manifolds(manifold, position), spread, jax.tree.leaves(position), strict=True)
    for m, v, x in leaves:
        if m.event_ndim <= 1:  # where points are matrices, V is a variance for each entry
            _check_leaf(v.shape, x.shape)


def _check_leaf(given: tuple[int, ...], leaf: tuple[int, ...]) -> None:
    n = leaf[-1] if leaf else 1
    for_entries = fits(given, leaf)
    of_matrices = len(given) > 1 and given[-2:] == (n, n) and fits(given[:-2], leaf[:-1])
    if not for_entries and not of_matrices:
        raise ValueError(
            f"noise_variance has shape {given} for a leaf of shape {leaf}: give a number, a variance for each"
            f" entry, or matrices {(*leaf, n)}"
        )
    if for_entries and of_matrices and n > 1:
        raise ValueError(
            f"noise_variance has shape {given} for a leaf of shape {leaf}, which is one matrix or a variance"
            f" for each entry: give it as {(1,) * (len(leaf) - 1) + (n, n)} for one matrix, or as diagonal"
            f" matrices of shape {(*leaf, n)}"
        )


def initial_variance(fisher: Fisher, position: Position) -> PyTree:
    """Zeros of the shapes that `fisher_variance` returns."""
    if fisher.kind == "scalar-fisher":
        return jax.tree.map(lambda x: jnp.zeros((), x.dtype), position)
    return jax.tree.map(jnp.zeros_like, position)


def fisher_variance(
    fisher: Fisher,
    manifold: Manifold,
    position: Position,
    gradients: PyTree,
    data_size: int,
    replacement: bool,
) -> PyTree:
    r"""Estimated covariance of the tangent part of :math:`(N/B) \sum_b g_b`.

    :math:`(N^2/B) s^2`, with :math:`s^2` the sample variance (divisor B - 1) of the data's tangent
    gradients, times :math:`1 - B/N` without replacement. The scalar form is the trace divided by the
    dimension of the tangent space, leaf by leaf; the diagonal form is the variance of each ambient
    coordinate. Both are unbiased.

    Args:
        fisher: The form.
        manifold: Gives the tangent spaces.
        position: Where the gradients were taken.
        gradients: The data's gradients, leaves ``[batch, *leaf]``.
        data_size: N.
        replacement: Whether the batch was drawn with replacement.

    Raises:
        ValueError: The batch holds a single datum.
    """
    size = jax.tree.leaves(gradients)[0].shape[0]
    if size < 2:
        raise ValueError(
            f"a batch of {size}: estimating the noise variance needs 2 or more data; give larger batches, or"
            " noise_variance=None or a number"
        )
    factor = data_size**2 / size * (1.0 if replacement else 1.0 - size / data_size)
    leaves, structure = jax.tree.flatten(position)

    def variance(m: Manifold, x: Array, g: Array) -> Array:
        # The mean is subtracted first: the difference of two sums of squares loses all digits near a mode.
        tangent = jax.vmap(m.riemannian_gradient, (None, 0))(x, g - jnp.mean(g, axis=0))
        if fisher.kind == "scalar-fisher":
            squares = jax.vmap(m.inner, (None, 0, 0))(x, tangent, tangent)
            return factor * jnp.sum(squares) / ((size - 1) * m.dim(x.shape))
        return factor * jnp.sum(tangent * tangent, axis=0) / (size - 1)

    rows = zip(leaf_manifolds(manifold, position), leaves, jax.tree.leaves(gradients), strict=True)
    return jax.tree.unflatten(structure, [variance(*row) for row in rows])


def refreshed(count: Count, every: int, estimate: Callable[[], PyTree], stored: PyTree) -> PyTree:
    """A new estimate where ``count`` is a multiple of ``every``, else the stored one."""
    if every == 1:
        return estimate()
    return jax.lax.cond(count % every == 0, estimate, lambda: stored)


def _may_be_variance(values: Array) -> bool:
    """Whether numbers can be variances, or those on the diagonals can where they can be matrices."""
    square = values.ndim > 1 and values.shape[-1] == values.shape[-2]
    least = jnp.diagonal(values, axis1=-2, axis2=-1) if square else values
    return bool(jnp.isfinite(values).all() & (least >= 0).all())
