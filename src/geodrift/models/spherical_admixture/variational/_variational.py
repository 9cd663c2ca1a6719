r"""Variational inference for the spherical admixture model, by L-BFGS in all blocks at once.

The objective is in `_objective`, natural-gradient steps on minibatches are in `_stochastic`; the programs
behind the published comparison are a reproduction, `reproductions/liu-2016/published_variational.py`.

The family has two forms. "tied" is the published one: the concentrations of q(beta) and q(mu) are the
prior's, sigma and kappa_0, so the spread of the posterior is never fitted. "untied" keeps the prior and fits
q: it is the proper mean-field family and finds much better topics.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import optimize

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
from geodrift.models.spherical_admixture.variational._objective import TopicFactors, evaluate, topic_factors
from geodrift.models.topics._variational_checks import check_steps

_LOG_CONCENTRATION_BOUNDS = (np.log(1e-2), np.log(1e9))


class _Packing:
    """The vector that the optimiser moves: log g, topics of any length, and log xi where it is fitted.

    Args:
        model: Data and hyperparameters.
        xi: Start of the topics' concentrations.
        tied: Form of the family.
        fitted: Whether xi is fitted.
    """

    def __init__(self, model: AdmixtureModel, xi: Float[np.ndarray, " K"], tied: bool, fitted: bool) -> None:
        self.model, self.xi, self.tied, self.fitted = model, xi, tied, fitted
        self.num_documents, self.dim = model.num_documents, model.dim
        self.n_topics = xi.size

    def pack(
        self, parameters: Float[np.ndarray, "D K"], directions: Float[np.ndarray, "K V"]
    ) -> Float[np.ndarray, " n"]:
        """The vector at these g and u, and at the start of xi."""
        parts = [np.log(parameters).ravel(), directions.ravel()]
        return np.concatenate([*parts, np.log(self.xi)] if self.fitted else parts)

    def split(
        self, vector: Float[np.ndarray, " n"]
    ) -> tuple[Float[np.ndarray, "D K"], Float[np.ndarray, "K V"], Float[np.ndarray, " K"]]:
        """Log g, topics of any length, and xi."""
        cut = self.num_documents * self.n_topics
        end = cut + self.n_topics * self.dim
        xi = np.exp(vector[end:]) if self.fitted else self.xi
        return (
            vector[:cut].reshape(self.num_documents, self.n_topics),
            vector[cut:end].reshape(self.n_topics, self.dim),
            xi,
        )

    def point(self, vector: Float[np.ndarray, " n"]) -> tuple[Float[np.ndarray, "D K"], TopicFactors]:
        """Parameters g of the documents and factors of the topics, the corpus mean at its maximum."""
        log_parameters, directions, xi = self.split(vector)
        directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        return np.exp(log_parameters), topic_factors(self.model, directions, xi, self.tied)

    def loss(self, vector: Float[np.ndarray, " n"]) -> tuple[float, Float[np.ndarray, " n"]]:
        """Minus the objective maximised over the corpus mean, and its gradient."""
        parameters, topics = self.point(vector)
        at = evaluate(self.model, topics, parameters)
        lengths = np.linalg.norm(self.split(vector)[1], axis=1, keepdims=True)
        parts = [(parameters * at.parameters).ravel(), (at.directions / lengths).ravel()]
        if self.fitted:
            parts.append(topics.concentrations * at.concentrations)
        return -at.objective, -np.concatenate(parts)

    def bounds(self) -> optimize.Bounds:
        """Bounds of every entry of the vector."""
        sizes = (self.num_documents * self.n_topics, self.n_topics * self.dim, self.n_topics * self.fitted)
        limits = (LOG_PARAMETER_BOUNDS, (-np.inf, np.inf), _LOG_CONCENTRATION_BOUNDS)
        ends: list[Any] = [np.repeat([limit[i] for limit in limits], sizes) for i in (0, 1)]
        return optimize.Bounds(*ends)


def fit_variational(
    vectors: Vectors,
    n_topics: int,
    hyperparameters: Hyperparameters,
    *,
    form: Form = "untied",
    posterior_topic_concentration: float | None = None,
    seed: int = 0,
    max_iter: int = 1000,
    seconds: float | None = None,
    callback: Callback | None = None,
) -> VariationalResult:
    r"""Maximise the mean-field objective by L-BFGS in all blocks at once.

    The optimiser moves log g, topics of any length and, when it is fitted, log xi; q(mu) is at its
    closed-form maximum throughout.

    Args:
        vectors: Documents v_d of unit norm in rows, [D, V], sparse or dense. Empty rows carry no information.
        n_topics: K.
        hyperparameters: kappa_0, sigma, kappa and alpha.
        form: "tied": q(beta) has concentration sigma and q(mu) kappa_0, as published. "untied": both are
            free.
        posterior_topic_concentration: With "untied", hold every xi_k of q(beta) at this value instead of
            fitting it.
        seed: Seed of the random start.
        max_iter: Largest number of L-BFGS iterations.
        seconds: Stop after the first iteration that ends later than this.
        callback: Called with (seconds, objective, topics) after every iteration; True stops.

    Returns:
        The family at the last iteration; ``history`` holds the objective, constants included.

    Raises:
        ValueError: An argument is outside what its line allows; the message names it.
    """
    check_steps(max_iter, seconds)
    model = build_model(vectors, n_topics, hyperparameters)
    xi, fitted = initial_concentrations(model, n_topics, form, posterior_topic_concentration)
    packing = _Packing(model, xi, form == "tied", fitted)
    recorder = Recorder(seconds, callback)
    outcome = _minimise(packing, recorder, int(max_iter), seed)
    parameters, factors = packing.point(outcome.x)
    return result_of(factors, parameters, recorder, bool(outcome.success))


def _minimise(packing: _Packing, recorder: Recorder, max_iter: int, seed: int) -> optimize.OptimizeResult:
    """Run L-BFGS from a random start."""
    topics = random_topics(packing.model, packing.n_topics, SAM_VARIATIONAL.generator(seed))
    parameters = start_parameters(packing.model.vectors @ topics.T, 10.0 * packing.n_topics)

    def after_iteration(intermediate_result: optimize.OptimizeResult) -> None:
        if recorder(-float(intermediate_result.fun), packing.point(intermediate_result.x)[1]):
            raise StopIteration

    return optimize.minimize(
        packing.loss,
        packing.pack(parameters, topics),
        jac=True,
        method="L-BFGS-B",
        bounds=packing.bounds(),
        callback=after_iteration,
        options={
            "maxiter": max_iter,
            "maxfun": 2 * max_iter + 100,
            "ftol": 1e-10,
            "gtol": 1e-6,
            "maxcor": 20,
        },
    )
