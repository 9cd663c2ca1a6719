r"""Stochastic variational inference for the spherical admixture model, by natural gradients.

The likelihood is not conjugate to q(beta), so the step is Hoffman et al. (2013) in its non-conjugate form:
with natural parameters ``eta_k = xi_k u_k`` and mean parameters ``tau_k = A_V(xi_k) u_k``, the natural
gradient of the objective is its gradient in tau minus eta.
"""

import numpy as np
import scipy.sparse as sp
from jaxtyping import ArrayLike, Float
from scipy import optimize

from geodrift.distributions import host_mean_resultant_length
from geodrift.kernels._streams import SAM_VARIATIONAL
from geodrift.models.spherical_admixture.variational._objective import (
    AdmixtureModel,
    TopicFactors,
    build_model,
    corpus_mean_factor,
    document_objective,
    document_terms,
    likelihood_constant,
    mean_parameter_gradient,
    topic_objective,
)
from geodrift.models.spherical_admixture.variational._variational import (
    LOG_PARAMETER_BOUNDS,
    Callback,
    Form,
    Recorder,
    VariationalResult,
    Vectors,
    check_form,
    fixed_concentrations,
    random_topics,
    result_of,
    start_parameters,
)
from geodrift.models.topics._variational_checks import check_batches, check_steps

_LOCAL_ITERATIONS = 25
_DOCUMENTS_AT_ONCE = 1000


def fit_documents(
    model: AdmixtureModel,
    vectors: sp.csr_matrix,
    topic_means: Float[np.ndarray, "K V"],
    max_iter: int = _LOCAL_ITERATIONS,
) -> tuple[Float[np.ndarray, "B K"], float]:
    """The local step: g of some documents that maximises their part of the objective, topics held.

    Args:
        model: Hyperparameters; its own documents are not used.
        vectors: Unit rows [B, V].
        topic_means: tau_k = A(xi_k) u_k.
        max_iter: Number of L-BFGS iterations over log g of all rows.

    Returns:
        g [B, K], and ``L_theta + kappa sum rho`` at it.
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
    r"""``eta_k* = sigma a0 mt + kappa (D/S) sum_d drho_d/dtau_k``.

    The natural gradient of the objective in ``eta_k = xi_k u_k`` is ``eta_k* - eta_k``.
    """
    dim = model.dim
    a = host_mean_resultant_length(dim, topics.concentrations)
    means = a[:, None] * topics.directions
    terms = document_terms(parameters, np.asarray(batch @ means.T), means)
    scale = model.document_concentration * model.num_documents / len(parameters)
    a0 = float(host_mean_resultant_length(dim, topics.corpus_mean_concentration))
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
    """Blend the natural parameters with their target, then renew q(mu)."""
    if not fitted:
        target = target * (topics.concentrations / np.linalg.norm(target, axis=1))[:, None]
    eta = (1 - weight) * topics.concentrations[:, None] * topics.directions + weight * target
    norms = np.linalg.norm(eta, axis=1)
    xi = norms if fitted else topics.concentrations
    directions = eta / norms[:, None]
    a = host_mean_resultant_length(model.dim, xi)
    mean, k0t = corpus_mean_factor(model, a[:, None] * directions, tied)
    return TopicFactors(directions, xi, mean, k0t)


def fit_stochastic_variational(
    vectors: Vectors,
    n_topics: int,
    *,
    corpus_mean_concentration: float,
    topic_concentration: float,
    document_concentration: float,
    doc_topic_prior: Float[ArrayLike, "*K"],
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

    At step t = 1, 2, ... the documents of the batch are fitted from scratch, and with weight ``omega_t = (t
    + delay)^-decay``

    .. math:: \eta_k \leftarrow (1-\omega_t)\eta_k + \omega_t [\sigma a_0 \tilde m
              + \kappa (D/S) \sum_{d \in S} \partial\rho_d/\partial\tau_k].

    No state is kept per document, so the cost of a step does not depend on D. After the last step one pass
    over all documents gives their parameters.

    Args:
        vectors: Documents v_d of unit norm in rows, [D, V], sparse or dense.
        n_topics: K.
        corpus_mean_concentration: kappa0 of the prior of the corpus mean.
        topic_concentration: sigma of the prior of the topics.
        document_concentration: kappa of the documents.
        doc_topic_prior: alpha, one number or K numbers.
        form: "tied" or "untied", as in `fit_variational`.
        posterior_topic_concentration: With "untied", hold every xi_k at this value.
        batch_size: S.
        delay: tau0, not negative.
        decay: gamma, above 0.5 and at most 1.
        seed: Seed of the start and of the batches.
        max_iter: Number of minibatches.
        seconds: Stop after the first minibatch that ends later than this.
        callback: Called with (seconds, objective, topics) after every minibatch; True stops.

    Returns:
        The family at the last step. ``history`` holds unbiased estimates of the objective (documents freshly
        fitted) from each batch before its step; ``converged`` is whether all ``max_iter`` steps were made.

    Raises:
        ValueError: an argument is outside what its line allows; the message names it.
    """
    check_form(form)
    check_steps(max_iter, seconds)
    model = build_model(
        vectors,
        n_topics,
        corpus_mean_concentration=corpus_mean_concentration,
        topic_concentration=topic_concentration,
        document_concentration=document_concentration,
        doc_topic_prior=doc_topic_prior,
    )
    num_documents, dim = model.num_documents, model.dim
    check_batches(batch_size, num_documents, delay, decay)
    xi, fitted = fixed_concentrations(model, n_topics, form, posterior_topic_concentration)
    random = SAM_VARIATIONAL.generator(seed)
    directions = random_topics(model, n_topics, random)
    means = host_mean_resultant_length(dim, xi)[:, None] * directions
    mean, k0t = corpus_mean_factor(model, means, form == "tied")
    topics = TopicFactors(directions, xi, mean, k0t)
    recorder = Recorder(seconds, callback)
    constant = likelihood_constant(model)
    step = 0
    for step in range(1, int(max_iter) + 1):
        batch = model.vectors[np.sort(random.choice(num_documents, batch_size, replace=False))]
        means = host_mean_resultant_length(dim, topics.concentrations)[:, None] * topics.directions
        parameters, documents = fit_documents(model, batch, means)
        estimate = constant + topic_objective(model, topics) + num_documents / batch_size * documents
        target = natural_gradient_target(model, batch, parameters, topics)
        weight = (step + delay) ** -decay
        topics = natural_gradient_step(model, topics, target, weight, tied=form == "tied", fitted=fitted)
        if recorder(estimate, topics):
            break
    means = host_mean_resultant_length(dim, topics.concentrations)[:, None] * topics.directions
    parts = range(0, num_documents, _DOCUMENTS_AT_ONCE)
    fitted_parts = [fit_documents(model, model.vectors[i : i + _DOCUMENTS_AT_ONCE], means)[0] for i in parts]
    return result_of(topics, np.concatenate(fitted_parts), recorder, step == int(max_iter))
