"""Shapes of a noise variance: number, diagonal or matrix, and which of them a manifold allows."""

from jaxtyping import Array, Float

from geodrift.manifolds import Embedded, Manifold


def is_matrix(variance: Array, x: Array) -> bool:
    """Whether a noise variance is a matrix: it is one if it does not broadcast to the leaf.

    For a leaf ``[n, n]`` an array ``[n, n]`` is therefore a variance for each entry, which is what an
    estimate from data is. Estimators refuse it where a user gives it, since a matrix may be meant.
    """
    if variance.ndim > x.ndim:
        return True
    pairs = zip(variance.shape[::-1], x.shape[::-1], strict=False)
    return not all(given in (1, needed) for given, needed in pairs)


def is_one_number(a: Float[Array, "..."], manifold: Manifold) -> bool:
    """Whether a friction or a variance is the same along all coordinates of a point."""
    return all(axis == 1 for axis in a.shape[-manifold.event_ndim :])


def check_variance_fits(manifold: Manifold, x: Array, variance: Float[Array, "..."] | None) -> None:
    """Raise ValueError where the manifold does not allow a noise variance of this shape."""
    if variance is None or is_one_number(variance, manifold):
        return
    if manifold.event_ndim > 1 and is_matrix(variance, x):
        allowed = f"whose points are matrices, it must be a number or broadcast to the shape {x.shape}"
    elif not isinstance(manifold, Embedded):
        allowed = "whose metric is not that of the coordinates, it must be one number for each point"
    else:
        return
    raise ValueError(f"noise_variance has shape {variance.shape}: on {manifold!r}, {allowed}")
