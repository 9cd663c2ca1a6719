"""New rows from the posterior predictive law."""

import numpy as np
from jaxtyping import Float

from geodrift.distributions._host_sample import host_sample
from geodrift.models.von_mises_fisher_mixture._predict import Draw


def sampled_rows(number: int, draws: list[Draw], rng: np.random.Generator) -> Float[np.ndarray, "number d"]:
    """New rows, each of a draw taken at random.

    Of the weight of clusters without rows a draw has the mean, so that its weights need not sum to 1: draws
    are taken as often as they do, which makes the rows' law the mean of the draws' densities.
    """
    totals = np.array([draw.weights.sum() + draw.others + draw.background for draw in draws])
    dim = draws[0].resultants.shape[1]
    resultants, kappa = np.zeros((number, dim)), np.zeros((number, 1))  # of the background: uniform
    for i, which in enumerate(rng.choice(len(draws), size=number, p=totals / totals.sum())):
        draw = draws[which]
        weights = np.cumsum([*draw.weights, draw.others + draw.background])
        k = int(np.searchsorted(weights, rng.random() * weights[-1]))
        if k < len(draw.weights):
            resultants[i], kappa[i] = draw.resultants[k], draw.concentrations[k]
        elif draw.r0.any() and rng.random() * (draw.others + draw.background) < draw.others:
            resultants[i], kappa[i] = draw.r0, rng.choice(draw.fresh)
    return host_sample(rng, kappa * host_sample(rng, resultants))
