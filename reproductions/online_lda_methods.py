"""The learners of `online_lda.py`: each takes minibatches and gives topics, at a schedule of one form.

The share of the topics that step t = 0, 1, ... renews is h_t = h (1 + t/b)^-c. For the samplers it is the
time of a step (`TopicSteps`); for the variational methods the weight has this form.
"""

import math
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import LatentDirichletAllocation

from geodrift.models.latent_dirichlet_allocation import Settings
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch, as_minibatch
from geodrift.models.latent_dirichlet_allocation.scaled_counts._expected_counts import expected_counts
from geodrift.models.latent_dirichlet_allocation.scaled_counts._sampler import ScaledCounts
from geodrift.models.latent_dirichlet_allocation.scaled_counts._topic_steps import TopicSteps
from geodrift.models.latent_dirichlet_allocation.variational._hybrid_variational import HybridVariational

TOPICS, BATCH, ALPHA, ETA = 50, 50, 0.1, 0.01
SWEEPS = 20  # over a document; their second half counts
Schedule = tuple[float, float, float]  # h, b, c
SHARES = (1.0, 0.3, 0.1, 0.03)
SHARES_IN_LOGS = (3.0, 1.0, 0.3, 0.1)  # of SGLD and SGHMC: that of the largest words, all others move less
ONLINE_SCHEDULES = tuple((1.0, b, c) for b in (10.0, 100.0, 1000.0) for c in (0.51, 0.7, 0.9))
CONSTANTS = tuple((step, 1.0, 0.0) for step in (0.02, 0.005, 0.001))  # theirs is 0.02
SAMPLERS = {
    "SCIR": {"method": "scir"},
    "SGRLD": {"method": "sgrld", "gammas_on": "prior"},
    "SGRLD_posterior": {"method": "sgrld"},
    "SGRHMC": {"method": "sgrhmc"},
    "SGRHMC_prior": {"method": "sgrhmc", "gammas_on": "prior"},
    "SGLD": {"method": "sgld", "gammas_on": "prior"},
    "SGHMC": {"method": "sghmc", "gammas_on": "prior"},
    "SCIR_warmed_up": {"method": "scir"},
}
LEAST = 1e-30  # of a theta: 0 has no square root to divide by
WARM_UP = 140  # minibatches, that of `StreamChain`
NAMES = (*SAMPLERS, "SGRHMC_published", "HSVG", "OVB")


class Learner(Protocol):
    """What takes minibatches and gives topics."""

    def feed(self, rows: sp.csr_matrix) -> None:
        """One minibatch."""

    def topics(self) -> np.ndarray:
        """The topics now, [K, V]: a draw, or the mean of a variational family."""


class Sampler:
    """A sampler of the topics from a random start; all but one are without warm-up, as published."""

    def __init__(self, name: str, schedule: Schedule, train: sp.csr_matrix, seed: int) -> None:
        common = {
            "n_topics": TOPICS,
            "doc_topic_prior": ALPHA,
            "topic_word_prior": ETA,
            "batch_size": BATCH,
            "early_sweeps": SWEEPS,
            **SAMPLERS[name],
        }
        tokens, (h, b, c) = int(train.sum()), schedule
        steps = TopicSteps(Settings(**common), train.shape[1], tokens / TOPICS)
        # Of a method with a momentum the share goes as the square of its step.
        time = h / steps.gain
        own = (math.sqrt(2 * time) * b ** (c / 2), b, c / 2) if steps.has_momenta else (time * b**c, b, c)
        settings = Settings(**common, step_size=own)
        self.move = ScaledCounts(train.shape[0], train.shape[1], tokens, settings, seed, 0, None)
        self.place, self.count = np.full(train.shape[1], -1, np.int32), 0
        self.warm_up = WARM_UP if name.endswith("warmed_up") else 0

    def feed(self, rows: sp.csr_matrix) -> None:
        numbers = self.count * BATCH + np.arange(rows.shape[0])
        self.move.step(as_minibatch(rows, numbers, self.place), self.count, self.count < self.warm_up)
        self.count += 1

    def topics(self) -> np.ndarray:
        return self.move.topics(self.count)


