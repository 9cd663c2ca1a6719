r"""Rows that were fitted, each given the clusters of all others.

A draw's resultants hold every row that was fitted, the one in question among them: under them a row would
belong to its own cluster more than is known. Its posterior probabilities are the mean over the draws of

.. math:: p(z_i = k \mid z_{-i}, \kappa) \propto (n_k^{-i} + g)\, c(\kappa_k)\,
    c(|t_k^{-i}|) / c(|t_k^{-i} + \kappa_k x_i|),

with the row taken out of counts and resultants, which is the law that the sampler draws from.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from geodrift.distributions import host_log_normaliser
from geodrift.models.von_mises_fisher_mixture._predict import Draw
from geodrift.models.von_mises_fisher_mixture._rows import Rows
from geodrift.models.von_mises_fisher_mixture._settings import Settings


class Seats(NamedTuple):
    """The clusters of all rows in a draw, and what a row that leaves its own chooses by.

    Attributes:
        places: The place of each row's cluster among those of the draw, -1 is the background, [N].
        counts: Rows of each cluster, [L].
        outside: Rows of the background.
        inferred: Whether the number of clusters is: a row alone may then be in a new one.
        g: See `ClusterNumber`.
        new: Weight of all new clusters.
        new_each: What one cluster more adds to it.
        a0: Dirichlet parameter of the background.
    """

    places: Int[np.ndarray, " N"]
    counts: Float[np.ndarray, " L"]
    outside: int
    inferred: bool
    g: float
    new: float
    new_each: float
    a0: float

    @classmethod
    def of(cls, stored: Mapping[str, np.ndarray], index: tuple[int, ...], settings: Settings) -> "Seats":
        """Of a draw of stored variables, as for `Draw.of`."""
        labels = stored["labels"][index][np.isfinite(stored["concentrations"][index])]
        z, number = np.asarray(stored["assignments"][index]), settings.number()
        places = np.where(z < 0, -1, np.searchsorted(labels, z))
        number.value = float(stored["number_parameter"][index])
        counts = np.bincount(places[places >= 0], minlength=len(labels)).astype(float)
        first, each = number.new
        return cls(
            places, counts, int((z < 0).sum()), settings.inferred, number.g,
            first + each * len(labels) if settings.inferred else 0.0, each, settings.background,
        )  # fmt: skip

    def alone(self, own: Int[np.ndarray, " S"]) -> Bool[np.ndarray, " S"]:
        """Which rows have no other in their cluster; none of the background's."""
        return np.append(self.counts == 1, False)[self.places[own]]

    def log_conditionals(
        self, draw: Draw, rows: Rows, numbers: Int[np.ndarray, " S"], own: Int[np.ndarray, " S"]
    ) -> Float[np.ndarray, "S L"]:
        """Log of the law above up to a constant: of the draw's clusters, of a new one, of the background.

        A row that is alone in its cluster, of an inferred number, is so again in a new one: that is told in
        the place of its own.

        Args:
            draw: The draw.
            rows: Some rows that were fitted.
            numbers: Which of them.
            own: Their numbers among all that were fitted.
        """
        size, place, alone = len(numbers), self.places[own], self.alone(own)
        inside, fresh = np.flatnonzero(place >= 0), draw.log_fresh(rows, numbers)
        at = inside, place[inside]
        dots = np.asarray(rows.products(numbers, np.ascontiguousarray(draw.resultants.T)), np.float64)
        with np.errstate(divide="ignore"):
            logs = np.tile(np.log(self.counts + self.g), (size, 1))
            logs[at] = -np.inf
            found = np.empty((size, logs.shape[1] + 2))
            found[:, :-2] = draw.of_clusters(rows.dim, logs, dots)
            found[:, -2] = np.log(max(self.new, 0.0)) + fresh
            left = np.log(self.counts[at[1]] - 1 + self.g)
            uniform = host_log_normaliser(rows.dim, 0.0)
            found[:, -1] = np.log(self.outside - (place < 0) + self.a0) + uniform if self.a0 else -np.inf
            found[at] = left + _log_without(draw, rows.dim, dots[at], at[1], alone[inside])
            if self.inferred:
                found[alone, place[alone]] = np.log(self.new - self.new_each) + fresh[alone]
                found[alone, -2] = -np.inf
        return found


def _log_without(
    draw: Draw,
    dim: int,
    dots: Float[np.ndarray, " n"],
    places: Int[np.ndarray, " n"],
    alone: Bool[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """Log densities of rows in their own clusters without them."""
    kappa, squares = draw.concentrations[places], (draw.resultants**2).sum(axis=1)[places]
    others = np.maximum(squares - kappa * (2 * dots - kappa), 0.0)
    # What a cluster of one row leaves is the prior; the difference would have the rounding of the resultant.
    others[alone] = draw.r0 @ draw.r0
    return (
        host_log_normaliser(dim, kappa)
        + host_log_normaliser(dim, np.sqrt(others))
        - host_log_normaliser(dim, np.sqrt(squares))
    )
