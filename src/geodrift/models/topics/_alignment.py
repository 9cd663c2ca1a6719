"""Topics of all draws and chains in one order.

The posterior does not know which topic is the first: chains differ by a permutation, and a long chain may
make one. Draws are matched by the cosine between *directions* of topics. Topics that are unit vectors are
their own directions; those of topics that are probabilities are the square roots, which are unit vectors
too. Their cosine is the Bhattacharyya coefficient, one minus half the squared Hellinger distance: bounded,
symmetric, at home on the simplex (an arc's length is Fisher and Rao's), finite where a word has probability 0
in one draw (a Kullback-Leibler divergence is not) and not ruled by the few most frequent words (the cosine
of the probabilities is).
"""

from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment

Directions = Callable[[Float[np.ndarray, "K V"]], Float[np.ndarray, "K V"]]


def themselves(topics: Float[np.ndarray, "K V"]) -> Float[np.ndarray, "K V"]:
    """Directions of topics that are unit vectors."""
    return topics


def matched(
    topics: Float[np.ndarray, "N K V"],
    reference: Float[np.ndarray, "K V"],
    directions: Directions = themselves,
) -> Int[np.ndarray, "N K"]:
    """For each draw the topic that stands in each place of the reference.

    It is the assignment with the largest sum of cosines.

    Args:
        topics: Draws.
        reference: Directions.
        directions: Of one draw's topics.
    """
    orders = [linear_sum_assignment(-(reference @ directions(draw).T))[1] for draw in topics]
    return np.array(orders)


def common_order(
    topics: Float[np.ndarray, "N K V"], directions: Directions = themselves, *, num_rounds: int = 3
) -> Int[np.ndarray, "N K"]:
    """For each draw, of all chains one after the other, the topic that stands in each place.

    Each draw is matched with the mean direction of the aligned draws, starting from the last draw.

    Args:
        topics: Draws.
        directions: Of one draw's topics.
        num_rounds: Matchings, at most.
    """
    reference, orders = directions(topics[-1]), np.tile(np.arange(topics.shape[1]), (len(topics), 1))
    for _ in range(num_rounds):
        previous, orders = orders, matched(topics, reference, directions)
        if (orders == previous).all():
            break
        reference = mean_directions(topics, orders, directions)
    return orders


def align(
    topics: Float[np.ndarray, "N K V"], directions: Directions = themselves
) -> Float[np.ndarray, "N K V"]:
    """Topics of all draws in their `common_order`; the argument itself where they are in it."""
    return in_order({"topics": topics}, common_order(topics, directions))["topics"]


def in_order(draws: Mapping[str, np.ndarray], orders: Int[np.ndarray, "N K"]) -> dict[str, np.ndarray]:
    """Variables of all draws, [draw, topic, ...] each, with the topics of each draw in an order.

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
    topics: Float[np.ndarray, "N K V"], orders: Int[np.ndarray, "N K"], directions: Directions = themselves
) -> Float[np.ndarray, "K V"]:
    """Unit vectors along the mean of each place's directions."""
    total = np.zeros(topics.shape[1:])
    for draw, order in zip(topics, orders, strict=True):
        total += directions(draw)[order]
    return (total / np.linalg.norm(total, axis=1, keepdims=True)).astype(topics.dtype)