class Published:
    """SGRHMC of Ma et al., Algorithm 1 to the letter: gammas on the prior, a constant step, mirrored at 0."""

    def __init__(self, schedule: Schedule, train: sp.csr_matrix, seed: int) -> None:
        self.step, self.seed, self.num_documents = schedule[0], seed, train.shape[0]
        self.rng, self.place = np.random.default_rng(seed), np.full(train.shape[1], -1, np.int32)
        self.theta = self.rng.standard_gamma(1.0, (train.shape[1], TOPICS))
        self.momenta, self.count = self.rng.standard_normal(self.theta.shape), 0

    def feed(self, rows: sp.csr_matrix) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(self.theta).all():
                self.move(as_minibatch(rows, np.arange(rows.shape[0]), self.place), rows.shape[0])

    def move(self, batch: Minibatch, size: int) -> None:
        """One step."""
        topics = self.theta[batch.vocabulary] / self.theta.sum(axis=0)
        counts = expected_counts(
            batch,
            np.zeros(batch.num_tokens, np.uint8),
            topics.astype(np.float32),
            np.full(TOPICS, ALPHA, np.float32),
            sweeps=SWEEPS,
            averaged=SWEEPS // 2,
            first=True,
            seed=self.seed,
            chain=0,
            step=2 * (SWEEPS + 1) * self.count,
        )
        counts *= self.num_documents / size
        root = np.sqrt(self.theta)
        self.theta = np.maximum(np.abs(self.theta + self.step * root * self.momenta), LEAST)
        root, shift = np.sqrt(self.theta), ETA - 0.5 - self.theta
        shift -= counts.sum(axis=0) * (self.theta / self.theta.sum(axis=0))
        shift[batch.vocabulary] += counts
        noise = np.sqrt(2 * self.step) * root * self.rng.standard_normal(root.shape)
        self.momenta += self.step * (shift / root - self.theta * self.momenta) + noise
        self.count += 1

    def topics(self) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return (self.theta / self.theta.sum(axis=0)).T


class Hybrid:
    """HSVG: Mimno, Hoffman and Blei (2012)."""

    def __init__(self, schedule: Schedule, train: sp.csr_matrix, seed: int) -> None:
        shape, alpha = (train.shape[1], TOPICS), np.full(TOPICS, ALPHA)
        self.fit = HybridVariational(train.shape[0], shape, int(train.sum()), alpha, ETA, seed)
        self.schedule, self.place = schedule, np.full(train.shape[1], -1, np.int32)

    def feed(self, rows: sp.csr_matrix) -> None:
        h, b, c = self.schedule
        batch = as_minibatch(rows, np.arange(rows.shape[0]), self.place)
        weight = -math.expm1(-h * (1 + self.fit.steps / b) ** -c)
        self.fit.step(batch, weight, burn_in=SWEEPS // 2, sweeps=SWEEPS // 2)

    def topics(self) -> np.ndarray:
        parameters = self.fit.parameters().T
        return parameters / parameters.sum(axis=1, keepdims=True)


class Online:
    """Online variational Bayes: Hoffman, Blei and Bach (2010), by scikit-learn; its weight is (b + t)^-c."""

    def __init__(self, schedule: Schedule, train: sp.csr_matrix, seed: int) -> None:
        _, offset, decay = schedule
        self.model = LatentDirichletAllocation(
            TOPICS,
            doc_topic_prior=ALPHA,
            topic_word_prior=ETA,
            learning_offset=offset,
            learning_decay=decay,
            total_samples=train.shape[0],
            max_doc_update_iter=SWEEPS,
            random_state=seed,
        )

    def feed(self, rows: sp.csr_matrix) -> None:
        self.model.partial_fit(rows)

    def topics(self) -> np.ndarray:
        parameters = self.model.components_
        return parameters / parameters.sum(axis=1, keepdims=True)


def learner(name: str, schedule: Schedule, train: sp.csr_matrix, seed: int) -> Learner:
    """The one of the name, for a stream of ``train``'s documents."""
    others = {"SGRHMC_published": Published, "HSVG": Hybrid, "OVB": Online}
    return others[name](schedule, train, seed) if name in others else Sampler(name, schedule, train, seed)


def schedules(name: str) -> tuple[Schedule, ...]:
    """Among which the method's is chosen."""
    if name == "OVB":
        return ONLINE_SCHEDULES
    if name == "SGRHMC_published":
        return CONSTANTS
    shares = SHARES_IN_LOGS if name in ("SGLD", "SGHMC") else SHARES
    flat = ((0.03, 1000.0, 0.7), (0.01, 1000.0, 0.7)) if name == "HSVG" else ()  # as online VB's grid has
    return (*((h, 10.0, c) for h in shares for c in (0.6, 0.9)), *flat)
