"""What a model has learnt of each component beside its words and its size, such as a prior."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._component_size import component_size


def learnt_of(
    draws: Mapping[str, np.ndarray], agreed: Agreement, told: Collection[str], component: str
) -> list[dict[str, Any]]:
    """Every variable that has one number a component, with intervals as sizes have them.

    Args:
        draws: Aligned, [chain, draw, component, ...] by name.
        agreed: How far the chains agree.
        told: Variables that are told elsewhere.
        component: What a component is called.

    Returns:
        For JSON, ``{"quantity", component, "mean", "low", "high"}``; ends are None of a component that the
        chains do not share.
    """
    found = []
    for name, values in draws.items():
        if name in told or values.ndim != 3 or values.min(initial=0.0) < 0:
            continue
        for place in range(values.shape[2]):
            with_interval = len(values) == 1 or bool(agreed.shared[place])
            size = component_size(values, agreed, place, with_interval)
            ends = {"mean": size["size"], "low": size["size_low"], "high": size["size_high"]}
            found.append({"quantity": name, component: place} | ends)
    return found
