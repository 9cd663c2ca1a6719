"""The Spherical Admixture Model's methods on one time axis, scored as section 5.3 scores them."""

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from geodrift.data import Corpus
from geodrift.distributions import host_log_normaliser
from geodrift.models.spherical_admixture import Chain, Settings
from geodrift.models.spherical_admixture.variational._model import Hyperparameters
from geodrift.models.spherical_admixture.variational._objective import TopicFactors

THETA_DRAWS = 200
WINDOW = 10
MARKS = 40  # times at which a path has scores

Path = list[dict[str, float]]


class Scorer:
    """Log-perplexity of the draws so far and of the last ones, at the cost of one draw each.

    Args:
        rows: Test documents as unit vectors.
        model: The model's settings.
    """

    def __init__(self, rows: sp.csr_matrix, model: dict[str, Any]) -> None:
        self.rows, self.kappa = rows, model["document_concentration"]
        prior = np.full(model["n_topics"], model["doc_topic_prior"])
        self.mixtures = np.random.default_rng(0).dirichlet(prior, size=THETA_DRAWS)
        self.constant = float(host_log_normaliser(rows.shape[1], self.kappa)) - np.log(THETA_DRAWS)
        self.total = np.full(rows.shape[0], -np.inf)
        self.recent: list[np.ndarray] = []
        self.count = 0

    def add(self, topics: np.ndarray) -> None:
        """One more draw, [K, V]."""
        beta = np.asarray(topics, dtype=np.float64)
        norms = np.sqrt((self.mixtures @ (beta @ beta.T) * self.mixtures).sum(axis=1))
        cosines = (self.rows @ beta.T) @ (self.mixtures / norms[:, None]).T
        value = logsumexp(self.kappa * cosines, axis=1)
        self.total = np.logaddexp(self.total, value)
        self.recent = [*self.recent[1 - WINDOW :], value]
        self.count += 1

    def scores(self) -> dict[str, float]:
        """Over all draws, the last, and the last ten."""
        window = np.logaddexp.reduce(self.recent, axis=0) - np.log(len(self.recent))
        values = {"all": self.total - np.log(self.count), "last": self.recent[-1], "last_ten": window}
        return {name: float(-(value + self.constant).mean()) for name, value in values.items()}


def chain(corpus: Corpus, settings: Settings) -> Iterator[np.ndarray]:
    """The topics after each outer iteration, the start first."""
    chain = Chain(corpus, settings, seed=0)
    chain.compile()
    chain.begin(chain.shares.plan(10**7))
    while True:
        yield chain.topics()
        chain.step()


def follow(
    draws: Iterator[np.ndarray], scorer: Scorer, seconds: float, stride: int
) -> tuple[Path, np.ndarray]:
    """Scores against processor seconds of the sampler.

    Scoring is left out, and so is the first iteration, which compiles. Every ``stride``-th draw is scored.

    Returns:
        The scores at `MARKS` times, and the last topics, [K, V].
    """
    spent, path, marks = 0.0, [], iter(np.geomspace(0.3, seconds, MARKS))
    mark = next(marks)
    for iteration in itertools.count():
        started = time.process_time()
        topics = next(draws)
        spent += time.process_time() - started if iteration > 1 else 0.0
        if iteration % stride == 0:
            scorer.add(topics)
        if spent >= mark:
            path.append({"seconds": spent, "iteration": iteration, **scorer.scores()})
            mark = next((m for m in marks if m > spent), np.inf)
        if spent >= seconds:
            break
    return path, topics


class _OutOfTime(Exception):
    """Ends a fit before it fits the documents, which no score needs."""


def variational(
    fit: Callable[..., Any],
    train: sp.csr_matrix,
    rows: sp.csr_matrix,
    model: dict[str, Any],
    seconds: float,
    **options: Any,
) -> tuple[Path, np.ndarray]:
    """Scores of the point estimate (one draw) against processor seconds, and the last topics, [K, V]."""
    path: Path = []
    marks = iter(np.geomspace(0.3, seconds, MARKS))
    spent, mark, count, topics, resumed = 0.0, next(marks), 0, np.empty(0), time.process_time()

    def record(_: float, __: float, factors: TopicFactors) -> None:
        nonlocal spent, mark, count, topics, resumed
        spent, count, topics = spent + time.process_time() - resumed, count + 1, factors.directions
        if spent >= mark:
            scorer = Scorer(rows, model)
            scorer.add(topics)
            path.append({"seconds": spent, "iteration": count, **scorer.scores()})
            mark = next((m for m in marks if m > spent), np.inf)
        if spent >= seconds:
            raise _OutOfTime
        resumed = time.process_time()

    hyperparameters = Hyperparameters(**{name: model[name] for name in Hyperparameters._fields})
    with contextlib.suppress(_OutOfTime):
        fit(train, model["n_topics"], hyperparameters, callback=record, max_iter=10**7, **options)
    return path, topics
