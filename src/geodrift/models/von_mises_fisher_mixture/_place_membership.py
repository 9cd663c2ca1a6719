"""Probabilities of the clusters that are told of, for rows, with intervals."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from geodrift.kernels._blas import one_blas_thread
from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._found_draws import draws_found, ends_over, mean_over
from geodrift.models.kit._places import spaced
from geodrift.models.von_mises_fisher_mixture._predict import Draw
from geodrift.models.von_mises_fisher_mixture._rows import Rows
from geodrift.models.von_mises_fisher_mixture._settings import Settings

NUMBERS_AT_ONCE = 2**23  # probabilities that are held in memory at once
MOST_DRAWS = 50  # that are averaged over


class Places(NamedTuple):
    """Which cluster of a draw stands in each place, and what else a row can belong to.

    Attributes:
        draws: Of the parameters.
        numbers: Of each draw and place, the number of the draw's cluster; -1: it has none, [N, P].
        found: Whether each draw is of a chain that has found the cluster of each column.
        rest: Whether there is a column for clusters that are in no place.
        outside: Whether there is one for rows of no cluster, the last.
    """

    draws: list[Draw]
    numbers: Int[np.ndarray, "N P"]
    found: Bool[np.ndarray, "N C"]
    rest: bool
    outside: bool


def places_of(
    stored: Mapping[str, np.ndarray],
    ordered: Mapping[str, np.ndarray],
    agreed: Agreement,
    settings: Settings,
) -> Places:
    """Some draws of all chains, evenly spaced.

    Args:
        stored: All stored variables, [chain, draw, ...].
        ordered: From `told`.
        agreed: From `told`.
        settings: Of the mixture.
    """
    chains, length = ordered["numbers"].shape[:2]
    chosen = spaced(chains * length, MOST_DRAWS)
    indices = [divmod(int(number), length) for number in chosen]
    present = np.isfinite(ordered["concentrations"])
    numbers = np.where(present, ordered["numbers"], -1).reshape(chains * length, -1)[chosen]
    draws = [Draw.of(stored, index) for index in indices]
    rest, outside = settings.inferred, bool(settings.background)
    return Places(draws, numbers, draws_found(agreed, chosen, rest + outside), rest, outside)


def place_membership(rows: Rows, places: Places) -> dict[str, Float[np.ndarray, "D C"]]:
    """Posterior means of the probabilities, which sum to 1 over all columns, and ends of 90% intervals.

    Returns:
        ``{"mean", "low", "high"}``, float32; columns are the places, then the rest and the background where
        there are.
    """
    columns = places.numbers.shape[1] + places.rest + places.outside
    out = {name: np.empty((rows.number, columns), np.float32) for name in ("mean", "low", "high")}
    block = max(1, NUMBERS_AT_ONCE // (len(places.draws) * columns))
    with one_blas_thread():
        for start in range(0, rows.number, block):
            numbers = np.arange(start, min(start + block, rows.number))
            found = np.stack(
                [
                    _under_draw(rows, numbers, draw, order, places)
                    for draw, order in zip(places.draws, places.numbers, strict=True)
                ]
            )
            out["mean"][numbers] = mean_over(found, places.found)
            out["low"][numbers], out["high"][numbers] = ends_over(found, places.found)
    return out


def with_other_places(agreed: Agreement, places: Places) -> Agreement:
    """The agreement with places for the rest and the background, on which all chains agree."""
    others = np.full((len(agreed.cosines), places.rest + places.outside), np.inf)
    return agreed._replace(cosines=np.concatenate([agreed.cosines, others], axis=1))


def _under_draw(
    rows: Rows, numbers: Int[np.ndarray, " S"], draw: Draw, order: Int[np.ndarray, " P"], places: Places
) -> Float[np.ndarray, "S C"]:
    scores = draw.log_densities(rows, numbers)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    found = np.zeros((len(numbers), len(order) + places.rest + places.outside))
    present = order >= 0
    found[:, : len(order)][:, present] = p[:, order[present]]
    if places.outside:
        found[:, -1] = p[:, -1]
    if places.rest:
        # Other clusters, and one that no row was in.
        found[:, len(order)] = np.maximum(0.0, 1.0 - found.sum(axis=1))
    return found
