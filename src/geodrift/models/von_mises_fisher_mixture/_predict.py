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
from geodrift.distributions._host_sample import host_sample
from geodrift.kernels._blas import one_blas_thread
from geodrift.models.von_mises_fisher_mixture._density_kernel import add_log_densities
from geodrift.models.von_mises_fisher_mixture._parameters import Parameters
from geodrift.models.von_mises_fisher_mixture._rows import AT_ONCE, Rows


class Draw(NamedTuple):
    """One draw of a mixture.

    Attributes:
        resultants: kappa_k R_k + r_0, whose von Mises-Fisher law the directions have, [K, d].
        concentrations: [K].
        weights: [K].
        labels: The clusters' numbers in the assignments, [K].
        background: Weight of the background.
        others: Weight of clusters without rows.
    """

    resultants: Float[np.ndarray, "K d"]
    concentrations: Float[np.ndarray, " K"]
    weights: Float[np.ndarray, " K"]
    labels: Int[np.ndarray, " K"]
    background: float
    others: float

    @classmethod
    def of(cls, stored: Mapping[str, np.ndarray], index: tuple[int, ...]) -> "Draw":
        """A draw of stored variables, [chain, draw, ...] or [draw, ...], padded where there are fewer."""
        kappa = stored["concentrations"][index]
        told = np.isfinite(kappa)
        return cls(
            stored["resultants"][index][told].astype(np.float64),
            kappa[told],
            stored["weights"][index][told],
            stored["labels"][index][told],
            float(stored["background_weight"][index]),
            float(stored["other_weight"][index]),
        )

    @classmethod
    def of_parameters(cls, found: Parameters) -> "Draw":
        """A draw as the sampler makes it."""
        return cls(
            found.resultants,
            found.concentrations,
            found.weights,
            found.labels,
            found.background,
            found.others,
        )

    def log_densities(self, rows: Rows, numbers: Int[np.ndarray, " S"]) -> Float[np.ndarray, "S L"]:
        """Log of weight times density of each cluster, of a cluster without rows and of the background, last.

        Directions are integrated out. A row of a cluster that is not listed is uniform, as its direction is.
        (With a prior of the directions that is an approximation, of a cluster that has next to no weight.)
        """
        heights = np.log(self.weights) + host_log_normaliser(rows.dim, self.concentrations)
        found = np.empty((len(numbers), len(self.weights) + 2))
        scores = np.tile(heights, (len(numbers), 1))
        add_log_densities(
            scores,
            np.asarray(rows.products(numbers, np.ascontiguousarray(self.resultants.T)), np.float64),
            self.concentrations,
            (self.resultants**2).sum(axis=1),
            *debye_table(rows.dim),
        )
        found[:, :-2] = scores
        with np.errstate(divide="ignore"):
            found[:, -2:] = np.log([self.others, self.background]) + host_log_normaliser(rows.dim, 0.0)
        return found


def score_samples(rows: Rows, draws: list[Draw]) -> Float[np.ndarray, " N"]:
    """Log of the posterior predictive density of each row: the mean of the density over the draws."""
    found = np.empty(rows.number)
    with one_blas_thread():
        for numbers in batches(rows):
            of_draws = [logsumexp(draw.log_densities(rows, numbers), axis=1) for draw in draws]
            found[numbers] = logsumexp(of_draws, axis=0) - np.log(len(draws))
    return found


def membership(
    rows: Rows, draws: list[Draw], shares: list[Float[np.ndarray, "A K"]], outside: bool
) -> Float[np.ndarray, "N K"]:
    """Probability of each cluster of a partition, mean over the draws; rows sum to 1.

    Args:
        rows: New rows, or old ones.
        draws: Of the parameters.
        shares: Of each draw, which share of each of its clusters lies in each cluster of the partition.
        outside: Whether the last column is the background.
    """
    clusters = shares[0].shape[1]
    found = np.zeros((rows.number, clusters + outside))
    with one_blas_thread():
        for numbers in batches(rows):
            for draw, share in zip(draws, shares, strict=True):
                scores = draw.log_densities(rows, numbers)
                if not outside:
                    scores[:, -1] = -np.inf
                p = np.exp(scores - scores.max(axis=1, keepdims=True))
                # A cluster that nobody is in is no cluster of the partition.
                p[:, -2] = 0.0
                p /= p.sum(axis=1, keepdims=True)
                found[numbers, :clusters] += p[:, :-2] @ share
                if outside:
                    found[numbers, clusters] += p[:, -1]
    return found / found.sum(axis=1, keepdims=True)


def sampled_rows(number: int, draws: list[Draw], rng: np.random.Generator) -> Float[np.ndarray, "number d"]:
    """New rows, each of a draw taken at random."""
    dim = draws[0].resultants.shape[1]
    resultants, kappa = np.zeros((number, dim)), np.zeros((number, 1))  # of no cluster: uniform
    for i, which in enumerate(rng.integers(len(draws), size=number)):
        draw = draws[which]
        weights = np.cumsum([*draw.weights, draw.others + draw.background])
        k = int(np.searchsorted(weights, rng.random() * weights[-1]))
        if k < len(draw.weights):
            resultants[i], kappa[i] = draw.resultants[k], draw.concentrations[k]
    return host_sample(rng, kappa * host_sample(rng, resultants))


def batches(rows: Rows) -> Iterator[Int[np.ndarray, " S"]]:
    """The numbers of all rows, as many at once as are read at once."""
    for start in range(0, rows.number, AT_ONCE):
        yield np.arange(start, min(start + AT_ONCE, rows.number))
