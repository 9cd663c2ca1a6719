"""Components of draws that differ in their number, in places that are the same for all draws.

A draw stores its components by decreasing size, as many as it has. What is told of is those that have a share
of the data which is worth telling: every draw gives its largest components, as many as any draw has of half
that share, and of these places the kit finds the order and the agreement, as of any components. Where the
number of components is given, all are told of.

Smaller ones are left out from the start. Of a handful of data the draws of a component are near those of the
prior, so all of them resemble one another, and the kit would ask of others to be more alike than that.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from geodrift.driver import Run
from geodrift.models.kit._agreement import Agreement, aligned, of_places
from geodrift.models.kit._alignment import Directions
from geodrift.models.kit._datatree import component_datatree
from geodrift.models.kit._found_draws import with_intervals_of_shared

LEAST_SHARE = 0.01  # of the data, from which on a component is told of


def variables(component: str) -> tuple[str, str, str]:
    """The stored variables of components: their words, their weights, and their shares of the data."""
    return f"{component}s", f"{component}_weights", f"{component}_sizes"


def candidates(
    draws: Mapping[str, np.ndarray], given: bool, least: float = LEAST_SHARE, component: str = "cluster"
) -> dict[str, np.ndarray]:
    """The first components of all draws, the same number of each; a draw that has fewer gets empty ones.

    An empty one is made of a word of its own and its chain's, which is added to the vocabulary. Else they
    would resemble one another, and chains that lack a component agree that they have found it.

    Args:
        draws: `variables` by name, [chain, draw, component, ...], NaN where a draw has no such component.
        given: Whether the number of components is.
        least: The share of the data that is worth telling of.
        component: What a component is called.
    """
    of_words, of_weights, of_sizes = variables(component)
    sizes = np.nan_to_num(draws[of_sizes])
    number = sizes.shape[2] if given else max(1, int((sizes >= least / 2).sum(axis=2).max()))
    weights, stored = draws[of_weights][:, :, :number], draws[of_words]
    empty = np.isnan(weights)
    width, num_words = int(empty.sum(axis=2).max()), stored.shape[3]
    words = np.zeros((*empty.shape, num_words + len(empty) * width), stored.dtype)
    words[..., :num_words] = stored[:, :, :number]
    words[empty] = 0.0
    chain, draw, place = np.nonzero(empty)
    words[chain, draw, place, num_words + chain * width + place - (number - width)] = 1.0
    return {of_words: words, of_weights: np.nan_to_num(weights), of_sizes: sizes[:, :, :number]}


def of_present(
    components: Float[np.ndarray, "C N K V"],
    present: Bool[np.ndarray, "C N K"],
    weights: Float[np.ndarray, "C N K"],
    agreed: Agreement,
    directions: Directions,
) -> Agreement:
    """The agreement where no chain represents a place that is empty in most of its draws.

    That happens only where no two chains agree, and one is as good a representative as the other: the place
    is then that of the chain in which the component has the largest weight.

    Args:
        components: From `candidates`, in the order of the agreement.
        present: Whether a draw has one in each place.
        weights: Of them.
        agreed: How far the chains agree on these.
        directions: See `agreement`.
    """
    empty = np.flatnonzero((agreed.found & (present.mean(axis=1) <= 0.5)).any(axis=0))
    cosines = agreed.cosines.copy()
    for place in empty:
        means = directions(components[:, :, place]).mean(axis=1)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        cosines[:, place] = means @ means[weights[:, :, place].mean(axis=1).argmax()]
    relations = [each for each in agreed.relations if each.place not in empty]
    return agreed._replace(cosines=cosines, relations=relations)


def told(
    draws: Mapping[str, np.ndarray], given: bool, least: float = LEAST_SHARE, component: str = "cluster"
) -> tuple[dict[str, np.ndarray], Agreement]:
    """Components that are told of, the largest first, in one order for all draws.

    Args:
        draws: See `candidates`.
        given: Whether the number of components is.
        least: The share of the data that a component has to have on average.
        component: What a component is called.

    Returns:
        The variables by name, [chain, draw, place, ...], and how far the chains agree. A draw that lacks a
        component has the weight 0 and the size 0 in its place, and the words of other draws of its chain.
    """
    of_words, of_weights, of_sizes = variables(component)
    ordered, agreed = aligned(candidates(draws, given, least, component), of_words, np.sqrt)
    weights = ordered[of_weights]
    agreed = of_present(ordered[of_words], weights > 0, weights, agreed, np.sqrt)
    sizes = ordered[of_sizes].mean(axis=(0, 1))
    places = np.argsort(-sizes, kind="stable")
    if not given:
        places = places[: max(1, int((sizes >= least).sum()))]
    num_words = draws[of_words].shape[3]
    ordered[of_words] = ordered[of_words][..., :num_words]
    found = {name: values[:, :, places] for name, values in ordered.items()}
    _fill(found[of_words], found[of_weights] > 0)
    return found, of_places(agreed, places)


def _fill(words: Float[np.ndarray, "C N P V"], present: Bool[np.ndarray, "C N P"]) -> None:
    """Give draws that lack a component the words of others of their chain, evenly spaced.

    Given that the component is there, that is the law of its words, of which means and intervals are. Of a
    component that no draw of a chain has all words are alike.
    """
    for chain, place in np.argwhere(~present.all(axis=1)):
        own, has = words[chain, :, place], present[chain, :, place]
        others, gaps = np.flatnonzero(has), np.flatnonzero(~has)
        from_others = np.arange(len(gaps)) * len(others) // len(gaps)
        own[gaps] = own[others[from_others]] if len(others) else 1.0 / own.shape[1]


def with_rest(agreed: Agreement) -> Agreement:
    """The agreement with a last place for all other components, on which all chains agree."""
    cosines = np.concatenate([agreed.cosines, np.full((len(agreed.cosines), 1), np.inf)], axis=1)
    return agreed._replace(cosines=cosines)


def with_intervals(
    weights: dict[str, Float[np.ndarray, "D K1"]], agreed: Agreement
) -> dict[str, Float[np.ndarray, "D K1"]]:
    """`with_intervals_of_shared`, where the last column is that of all components which are not told of."""
    return with_intervals_of_shared(weights, with_rest(agreed))


def datatree_of_told(run: Run, draws: Mapping[str, np.ndarray], agreed: Agreement, component: str) -> Any:
    """`Answers.to_datatree`: the components that are told of, beside all numbers of the draws.

    Args:
        run: The run.
        draws: From `told`.
        agreed: From `told`.
        component: What a component is called.
    """
    posterior = run.draws["posterior"].to_dataset().load()
    dims = {name: posterior[name].dims for name in draws}
    kept = posterior.drop_vars(list(draws)).drop_dims(component, errors="ignore")
    ordered = kept.assign({name: (dims[name], values) for name, values in draws.items()})
    number = agreed.orders.shape[2]
    places = {component: np.arange(number), "word": posterior["word"].values}
    return component_datatree(ordered.assign_coords(places), agreed, component)


def numbers_above(sizes: Float[np.ndarray, "C N K"], least: float = LEAST_SHARE) -> np.ndarray:
    """How many components of each draw have more than a share of the data, [chain, draw].

    Sizes are stored in single precision, in which the share is compared.
    """
    return (np.nan_to_num(sizes) > np.float32(least)).sum(axis=2)


def spaced(number: int, most: int) -> np.ndarray:
    """At most so many of the numbers below ``number``, evenly spaced."""
    return np.linspace(0, number - 1, min(most, number)).astype(int)
