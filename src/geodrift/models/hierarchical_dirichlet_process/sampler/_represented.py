r"""Which of the infinitely many topics a sweep may use: those that some customers choose, who leave no trace.

Given the weights :math:`\beta`, N customers choose topics, each by :math:`\beta` and independent of all else.
The model is the same with or without them. Given their choices as well, a token's assignment may be redrawn
among the chosen topics alone (a Gibbs draw given that it is in that set), and a token whose topic none of
them chose is left where it is until other customers choose. Both leave the posterior as it is, so no part of
it is cut off: a truncation would be an approximation, and opening topics token by token would tie the threads
to one another.

Some customers choose topics without a token, which together have the weight :math:`\beta_u`. Which of these
they choose is a Chinese restaurant of concentration gamma, and given that s_1, ..., s_J of them chose J
topics the weights are

.. math:: \beta_u \cdot \mathrm{Dirichlet}(s_1, \dots, s_J, \gamma).

N may depend on what the sweeps leave alone. It is `SHARE` times the tables that documents of these lengths
have on average, so that a topic of few tables is mostly chosen, and about gamma log(1 + `SHARE`) new ones.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import digamma

SHARE = 4.0


class Represented(NamedTuple):
    """The topics of the next sweeps: those that have tokens, then new ones."""

    weights: Float[np.ndarray, " K"]
    others: float  # the weight of all topics that are not among them
    is_open: Bool[np.ndarray, " K"]  # whether a customer chose it


def number_of_customers(alpha: float, lengths: Int[np.ndarray, " D"]) -> int:
    """N: `SHARE` times sum_d alpha_0 (digamma(alpha_0 + n_d) - digamma(alpha_0)), and at least 1.

    Args:
        alpha: alpha_0.
        lengths: n_d.
    """
    # alpha digamma(alpha) = alpha digamma(alpha + 1) - 1
    tables = (alpha * (digamma(alpha + lengths) - digamma(alpha + 1.0)) + 1.0)[lengths > 0].sum()
    return max(1, math.ceil(SHARE * tables))


def represented(
    weights: Float[np.ndarray, " K"], others: float, gamma: float, customers: int, rng: np.random.Generator
) -> Represented:
    """Draw the customers' choices, and the weights of the topics that only they have.

    Args:
        weights: beta of the topics that have tokens.
        others: beta_u.
        gamma: The concentration of the weights.
        customers: N.
        rng: Of the random numbers.
    """
    whole = np.append(weights, others)
    *counts, of_others = rng.multinomial(customers, whole / whole.sum())
    sizes = restaurant(int(of_others), gamma, rng)
    parts = np.maximum(rng.standard_gamma(np.append(sizes, gamma)), np.finfo(float).tiny)
    new = others * parts / parts.sum()
    is_open = np.append(np.array(counts, np.int64) > 0, np.ones(len(sizes), bool))
    return Represented(np.append(weights, new[:-1]), float(new[-1]), is_open)


def restaurant(customers: int, gamma: float, rng: np.random.Generator) -> Int[np.ndarray, " J"]:
    """Sizes of the tables of a Chinese restaurant process."""
    begins = rng.random(customers) * (gamma + np.arange(customers)) < gamma
    tables = np.zeros(customers, np.int64)  # of each customer
    # Who does not begin a table goes to that of one who came before.
    joins = (rng.random(customers) * np.arange(customers)).astype(np.int64)
    number = 0
    for i in range(customers):
        if i == 0 or begins[i]:
            tables[i] = number
            number += 1
        else:
            tables[i] = tables[joins[i]]
    return np.bincount(tables, minlength=number)[:number]
