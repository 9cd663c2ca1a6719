"""Angles between components with their intervals, and a picture of them in the plane.

The angle is that between directions (see `_alignment`), by which the package says what is the same component.
The picture is classical scaling of the mean angles (Torgerson, 1952), the two axes along which they differ
most. Each draw is scaled alike, in all dimensions, turned onto it there (Procrustes) and seen along the same
two axes: how its places scatter says how far a place is known.
"""

import numpy as np
from jaxtyping import Float

from geodrift.kernels._blas import one_blas_thread
from geodrift.models.kit._agreement import LEAST_COSINE, Agreement
from geodrift.models.kit._alignment import directions_of
from geodrift.models.kit._next_draw import next_draw_intervals
from geodrift.report import ComponentMap

DRAWS_OF_A_CHAIN = 10  # evenly spaced
PAIRS_AT_ONCE = 500  # whose intervals are held in memory at once


def component_map(draws: Float[np.ndarray, "C N K V"], agreed: Agreement, signed: bool) -> ComponentMap:
    """Angles of all pairs, and places of the components in the plane.

    An interval is given where both components have one. Where no chain has found both of a pair, its angle is
    that between their mean directions.

    Args:
        draws: Aligned draws.
        agreed: How far the chains agree.
        signed: Whether components are unit vectors.
    """
    with one_blas_thread():  # see `agreement`
        return _map(draws, agreed, signed)


def _map(draws: Float[np.ndarray, "C N K V"], agreed: Agreement, signed: bool) -> ComponentMap:
    directions = directions_of(signed)
    number, length = draws.shape[2], draws.shape[1]
    chosen = np.linspace(0, length - 1, min(DRAWS_OF_A_CHAIN, length)).astype(int)
    radians, totals = np.empty((len(draws), len(chosen), number, number)), np.zeros(draws.shape[2:])
    for chain, found in enumerate(agreed.found):
        for at, draw in enumerate(chosen):
            unit = directions(draws[chain, draw]).astype(np.float64)
            radians[chain, at] = _angles(unit)
            totals[found] += unit[found]
    mean = _angles(totals / np.maximum(np.linalg.norm(totals, axis=1, keepdims=True), 1e-300))
    low, high = np.full((2, number, number), np.nan)
    with_ends = agreed.shared if len(draws) > 1 else np.ones(number, bool)
    for chains, pairs in _pairs_by_chains(agreed).items():
        of_chains = radians[list(chains)]
        one, other = np.array(pairs).T
        mean[one, other] = mean[other, one] = of_chains[:, :, one, other].mean(axis=(0, 1))
        told = with_ends[one] & with_ends[other]
        ends = _intervals(of_chains[:, :, one[told], other[told]])
        for matrix, values in zip((low, high), ends, strict=True):
            matrix[one[told], other[told]] = matrix[other[told], one[told]] = values
    scaled = _scaled(mean)
    lengths = (scaled**2).sum(axis=0)
    explained = float(lengths[:2].sum() / lengths.sum()) if lengths.any() else 1.0
    places, spreads = scaled[:, :2], _spreads(radians, agreed, scaled)
    degrees = np.degrees
    return ComponentMap(
        degrees(places),
        degrees(degrees(spreads)),
        explained,
        degrees(mean),
        degrees(low),
        degrees(high),
        float(degrees(np.arccos(LEAST_COSINE))),
    )


def _angles(unit: Float[np.ndarray, "K V"]) -> Float[np.ndarray, "K K"]:
    angles = np.arccos(np.clip(unit @ unit.T, -1.0, 1.0))
    np.fill_diagonal(angles, 0.0)
    return angles


def _pairs_by_chains(agreed: Agreement) -> dict[tuple[int, ...], list[tuple[int, int]]]:
    """Pairs of components by the chains that have found both; pairs that none has found are left out."""
    pairs: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    found = agreed.found
    for one in range(found.shape[1]):
        for other in range(one):
            both = tuple(np.flatnonzero(found[:, one] & found[:, other]).tolist())
            if both:
                pairs.setdefault(both, []).append((one, other))
    return pairs


def _intervals(
    radians: Float[np.ndarray, "C N P"],
) -> tuple[Float[np.ndarray, " P"], Float[np.ndarray, " P"]]:
    """Of the next draw of the next chain, between 0 and half a turn."""
    low, high = np.empty((2, radians.shape[2]))
    for start in range(0, radians.shape[2], PAIRS_AT_ONCE):
        some = np.arange(start, min(start + PAIRS_AT_ONCE, radians.shape[2]))
        low[some], high[some] = next_draw_intervals(radians, some)
    return np.clip(low, 0.0, np.pi), np.clip(high, 0.0, np.pi)


def _scaled(distances: Float[np.ndarray, "K K"]) -> Float[np.ndarray, "K A"]:
    """Places whose distances are nearest to those given, along axes of decreasing extent, two at least."""
    centring = np.eye(len(distances)) - 1.0 / len(distances)
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    places = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    places = np.pad(places, ((0, 0), (0, max(0, 2 - len(places)))))
    # Either sign of an axis is right: the same one for the same numbers.
    signs = np.sign(np.take_along_axis(places, np.abs(places).argmax(axis=0)[None], axis=0)[0])
    return places * np.where(signs == 0, 1.0, signs)


def _spreads(
    radians: Float[np.ndarray, "C N K K"], agreed: Agreement, scaled: Float[np.ndarray, "K A"]
) -> Float[np.ndarray, "K 2 2"]:
    """Covariance of each component's place over the draws of the chains that have found it."""
    found = agreed.found
    turned = np.empty((*radians.shape[:3], 2))
    for chain, draw in np.ndindex(radians.shape[:2]):
        turned[chain, draw] = _turned(_scaled(radians[chain, draw]), scaled, found[chain])[:, :2]
    spreads = np.full((len(scaled), 2, 2), np.nan)
    for place in range(len(scaled)):
        own = turned[found[:, place], :, place].reshape(-1, 2)
        if len(own) > 2:
            spreads[place] = np.cov(own.T)
    return spreads


def _turned(
    own: Float[np.ndarray, "K A"], onto: Float[np.ndarray, "K A"], found: np.ndarray
) -> Float[np.ndarray, "K A"]:
    """Places turned, mirrored and moved so that those that were found lie nearest to the others'."""
    if not found.any():
        return own
    centre, target = own[found].mean(axis=0), onto[found].mean(axis=0)
    left, _, right = np.linalg.svd((own[found] - centre).T @ (onto[found] - target))
    return (own - centre) @ left @ right + target
