r"""Stochastic variational inference for the spherical admixture model, by natural gradients.

The likelihood is not conjugate to q(beta), so the step is that of Hoffman et al. (2013) for non-conjugate
models: with natural parameters ``eta_k = xi_k u_k`` and mean parameters ``tau_k = A_V(xi_k) u_k``, the
natural gradient of the objective is its gradient in tau minus eta.
"""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from scipy import optimize

from geodrift.distributions import host_mean_resultant_length
from geodrift.kernels._streams import SAM_VARIATIONAL
from geodrift.models.spherical_admixture.variational._family import (
    LOG_PARAMETER_BOUNDS,
    Callback,
    Form,
    Recorder,
    VariationalResult,
    initial_concentrations,
    random_topics,
    result_of,
    start_parameters,
)
from geodrift.models.spherical_admixture.variational._model import (
    AdmixtureModel,
    Hyperparameters,
    Vectors,
    build_model,
)
from geodrift.models.spherical_admixture.variational._objective import (
    TopicFactors,
    document_objective,
    document_terms,
    likelihood_constant,
    mean_parameter_gradient,
    topic_factors,
    topic_objective,
)
from geodrift.models.topics._variational_checks import check_batches, check_steps

_LOCAL_ITERATIONS = 25  # of L-BFGS over the parameters of a batch
_DOCUMENTS_AT_ONCE = 1000  # fitted together after the last step


def fit_documents(
    model: AdmixtureModel,
    vectors: sp.csr_matrix,
    topic_means: Float[np.ndarray, "K V"],
    max_iter: int = _LOCAL_ITERATIONS,
) -> tuple[Float[np.ndarray, "B K"], float]:
    """The local step: the g of some documents that maximises their part of the objective, the topics held.

    Args:
        model: Hyperparameters; its own documents are not used.
        vectors: Unit rows [B, V].
        topic_means: tau_k = A(xi_k) u_k.
        max_iter: Largest number of L-BFGS iterations over log g of all rows.

    Returns:
        g, and ``L_theta + kappa sum_d rho_d`` at it.
    """
    projections = np.asarray(vectors @ topic_means.T)
    start = start_parameters(projections, 10.0 * topic_means.shape[0])

    def loss(vector: np.ndarray) -> tuple[float, np.ndarray]:
        parameters = np.exp(vector).reshape(start.shape)
        value, gradient = document_objective(model, parameters, projections, topic_means)
        return -value, -(parameters * gradient).ravel()

    outcome = optimize.minimize(
        loss,
        np.log(start).ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=optimize.Bounds(*LOG_PARAMETER_BOUNDS),
        options={"maxiter": max_iter},
    )
    return np.exp(outcome.x).reshape(start.shape), -float(outcome.fun)


def natural_gradient_target(
    model: AdmixtureModel,
    batch: sp.csr_matrix,
    parameters: Float[np.ndarray, "B K"],
    topics: TopicFactors,
) -> Float[np.ndarray, "K V"]:
    """``eta_k* = sigma a0 mt + kappa (D/S) sum_d drho_d/dtau_k``, estimated from a batch.

    The natural gradient of the objective in ``eta_k = xi_k u_k`` is ``eta_k* - eta_k``.

    Args:
        model: Hyperparameters and number of documents D.
        batch: Unit rows of S documents, [S, V].
        parameters: Their fitted g.
        topics: Factors of the topics.
    """
    means = topics.means
    terms = document_terms(parameters, np.asarray(batch @ means.T), means)
    scale = model.document_concentration * model.num_documents / len(parameters)
    a0 = float(host_mean_resultant_length(model.dim, topics.corpus_mean_concentration))
    prior = model.topic_concentration * a0 * topics.corpus_mean
    return prior + scale * mean_parameter_gradient(batch, parameters, means, terms)


