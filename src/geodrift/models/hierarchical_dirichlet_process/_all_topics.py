"""All topics of a draw as topics of LDA: those that are stored, and one in the place of all others.

Given the weights the model is LDA with alpha = alpha_0 beta. The others, topics that are small or have no
token, are one topic here: of the weight that they have together, and of their mean.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from geodrift.models.hierarchical_dirichlet_process._chain import LEAST_PRIOR
from geodrift.models.kit._places import spaced
from geodrift.models.latent_dirichlet_allocation.documents._chain_means import chain_means


def as_lda(
    draws: Mapping[str, np.ndarray], least: int = 0
) -> tuple[Float[np.ndarray, "N K1 V"], Float[np.ndarray, "N K1"]]:
    """Topics and alpha of each draw; the last topic is that of all others.

    Args:
        draws: Stored variables, [draw, ...], NaN where a draw has no such topic.
        least: Topics before that of all others, at least; those that no draw has are empty.
    """
    stored, weights = draws["topics"], draws["topic_weights"]
    most = max(least, int((~np.isnan(weights)).sum(axis=1).max()))
    stored, weights = stored[:, :most], weights[:, :most]
    number, _, num_words = stored.shape
    topics = np.full((number, most + 1, num_words), 1.0 / num_words, np.float32)
    present = ~np.isnan(weights)
    topics[:, :most][present] = stored[present]
    topics[:, most] = draws["other_words"]
    whole = np.column_stack([weights.astype(np.float64), draws["other_weight"]])
    alpha = np.nan_to_num(whole) * np.asarray(draws["mixture_concentration"])[:, None]
    # A place that a draw has no topic for stays empty.
    return topics, np.maximum(alpha, LEAST_PRIOR)


def told_first(
    draws: Mapping[str, np.ndarray], orders: Int[np.ndarray, "N P"]
) -> tuple[Float[np.ndarray, "N K1 V"], Float[np.ndarray, "N K1"]]:
    """`as_lda` with the topics that are told of in their places, before all others.

    Args:
        draws: Stored variables, [draw, ...], NaN where a draw has no such topic.
        orders: For each draw and each place, the number of the draw's topic; also of one that none of these
            draws has, where other draws have more topics.
    """
    topics, alpha = as_lda(draws, least=int(orders.max()) + 1)
    every = np.arange(topics.shape[1])
    whole = np.stack([np.append(order, np.setdiff1d(every, order)) for order in orders])
    rows = np.arange(len(topics))[:, None]
    return topics[rows, whole], alpha[rows, whole]


def with_means(
    topics: Float[np.ndarray, "M K V"],
    told: Float[np.ndarray, "C N P V"],
    weights: Float[np.ndarray, "C N P"],
    chosen: Int[np.ndarray, " M"],
) -> Float[np.ndarray, "M K V"]:
    """The topics of `told_first` with the means of their chains in the places that are told of.

    Args:
        topics: Of some draws.
        told: Topics that are told of, of all draws.
        weights: Of them; 0 where a draw has no such topic.
        chosen: Numbers of the draws.
    """
    found = topics.copy()
    found[:, : told.shape[2]] = chain_means(told, chosen, weights > 0)
    return found


def some_of(
    draws: Mapping[str, np.ndarray], most: int
) -> tuple[dict[str, np.ndarray], Int[np.ndarray, " M"]]:
    """At most so many of the draws, evenly spaced, and their numbers."""
    chosen = spaced(len(draws["topics"]), most)
    return {name: values[chosen] for name, values in draws.items()}, chosen
