"""Whether two supports of NumPyro are one: their kinds, and the values of their bounds."""

from typing import Any

import jax
import numpy as np


def same_support(one: Any, other: Any) -> bool:
    """Whether they are; NumPyro's own ``==`` is False of bounds that are equal but two JAX arrays."""
    try:
        kinds: list[Any] = [jax.tree.structure(support) for support in (one, other)]
    except NotImplementedError:  # a constraint of one's own that is no pytree
        return bool(one == other)
    return kinds[0] == kinds[1] and all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(other)))
