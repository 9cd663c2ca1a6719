r"""Variational inference with Gibbs sampling within documents: Mimno, Hoffman and Blei (2012).

The family is :math:`q(\beta) \prod_d q(z_d)` with :math:`q(\beta_k) = \mathrm{Dirichlet}(\lambda_k)`; the
mixtures are integrated out, and a document's assignments are not factorised. Their best law given lambda,

.. math:: q^*(z_d) \propto p(z_d \mid \alpha) \prod_i \exp(E_q \log \beta_{z_i w_i}), \qquad
    E_q \log \beta_{kw} = \psi(\lambda_{kw}) - \psi\Big(\sum_{w'} \lambda_{kw'}\Big)

(their eq. 8), is that of the document sampler with :math:`\exp(E_q \log \beta)` in the topics' place. Its
mean counts make an unbiased estimate of the objective's natural gradient from a minibatch:

.. math:: \lambda \leftarrow (1 - \rho_t) \lambda + \rho_t \Big(\eta + \frac DS \sum_{d \in S}
    E_{q^*} n_{dkw}\Big), \qquad \rho_t = (1 + t / \tau)^{-\gamma}.
"""

import math
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
from jaxtyping import ArrayLike, Float, Int

from geodrift.kernels._streams import (
    LDA_HYBRID_ASSIGNMENTS,
    LDA_HYBRID_DOCUMENT_ORDER,
    LDA_HYBRID_START,
)
from geodrift.kernels._two_forms import TwoForms
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch, TokenSource
from geodrift.models.latent_dirichlet_allocation.evaluation._fold_in import checked_prior
from geodrift.models.latent_dirichlet_allocation.scaled_counts._expected_counts import expected_counts
from geodrift.models.topics._variational_checks import check_batches, check_steps

LEAST_FACTOR = 1e-20


class HybridVariationalResult(NamedTuple):
    """The fitted variational family."""

    topic_parameters: Float[np.ndarray, "K V"]  # lambda
    history: list[tuple[float, int]]  # (seconds, documents seen) after every minibatch
    completed: bool  # whether all ``max_iter`` steps were taken

    @property
    def topics(self) -> Float[np.ndarray, "K V"]:
        """Means of the topics, [K, V] rows that sum to 1."""
        return self.topic_parameters / self.topic_parameters.sum(axis=1, keepdims=True)


def _digamma(x: float) -> float:
    """The digamma function for x > 0, to 1e-12: its recurrence up to 8, then the asymptotic series."""
    value = 0.0
    while x < 8.0:
        value -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760)))))
    return value + math.log(x) - 0.5 / x - series


digamma = numba.njit(cache=True, error_model="numpy")(_digamma)


def _weights(parameters: np.ndarray, of_sums: np.ndarray, out: np.ndarray) -> None:
    for row in numba.prange(parameters.shape[0]):
        logs = np.empty(parameters.shape[1])
        for topic in range(parameters.shape[1]):
            logs[topic] = digamma(parameters[row, topic]) - of_sums[topic]
        out[row] = np.exp(logs - logs.max())


_weights_forms = TwoForms(_weights, worth_threads=20_000)


def topic_weights(
    parameters: Float[np.ndarray, "W K"], sums: Float[np.ndarray, " K"]
) -> Float[np.ndarray, "W K"]:
    """``exp(E log beta)`` of some words, float32, each word's K values divided by the largest of them.

    A word's factor does not change the law of its tokens' topics, and without it a word of few counts would
    underflow: psi(0.01) is -100.

    Args:
        parameters: lambda of the words.
        sums: Sums of lambda over all words.
    """
    out = np.empty(parameters.shape, np.float32)
    of_sums = np.array([digamma(float(total)) for total in sums])
    _weights_forms(parameters.size, parameters, of_sums, out)
    return out


