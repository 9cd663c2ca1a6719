"""Two exact samplers of the assignments z of latent Dirichlet allocation, each alone or by replica exchange.

Both know the counts of z alone. The law of z at a power b, which is the posterior for b = 1:

* collapsed: ``p(z) p(w | z)^b``, topics and mixtures integrated out, one token after another;
* uncollapsed: ``p(z) times the integral over phi of p(phi) p(w | z, phi)^b``, by draws of theta and phi given
  z, then of all z given theta and phi.

The powers below 1 are for replica exchange alone: the ladder's last power is 1.
"""

from typing import NamedTuple

import numba
import numpy as np
from scipy.special import gammaln


class Problem(NamedTuple):
    """Tokens, and a prior that is symmetric."""

    words: np.ndarray  # of each token, from 0
    documents: np.ndarray  # of each token, from 0
    num_words: int
    num_documents: int
    num_topics: int
    alpha: float  # of a topic in a document
    beta: float  # of a word in a topic


class Counts(NamedTuple):
    """Assignments and their counts, changed in place by the samplers."""

    z: np.ndarray  # [token]
    in_documents: np.ndarray  # [document, topic]
    in_words: np.ndarray  # [word, topic]
    in_topics: np.ndarray  # [topic]


def counts_of(problem: Problem, z: np.ndarray) -> Counts:
    """The counts of assignments."""
    in_documents = np.zeros((problem.num_documents, problem.num_topics), np.int64)
    in_words = np.zeros((problem.num_words, problem.num_topics), np.int64)
    np.add.at(in_documents, (problem.documents, z), 1)
    np.add.at(in_words, (problem.words, z), 1)
    return Counts(z.astype(np.int64), in_documents, in_words, in_words.sum(axis=0))


def log_likelihood_of_topics(problem: Problem, counts: Counts, power: float = 1.0) -> float:
    """The log of the integral over phi of ``p(phi) p(w | z, phi)^power``; for power 1 it is log p(w | z)."""
    whole, size = problem.beta * problem.num_words, problem.num_topics
    value = size * gammaln(whole) - gammaln(whole + power * counts.in_topics).sum()
    present = counts.in_words[counts.in_words > 0]  # a count of 0 adds nothing
    return float(value + (gammaln(problem.beta + power * present) - gammaln(problem.beta)).sum())


def log_prior_of_assignments(problem: Problem, counts: Counts) -> float:
    """log p(z), mixtures integrated out."""
    whole, size = problem.alpha * problem.num_topics, problem.num_documents
    value = size * gammaln(whole) - gammaln(whole + counts.in_documents.sum(axis=1)).sum()
    return float(value + (gammaln(problem.alpha + counts.in_documents) - gammaln(problem.alpha)).sum())


def log_joint(problem: Problem, counts: Counts) -> float:
    """log p(w, z)."""
    return log_prior_of_assignments(problem, counts) + log_likelihood_of_topics(problem, counts)


class Collapsed:
    """Collapsed Gibbs sampling at one power."""

    def __init__(self, problem: Problem, power: float = 1.0):
        self.problem, self.power = problem, power
        number = np.arange(len(problem.words) + 1)
        self.upper = (number + problem.beta) ** power
        self.lower = (number + problem.beta * problem.num_words) ** -power

    def sweep(self, counts: Counts, rng: np.random.Generator, sweeps: int) -> None:
        """Draw every token anew, ``sweeps`` times."""
        p = self.problem
        _collapsed(*counts, p.words, p.documents, p.alpha, self.upper, self.lower, rng, sweeps)

    def log_weight(self, counts: Counts) -> float:
        """The log of the part of the law of z in which the power is."""
        return self.power * log_likelihood_of_topics(self.problem, counts)


class Uncollapsed:
    """Gibbs sampling of theta and phi, then of z, at one power."""

    def __init__(self, problem: Problem, power: float = 1.0):
        self.problem, self.power = problem, power

    def sweep(self, counts: Counts, rng: np.random.Generator, sweeps: int) -> None:
        """Draw theta, phi and every token anew, ``sweeps`` times."""
        p = self.problem
        _uncollapsed(*counts, p.words, p.documents, p.alpha, p.beta, self.power, rng, sweeps)

    def log_weight(self, counts: Counts) -> float:
        """The log of the part of the law of z in which the power is."""
        return log_likelihood_of_topics(self.problem, counts, self.power)


