"""The size of a component, which is its share of the words, documents or rows, with its interval."""

import numpy as np
from jaxtyping import Float

from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._next_draw import weight_intervals


def component_size(
    sizes: Float[np.ndarray, "C N K"],
    agreed: Agreement,
    place: int,
    with_interval: bool,
    *,
    largest: float = 1.0,
) -> dict[str, float | None]:
    """The size of one component.

    Args:
        sizes: In aligned draws.
        agreed: How far the chains agree.
        place: Which component.
        with_interval: Whether there is an interval to give. Its variance between chains is moderated by that
            of the other components that the same chains have found.
        largest: What a size can be: a share is 1 at most, other numbers of a component may be any.

    Returns:
        ``"size"``, its mean over the chains that have found the component, and the ends ``"size_low"`` and
        ``"size_high"`` of its 90% interval, or None.
    """
    by = agreed.found[:, place]
    found = {"size": float(sizes[by, :, place].mean()), "size_low": None, "size_high": None}
    if not with_interval:
        return found
    beside = agreed.found[by].all(axis=0)
    at = np.array([np.flatnonzero(beside).searchsorted(place)])
    low, high = weight_intervals(sizes[by][:, :, beside], at, largest=largest)
    return found | {"size_low": float(low[0]), "size_high": float(high[0])}
