"""Weights of components in documents, each from the draws of those chains that have found the component.

The components of all chains stand in common places, and where a chain lacks one, another stands in its place
there. What that chain says of the place is not of the component.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._next_draw import INTERVAL

ROUNDING = 1e-6  # of means that summed to 1 as they were


def draws_found(
    agreed: Agreement, chosen: Int[np.ndarray, " M"] | None = None, others: int = 0
) -> Bool[np.ndarray, "M K"]:
    """Whether each draw is of a chain that has found the component of each place.

    A place that none of these draws' chains has found counts as found by all.

    Args:
        agreed: How far the chains agree.
        chosen: Numbers of draws, chain after chain; None: all.
        others: Columns after those of the components, to which all draws belong.
    """
    chains, length = agreed.orders.shape[:2]
    chosen = np.arange(chains * length) if chosen is None else chosen
    found = agreed.found[chosen // length]
    found = found | ~found.any(axis=0)
    return np.concatenate([found, np.ones((len(found), others), bool)], axis=1)


def mean_over(
    draws: Float[np.ndarray, "M *documents K"], found: Bool[np.ndarray, "M K"]
) -> Float[np.ndarray, "*documents K"]:
    """The mean of each component's weights over the draws that have found it."""
    mean = draws.mean(axis=0)
    for place in np.flatnonzero(~found.all(axis=0)):
        mean[..., place] = draws[found[:, place], ..., place].mean(axis=0)
    return mean


def ends_over(
    draws: Float[np.ndarray, "M *documents K"], found: Bool[np.ndarray, "M K"]
) -> Float[np.ndarray, "2 *documents K"]:
    """The ends of 90% intervals, likewise."""
    ends = np.quantile(draws, INTERVAL, axis=0)
    for place in np.flatnonzero(~found.all(axis=0)):
        ends[..., place] = np.quantile(draws[found[:, place], ..., place], INTERVAL, axis=0)
    return ends


def weighted_summary(
    values: Float[np.ndarray, "M D"], logs: Float[np.ndarray, "M D"]
) -> tuple[Float[np.ndarray, " D"], ...]:
    """Means over draws and ends of 90% intervals, where draws count differently; all alike: as without.

    Args:
        values: Of each draw.
        logs: Logs of what each draw counts for, up to a constant of each column.
    """
    weights = np.exp(logs - logs.max(axis=0))
    if (weights == 1).all():
        return values.mean(axis=0), *np.quantile(values, INTERVAL, axis=0)
    shares = weights / weights.sum(axis=0)
    order = np.argsort(values, axis=0)
    sorted_values = np.take_along_axis(values, order, axis=0)
    upto = np.cumsum(np.take_along_axis(shares, order, axis=0), axis=0)
    ends = [
        np.take_along_axis(sorted_values, (upto < share * upto[-1]).sum(axis=0)[None], axis=0)[0]
        for share in INTERVAL
    ]
    return (shares * values).sum(axis=0), *ends


def with_intervals_of_shared(
    weights: dict[str, Float[np.ndarray, "D K"]], agreed: Agreement
) -> dict[str, Float[np.ndarray, "D K"]]:
    """``mean``, ``low`` and ``high`` of components' weights, the ends NaN where a component is not shared.

    Means over different chains need not sum to 1: what the shared components leave is divided among the
    others, and the whole is scaled. An interval reaches to the scaled mean: chains put such a document in
    different components, and the draws of those that have found one do not tell how far it may be from it.

    Of one chain all ends stay: they are the chain's own. Where there are no ends, there are none.
    """
    if len(agreed.cosines) == 1:
        return weights
    mean = weights["mean"] if agreed.found.all() else _as_mixtures(weights["mean"], agreed.shared)
    if "low" not in weights:
        return weights | {"mean": mean}
    moved = np.abs(mean - weights["mean"]) > ROUNDING
    ends = {"low": np.minimum(weights["low"], mean), "high": np.maximum(weights["high"], mean)}
    for name, reaching in ends.items():
        told = np.where(agreed.shared, np.where(moved, reaching, weights[name]), np.nan)
        ends[name] = told.astype(weights[name].dtype)
    return weights | {"mean": mean} | ends


def _as_mixtures(mean: Float[np.ndarray, "D K"], shared: Bool[np.ndarray, " K"]) -> Float[np.ndarray, "D K"]:
    whole = mean.astype(np.float64)
    left = np.maximum(0.0, 1.0 - whole[:, shared].sum(axis=1, keepdims=True))
    of_others = whole[:, ~shared].sum(axis=1, keepdims=True)
    whole[:, ~shared] *= np.divide(left, of_others, out=np.zeros_like(left), where=of_others > 0)
    return (whole / whole.sum(axis=1, keepdims=True)).astype(mean.dtype)
