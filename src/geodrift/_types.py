"""Type aliases of the core: arrays, pytrees, and the functions that make a target."""

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias, TypeVar

import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

AnyArray: TypeAlias = Array | np.ndarray
"""An array of JAX or NumPy; draws are NumPy arrays."""

Position: TypeAlias = PyTree[Float[AnyArray, "..."], "P"]
"""A point of a manifold: one array, of JAX or NumPy, or a pytree of arrays under a `Product`."""

Tangent: TypeAlias = PyTree[Float[Array, "..."], "P"]
"""A tangent vector in ambient coordinates, with the structure and shapes of its position."""

Batch: TypeAlias = PyTree
"""A pytree of arrays with leading axis ``[batch]`` (``[L, batch]`` for L inner steps), or None."""

NoiseVariance: TypeAlias = PyTree | None
"""Covariance of the gradient noise: None, or a prefix of the position's tree whose leaves are scalars,
diagonals (an array that broadcasts to the leaf) or matrices ``[..., n, n]``. What broadcasts to the leaf is a
diagonal: for a leaf ``[n, n]`` a matrix needs a further axis, ``[1, n, n]``."""

RandomKey: TypeAlias = Key[Array, ""]
Scalar: TypeAlias = Float[Array, ""]
Count: TypeAlias = Int[Array, ""]

SHARED = "shared by all chains"
_T = TypeVar("_T")
Shared: TypeAlias = Annotated[_T, SHARED]
"""Marks a field of a sampler's or an estimator's state that has one value for all chains, as in
``count: Shared[Array]``. `geodrift.sample` keeps such a field once; every other field has a leading axis
``[chain]``."""

LogDensity: TypeAlias = Callable[[Any], Scalar]
LogLikelihood: TypeAlias = Callable[[Any, Any], Float[Array, " batch"]]
