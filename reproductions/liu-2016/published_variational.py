r"""Variational inference as the programs behind Liu, Zhu and Song (2016) run it, to reproduce their figures.

Both fit the tied family by plain gradient steps of capped size, one block after the other. Use
`fit_variational` and `fit_stochastic_variational` for anything else: they reach the same objective about a
hundred times sooner.

Kept as run: the order of blocks, step sizes, caps, limits and the test at every tenth step. Mended: an
objective that is not a number is rolled back, the outer test of convergence takes absolute values, and a
document with a negative projection on its topics keeps the sign of its gradient.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from geodrift.distributions import host_mean_resultant_length
from geodrift.models.spherical_admixture.variational._family import (
    Callback,
    Recorder,
    VariationalResult,
    random_topics,
    result_of,
)
from geodrift.models.spherical_admixture.variational._model import (
    AdmixtureModel,
    Hyperparameters,
    Vectors,
    build_model,
)
from geodrift.models.spherical_admixture.variational._objective import (
    TopicFactors,
    corpus_mean_factor,
    document_objective,
    document_terms,
    evaluate,
    mean_parameter_gradient,
)
from geodrift.models.topics._variational_checks import check_batches, check_steps

_TEST_EVERY = 10
_GRADIENT_TOLERANCE = 0.01
_CHANGE_TOLERANCE = 0.01
_SMALLEST_PARAMETER = 1e-5
_START_TOTAL = 3.0  # G_d at the start, whatever the prior


class _Block(NamedTuple):
    """One block of coordinates for the inner ascent."""

    objective: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    constrain: Callable[[np.ndarray], np.ndarray]
    rate: float
    cap: float
    limit: int


def inner_ascent(block: _Block, start: np.ndarray) -> np.ndarray:
    """Gradient steps whose largest entry is capped, with a test at every tenth.

    A fall of the objective since the last test brings back the point of that test and halves the rate.
    """
    point = fallback = start
    best = block.objective(start)
    rate, count = block.rate, 0
    while count < block.limit:
        gradient = block.gradient(point)
        step = rate * gradient
        largest = np.abs(step).max()
        if largest > block.cap:
            step *= block.cap / largest
        point = block.constrain(point + step)
        count += 1
        if count % _TEST_EVERY == 0:
            value = block.objective(point)
            if value >= best:
                fallback, best = point, value
            else:
                point, rate, count = fallback, rate / 2, count - _TEST_EVERY
                continue
        if np.abs(gradient).max() < _GRADIENT_TOLERANCE:
            break
    return point


def _document_block(model: AdmixtureModel, vectors, topic_means: np.ndarray) -> _Block:
    projections = np.asarray(vectors @ topic_means.T)
    return _Block(
        objective=lambda g: document_objective(model, g, projections, topic_means)[0],
        gradient=lambda g: document_objective(model, g, projections, topic_means)[1],
        constrain=lambda g: np.maximum(g, _SMALLEST_PARAMETER),
        rate=1e-2,
        cap=0.05,
        limit=300,
    )


def _topic_block(model: AdmixtureModel, vectors, parameters: np.ndarray, corpus_mean: np.ndarray) -> _Block:
    """The topics given g and mt; the data term is scaled up when only part of the documents is given."""
    dim = model.dim
    a = float(host_mean_resultant_length(dim, model.topic_concentration))
    a0 = float(host_mean_resultant_length(dim, model.corpus_mean_concentration))
    scale = model.document_concentration * model.num_documents / len(parameters)
    pull = model.topic_concentration * a0 * corpus_mean

    def objective(topics: np.ndarray) -> float:
        means = a * topics
        terms = document_terms(parameters, np.asarray(vectors @ means.T), means)
        return float(scale * terms.alignment.sum() + np.sum(means @ pull))

    def gradient(topics: np.ndarray) -> np.ndarray:
        means = a * topics
        terms = document_terms(parameters, np.asarray(vectors @ means.T), means)
        full = a * (scale * mean_parameter_gradient(vectors, parameters, means, terms) + pull)
        return full - np.einsum("kv,kv->k", full, topics)[:, None] * topics

    return _Block(
        objective=objective,
        gradient=gradient,
        constrain=lambda topics: topics / np.linalg.norm(topics, axis=1, keepdims=True),
        rate=1e-3,
        cap=0.1 / np.sqrt(dim),
        limit=100,
    )


def _start(
    model: AdmixtureModel, n_topics: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Topics and mt with uniform entries, and g in proportion to ``|v_d'u_k| + 0.01`` with sum 3."""
    everything = random_topics(model, n_topics + 1, random)
    topics, corpus_mean = everything[:-1], everything[-1]
    weights = np.abs(np.asarray(model.vectors @ topics.T)) + 0.01
    return topics, corpus_mean, _START_TOTAL * weights / weights.sum(axis=1, keepdims=True)


