"""Clusters of draws that differ in their number, in places that are the same for all draws.

A draw stores its clusters by decreasing number of rows, as many as it has. What is told of is those that have
a share of the rows which is worth telling: every draw gives its largest clusters, as many as any draw has of
half that share, and of these places the kit finds the order and the agreement, as of any components. Where
the number of clusters is given, all are told of.

Smaller clusters are left out from the start. Of a handful of rows the draws of a cluster are near those of
the prior, so all of them resemble one another, and the kit would ask of others to be more alike than that.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from geodrift.models.kit._agreement import Agreement, aligned, of_places

LEAST_SHARE = 0.01  # of the rows, from which on a cluster is told of
VARIABLES = ("clusters", "cluster_weights", "cluster_sizes")


def candidates(
    draws: Mapping[str, np.ndarray], given: bool, least: float = LEAST_SHARE
) -> dict[str, np.ndarray]:
    """The first clusters of all draws, the same number of each; a draw that has fewer gets empty ones.

    Args:
        draws: `VARIABLES` by name, [chain, draw, cluster, ...], NaN where a draw has no such cluster.
        given: Whether the number of clusters is.
        least: The share of the rows that is worth telling of.
    """
    sizes = np.nan_to_num(draws["cluster_sizes"])
    number = sizes.shape[2] if given else max(1, int((sizes >= least / 2).sum(axis=2).max()))
    first = {name: np.array(draws[name][:, :, :number]) for name in VARIABLES}
    empty = np.isnan(first["cluster_weights"])
    first["clusters"][empty] = 1.0 / first["clusters"].shape[3]
    for name in VARIABLES[1:]:
        first[name][empty] = 0.0
    return first


def with_own_words(first: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Empty clusters made of a word of their own and their chain's, which is added to the vocabulary.

    Else they would resemble one another, and chains that lack a cluster agree that they have found it.

    Args:
        first: From `candidates`.
    """
    empty = first["cluster_weights"] == 0
    number, width = empty.shape[2], int(empty.sum(axis=2).max())
    clusters = np.where(empty[..., None], 0.0, first["clusters"]).astype(first["clusters"].dtype)
    own = np.zeros((*empty.shape, len(empty) * width), clusters.dtype)
    chain, draw, place = np.nonzero(empty)
    own[chain, draw, place, chain * width + place - (number - width)] = 1.0
    return {**first, "clusters": np.concatenate([clusters, own], axis=3)}


def of_present(ordered: Mapping[str, np.ndarray], agreed: Agreement) -> Agreement:
    """The agreement where no chain represents a place that is empty in most of its draws.

    That happens only where no two chains agree: the place is then that of the chain in which the cluster has
    the largest weight.

    Args:
        ordered: From `with_own_words`, in the order of the agreement.
        agreed: Of these.
    """
    weights = ordered["cluster_weights"]
    empty = np.flatnonzero((agreed.found & ((weights > 0).mean(axis=1) <= 0.5)).any(axis=0))
    cosines = agreed.cosines.copy()
    for place in empty:
        means = np.sqrt(ordered["clusters"][:, :, place]).mean(axis=1)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        cosines[:, place] = means @ means[weights[:, :, place].mean(axis=1).argmax()]
    relations = [each for each in agreed.relations if each.place not in empty]
    return agreed._replace(cosines=cosines, relations=relations)


def told(
    draws: Mapping[str, np.ndarray], given: bool, least: float = LEAST_SHARE
) -> tuple[dict[str, np.ndarray], Agreement]:
    """Clusters that are told of, the largest first, in one order for all draws.

    Args:
        draws: See `candidates`.
        given: Whether the number of clusters is.
        least: The share of the rows that a cluster has to have on average.

    Returns:
        The variables by name, [chain, draw, place, ...], and how far the chains agree.
    """
    first = candidates(draws, given, least)
    words = first["clusters"].shape[3]
    ordered, agreed = aligned(with_own_words(first), "clusters", np.sqrt)
    agreed = of_present(ordered, agreed)
    ordered["clusters"] = np.array(ordered["clusters"][..., :words])
    ordered["clusters"][ordered["cluster_weights"] == 0] = 1.0 / words
    sizes = ordered["cluster_sizes"].mean(axis=(0, 1))
    places = np.argsort(-sizes, kind="stable")
    if not given:
        places = places[: max(1, int((sizes >= least).sum()))]
    return {name: values[:, :, places] for name, values in ordered.items()}, of_places(agreed, places)


def agreement_of(draws: Mapping[str, np.ndarray], given: bool) -> Agreement:
    """How far the chains agree on the clusters that are told of."""
    return told(draws, given)[1]


def numbers_above(sizes: Float[np.ndarray, "C N K"], least: float = LEAST_SHARE) -> np.ndarray:
    """How many clusters of each draw have more than a share of the rows, [chain, draw].

    Sizes are stored in single precision, in which the share is compared.
    """
    return (np.nan_to_num(sizes) > np.float32(least)).sum(axis=2)


def spaced(number: int, most: int) -> np.ndarray:
    """At most so many of the numbers below ``number``, evenly spaced."""
    return np.linspace(0, number - 1, min(most, number)).astype(int)
