"""Names for the arrays and pytrees that pass between the parts of the core."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

Position: TypeAlias = PyTree[Float[Array | np.ndarray, "..."], "P"]
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
LogDensity: TypeAlias = Callable[[Any], Scalar]
LogLikelihood: TypeAlias = Callable[[Any, Any], Float[Array, " batch"]]
