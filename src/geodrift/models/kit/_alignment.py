"""Alignment: the components of a model, such as topics or clusters, in one order for all draws and chains.

The posterior is the same under any permutation of the components: chains differ by one, and a long chain may
change from one to another. Draws are matched by the cosine between *directions* of components. Components
that are unit vectors are their own directions; those of components that are probabilities are the square
roots, which are unit vectors too. Their cosine is the Bhattacharyya coefficient, one minus the squared
Hellinger distance: bounded, symmetric, a function of the Fisher-Rao distance on the simplex, finite where a
word has probability 0 in one draw (a Kullback-Leibler divergence is not) and not dominated by the few most
frequent words (the cosine of the probabilities is).
"""

from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment

Directions = Callable[[Float[np.ndarray, "K V"]], Float[np.ndarray, "K V"]]


def unit_directions(components: Float[np.ndarray, "K V"]) -> Float[np.ndarray, "K V"]:
    """Directions of components that are unit vectors: the components."""
    return components


def directions_of(signed: bool) -> Directions:
    """The directions of unit vectors, whose weights have a sign, or else of probabilities."""
    return unit_directions if signed else np.sqrt


def matched(
    components: Float[np.ndarray, "N K V"],
    reference: Float[np.ndarray, "K V"],
    directions: Directions = unit_directions,
) -> Int[np.ndarray, "N K"]:
    """Match each draw with a reference: the assignment of components with the largest sum of cosines.

    Args:
        components: Draws.
        reference: Directions, unit length.
        directions: Function from the components of one draw to their directions.

    Returns:
        For each draw and each component of the reference, the number of the draw's component.
    """
    orders = [linear_sum_assignment(-(reference @ directions(draw).T))[1] for draw in components]
    return np.array(orders)


def common_order(
    components: Float[np.ndarray, "N K V"], directions: Directions = unit_directions, *, num_rounds: int = 3
) -> Int[np.ndarray, "N K"]:
    """Find an order of each draw's components that makes the draws agree.

    Each draw is matched with the mean directions of the aligned draws, starting from the last draw, until no
    order changes.

    Args:
        components: Draws of all chains, one after the other.
        directions: Function from the components of one draw to their directions.
        num_rounds: Largest number of times that draws are matched.

    Returns:
        For each draw and each place in the common order, the number of the draw's component.
    """
    reference, orders = (
        directions(components[-1]),
        np.tile(np.arange(components.shape[1]), (len(components), 1)),
    )
    for _ in range(num_rounds):
        previous, orders = orders, matched(components, reference, directions)
        if (orders == previous).all():
            break
        reference = mean_directions(components, orders, directions)
    return orders


def align(
    components: Float[np.ndarray, "N K V"], directions: Directions = unit_directions
) -> Float[np.ndarray, "N K V"]:
    """Components of all draws in their `common_order`; the same array if they already are.

    Args:
        components: Draws of all chains, one after the other.
        directions: Function from the components of one draw to their directions.
    """
    return in_order({"components": components}, common_order(components, directions))["components"]


def in_order(draws: Mapping[str, np.ndarray], orders: Int[np.ndarray, "N K"]) -> dict[str, np.ndarray]:
    """Variables of all draws, [draw, component, ...] each, with the components of each draw in an order.

    Args:
        draws: By name; the arrays themselves are returned where they are in the order.
        orders: From `common_order`.
    """
    if (orders == np.arange(orders.shape[1])).all():
        return dict(draws)
    return {
        name: np.take_along_axis(values, orders.reshape(*orders.shape, *(1,) * (values.ndim - 2)), axis=1)
        for name, values in draws.items()
    }


def mean_directions(
    components: Float[np.ndarray, "N K V"],
    orders: Int[np.ndarray, "N K"],
    directions: Directions = unit_directions,
) -> Float[np.ndarray, "K V"]:
    """Mean direction of each component over the draws in the given orders, scaled to unit length."""
    total = np.zeros(components.shape[1:])
    for draw, order in zip(components, orders, strict=True):
        total += directions(draw)[order]
    return (total / np.linalg.norm(total, axis=1, keepdims=True)).astype(components.dtype)