def natural_gradient_step(
    model: AdmixtureModel,
    topics: TopicFactors,
    target: Float[np.ndarray, "K V"],
    weight: float,
    *,
    tied: bool,
    fitted: bool,
) -> TopicFactors:
    """Move the natural parameters towards their target with the given weight, then maximise over q(mu).

    Args:
        model: Hyperparameters.
        topics: Factors before the step.
        target: eta*, see `natural_gradient_target`.
        weight: omega, from 0 to 1.
        tied: Form of the family.
        fitted: Whether the concentrations xi are fitted; otherwise the directions alone move.
    """
    if not fitted:
        target = target * (topics.concentrations / np.linalg.norm(target, axis=1))[:, None]
    eta = (1 - weight) * topics.concentrations[:, None] * topics.directions + weight * target
    norms = np.linalg.norm(eta, axis=1)
    xi = norms if fitted else topics.concentrations
    return topic_factors(model, eta / norms[:, None], xi, tied)


def fit_stochastic_variational(
    vectors: Vectors,
    n_topics: int,
    hyperparameters: Hyperparameters,
    *,
    form: Form = "untied",
    posterior_topic_concentration: float | None = None,
    batch_size: int = 50,
    delay: float = 5.0,
    decay: float = 0.8,
    seed: int = 0,
    max_iter: int = 1000,
    seconds: float | None = None,
    callback: Callback | None = None,
) -> VariationalResult:
    r"""Natural-gradient steps on minibatches drawn without replacement.

    At step t the g of the batch's documents is fitted, and with weight ``omega_t = (t + delay)^-decay``

    .. math:: \eta_k \leftarrow (1-\omega_t)\eta_k + \omega_t [\sigma a_0 \tilde m
              + \kappa (D/S) \sum_{d \in S} \partial\rho_d/\partial\tau_k].

    The cost of a step does not depend on D. After the last step the g of all documents is fitted.

    Args:
        vectors: Documents v_d of unit norm in rows, [D, V], sparse or dense.
        n_topics: K.
        hyperparameters: kappa_0, sigma, kappa and alpha.
        form: "tied" or "untied", as in `fit_variational`.
        posterior_topic_concentration: With "untied", hold every xi_k at this value.
        batch_size: S, documents of one step.
        delay: Not negative.
        decay: Above 0.5 and at most 1.
        seed: Seed of the start and of the batches.
        max_iter: Number of minibatches.
        seconds: Stop after the first minibatch that ends later than this.
        callback: Called with (seconds, objective, topics) after every minibatch; True stops.

    Returns:
        The family at the last step. ``history`` holds an unbiased estimate of the objective before each step;
        ``converged`` is whether all ``max_iter`` steps were made.

    Raises:
        ValueError: An argument is outside what its line allows; the message names it.
    """
    check_steps(max_iter, seconds)
    model = build_model(vectors, n_topics, hyperparameters)
    check_batches(batch_size, model.num_documents, delay, decay)
    xi, fitted = initial_concentrations(model, n_topics, form, posterior_topic_concentration)
    tied, random = form == "tied", SAM_VARIATIONAL.generator(seed)
    topics = topic_factors(model, random_topics(model, n_topics, random), xi, tied)
    recorder, step = Recorder(seconds, callback), 0
    for step in range(1, int(max_iter) + 1):
        batch = model.vectors[np.sort(random.choice(model.num_documents, batch_size, replace=False))]
        estimate, target = _fit_batch(model, batch, topics)
        weight = (step + delay) ** -decay
        topics = natural_gradient_step(model, topics, target, weight, tied=tied, fitted=fitted)
        if recorder(estimate, topics):
            break
    return result_of(topics, _fit_all_documents(model, topics), recorder, step == int(max_iter))


def _fit_batch(
    model: AdmixtureModel, batch: sp.csr_matrix, topics: TopicFactors
) -> tuple[float, Float[np.ndarray, "K V"]]:
    """Estimate the objective and the target of the natural parameters from a batch, its g fitted first."""
    parameters, documents = fit_documents(model, batch, topics.means)
    documents *= model.num_documents / len(parameters)
    estimate = likelihood_constant(model) + topic_objective(model, topics) + documents
    return estimate, natural_gradient_target(model, batch, parameters, topics)


def _fit_all_documents(model: AdmixtureModel, topics: TopicFactors) -> Float[np.ndarray, "D K"]:
    """The g of every document, the topics held."""
    starts = range(0, model.num_documents, _DOCUMENTS_AT_ONCE)
    blocks = (model.vectors[start : start + _DOCUMENTS_AT_ONCE] for start in starts)
    return np.concatenate([fit_documents(model, block, topics.means)[0] for block in blocks])
