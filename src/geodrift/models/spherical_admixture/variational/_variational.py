r"""Variational inference for the spherical admixture model, by L-BFGS in all blocks at once.

The objective is in ``_objective``, natural-gradient steps on minibatches in ``_stochastic``; the programs
behind the published comparison are a reproduction, ``reproductions/liu-2016/published_variational.py``.

Two forms of the family are offered. "tied" is the published one: the concentrations of q(beta) and q(mu) are
the prior's, sigma and kappa0, so the spread of the posterior is never fitted. "untied" keeps the prior and
fits q: it is the proper mean-field family and reaches much better topics.
"""

import time
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from jaxtyping import ArrayLike, Float
from scipy import optimize

from geodrift.distributions import host_mean_resultant_length
from geodrift.kernels._streams import SAM_VARIATIONAL
from geodrift.models.spherical_admixture.variational._objective import (
    AdmixtureModel,
    Evaluation,
    TopicFactors,
    build_model,
    corpus_mean_factor,
    evaluate,
)
from geodrift.models.topics._variational_checks import check_steps

Form = Literal["tied", "untied"]
Vectors: TypeAlias = sp.spmatrix | sp.sparray | Float[np.ndarray, "D V"]
Callback = Callable[[float, float, TopicFactors], bool | None]
"""Called after every iteration with seconds, objective and the topics; True ends the run."""

# log g is kept in a range where polygamma functions and sums of squares neither overflow nor lose all digits.
LOG_PARAMETER_BOUNDS = (np.log(1e-4), np.log(1e9))
_LOG_CONCENTRATION_BOUNDS = (np.log(1e-2), np.log(1e9))


class VariationalResult(NamedTuple):
    """The fitted variational family."""

    topics: Float[np.ndarray, "K V"]  # u_k, unit rows
    topic_concentrations: Float[np.ndarray, " K"]  # xi_k
    document_parameters: Float[np.ndarray, "D K"]  # g_d
    corpus_mean: Float[np.ndarray, " V"]  # mt
    corpus_mean_concentration: float  # k0t
    history: list[tuple[float, float]]  # (seconds, objective) after every iteration
    converged: bool  # whether the run ended by its own rule, not by max_iter, seconds or the callback


class Recorder:
    """The clock, the history and the reasons to stop early."""

    def __init__(self, seconds: float | None, callback: Callback | None) -> None:
        self.history: list[tuple[float, float]] = []
        self._seconds = seconds
        self._callback = callback
        self._start = time.perf_counter()

    def __call__(self, objective: float, topics: TopicFactors) -> bool:
        """Note an iteration; whether to stop."""
        elapsed = time.perf_counter() - self._start
        self.history.append((elapsed, objective))
        wanted = self._callback is not None and bool(self._callback(elapsed, objective, topics))
        return wanted or (self._seconds is not None and elapsed >= self._seconds)


def random_topics(
    model: AdmixtureModel, n_topics: int, random: np.random.Generator
) -> Float[np.ndarray, "K V"]:
    """Unit rows with uniform(0, 1) entries before normalisation, the start of the original programs."""
    topics = random.uniform(size=(n_topics, model.dim))
    return topics / np.linalg.norm(topics, axis=1, keepdims=True)


def start_parameters(projections: Float[np.ndarray, "D K"], total: float) -> Float[np.ndarray, "D K"]:
    """Dirichlet parameters g in proportion to ``max(u_k'v_d, 0) + 0.01``, each row with sum ``total``."""
    weights = np.maximum(projections, 0) + 0.01
    return total * weights / weights.sum(axis=1, keepdims=True)


def check_form(form: str) -> None:
    """Raise for an unknown family."""
    if form not in ("tied", "untied"):
        raise ValueError(f'form must be "tied" or "untied", got {form!r}')


def fixed_concentrations(
    model: AdmixtureModel, n_topics: int, form: Form, posterior: float | None
) -> tuple[Float[np.ndarray, " K"], bool]:
    """Start of xi, and whether it is fitted."""
    if posterior is not None and not (np.isfinite(posterior) and posterior > 0):
        raise ValueError(f"posterior_topic_concentration must be positive and finite, got {posterior}")
    if form == "tied":
        if posterior is not None:
            raise ValueError('posterior_topic_concentration needs form="untied"')
        return np.full(n_topics, model.topic_concentration), False
    if posterior is None:
        return np.full(n_topics, model.topic_concentration), True
    return np.full(n_topics, float(posterior)), False


