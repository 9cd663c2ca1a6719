"""The clusters of a mixture in places that are the same for all draws.

Draws differ in their number of clusters. Each gives its largest, as many as any draw has of half the weight
that is worth telling of, and the kit finds their order and how far the chains agree, by directions. A draw
that has fewer has empty places. The direction of an empty place lies in a dimension that is its own and its
chain's: chains that have not found a cluster do not agree on having found its absence. Where the number of
clusters is given, all are told of.
"""

from collections.abc import Mapping

import numpy as np

from geodrift._errors import InputError
from geodrift.models.kit._agreement import Agreement, aligned, of_places
from geodrift.models.kit._alignment import unit_directions
from geodrift.models.kit._places import of_present

TOLD = ("directions", "concentrations", "weights", "labels")  # variables of a cluster that is told of
LEAST_WEIGHT = 0.01  # mean over all draws, from which on a cluster is told of
ABSENT = -2  # label of an empty place; -1 is the background


def candidates(draws: Mapping[str, np.ndarray], given: bool) -> dict[str, np.ndarray]:
    """The largest clusters of all draws, the same number of each, by decreasing weight.

    Args:
        draws: Stored variables, [chain, draw, cluster, ...], NaN where a draw has no such cluster.
        given: Whether the number of clusters is.

    Returns:
        ``directions`` [chain, draw, place, coordinate], those of empty places included, ``weights``,
        ``concentrations`` (NaN where a place is empty), ``labels`` (`ABSENT`), and ``numbers``: which of the
        draw's clusters each is.
    """
    weights = np.nan_to_num(draws["weights"])
    large = max(1, int((weights >= LEAST_WEIGHT / 2).sum(axis=2).max()))
    number = weights.shape[2] if given else large
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
        "numbers": order,
    }


def told(draws: Mapping[str, np.ndarray], given: bool) -> tuple[dict[str, np.ndarray], Agreement]:
    """Clusters that are told of, that of the largest weight first, in one order for all draws.

    Args:
        draws: See `candidates`.
        given: Whether the number of clusters is.

    Returns:
        The variables of `candidates` by name, [chain, draw, place, ...], directions of empty places NaN, and
        how far the chains agree.

    Raises:
        InputError: No draw has a cluster.
    """
    if not draws["weights"].shape[2]:
        raise InputError(
            "there is no cluster to tell of: in every draw all rows are of the background, which is uniform"
            " on the sphere; where that is not so, fit with a smaller background"
        )
    dim = draws["directions"].shape[3]
    ordered, agreed = aligned(candidates(draws, given), "directions")
    present, weights = np.isfinite(ordered["concentrations"]), ordered["weights"]
    agreed = of_present(ordered["directions"], present, weights, agreed, unit_directions)
    weights = weights.mean(axis=(0, 1))
    places = np.argsort(-weights, kind="stable")
    if not given:
        places = places[: max(1, int((weights >= LEAST_WEIGHT).sum()))]
    found = {name: values[:, :, places] for name, values in ordered.items()}
    directions = np.array(found["directions"][..., :dim])
    directions[~np.isfinite(found["concentrations"])] = np.nan
    return found | {"directions": directions}, of_places(agreed, places)


def with_every_draw(values: np.ndarray) -> np.ndarray:
    """Values, [chain, draw, place, ...], with those of draws that lack a cluster taken from the others.

    They are taken from the same chain in turn: given that the cluster is there, that is its law. A chain that
    never has it keeps 1 in all numbers.
    """
    found = np.array(values, np.float64)
    for chain, place in np.ndindex(found.shape[0], found.shape[2]):
        own = found[chain, :, place]
        present = np.isfinite(own.reshape(len(own), -1)).all(axis=1)
        if not present.any():
            own[:] = 1.0
        elif not present.all():
            number = int((~present).sum())
            own[~present] = own[present][np.arange(number) % int(present.sum())]
    return found
