"""The clusters of a mixture, and which chains have found them, beside one partition of the rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Int

from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._answers import Findings
from geodrift.models.kit._verdict import verdict_of
from geodrift.models.von_mises_fisher_mixture._cluster_parts import cluster_parts
from geodrift.models.von_mises_fisher_mixture._places import told

NUMBERS = (
    "number_of_clusters",
    "number_parameter",
    "log_joint",
    "background_weight",
)  # that no order changes


def shared_clusters(
    draws: Mapping[str, np.ndarray], partition: Int[np.ndarray, " row"], given: bool = False
) -> Findings:
    """Each cluster's share and concentration, by which chains it was found, and what may be believed of it.

    Args:
        draws: Stored variables of all chains, [chain, draw, ...].
        partition: Labels of the rows; -1 is none.
        given: Whether the number of clusters is.
    """
    ordered, agreed = told(draws, given)
    parts = cluster_parts(ordered, agreed)
    for place, part in enumerate(parts):
        part["label"] = _label(ordered, agreed, place, draws["assignments"], partition)
    numbers = {name: draws[name] for name in NUMBERS}
    return Findings(parts, verdict_of(agreed, numbers, "cluster"))


def _label(
    ordered: Mapping[str, Any],
    agreed: Agreement,
    place: int,
    assignments: Int[np.ndarray, "C N row"],
    partition: Int[np.ndarray, " row"],
) -> int:
    """The label that most of a cluster's rows have, over all draws."""
    by = agreed.found[:, place]
    inside = assignments[by] == ordered["labels"][by][:, :, place, None]
    counts = np.bincount(partition + 1, weights=inside.sum(axis=(0, 1)))
    return int(counts.argmax()) - 1