class _Packing:
    """The optimiser's vector: log g, topics of any length, and log xi where it is fitted."""

    def __init__(self, model: AdmixtureModel, xi: Float[np.ndarray, " K"], tied: bool, fitted: bool) -> None:
        self.model, self.xi, self.tied, self.fitted = model, xi, tied, fitted
        self.num_documents, self.dim = model.num_documents, model.dim
        self.n_topics = xi.size

    def pack(self, parameters: np.ndarray, directions: np.ndarray) -> np.ndarray:
        parts = [np.log(parameters).ravel(), directions.ravel()]
        return np.concatenate([*parts, np.log(self.xi)] if self.fitted else parts)

    def split(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``log g`` [D, K], topics [K, V] and xi [K]."""
        cut = self.num_documents * self.n_topics
        end = cut + self.n_topics * self.dim
        xi = np.exp(vector[end:]) if self.fitted else self.xi
        return (
            vector[:cut].reshape(self.num_documents, self.n_topics),
            vector[cut:end].reshape(self.n_topics, self.dim),
            xi,
        )

    def point(self, vector: np.ndarray) -> tuple[Float[np.ndarray, "D K"], TopicFactors]:
        """Documents (g) and topics, with the corpus mean at its maximum."""
        log_parameters, directions, xi = self.split(vector)
        directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        a = host_mean_resultant_length(self.dim, xi)
        mean, k0t = corpus_mean_factor(self.model, a[:, None] * directions, self.tied)
        return np.exp(log_parameters), TopicFactors(directions, xi, mean, k0t)

    def loss(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the objective and its gradient, the corpus mean maximised out."""
        parameters, topics = self.point(vector)
        at: Evaluation = evaluate(self.model, topics, parameters)
        lengths = np.linalg.norm(self.split(vector)[1], axis=1, keepdims=True)
        parts = [(parameters * at.parameters).ravel(), (at.directions / lengths).ravel()]
        if self.fitted:
            parts.append(topics.concentrations * at.concentrations)
        return -at.objective, -np.concatenate(parts)

    def bounds(self) -> optimize.Bounds:
        sizes = (self.num_documents * self.n_topics, self.n_topics * self.dim, self.n_topics * self.fitted)
        limits = (LOG_PARAMETER_BOUNDS, (-np.inf, np.inf), _LOG_CONCENTRATION_BOUNDS)
        ends: list[Any] = [np.repeat([limit[i] for limit in limits], sizes) for i in (0, 1)]
        return optimize.Bounds(*ends)


def result_of(
    topics: TopicFactors, parameters: np.ndarray, recorder: Recorder, converged: bool
) -> VariationalResult:
    """What a fit returns."""
    return VariationalResult(
        topics=topics.directions,
        topic_concentrations=topics.concentrations,
        document_parameters=parameters,
        corpus_mean=topics.corpus_mean,
        corpus_mean_concentration=topics.corpus_mean_concentration,
        history=recorder.history,
        converged=converged,
    )


def fit_variational(
    vectors: Vectors,
    n_topics: int,
    *,
    corpus_mean_concentration: float,
    topic_concentration: float,
    document_concentration: float,
    doc_topic_prior: Float[ArrayLike, "*K"],
    form: Form = "untied",
    posterior_topic_concentration: float | None = None,
    seed: int = 0,
    max_iter: int = 1000,
    seconds: float | None = None,
    callback: Callback | None = None,
) -> VariationalResult:
    r"""Maximise the mean-field objective by L-BFGS in all blocks at once.

    The optimiser moves log g, topics of free length and, when it is fitted, log xi; q(mu) is at its
    closed-form maximum throughout.

    Args:
        vectors: Documents v_d of unit norm in rows, [D, V], sparse or dense. Empty rows carry no information.
        n_topics: K.
        corpus_mean_concentration: kappa0 of the prior of the corpus mean.
        topic_concentration: sigma of the prior of the topics (xi in the original programs).
        document_concentration: kappa of the documents.
        doc_topic_prior: alpha, one number or K numbers.
        form: "tied": q(beta) has concentration sigma and q(mu) kappa0, as published. "untied": both are free.
        posterior_topic_concentration: With "untied", hold every xi_k of q(beta) at this value instead of
            fitting it.
        seed: Seed of the random start.
        max_iter: Largest number of L-BFGS iterations.
        seconds: Stop after the first iteration that ends later than this.
        callback: Called with (seconds, objective, topics) after every iteration; True stops.

    Returns:
        The family at the last iteration; ``history`` holds the objective, constants included.

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
    xi, fitted = fixed_concentrations(model, n_topics, form, posterior_topic_concentration)
    packing = _Packing(model, xi, form == "tied", fitted)
    topics = random_topics(model, n_topics, SAM_VARIATIONAL.generator(seed))
    parameters = start_parameters(model.vectors @ topics.T, 10.0 * n_topics)
    recorder = Recorder(seconds, callback)

    def after_iteration(intermediate_result: optimize.OptimizeResult) -> None:
        if recorder(-float(intermediate_result.fun), packing.point(intermediate_result.x)[1]):
            raise StopIteration

    outcome = optimize.minimize(
        packing.loss,
        packing.pack(parameters, topics),
        jac=True,
        method="L-BFGS-B",
        bounds=packing.bounds(),
        callback=after_iteration,
        options={
            "maxiter": int(max_iter),
            "maxfun": 2 * int(max_iter) + 100,
            "ftol": 1e-10,
            "gtol": 1e-6,
            "maxcor": 20,
        },
    )
    parameters, factors = packing.point(outcome.x)
    return result_of(factors, parameters, recorder, bool(outcome.success))
