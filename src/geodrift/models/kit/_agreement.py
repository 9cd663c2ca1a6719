"""Agreement: which components independent chains have found alike.

The posterior of a mixture or a topic model has many modes, and a chain that starts anywhere rests in one of
them. A component that several independent chains have found is a finding about the documents; one that a
single chain has found may be a finding about that chain. Components are compared by the cosine between their
mean directions (see `_alignment`).

Two different components of one chain are known not to be the same. How alike these are, each with the one
that resembles it most, says what two unrelated components may score by chance: of such pairs at most
`CHANCE` pass for the same.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import linear_sum_assignment

from geodrift.kernels._blas import one_blas_thread
from geodrift.models.kit._alignment import (
    Directions,
    common_order,
    in_order,
    mean_directions,
    unit_directions,
)
from geodrift.models.kit._relations import Relation, relations_of

LEAST_COSINE = 0.8  # below it components are not called the same, however unlike all others are
CHANCE = 0.05
LENGTHS_WITHIN = 1e-2  # of 1, the squared lengths of directions
SHARED_BY = 0.75  # of the chains: a component that as many have found is shared


class Agreement(NamedTuple):
    """Which chains have found which component.

    Attributes:
        orders: For each chain, draw and place, the number of the draw's component.
        cosines: Of each chain's component in each place with that of the chain that represents the place: the
            one with which most chains agree.
        threshold: The cosine above which two components are the same.
        chance: The share of the components of a chain that exceed the threshold with another of the same
            chain.
        relations: Of components that are not shared and that other chains have in two, or as part of one.
    """

    orders: Int[np.ndarray, "C N K"]
    cosines: Float[np.ndarray, "C K"]
    threshold: float
    chance: float
    relations: list[Relation]

    @property
    def found(self) -> Bool[np.ndarray, "C K"]:
        """Whether a chain has found the component of a place."""
        return self.cosines > self.threshold

    @property
    def shared(self) -> Bool[np.ndarray, " K"]:
        """Whether as many chains have found a component as `SHARED_BY` asks for, two at least."""
        return self.found.sum(axis=0) >= least_chains(len(self.cosines))


def least_chains(num_chains: int) -> int:
    """How many of so many chains have to find a component that is called shared."""
    return max(2, int(np.ceil(SHARED_BY * num_chains)))


def agreement(
    draws: Iterable[Float[np.ndarray, "N K V"]], directions: Directions = unit_directions
) -> Agreement:
    """Bring the components of all draws of all chains in one order, and say how far the chains agree.

    Each chain's draws are aligned with one another, then the chains by their mean directions. A draw is
    never compared with another chain's: where that chain has no such component, it would be matched with
    another one at each draw.

    Args:
        draws: Components of each chain, in any order in each draw; one chain is held at a time.
        directions: Function from the components of one draw to their directions.

    Raises:
        ValueError: Directions are not of unit length.
    """
    # The products are small: several threads, which wait for each other, would take ten times as long where
    # other processes work.
    with one_blas_thread():
        return _agreement(draws, directions)


def _agreement(draws: Iterable[Float[np.ndarray, "N K V"]], directions: Directions) -> Agreement:
    of_chains, of_means = [], []
    for chain in draws:
        _check_lengths(directions(chain[-1]))
        of_chains.append(common_order(chain, directions))
        of_means.append(mean_directions(chain, of_chains[-1], directions))
        del chain  # or it would be held while the next one is read
    means = np.stack(of_means)
    cosines = _cosines(means)
    places = _places(means, cosines)
    orders = np.stack([order[:, place] for order, place in zip(of_chains, places, strict=True)])
    means = np.take_along_axis(means, places[:, :, None], axis=1)
    for chain, other in np.ndindex(cosines.shape[:2]):
        cosines[chain, other] = cosines[chain, other][np.ix_(places[chain], places[other])]
    unlike = _cosines_of_others(cosines)
    own = np.diagonal(cosines, axis1=2, axis2=3)[range(len(means)), range(len(means))]
    # Components of a chain that are equal resemble one another as each does itself, which it is in any case.
    most = float(np.nextafter(own.min(), own.dtype.type(0)))
    threshold = min(most, max(LEAST_COSINE, float(np.quantile(unlike, 1 - CHANCE, method="higher"))))
    between = np.moveaxis(np.diagonal(cosines, axis1=2, axis2=3), 2, 0)  # [place, chain, chain]
    # A chain represents a place if most chains agree with it, and of several such chains the most.
    support = (between > threshold).sum(axis=2) + between.mean(axis=2)
    represents = support.argmax(axis=1)
    of_places = between[np.arange(len(represents)), represents].T
    found = of_places > threshold
    lonely = np.flatnonzero(found.sum(axis=0) < least_chains(len(found)))
    relations = relations_of(means, cosines, found, represents, lonely, threshold, directions)
    return Agreement(orders, of_places, threshold, float((unlike > threshold).mean()), relations)


def _check_lengths(directions: Float[np.ndarray, "K V"]) -> None:
    """Refuse components of another length: cosines, and intervals of weights, would be of no meaning."""
    squares = (directions.astype(np.float64) ** 2).sum(axis=1)
    off = np.abs(squares - 1.0)
    if not off.max() < LENGTHS_WITHIN:
        raise ValueError(
            "components must be probabilities, of sum 1, or unit vectors: the squared length of a direction"
            f" is {squares[off.argmax()]:.4g}; compare shares of the sum, and store the sums beside them"
        )


def aligned(
    draws: Mapping[str, np.ndarray], variable: str, directions: Directions = unit_directions
) -> tuple[dict[str, np.ndarray], Agreement]:
    """Variables of the components in the order that makes draws and chains agree.

    Args:
        draws: By name, [chain, draw, component, ...].
        variable: The one by which components are told apart.
        directions: See `agreement`.
    """
    agreed = agreement(iter(draws[variable]), directions)
    orders = agreed.orders.reshape(-1, agreed.orders.shape[2])
    flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in draws.items()}
    ordered = in_order(flat, orders)
    return {name: values.reshape(draws[name].shape) for name, values in ordered.items()}, agreed


def of_places(agreed: Agreement, places: np.ndarray) -> Agreement:
    """The agreement on some places, in their order."""
    now = {int(place): number for number, place in enumerate(places)}
    relations = [
        Relation(now[each.place], each.kind, None if each.partner is None else now[each.partner], each.chains)
        for each in agreed.relations
        if each.place in now and (each.partner is None or each.partner in now)
    ]
    return agreed._replace(
        orders=agreed.orders[:, :, places], cosines=agreed.cosines[:, places], relations=relations
    )


def _cosines(means: Float[np.ndarray, "C K V"]) -> Float[np.ndarray, "C C K K"]:
    """Of any two components of any two chains, [chain, other chain, component, component of the other]."""
    cosines = np.empty((len(means), len(means), means.shape[1], means.shape[1]), means.dtype)
    for chain, other in zip(*np.triu_indices(len(means)), strict=True):
        cosines[chain, other] = means[chain] @ means[other].T
        cosines[other, chain] = cosines[chain, other].T
    return cosines


def _places(
    means: Float[np.ndarray, "C K V"], cosines: Float[np.ndarray, "C C K K"]
) -> Int[np.ndarray, "C K"]:
    """For each chain the component that belongs in each place.

    Chains are matched with the one that resembles all others most, then with the mean of all, until nothing
    changes.
    """
    resemblance = np.zeros(cosines.shape[:2])
    for chain, other in zip(*np.triu_indices(len(means), 1), strict=True):
        pair = cosines[chain, other]
        resemblance[chain, other] = resemblance[other, chain] = pair[linear_sum_assignment(-pair)].sum()
    most_alike = int(resemblance.sum(axis=1).argmax())
    found = np.stack([linear_sum_assignment(-cosines[most_alike, chain])[1] for chain in range(len(means))])
    for _ in range(9):
        total = np.take_along_axis(means, found[:, :, None], axis=1).sum(axis=0)
        reference = total / np.linalg.norm(total, axis=1, keepdims=True)
        previous = found
        found = np.stack([linear_sum_assignment(-(reference @ chain.T))[1] for chain in means])
        if (found == previous).all():
            break
    return found


def _cosines_of_others(cosines: Float[np.ndarray, "C C K K"]) -> Float[np.ndarray, " n"]:
    """The cosine of each component with the one of the same chain that resembles it most."""
    chains, components = np.arange(len(cosines)), np.arange(cosines.shape[2])
    if len(components) == 1:
        return np.zeros(len(chains))
    within = cosines[chains, chains]
    within[:, components, components] = -1.0
    return within.max(axis=2).ravel()
