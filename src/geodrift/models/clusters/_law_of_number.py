"""The posterior of a number of clusters, for JSON and in words."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from geodrift.models.clusters._cluster_count import law_of_count


def law_of_number(numbers: np.ndarray, name: str, share: float = 0.0) -> dict[str, Any]:
    """The posterior of a number of clusters.

    Args:
        numbers: Of all draws.
        name: Of the number.
        share: Of the rows, above which a cluster counts.

    Returns:
        ``{"name", "of", "mean", "low", "high", "probabilities"}``, with the ends of the 90% interval.
    """
    law = law_of_count(numbers.ravel(), share)
    return {
        "name": name,
        "of": f"more than {100 * share:g}% of the rows" if share else "any row",
        "mean": float(law.draws.mean()),
        "low": law.low,
        "high": law.high,
        "probabilities": {int(n): float(p) for n, p in zip(law.values, law.probabilities, strict=True)},
    }


def numbers_text(numbers: Sequence[dict[str, Any]]) -> str:
    """One line."""
    told = [f"{each['low']} to {each['high']} with {each['of']}" for each in numbers]
    return f"Number of clusters, 90%: {', '.join(told)}."
