"""The noise variance of a minibatch gradient: given, or estimated by the empirical Fisher information."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from geodrift._tree import as_float_arrays, broadcast_prefix
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
    return Fisher(given) if isinstance(given, str) else as_float_arrays(given)


def check_given_variance(variance: Fisher | NoiseVariance, position: Position, manifold: Manifold) -> None:
    """Raise ValueError where a given V can be read both as a matrix and as a variance for each entry."""
    if variance is None or isinstance(variance, Fisher):
        return
    manifolds = leaf_manifolds(manifold, position)
    for m, v, x in zip(
        manifolds, broadcast_prefix(variance, position), jax.tree.leaves(position), strict=True
    ):
        if m.event_ndim > 1:
            continue  # where points are matrices, V is a variance for each entry
        n = x.shape[-1]
        if n > 1 and v.shape[-2:] == (n, n) and _fits(v.shape, x.shape) and _fits(v.shape[:-2], x.shape[:-1]):
            raise ValueError(
                f"noise_variance has shape {v.shape} for a leaf of shape {x.shape}, which is one matrix or a"
                f" variance for each entry: give it as {(1,) * (x.ndim - 1) + (n, n)} for one matrix, or as"
                f" diagonal matrices of shape {(*x.shape, n)}"
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
        raise ValueError(f"a batch of {size}: estimating the noise variance needs 2 or more data")
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


def check_positive_integer(name: str, value: Any) -> None:
    """Raise ValueError unless ``value`` is a positive integer."""
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} = {value!r}: must be a whole number, 1 or more")


def _fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether an array of that shape broadcasts to the target."""
    pairs = zip(shape[::-1], target[::-1], strict=False)
    return len(shape) <= len(target) and all(given in (1, needed) for given, needed in pairs)
