r"""Mean-field objective of the spherical admixture model (Reisinger et al. 2010) and its gradients.

The variational family is ``vMF(mu | mt, k0t) prod_k vMF(beta_k | u_k, xi_k) prod_d Dirichlet(theta_d |
g_d)``. Topics enter the likelihood only through their means ``tau_k = A_V(xi_k) u_k``, documents through

.. math:: Q_d = E|\beta\theta_d|^2 = \frac{G_d + g_d' M g_d}{G_d (G_d + 1)},\quad M = T T' + diag(1 -
|\tau_k|^2)

and ``rho_d = g_d' T v_d / (G_d sqrt(Q_d))``, ``G_d`` the sum of ``g_d`` and T the matrix of rows ``tau_k``.
``rho_d`` replaces a mean of a ratio by a ratio of means, so the objective is not a guaranteed bound.

No dense array has the size documents x words: the cost is O(nnz K + V K^2 + D K^2).
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from scipy import special

from geodrift.distributions import (
    host_log_normaliser,
    host_mean_resultant_length,
    host_mean_resultant_length_derivative,
)
from geodrift.models.spherical_admixture.variational._model import AdmixtureModel


class TopicFactors(NamedTuple):
    """The factors q(mu) and q(beta) of the family."""

    directions: Float[np.ndarray, "K V"]  # u_k, unit rows
    concentrations: Float[np.ndarray, " K"]  # xi_k
    corpus_mean: Float[np.ndarray, " V"]  # mt
    corpus_mean_concentration: float  # k0t

    @property
    def means(self) -> Float[np.ndarray, "K V"]:
        """Means of the topics, tau_k = A_V(xi_k) u_k."""
        lengths = host_mean_resultant_length(self.directions.shape[1], self.concentrations)
        return lengths[:, None] * self.directions


class DocumentTerms(NamedTuple):
    """Terms of each document in the likelihood and in its gradients."""

    alignment: Float[np.ndarray, " D"]  # rho_d
    scale: Float[np.ndarray, " D"]  # drho_d / ds_d = 1 / (G_d sqrt Q_d)
    weight: Float[np.ndarray, " D"]  # W_d = rho_d / (G_d + g_d' M g_d)
    gradient: Float[np.ndarray, "D K"]  # drho_d / dg_d


def corpus_mean_factor(
    model: AdmixtureModel,
    topic_means: Float[np.ndarray, "K V"],
    tied: bool,
) -> tuple[Float[np.ndarray, " V"], float]:
    """The q(mu) that maximises the objective, given the means tau of the topics.

    Returns:
        mt, the direction of ``kappa_0 m + sigma sum_k tau_k``, and k0t, its norm (kappa_0 when tied).
    """
    vector = model.corpus_mean_concentration * model.mean_direction
    vector = vector + model.topic_concentration * topic_means.sum(axis=0)
    norm = float(np.linalg.norm(vector))
    return vector / norm, model.corpus_mean_concentration if tied else norm


def topic_factors(
    model: AdmixtureModel,
    directions: Float[np.ndarray, "K V"],
    concentrations: Float[np.ndarray, " K"],
    tied: bool,
) -> TopicFactors:
    """The q(beta) given, with the q(mu) that maximises the objective."""
    means = host_mean_resultant_length(model.dim, concentrations)[:, None] * directions
    return TopicFactors(directions, concentrations, *corpus_mean_factor(model, means, tied))


def document_terms(
    parameters: Float[np.ndarray, "D K"],
    projections: Float[np.ndarray, "D K"],
    topic_means: Float[np.ndarray, "K V"],
) -> DocumentTerms:
    """The terms rho_d and their derivatives.

    Args:
        parameters: g, positive.
        projections: ``v_d' tau_k``.
        topic_means: tau.
    """
    gram = topic_means @ topic_means.T
    gram[np.diag_indices_from(gram)] = 1.0  # M: |tau_k|^2 + (1 - |tau_k|^2)
    total = parameters.sum(axis=1)
    m_times_g = parameters @ gram
    squared = total + np.einsum("dk,dk->d", parameters, m_times_g)  # Q_d G_d (G_d + 1)
    scale = np.sqrt((total + 1) / (total * squared))
    alignment = scale * np.einsum("dk,dk->d", parameters, projections)
    of_total = -0.5 / (total * (total + 1))
    gradient = scale[:, None] * projections
    gradient += alignment[:, None] * (of_total[:, None] - (0.5 + m_times_g) / squared[:, None])
    return DocumentTerms(alignment, scale, alignment / squared, gradient)


def mean_parameter_gradient(
    vectors: sp.csr_matrix,
    parameters: Float[np.ndarray, "D K"],
    topic_means: Float[np.ndarray, "K V"],
    terms: DocumentTerms,
) -> Float[np.ndarray, "K V"]:
    """Gradient ``sum_d drho_d / dtau_k``, the radial part included."""
    outer = parameters.T @ (terms.weight[:, None] * parameters)
    outer[np.diag_indices_from(outer)] = 0.0  # |tau_k|^2 enters |T g|^2 and 1 - |tau_k|^2 and cancels
    return (vectors.T @ (terms.scale[:, None] * parameters)).T - outer @ topic_means


def mixture_objective(
    parameters: Float[np.ndarray, "D K"], prior: Float[np.ndarray, " K"]
) -> tuple[float, Float[np.ndarray, "D K"]]:
    """``L_theta``, minus the Kullback-Leibler divergence of q(theta) from the prior; with its gradient."""
    total = parameters.sum(axis=1, keepdims=True)
    expected_log = special.psi(parameters) - special.psi(total)
    value = parameters.shape[0] * (special.gammaln(prior.sum()) - special.gammaln(prior).sum())
    value -= special.gammaln(total).sum() - special.gammaln(parameters).sum()
    value += np.sum((prior - parameters) * expected_log)
    # polygamma(1, x) is zeta(2, x); the direct call saves half the time.
    gradient = (prior - parameters) * special.zeta(2.0, parameters)
    gradient += (total - prior.sum()) * special.zeta(2.0, total)
    return float(value), gradient


def topic_objective(model: AdmixtureModel, topics: TopicFactors) -> float:
    """``L_mu + L_beta``, minus the Kullback-Leibler divergences of q(mu) and q(beta) from the prior."""
    dim = model.dim
    k0t, xi = topics.corpus_mean_concentration, topics.concentrations
    a0 = float(host_mean_resultant_length(dim, k0t))
    a = host_mean_resultant_length(dim, xi)
    value = host_log_normaliser(dim, model.corpus_mean_concentration) - host_log_normaliser(dim, k0t)
    value += a0 * (model.corpus_mean_concentration * model.mean_direction @ topics.corpus_mean - k0t)
    value += np.sum(host_log_normaliser(dim, model.topic_concentration) - host_log_normaliser(dim, xi))
    value += np.sum(a * (model.topic_concentration * a0 * (topics.directions @ topics.corpus_mean) - xi))
    return float(value)


def likelihood_constant(model: AdmixtureModel) -> float:
    """``log c_V(kappa)``, summed over the documents that have words."""
    filled = np.count_nonzero(np.diff(model.vectors.indptr))
    return filled * float(host_log_normaliser(model.dim, model.document_concentration))


class Evaluation(NamedTuple):
    """The objective at one point and its derivatives."""

    objective: float
    parameters: Float[np.ndarray, "D K"]  # dL / dg
    directions: Float[np.ndarray, "K V"]  # dL / du_k, projected on the tangent space of the sphere
    concentrations: Float[np.ndarray, " K"]  # dL / dxi_k, the prior's sigma held


def evaluate(model: AdmixtureModel, topics: TopicFactors, parameters: Float[np.ndarray, "D K"]) -> Evaluation:
    """Objective and its gradients in every block, the corpus mean held.

    Where the corpus mean is that of `corpus_mean_factor`, these are also the gradients of the objective
    maximised over the corpus mean.
    """
    dim = model.dim
    a = host_mean_resultant_length(dim, topics.concentrations)
    a0 = float(host_mean_resultant_length(dim, topics.corpus_mean_concentration))
    means = topics.means
    kappa, sigma = model.document_concentration, model.topic_concentration
    terms = document_terms(parameters, model.vectors @ means.T, means)
    mixture, of_parameters = mixture_objective(parameters, model.doc_topic_prior)
    value = topic_objective(model, topics) + mixture + likelihood_constant(model)
    value += kappa * terms.alignment.sum()
    of_means = kappa * mean_parameter_gradient(model.vectors, parameters, means, terms)
    of_means += sigma * a0 * topics.corpus_mean
    radial = np.einsum("kv,kv->k", of_means, topics.directions)
    slope = host_mean_resultant_length_derivative(dim, topics.concentrations)
    return Evaluation(
        objective=float(value),
        parameters=of_parameters + kappa * terms.gradient,
        directions=a[:, None] * (of_means - radial[:, None] * topics.directions),
        concentrations=slope * (radial - topics.concentrations),
    )


def document_objective(
    model: AdmixtureModel,
    parameters: Float[np.ndarray, "B K"],
    projections: Float[np.ndarray, "B K"],
    topic_means: Float[np.ndarray, "K V"],
) -> tuple[float, Float[np.ndarray, "B K"]]:
    """``L_theta + kappa sum_d rho_d`` of some documents, and its gradient in g, the topics held."""
    terms = document_terms(parameters, projections, topic_means)
    value, gradient = mixture_objective(parameters, model.doc_topic_prior)
    kappa = model.document_concentration
    return value + kappa * float(terms.alignment.sum()), gradient + kappa * terms.gradient