def _tied_factors(model: AdmixtureModel, topics: np.ndarray, corpus_mean: np.ndarray) -> TopicFactors:
    xi = np.full(len(topics), model.topic_concentration)
    return TopicFactors(topics, xi, corpus_mean, model.corpus_mean_concentration)


def fit_variational_as_published(
    vectors: Vectors,
    n_topics: int,
    hyperparameters: Hyperparameters,
    *,
    seed: int = 0,
    max_iter: int = 200_000,
    seconds: float | None = None,
    callback: Callback | None = None,
) -> VariationalResult:
    """Coordinate ascent over documents, topics and the corpus mean.

    Args:
        vectors: Documents of unit norm in rows, [D, V], sparse or dense.
        n_topics: K.
        hyperparameters: kappa_0 and sigma, of the prior and of q, kappa and alpha.
        seed: Seed of the random start.
        max_iter: Largest number of outer iterations.
        seconds: Stop after the first outer iteration that ends later than this.
        callback: Called with (seconds, objective, topics) after every outer iteration; True stops.

    Returns:
        The tied family; ``history`` holds the objective after every outer iteration.

    Raises:
        ValueError: an argument is outside what its line allows; the message names it.
    """
    check_steps(max_iter, seconds)
    model = build_model(vectors, n_topics, hyperparameters)
    a = float(host_mean_resultant_length(model.dim, model.topic_concentration))
    topics, corpus_mean, parameters = _start(model, n_topics, np.random.default_rng(seed))
    recorder = Recorder(seconds, callback)
    converged = False
    for _ in range(int(max_iter)):
        before = (parameters, topics, corpus_mean)
        parameters = inner_ascent(_document_block(model, model.vectors, a * topics), parameters)
        topics = inner_ascent(_topic_block(model, model.vectors, parameters, corpus_mean), topics)
        corpus_mean, _ = corpus_mean_factor(model, a * topics, tied=True)
        factors = _tied_factors(model, topics, corpus_mean)
        stop = recorder(evaluate(model, factors, parameters).objective, factors)
        after = (parameters, topics, corpus_mean)
        converged = max(np.abs(y - x).max() for x, y in zip(before, after, strict=True)) < _CHANGE_TOLERANCE
        if stop or converged:
            break
    return result_of(_tied_factors(model, topics, corpus_mean), parameters, recorder, bool(converged))


def fit_stochastic_variational_as_published(
    vectors: Vectors,
    n_topics: int,
    hyperparameters: Hyperparameters,
    *,
    batch_size: int = 50,
    delay: float = 5.0,
    decay: float = 0.8,
    seed: int = 0,
    max_iter: int = 1000,
    seconds: float | None = None,
    callback: Callback | None = None,
) -> VariationalResult:
    """Blends of partly optimised minibatch solutions, called stochastic variational inference in the paper.

    No natural gradient is taken: with weight ``(t + delay)^-decay`` the topics move, in the ambient space,
    towards the end of an inner ascent on the minibatch. The parameters of all documents are kept, memory
    D x K.

    Args:
        vectors: Documents of unit norm in rows, [D, V], sparse or dense.
        n_topics: K.
        hyperparameters: kappa_0 and sigma, of the prior and of q, kappa and alpha.
        batch_size: S, documents drawn without replacement for each step.
        delay: tau0 of the weight.
        decay: gamma of the weight.
        seed: Seed of the start and of the batches.
        max_iter: Number of minibatches.
        seconds: Stop after the first minibatch that ends later than this.
        callback: Called with (seconds, objective, topics) after every minibatch; True stops.

    Returns:
        The tied family; ``history`` holds the objective with the kept document parameters, stale ones
        included.

    Raises:
        ValueError: an argument is outside what its line allows; the message names it.
    """
    check_steps(max_iter, seconds)
    model = build_model(vectors, n_topics, hyperparameters)
    num_documents, dim = model.num_documents, model.dim
    check_batches(batch_size, num_documents, delay, decay)
    a = float(host_mean_resultant_length(dim, model.topic_concentration))
    random = np.random.default_rng(seed)
    topics, corpus_mean, parameters = _start(model, n_topics, random)
    recorder = Recorder(seconds, callback)
    step = 0
    for step in range(1, int(max_iter) + 1):
        rows = np.sort(random.choice(num_documents, batch_size, replace=False))
        batch = model.vectors[rows]
        parameters[rows] = inner_ascent(_document_block(model, batch, a * topics), parameters[rows])
        solution = inner_ascent(_topic_block(model, batch, parameters[rows], corpus_mean), topics)
        weight = (step + delay) ** -decay
        topics = (1 - weight) * topics + weight * solution
        topics = topics / np.linalg.norm(topics, axis=1, keepdims=True)
        corpus_mean, _ = corpus_mean_factor(model, a * topics, tied=True)
        factors = _tied_factors(model, topics, corpus_mean)
        if recorder(evaluate(model, factors, parameters).objective, factors):
            break
    return result_of(_tied_factors(model, topics, corpus_mean), parameters, recorder, step == int(max_iter))
