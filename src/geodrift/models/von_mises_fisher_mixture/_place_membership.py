"""Probabilities of the clusters that are told of, for rows, with intervals."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from geodrift.kernels._blas import one_blas_thread
from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._found_draws import draws_found, weighted_summary
from geodrift.models.kit._places import spaced
from geodrift.models.von_mises_fisher_mixture._known_rows import KnownRows
from geodrift.models.von_mises_fisher_mixture._parameters import Prior
from geodrift.models.von_mises_fisher_mixture._partition_membership import Posterior
from geodrift.models.von_mises_fisher_mixture._rows import Rows
from geodrift.models.von_mises_fisher_mixture._settings import Settings

NUMBERS_AT_ONCE = 2**23  # probabilities that are held in memory at once
MOST_DRAWS = 50  # that are averaged over


class Places(NamedTuple):
    """Which cluster of a draw stands in each place, and what else a row can belong to.

    Attributes:
        posterior: The draws, and the rows that they are of.
        numbers: Of each draw and place, the number of the draw's cluster; -1: it has none, [N, P].
        found: Whether each draw is of a chain that has found the cluster of each column.
        rest: Whether there is a column for clusters that are in no place.
        outside: Whether there is one for rows of no cluster, the last.
    """

    posterior: Posterior
    numbers: Int[np.ndarray, "N P"]
    found: Bool[np.ndarray, "N C"]
    rest: bool
    outside: bool


def places_of(
    stored: Mapping[str, np.ndarray],
    ordered: Mapping[str, np.ndarray],
    agreed: Agreement,
    settings: Settings,
    known: KnownRows | None,
    prior: Prior | None = None,
) -> Places:
    """Some draws of all chains, evenly spaced.

    Args:
        stored: All stored variables, [chain, draw, ...].
        ordered: From `told`.
        agreed: From `told`.
        settings: Of the mixture.
        known: The rows that were fitted; None: all that are asked for are new.
        prior: See `Draw.of`.
    """
    chains, length = ordered["numbers"].shape[:2]
    chosen = spaced(chains * length, MOST_DRAWS)
    indices = [divmod(int(number), length) for number in chosen]
    present = np.isfinite(ordered["concentrations"])
    numbers = np.where(present, ordered["numbers"], -1).reshape(chains * length, -1)[chosen]
    posterior = Posterior.of(stored, settings, known, prior, indices)
    rest, outside = settings.inferred, bool(settings.background)
    return Places(posterior, numbers, draws_found(agreed, chosen, rest + outside), rest, outside)


def place_membership(rows: Rows, places: Places) -> dict[str, Float[np.ndarray, "D C"]]:
    """Posterior means of the probabilities, which sum to 1 over all columns, and ends of 90% intervals.

    Returns:
        ``{"mean", "low", "high"}``, float32; columns are the places, then the rest and the background where
        there are.
    """
    columns, own = places.numbers.shape[1] + places.rest + places.outside, places.posterior.own(rows)
    out = {name: np.empty((rows.number, columns), np.float32) for name in ("mean", "low", "high")}
    block = max(1, NUMBERS_AT_ONCE // (len(places.numbers) * columns))
    with one_blas_thread():
        for start in range(0, rows.number, block):
            every = np.arange(start, min(start + block, rows.number))
            for numbers in (every[own[every] >= 0], every[own[every] < 0]):
                if not len(numbers):
                    continue
                found, weights = _under_draws(rows, numbers, own[numbers], places)
                for column, by in enumerate(places.found.T):
                    told = weighted_summary(found[by, :, column], weights[by])
                    for name, values in zip(out, told, strict=True):
                        out[name][numbers, column] = values
    return out


def with_other_places(agreed: Agreement, places: Places) -> Agreement:
    """The agreement with places for the rest and the background, on which all chains agree."""
    others = np.full((len(agreed.cosines), places.rest + places.outside), np.inf)
    return agreed._replace(cosines=np.concatenate([agreed.cosines, others], axis=1))


def _under_draws(
    rows: Rows, numbers: Int[np.ndarray, " S"], own: Int[np.ndarray, " S"], places: Places
) -> tuple[Float[np.ndarray, "N S C"], Float[np.ndarray, "N S"]]:
    """Probabilities under each draw, and the logs of what it counts for: rows all fitted, or all new."""
    posterior, fitted = places.posterior, bool(own[0] >= 0)
    size = len(numbers), places.numbers.shape[1] + places.rest + places.outside
    found, weights = np.zeros((len(places.numbers), *size)), np.zeros((len(places.numbers), size[0]))
    for number, (draw, order) in enumerate(zip(posterior.draws, places.numbers, strict=True)):
        if fitted:
            scores = posterior.seats[number].log_conditionals(draw, rows, numbers, own)
        else:
            scores = draw.log_densities(rows, numbers)
        totals = np.logaddexp.reduce(scores, axis=1)
        if not fitted:
            weights[number] = totals
        found[number] = _in_places(np.exp(scores - totals[:, None]), order, places)
    return found, weights


def _in_places(
    p: Float[np.ndarray, "S L"], order: Int[np.ndarray, " P"], places: Places
) -> Float[np.ndarray, "S C"]:
    found = np.zeros((len(p), len(order) + places.rest + places.outside))
    present = order >= 0
    found[:, : len(order)][:, present] = p[:, order[present]]
    if places.outside:
        found[:, -1] = p[:, -1]
    if places.rest:
        # Other clusters, and one that no row was in.
        found[:, len(order)] = np.maximum(0.0, 1.0 - found.sum(axis=1))
    return found