@numba.njit(cache=True)
def _drawn(weights, total, rng):
    """A place with probability ``weights[place] / total``."""
    left, last = rng.random() * total, weights.shape[0] - 1
    for place in range(last):
        left -= weights[place]
        if left < 0:
            return place
    return last


@numba.njit(cache=True)
def _collapsed(z, in_documents, in_words, in_topics, words, documents, alpha, upper, lower, rng, sweeps):
    weights = np.empty(in_topics.shape[0])
    for _ in range(sweeps):
        for i in range(words.shape[0]):
            word, document, old = words[i], documents[i], z[i]
            in_documents[document, old] -= 1
            in_words[word, old] -= 1
            in_topics[old] -= 1
            total = 0.0
            for k in range(weights.shape[0]):
                weights[k] = (
                    (in_documents[document, k] + alpha) * upper[in_words[word, k]] * lower[in_topics[k]]
                )
                total += weights[k]
            new = _drawn(weights, total, rng)
            z[i] = new
            in_documents[document, new] += 1
            in_words[word, new] += 1
            in_topics[new] += 1


@numba.njit(cache=True)
def _uncollapsed(z, in_documents, in_words, in_topics, words, documents, alpha, beta, power, rng, sweeps):
    size = in_topics.shape[0]
    theta, phi, weights = np.empty(in_documents.shape), np.empty(in_words.shape), np.empty(size)
    for _ in range(sweeps):
        for d in range(theta.shape[0]):
            for k in range(size):
                theta[d, k] = rng.standard_gamma(alpha + in_documents[d, k])
        for k in range(size):
            total = 0.0
            for v in range(phi.shape[0]):
                phi[v, k] = rng.standard_gamma(beta + power * in_words[v, k])
                total += phi[v, k]
            for v in range(phi.shape[0]):
                phi[v, k] = (phi[v, k] / total) ** power
        in_documents[:], in_words[:], in_topics[:] = 0, 0, 0
        for i in range(words.shape[0]):
            word, document, total = words[i], documents[i], 0.0
            for k in range(size):
                weights[k] = theta[document, k] * phi[word, k]
                total += weights[k]
            new = _drawn(weights, total, rng)
            z[i] = new
            in_documents[document, new] += 1
            in_words[word, new] += 1
            in_topics[new] += 1


class Exchange:
    """One chain whose law is the posterior, helped by others at lower powers; alone for the ladder (1,)."""

    def __init__(self, problem: Problem, kernel: type, ladder: np.ndarray, seed: int, chain: int):
        self.kernels = [kernel(problem, power) for power in ladder]
        self.rng = np.random.default_rng([seed, chain])
        starts = self.rng.integers(problem.num_topics, size=(len(ladder), len(problem.words)))
        self.states = [counts_of(problem, z) for z in starts]
        self.tried, self.taken = np.zeros((2, len(ladder) - 1), np.int64)
        self.came_from_the_first = np.zeros(len(ladder), bool)
        self.trips, self.rounds, self.relabelled = 0, 0, 0
        self.largest = -1  # the largest topic's label, at the last power
        self.places = list(range(len(ladder)))  # which replica is at which power

    @property
    def cold(self) -> Counts:
        """The state whose law is the posterior."""
        return self.states[-1]

    def advance(self, sweeps: int) -> None:
        """Sweep every replica, then offer every second pair of neighbours an exchange."""
        for kernel, counts in zip(self.kernels, self.states, strict=True):
            kernel.sweep(counts, self.rng, sweeps)
        for low in range(self.rounds % 2, len(self.states) - 1, 2):
            self._offer(low)
        self.rounds += 1
        self._count_trips()
        before, self.largest = self.largest, int(self.cold.in_topics.argmax())
        self.relabelled += before not in (-1, self.largest)

    def _offer(self, low: int) -> None:
        first, second = self.kernels[low : low + 2]
        here, there = self.states[low : low + 2]
        log_ratio = first.log_weight(there) + second.log_weight(here)
        log_ratio -= first.log_weight(here) + second.log_weight(there)
        self.tried[low] += 1
        if np.log(self.rng.random()) < log_ratio:
            self.taken[low] += 1
            self.states[low : low + 2] = there, here
            self.places[low : low + 2] = self.places[low + 1], self.places[low]

    def _count_trips(self) -> None:
        """A trip is a replica that was at the first power and arrives at the last."""
        self.came_from_the_first[self.places[0]] = True
        if len(self.places) > 1 and self.came_from_the_first[self.places[-1]]:
            self.trips += 1
            self.came_from_the_first[self.places[-1]] = False
