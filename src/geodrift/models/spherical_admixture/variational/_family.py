"""What both fits share: the family of distributions, its start, the result, and when to stop."""

import time
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from geodrift.models.spherical_admixture.variational._model import AdmixtureModel
from geodrift.models.spherical_admixture.variational._objective import TopicFactors

Form = Literal["tied", "untied"]
Callback = Callable[[float, float, TopicFactors], bool | None]
"""Called after every iteration with seconds, objective and the topics; True ends the run."""

# log g is kept in a range where polygamma functions and sums of squares neither overflow nor lose all digits.
LOG_PARAMETER_BOUNDS = (np.log(1e-4), np.log(1e9))


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
    """Records the objective after each iteration, and decides whether to stop early.

    Args:
        seconds: Time limit, or None.
        callback: Called after each iteration, or None.
    """

    def __init__(self, seconds: float | None, callback: Callback | None) -> None:
        self.history: list[tuple[float, float]] = []
        self._seconds = seconds
        self._callback = callback
        self._start = time.perf_counter()

    def __call__(self, objective: float, topics: TopicFactors) -> bool:
        """Record an iteration; returns whether to stop."""
        elapsed = time.perf_counter() - self._start
        self.history.append((elapsed, objective))
        wanted = self._callback is not None and bool(self._callback(elapsed, objective, topics))
        return wanted or (self._seconds is not None and elapsed >= self._seconds)


def random_topics(
    model: AdmixtureModel, n_topics: int, random: np.random.Generator
) -> Float[np.ndarray, "K V"]:
    """Start of the topics: entries uniform on (0, 1), scaled to unit length, as in the original programs."""
    topics = random.uniform(size=(n_topics, model.dim))
    return topics / np.linalg.norm(topics, axis=1, keepdims=True)


def start_parameters(projections: Float[np.ndarray, "D K"], total: float) -> Float[np.ndarray, "D K"]:
    """Start of the Dirichlet parameters g: proportional to ``max(u_k'v_d, 0) + 0.01``, with sum ``total``."""
    weights = np.maximum(projections, 0) + 0.01
    return total * weights / weights.sum(axis=1, keepdims=True)


def initial_concentrations(
    model: AdmixtureModel, n_topics: int, form: Form, posterior: float | None
) -> tuple[Float[np.ndarray, " K"], bool]:
    """Start of the topics' concentrations xi, and whether they are fitted.

    Args:
        model: Whose sigma is the start, unless ``posterior`` is given.
        n_topics: K.
        form: Of the family; "tied" keeps xi at sigma.
        posterior: The value at which xi is held, or None.

    Raises:
        ValueError: The form is unknown, or ``posterior`` is not positive and finite or needs the other form.
    """
    if form not in ("tied", "untied"):
        raise ValueError(f'form must be "tied" or "untied", got {form!r}')
    if posterior is not None and not (np.isfinite(posterior) and posterior > 0):
        raise ValueError(f"posterior_topic_concentration must be positive and finite, got {posterior}")
    if form == "tied":
        if posterior is not None:
            raise ValueError('posterior_topic_concentration needs form="untied"')
        return np.full(n_topics, model.topic_concentration), False
    if posterior is None:
        return np.full(n_topics, model.topic_concentration), True
    return np.full(n_topics, float(posterior)), False


def result_of(
    topics: TopicFactors, parameters: Float[np.ndarray, "D K"], recorder: Recorder, converged: bool
) -> VariationalResult:
    """The fitted family as a fit returns it."""
    return VariationalResult(
        topics=topics.directions,
        topic_concentrations=topics.concentrations,
        document_parameters=parameters,
        corpus_mean=topics.corpus_mean,
        corpus_mean_concentration=topics.corpus_mean_concentration,
        history=recorder.history,
        converged=converged,
    )
