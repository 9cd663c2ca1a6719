"""The posterior of a number of components, for JSON and in words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from geodrift.models.clusters._cluster_count import law_of_count
from geodrift.models.kit._verdict import Verdict


def law_of_number(
    numbers: Int[np.ndarray, "C N"], name: str, share: float = 0.0, data: str = "row"
) -> dict[str, Any]:
    """The posterior of a number of components.

    Args:
        numbers: Of all draws, [chain, draw].
        name: Of the number.
        share: Of the data, above which a component counts.
        data: What components are shares of, in the singular.

    Returns:
        ``{"name", "of", "mean", "low", "high", "probabilities"}``, with the ends of the 90% interval.
    """
    law = law_of_count(numbers, share)
    return {
        "name": name,
        "of": f"more than {100 * share:g}% of the {data}s" if share else f"any {data}",
        "mean": float(law.draws.mean()),
        "low": law.low,
        "high": law.high,
        "probabilities": {int(n): float(p) for n, p in zip(law.values, law.probabilities, strict=True)},
    }


def numbers_text(numbers: Sequence[dict[str, Any]], component: str, verdict: Verdict) -> str:
    """What `law_of_number` found, in a line, and whether the chains of a run differ in it."""
    told = [f"{each['low']} to {each['high']} with {each['of']}" for each in numbers]
    differ = ", of chains that differ in it (below)" if verdict.differs_in(f"number_of_{component}s") else ""
    return f"Number of {component}s, 90%: {', '.join(told)}{differ}."
