r"""The topics' weights, and the two concentrations, given all assignments.

Of :math:`\theta_d \sim \mathrm{DP}(\alpha_0, \beta)` and :math:`\beta \sim \mathrm{GEM}(\gamma)`: the tables
of document d at topic k are :math:`m_{dk}`, a sum of Bernoulli draws of probabilities
:math:`\alpha_0 \beta_k / (\alpha_0 \beta_k + i)`, i = 0, ..., n_dk - 1 (Teh et al. 2006, section 5.3). Given
their sums over documents :math:`m_k`, of K topics,

.. math::

    (\beta_1, \dots, \beta_K, \beta_u) &\sim \mathrm{Dirichlet}(m_1, \dots, m_K, \gamma), \\
    \gamma \mid q &\sim \mathrm{Gamma}(a_\gamma + K,\; b_\gamma - \log q),
        \quad q \sim \mathrm{Beta}(\gamma, m_\cdot), \\
    \alpha_0 \mid q &\sim \mathrm{Gamma}\big(a_0 + m_\cdot,\; b_0 - \textstyle\sum_d \log q_d\big),
        \quad q_d \sim \mathrm{Beta}(\alpha_0, n_d),

(their equation 36 and appendix A, with one gamma in the place of two), where :math:`\beta_u` is the weight of
all topics that have no token.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from geodrift.models.clusters._concentration import draw_concentration
from geodrift.models.hierarchical_dirichlet_process._settings import Settings
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._document_prior import log_beta

# Of the priors of alpha_0 and gamma: a is 1 in both.
MIXTURE_RATE, WEIGHT_RATE = 1.0, 0.1
LEAST = 1e-200  # of a weight: its logarithm is finite, and far below what a draw could tell from 0


class Concentrations(NamedTuple):
    """How near documents' mixtures are to the weights, and the weights to one another."""

    mixture: float  # alpha_0
    weight: float  # gamma


def draw_concentrations(
    now: Concentrations,
    tables: Int[np.ndarray, " K"],
    lengths: Int[np.ndarray, " D"],
    settings: Settings,
    rng: np.random.Generator,
) -> Concentrations:
    """Those of the two that are not given, given the tables.

    Args:
        now: Their present values.
        tables: m_k of the topics that have tokens.
        lengths: n_d.
        settings: Say which are given.
        rng: Of the random numbers.
    """
    mixture, weight, number = now.mixture, now.weight, int(tables.sum())
    if settings.weight_concentration is None:
        weight = draw_concentration(weight, len(tables), number, rng, WEIGHT_RATE)
    if settings.mixture_concentration is None:
        fall = -log_beta(mixture, lengths, rng).sum()
        mixture = float(rng.standard_gamma(1.0 + number) / (MIXTURE_RATE + fall))
    return Concentrations(max(mixture, LEAST), max(weight, LEAST))


def draw_weights(
    tables: Int[np.ndarray, " K"], gamma: float, rng: np.random.Generator
) -> tuple[Float[np.ndarray, " K"], float]:
    """The weights beta of the topics that have tables, and beta_u."""
    gammas = np.maximum(rng.standard_gamma(np.append(tables, gamma)), LEAST)
    weights = gammas / gammas.sum()
    return weights[:-1], float(weights[-1])
