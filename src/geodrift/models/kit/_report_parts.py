"""The parts of a report that are functions of aligned draws: the same of a run and of an estimator."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._component_map import component_map
from geodrift.models.kit._told_apart import told_apart
from geodrift.models.kit._verdict import Verdict

APART = 12  # words


def kinds_of(verdict: Verdict) -> list[str]:
    """How sure each component is, in a word; see `Report`."""
    if verdict.chains == 1:
        return ["own"] * len(verdict.found)
    related = {relation.place: relation.kind for relation in verdict.relations}
    shared, kinds = set(verdict.shared), []
    for place, number in enumerate(verdict.found):
        alone = "one chain" if number == 1 else "some chains"
        kinds.append("shared" if place in shared else related.get(place, alone))
    return kinds


def of_draws(
    draws: Mapping[str, np.ndarray],
    variable: str,
    agreed: Agreement,
    parts: list[dict[str, Any]],
    vocabulary: Sequence[str] | None,
    signed: bool,
) -> dict[str, Any]:
    """Fields ``apart`` and ``map`` of a `Report`.

    Args:
        draws: Aligned, [chain, draw, component, ...] by name.
        variable: By which components are told apart.
        agreed: How far the chains agree.
        parts: From `component_words`.
        vocabulary: V words; None where components do not weigh words.
        signed: Whether components are unit vectors.
    """
    values, found = draws[variable], agreed.found
    means = np.stack([values[found[:, k], :, k].mean(axis=(0, 1)) for k in range(values.shape[2])])
    sizes = np.array([part.get("size", 1.0) for part in parts])
    return {
        "apart": [] if vocabulary is None else told_apart(means, sizes, vocabulary, APART),
        "map": component_map(values, agreed, signed),
    }