class HybridVariational:
    """The Dirichlet parameters lambda, and their step by one minibatch.

    Args:
        num_documents: D.
        shape: (V, K).
        num_tokens: Tokens of all documents, spread evenly at the start and multiplied by Exponential draws.
        doc_topic_prior: alpha, K values.
        topic_word_prior: eta.
        seed: Seed of the start and the assignments.
    """

    def __init__(
        self,
        num_documents: int,
        shape: tuple[int, int],
        num_tokens: int,
        doc_topic_prior: Float[np.ndarray, " K"],
        topic_word_prior: float,
        seed: int,
    ) -> None:
        self.num_documents, self.eta, self.seed = num_documents, topic_word_prior, int(seed)
        self.alpha = doc_topic_prior.astype(np.float32)
        rng = LDA_HYBRID_START.generator(seed)
        self.counts = rng.standard_exponential(shape, np.float32) * np.float32(num_tokens / np.prod(shape))
        self.factor = 1.0  # lambda is eta + factor counts: a step touches its own words alone
        self.sums = self.counts.sum(axis=0, dtype=np.float64)
        self.small = np.uint8 if shape[1] <= 2**8 else np.uint16
        self.steps = 0

    def parameters(self) -> Float[np.ndarray, "V K"]:
        """Lambda, [V, K] float32."""
        return self.counts * np.float32(self.factor) + np.float32(self.eta)

    def step(self, batch: Minibatch, weight: float, *, burn_in: int, sweeps: int) -> None:
        """Move lambda by ``weight`` towards eta and the minibatch's scaled expected counts."""
        present = self.counts[batch.vocabulary] * np.float32(self.factor) + np.float32(self.eta)
        weights = topic_weights(present, self.sums * self.factor + len(self.counts) * self.eta)
        begun = (sweeps + 1) * self.steps
        counts = expected_counts(
            batch,
            np.zeros(batch.num_tokens, self.small),
            weights,
            self.alpha,
            sweeps=burn_in + sweeps,
            averaged=sweeps,
            first=True,
            streams=lambda sweep: LDA_HYBRID_ASSIGNMENTS.family(self.seed, 0, begun + sweep),
        )
        counts *= np.float32(self.num_documents / max(1, len(batch.documents)))
        self._blend(batch.vocabulary, counts, weight)
        self.steps += 1

    def _blend(self, words: np.ndarray, counts: np.ndarray, weight: float) -> None:
        if weight == 1.0:
            self.counts[:], self.sums, self.factor = 0.0, np.zeros_like(self.sums), 1.0
            self.counts[words], self.sums = counts, counts.sum(axis=0, dtype=np.float64)
            return
        self.factor *= 1.0 - weight
        if self.factor < LEAST_FACTOR:
            self.counts *= np.float32(self.factor)
            self.sums, self.factor = self.sums * self.factor, 1.0
        counts *= np.float32(weight / self.factor)
        self.counts[words] += counts
        self.sums += counts.sum(axis=0, dtype=np.float64)


def fit_hybrid_variational(
    corpus: Any,
    n_topics: int,
    *,
    doc_topic_prior: Float[ArrayLike, "*K"] = 0.1,
    topic_word_prior: float = 0.01,
    batch_size: int = 2000,
    burn_in: int = 3,
    sweeps: int = 5,
    delay: float = 2.0,
    decay: float = 0.6,
    seed: int = 0,
    max_iter: int = 1000,
    seconds: float | None = None,
) -> HybridVariationalResult:
    """Fit by natural-gradient steps on minibatches, in a new random order of the documents for each pass.

    The last documents of a pass are left out if they are fewer than a minibatch. Nothing is kept of a
    document: the cost of a step does not depend on D.

    Args:
        corpus: Anything with ``num_documents``, ``num_words`` and ``rows(numbers) -> csr_matrix`` of counts.
        n_topics: K.
        doc_topic_prior: alpha, each component's: one number or K numbers.
        topic_word_prior: eta, each word's.
        batch_size: S; more than the corpus means all.
        burn_in: Sweeps over each document that are dropped, after one that assigns its tokens in turn.
        sweeps: Sweeps whose counts are averaged, from 1.
        delay: tau, positive.
        decay: gamma, above 0.5 and at most 1.
        seed: Seed of the start, the order of documents, and the assignments.
        max_iter: Number of minibatches.
        seconds: Stop after the first minibatch that ends later than this; compilation is not counted.

    Raises:
        ValueError: An argument is outside what its line allows, or the corpus has no words.
    """
    source = TokenSource(corpus)
    _check(n_topics, topic_word_prior, burn_in, sweeps, delay)
    check_steps(max_iter, seconds)
    batch_size = min(batch_size, source.num_documents)
    check_batches(batch_size, source.num_documents, delay, decay)
    sizes = source.num_documents, (source.num_words, n_topics), source.num_tokens
    alpha = checked_prior(doc_topic_prior, 1, n_topics)[0]
    fit = HybridVariational(*sizes, alpha, topic_word_prior, seed)
    fit.step(source.minibatch(np.zeros(0, np.int64)), 0.0, burn_in=burn_in, sweeps=sweeps)  # compiles
    started, seen, history = time.perf_counter(), 0, []
    order = _minibatches(source.num_documents, batch_size, int(max_iter), seed)
    for step, documents in enumerate(order, 1):
        weight = (1.0 + step / delay) ** -decay
        fit.step(source.minibatch(documents), weight, burn_in=burn_in, sweeps=sweeps)
        seen += len(documents)
        history.append((time.perf_counter() - started, seen))
        if seconds is not None and history[-1][0] >= seconds:
            break
    parameters = np.ascontiguousarray(fit.parameters().T)
    return HybridVariationalResult(parameters, history, len(history) == max_iter)


def _minibatches(
    num_documents: int, batch_size: int, number: int, seed: int
) -> Iterator[Int[np.ndarray, " S"]]:
    """The documents of each step."""
    rng, order = LDA_HYBRID_DOCUMENT_ORDER.generator(seed), np.zeros(0, np.int64)
    for _ in range(number):
        if len(order) < batch_size:
            order = rng.permutation(num_documents)
        yield order[:batch_size]
        order = order[batch_size:]


def _check(n_topics: int, topic_word_prior: float, burn_in: int, sweeps: int, delay: float) -> None:
    for name, value, least in (("n_topics", n_topics, 2), ("burn_in", burn_in, 0), ("sweeps", sweeps, 1)):
        if int(value) != value or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    for name, number in (("topic_word_prior", topic_word_prior), ("delay", delay)):
        if not (math.isfinite(number) and number > 0):
            raise ValueError(f"{name} must be positive and finite, got {number!r}")
