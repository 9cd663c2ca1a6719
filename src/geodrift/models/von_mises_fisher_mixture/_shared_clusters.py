"""The clusters of a mixture in places that are the same for all draws, and which chains have found them.

Draws differ in their number of clusters. Each gives its largest, as many as any draw has of half the weight
that is worth telling of, and the kit finds their order and how far the chains agree, by directions. A draw
that has fewer has empty places. The direction of an empty place lies in a dimension that is its own and its
chain's: chains that have not found a cluster do not agree on having found its absence.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Int

from geodrift.models.kit._agreement import Agreement, aligned, of_places
from geodrift.models.kit._answers import Findings
from geodrift.models.kit._component_size import component_size
from geodrift.models.kit._next_draw import INTERVAL
from geodrift.models.kit._verdict import verdict_of

LEAST_WEIGHT = 0.01  # mean over all draws, from which on a cluster is told of
ABSENT = -2  # label of an empty place; -1 is the background
NUMBERS = ("clusters", "number_parameter", "log_joint", "background_weight")  # that no order changes


def candidates(draws: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The largest clusters of all draws, the same number of each, by decreasing weight.

    Args:
        draws: Stored variables, [chain, draw, cluster, ...], NaN where a draw has no such cluster.

    Returns:
        ``directions`` [chain, draw, place, coordinate], those of empty places included, ``weights``,
        ``concentrations`` (NaN where a place is empty) and ``labels`` (`ABSENT`).
    """
    weights = np.nan_to_num(draws["weights"])
    number = max(1, int((weights >= LEAST_WEIGHT / 2).sum(axis=2).max()))
    order = np.argsort(-weights, axis=2, kind="stable")[:, :, :number]
    kappa, weights = (
        np.take_along_axis(values, order, axis=2) for values in (draws["concentrations"], weights)
    )
    directions = np.take_along_axis(draws["directions"], order[..., None], axis=2).astype(np.float64)
    empty = ~np.isfinite(kappa)
    directions[empty] = 0.0
    directions[~empty] /= np.linalg.norm(directions[~empty], axis=1, keepdims=True)
    width = int(empty.sum(axis=2).max())
    own = np.zeros((*empty.shape, len(empty) * width))
    chain, draw, place = np.nonzero(empty)
    own[chain, draw, place, chain * width + place - (number - width)] = 1.0
    labels = np.where(empty, ABSENT, np.take_along_axis(draws["labels"], order, axis=2))
    return {
        "directions": np.concatenate([directions, own], axis=3),
        "weights": weights,
        "concentrations": kappa,
        "labels": labels.astype(np.int64),
    }


def shared_clusters(draws: Mapping[str, np.ndarray], partition: Int[np.ndarray, " row"]) -> Findings:
    """Each cluster's weight and concentration, by which chains it was found, and what may be believed of it.

    Args:
        draws: Stored variables of all chains, [chain, draw, ...].
        partition: Labels of the rows; -1 is none.
    """
    ordered, agreed = aligned(candidates(draws), "directions")
    agreed = of_present(ordered, agreed)
    weights = ordered["weights"].mean(axis=(0, 1))
    places = np.argsort(-weights, kind="stable")
    places = places[: max(1, int((weights >= LEAST_WEIGHT).sum()))]
    ordered = {name: values[:, :, places] for name, values in ordered.items()}
    agreed = of_places(agreed, places)
    parts = [_told(ordered, agreed, place, draws["assignments"], partition) for place in range(len(places))]
    numbers = {name: draws[name] for name in NUMBERS}
    return Findings(parts, verdict_of(agreed, numbers, "cluster"))


def of_present(ordered: Mapping[str, np.ndarray], agreed: Agreement) -> Agreement:
    """The agreement where no chain represents a place that is empty in most of its draws.

    That happens only where no two chains agree, and one is as good a representative as the other: it is then
    the one in which the cluster has the largest weight.

    Args:
        ordered: From `candidates`, in the order of the agreement.
        agreed: Of these.
    """
    present = np.isfinite(ordered["concentrations"]).mean(axis=1) > 0.5
    empty = np.flatnonzero((agreed.found & ~present).any(axis=0))
    cosines = agreed.cosines.copy()
    for place in empty:
        means = ordered["directions"][:, :, place].mean(axis=1)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        cosines[:, place] = means @ means[ordered["weights"][:, :, place].mean(axis=1).argmax()]
    relations = [each for each in agreed.relations if each.place not in empty]
    return agreed._replace(cosines=cosines, relations=relations)


def _told(
    ordered: Mapping[str, np.ndarray],
    agreed: Agreement,
    place: int,
    assignments: Int[np.ndarray, "C N row"],
    partition: Int[np.ndarray, " row"],
) -> dict[str, Any]:
    chains, by, shared = len(agreed.cosines), agreed.found[:, place], bool(agreed.shared[place])
    intervals = shared or chains == 1
    size = component_size(ordered["weights"], agreed, place, intervals)
    kappa = ordered["concentrations"][by, :, place]
    kappa = kappa[np.isfinite(kappa)]
    low, high = np.quantile(kappa, INTERVAL, method="weibull") if intervals else (None, None)
    # Of its rows in all draws most have this label.
    inside = assignments[by] == ordered["labels"][by][:, :, place, None]
    counts = np.bincount(partition + 1, weights=inside.sum(axis=(0, 1)))
    return {
        "cluster": place,
        "label": int(counts.argmax()) - 1,
        "chains": chains,
        "found": int(by.sum()),
        "shared": shared,
        "weight": size["size"],
        "weight_low": size["size_low"],
        "weight_high": size["size_high"],
        "concentration": float(kappa.mean()),
        "concentration_low": None if low is None else float(low),
        "concentration_high": None if high is None else float(high),
    }
