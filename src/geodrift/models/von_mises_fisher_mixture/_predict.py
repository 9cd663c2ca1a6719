r"""Rows under draws: densities, and probabilities of clusters.

A draw's assignments give the direction of cluster k the von Mises-Fisher law with the resultant
:math:`t_k = \kappa_k R_k + r_0`. With the direction integrated out a new row has in cluster k the density

.. math:: c(\kappa_k)\, c(|t_k|) / c(|t_k + \kappa_k x|).

In many dimensions a drawn direction is far from every row, also from those of its cluster: probabilities
under it say less than is known.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from geodrift.distributions import host_log_normaliser
from geodrift.distributions._compiled import debye_table
from geodrift.kernels._blas import one_blas_thread
from geodrift.models.von_mises_fisher_mixture._density_kernel import add_log_densities
from geodrift.models.von_mises_fisher_mixture._parameters import Parameters, Prior
from geodrift.models.von_mises_fisher_mixture._rows import AT_ONCE, Rows

FRESH = 256  # concentrations over which the density in a cluster without rows is averaged


class Draw(NamedTuple):
    """One draw of a mixture.

    Attributes:
        resultants: kappa_k R_k + r_0, whose von Mises-Fisher law the directions have, [K, d].
        concentrations: [K].
        weights: [K].
        labels: The clusters' numbers in the assignments, [K].
        background: Weight of the background.
        others: Weight of clusters without rows.
        r0: kappa_0 m_0 of the directions' prior, [d].
        fresh: Concentrations whose mean density a cluster without rows has, [n]; where r0 is zero they do not
            matter.
    """

    resultants: Float[np.ndarray, "K d"]
    concentrations: Float[np.ndarray, " K"]
    weights: Float[np.ndarray, " K"]
    labels: Int[np.ndarray, " K"]
    background: float
    others: float
    r0: Float[np.ndarray, " d"]
    fresh: Float[np.ndarray, " n"]

    @classmethod
    def of(
        cls, stored: Mapping[str, np.ndarray], index: tuple[int, ...], prior: Prior | None = None
    ) -> "Draw":
        """A draw of stored variables, [chain, draw, ...] or [draw, ...], padded where there are fewer.

        Args:
            stored: The variables.
            index: Of the draw.
            prior: What is fixed; None: directions are uniform.
        """
        kappa = stored["concentrations"][index]
        told = np.isfinite(kappa)
        resultants = stored["resultants"][index][told].astype(np.float64)
        return cls(
            resultants,
            kappa[told],
            stored["weights"][index][told],
            stored["labels"][index][told],
            float(stored["background_weight"][index]),
            float(stored["other_weight"][index]),
            *_of_fresh(prior, kappa[told], resultants.shape[1]),
        )

    @classmethod
    def of_parameters(cls, found: Parameters, prior: Prior) -> "Draw":
        """A draw as the sampler makes it."""
        return cls(
            found.resultants,
            found.concentrations,
            found.weights,
            found.labels,
            found.background,
            found.others,
            *_of_fresh(prior, found.concentrations, found.resultants.shape[1]),
        )

    def log_densities(self, rows: Rows, numbers: Int[np.ndarray, " S"]) -> Float[np.ndarray, "S L"]:
        """Log of weight times density of each cluster, of a cluster without rows and of the background, last.

        Directions are integrated out.
        """
        found = np.empty((len(numbers), len(self.weights) + 2))
        logs = np.tile(np.log(self.weights), (len(numbers), 1))
        dots = np.asarray(rows.products(numbers, np.ascontiguousarray(self.resultants.T)), np.float64)
        found[:, :-2] = self.of_clusters(rows.dim, logs, dots)
        with np.errstate(divide="ignore"):
            found[:, -2:] = np.log([self.others, self.background])
        found[:, -2] += self.log_fresh(rows, numbers)
        found[:, -1] += host_log_normaliser(rows.dim, 0.0)
        return found

    def of_clusters(
        self, dim: int, logs: Float[np.ndarray, "S L"], dots: Float[np.ndarray, "S L"]
    ) -> Float[np.ndarray, "S L"]:
        """Log of weight times density of each cluster.

        Args:
            dim: d.
            logs: Of the weights.
            dots: Rows times resultants.
        """
        if not len(self.weights):  # all rows are of the background
            return logs
        scores = logs + host_log_normaliser(dim, self.concentrations)
        squares = (self.resultants**2).sum(axis=1)
        add_log_densities(scores, dots, self.concentrations, squares, *debye_table(dim))
        return scores

    def log_fresh(self, rows: Rows, numbers: Int[np.ndarray, " S"]) -> Float[np.ndarray, " S"]:
        """Log densities in a cluster without rows."""
        if not self.r0.any():
            return np.full(len(numbers), host_log_normaliser(rows.dim, 0.0))
        along = np.asarray(rows.products(numbers, self.r0[:, None]), np.float64)
        square, kappa = self.r0 @ self.r0, self.fresh
        lengths = np.sqrt(np.maximum(square + kappa * (2 * along + kappa), 0.0))
        logs = host_log_normaliser(rows.dim, kappa) - host_log_normaliser(rows.dim, lengths)
        return logsumexp(logs, axis=1) - np.log(len(kappa)) + host_log_normaliser(rows.dim, np.sqrt(square))


def _of_fresh(
    prior: Prior | None, concentrations: Float[np.ndarray, " K"], dim: int
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " n"]]:
    """``r0`` and ``fresh`` of a draw."""
    if prior is None or not prior.r0.any():
        return np.zeros(dim), np.ones(1)
    if prior.shared and len(concentrations):
        return prior.r0, concentrations[:1]
    # Also where all rows are of the background, of which one kappa for all has its prior.
    return prior.r0, prior.concentration.quantiles(FRESH)


def score_samples(rows: Rows, draws: list[Draw]) -> Float[np.ndarray, " N"]:
    """Log of the posterior predictive density of each row: the mean of the density over the draws."""
    found = np.empty(rows.number)
    with one_blas_thread():
        for numbers in batches(rows):
            of_draws = [logsumexp(draw.log_densities(rows, numbers), axis=1) for draw in draws]
            found[numbers] = logsumexp(of_draws, axis=0) - np.log(len(draws))
    return found


def batches(rows: Rows) -> Iterator[Int[np.ndarray, " S"]]:
    """The numbers of all rows, as many at once as are read at once."""
    for start in range(0, rows.number, AT_ONCE):
        yield np.arange(start, min(start + AT_ONCE, rows.number))
