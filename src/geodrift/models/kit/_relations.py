"""Relations: components of one chain that are two, or part of one, in another.

A component that few chains have found may be nothing new: where another chain has two themes in one, or one
theme in two, a mixture of two components resembles a third as much as the same component in two chains does.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from geodrift.models.kit._alignment import Directions, unit_directions

CANDIDATES = 10  # components that a second part is looked for among: those most like the whole
SHARES = np.array([0.2, 0.35, 0.5, 0.65, 0.8])  # of the first part in a mixture


class Relation(NamedTuple):
    """What a component is in other chains.

    Attributes:
        place: The component.
        kind: "split" if it is two components there; "merged" if it is part of one, together with ``partner``.
        partner: Another component of the chain that has found this one; None of those that are split.
        chains: In how many chains that have not found it.
    """

    place: int
    kind: Literal["split", "merged"]
    partner: int | None
    chains: int


def relations_of(
    means: Float[np.ndarray, "C K V"],
    cosines: Float[np.ndarray, "C C K K"],
    found: Bool[np.ndarray, "C K"],
    represents: Int[np.ndarray, " K"],
    places: Int[np.ndarray, " P"],
    threshold: float,
    directions: Directions,
) -> list[Relation]:
    """Relations of some components; those that have none are left out.

    Args:
        means: Mean directions of the components of each chain, of unit length, in the common order.
        cosines: Of any two of them, [chain, other chain, component, component of the other].
        found: Whether a chain has found the component of a place.
        represents: The chain that a place's component is taken from.
        places: The components asked about.
        threshold: The cosine above which two components are the same.
        directions: See `agreement`.
    """
    relations = []
    for place in places.tolist():
        chain, seen = int(represents[place]), []
        for other in np.flatnonzero(~found[:, place]).tolist():
            pair = means[chain], means[other], cosines[chain, other]
            seen += list(_in_chain(*pair, place, threshold, directions))
        if seen:
            kind, partner = max(seen, key=seen.count)
            relations.append(Relation(place, kind, partner, seen.count((kind, partner))))
    return relations


def told_once(relations: list[Relation]) -> list[Relation]:
    """The relations without what they say twice: of two that are merged each has one, with the other in it.

    Of the two the one of more chains stays, in the place of the first.
    """
    told: dict[tuple[str, frozenset[int | None]], Relation] = {}
    for relation in relations:
        key = relation.kind, frozenset({relation.place, relation.partner})
        if key not in told or told[key].chains < relation.chains:
            told[key] = relation
    return list(told.values())


def _in_chain(
    own: Float[np.ndarray, "K V"],
    others: Float[np.ndarray, "K V"],
    cosines: Float[np.ndarray, "K K"],
    place: int,
    threshold: float,
    directions: Directions,
) -> Iterator[tuple[Literal["split", "merged"], int | None]]:
    """What the component of a place is in one other chain, if anything."""
    nearest = int(cosines[place].argmax())
    if cosines[place, nearest] > threshold:
        return
    two, _ = best_pair(own[place], others, cosines[place], nearest, threshold, directions)
    one, partner = best_pair(others[nearest], own, cosines[:, nearest], place, threshold, directions)
    if max(two, one) > threshold:
        yield ("split", None) if two >= one else ("merged", partner)


def best_pair(
    whole: Float[np.ndarray, " V"],
    parts: Float[np.ndarray, "K V"],
    cosines: Float[np.ndarray, " K"],
    first: int,
    threshold: float,
    directions: Directions,
) -> tuple[float, int]:
    """The largest cosine of a mixture of one part and another with the whole, and which the other is.

    Where no mixture's cosine exceeds the threshold it may be any number below, and the other any part.

    Args:
        whole: Direction of unit length.
        parts: Directions of unit length.
        cosines: Of the parts with the whole.
        first: The one part.
        threshold: The cosine of interest.
        directions: See `agreement`.
    """
    others = cosines.copy()
    others[first] = -np.inf
    seconds = np.argsort(-others)[: min(CANDIDATES, len(parts) - 1)]
    probabilities = directions is not unit_directions
    if probabilities:
        # The root of w p + (1 - w) q is at most that of w p and that of (1 - w) q together.
        seconds = seconds[np.hypot(cosines[first], cosines[seconds]) > threshold]
    best = (-np.inf, -1)
    for second in seconds.tolist():
        pair = parts[[first, second]]
        # Components that are probabilities are the squares of their directions.
        weights = pair**2 if probabilities else pair
        mixtures = directions(SHARES[:, None] * weights[0] + (1 - SHARES)[:, None] * weights[1])
        cosine = float((mixtures @ whole / np.linalg.norm(mixtures, axis=1)).max())
        best = max(best, (cosine, second))
    return best
