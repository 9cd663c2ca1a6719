"""What is told of each cluster: its share, its concentration, its words and the nearest rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from geodrift.kernels._blas import one_blas_thread
from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._component_size import component_size
from geodrift.models.kit._word_intervals import component_words
from geodrift.models.von_mises_fisher_mixture._places import with_every_draw
from geodrift.models.von_mises_fisher_mixture._rows import AT_ONCE, Rows


def cluster_parts(
    ordered: Mapping[str, np.ndarray], agreed: Agreement, words: Sequence[str] | None = None, top: int = 0
) -> list[dict[str, Any]]:
    """Each cluster's numbers, with the ends of 90% intervals where it is shared or there is one chain.

    The intervals hold for the next draw of the next chain: see `component_size`. Given that a cluster is
    there, the logarithm of its concentration has a variance that hardly depends on the concentration, and so
    the root of it has one in proportion to itself, as roots of shares are taken to have.

    Args:
        ordered: From `told`.
        agreed: How far the chains agree.
        words: Names of the coordinates, whose largest are then told; None: they have none.
        top: Words of a cluster.

    Returns:
        Of each ``cluster``, ``chains``, ``found``, ``shared``, ``size``, ``concentration``, each with its
        ``_low`` and ``_high``, and ``words`` as `component_words` has them.
    """
    chains, parts = len(agreed.cosines), []
    kappa = with_every_draw(ordered["concentrations"])
    named: list[dict[str, Any]] = [{}] * agreed.cosines.shape[1]
    if words is not None:
        directions = with_every_draw(ordered["directions"])
        named = component_words(directions, words, top, "cluster", agreed=agreed, signed=True)
    for place in range(agreed.cosines.shape[1]):
        shared = bool(agreed.shared[place])
        known = shared or chains == 1
        found: dict[str, Any] = {
            "cluster": place,
            "chains": chains,
            "found": int(agreed.found[:, place].sum()),
        }
        found |= {"shared": shared} | component_size(ordered["weights"], agreed, place, known)
        of_kappa = component_size(kappa, agreed, place, known, largest=np.inf)
        found |= {name.replace("size", "concentration"): value for name, value in of_kappa.items()}
        parts.append(found | ({"words": named[place]["words"]} if words is not None else {}))
    return parts


def mean_directions(ordered: Mapping[str, np.ndarray], agreed: Agreement) -> Float[np.ndarray, "P d"]:
    """The posterior mean direction of each cluster, over the chains that have found it."""
    directions = with_every_draw(ordered["directions"])
    means = np.stack([directions[by, :, place].mean(axis=(0, 1)) for place, by in enumerate(agreed.found.T)])
    return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-300)


def nearest_rows(rows: Rows, directions: Float[np.ndarray, "P d"], top: int) -> list[list[dict[str, Any]]]:
    """Of each cluster the rows of largest cosine with its direction: ``{"row", "cosine"}``."""
    kept = np.zeros((0, len(directions))), np.zeros((0, len(directions)), np.int64)
    with one_blas_thread():
        for start in range(0, rows.number, AT_ONCE):
            numbers = np.arange(start, min(start + AT_ONCE, rows.number))
            cosines = rows.products(numbers, np.ascontiguousarray(directions.T))
            both = np.concatenate([kept[0], cosines])
            names = np.concatenate([kept[1], np.repeat(numbers[:, None], len(directions), axis=1)])
            order = np.argsort(-both, axis=0, kind="stable")[:top]
            kept = np.take_along_axis(both, order, axis=0), np.take_along_axis(names, order, axis=0)
    return [
        [{"row": int(row), "cosine": float(cosine)} for row, cosine in zip(of_rows, of_cosines, strict=True)]
        for of_rows, of_cosines in zip(kept[1].T, kept[0].T, strict=True)
    ]
