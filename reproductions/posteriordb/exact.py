"""Exact means, by sums over assignments: over all of few tokens, over counts where few words are."""

from collections.abc import Iterator

import numba
import numpy as np
from quantities import Quantities
from samplers import Counts, Problem, counts_of, log_joint
from scipy.special import gammaln

LEAST = -30.0  # log of a weight, below the largest one, under which a state is left out
COARSE = 4  # of how many states of a cell one is looked at for the largest weight

# So few words under such priors that the laws at powers below 1 are far from the posterior: an exchange that
# is offered or taken wrongly shows.
TINY = Problem(
    words=np.array([0, 0, 0, 1, 2, 2, 2, 3, 0, 2]),
    documents=np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2]),
    num_words=6,
    num_documents=3,
    num_topics=2,
    alpha=0.5,
    beta=0.1,
)


def second_moments(shapes: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """E x_i x_j of ``x ~ Dirichlet(shapes[:, k])``, summed over the columns k, for each pair."""
    i, j = pairs
    whole = shapes.sum(axis=0)
    return (shapes[i] * (shapes[j] + (i == j)[:, None]) / (whole * (whole + 1))).sum(axis=1)


def given_assignments(quantities: Quantities, counts: Counts) -> np.ndarray:
    """The quantities' means over theta and phi given z; the log likelihood's is left as not a number."""
    problem = quantities.problem
    theta_shapes, (i, j) = problem.alpha + counts.in_documents, quantities.document_pairs
    whole = theta_shapes.sum(axis=1, keepdims=True)
    theta = theta_shapes / whole
    squares = theta * (theta_shapes + 1) / (whole + 1)
    documents = np.where((i == j)[:, None], squares[i], theta[i] * theta[j]).sum(axis=1)
    return np.concatenate(
        [
            [log_joint(problem, counts), np.nan],
            np.sort(counts.in_topics)[::-1] / len(problem.words),
            documents,
            second_moments(problem.beta + counts.in_words, quantities.word_pairs),
        ]
    )


def means(quantities: Quantities, states: Iterator[tuple[float, Counts]]) -> dict[str, dict[str, float]]:
    """Means under states with their log weights, as `common.summary` has them."""
    pairs = [(log_weight, given_assignments(quantities, counts)) for log_weight, counts in states]
    log_weights = np.array([pair[0] for pair in pairs])
    weights = np.exp(log_weights - log_weights.max())
    found = weights @ np.array([pair[1] for pair in pairs]) / weights.sum()
    return {name: {"mean": float(m)} for name, m in zip(quantities.names, found, strict=True) if m == m}


def every_assignment(problem: Problem) -> Iterator[tuple[float, Counts]]:
    """All K^N of them."""
    for z in np.ndindex((problem.num_topics,) * len(problem.words)):
        counts = counts_of(problem, np.array(z))
        yield log_joint(problem, counts), counts


class FourCells:
    """Two topics and tokens of four pairs of a document and a word: a state is a count of each pair."""

    def __init__(self, problem: Problem):
        pairs = np.stack([problem.documents, problem.words])
        (self.documents, self.words), self.sizes = np.unique(pairs, axis=1, return_counts=True)
        if len(self.sizes) != 4 or problem.num_topics != 2:
            raise ValueError("not two topics and four pairs of a document and a word")
        self.problem = problem
        number = np.arange(len(problem.words) + 1)
        self.tables = (
            gammaln(problem.alpha + number),
            gammaln(problem.beta + number),
            gammaln(problem.beta * problem.num_words + number),
            gammaln(1.0 + number),
        )
        self.in_documents = np.bincount(problem.documents)
        self.in_words = np.bincount(problem.words)

    def largest(self) -> float:
        """About the largest log weight; states with each cell of one topic are among those looked at."""
        return self._visit(COARSE, np.inf)[0]

    def sums(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The likely states ``[state, cell]``, their log weights, and the shares of all states by grouping.

        A grouping is a number whose bit d tells whether the first topic has most of document d.
        """
        _, states, log_weights, shares = self._visit(1, self.largest())
        return np.array(states), np.array(log_weights), shares / shares.sum()

    def _visit(self, stride: int, reference: float) -> tuple[float, list, list, np.ndarray]:
        cells = self.documents, self.words, self.sizes, self.in_documents, self.in_words
        return _visit(*cells, *self.tables, stride, reference)

    def counts(self, state: np.ndarray) -> Counts:
        """The first tokens of each cell are in the first topic: which ones does not matter."""
        z = np.ones(len(self.problem.words), np.int64)
        for document, word, number in zip(self.documents, self.words, state, strict=True):
            cell = (self.problem.documents == document) & (self.problem.words == word)
            z[np.flatnonzero(cell)[:number]] = 0
        return counts_of(self.problem, z)


@numba.njit(cache=True)
def _split(table, total, parts):
    """The sum of a table over what is in the first topic and what is not."""
    value = 0.0
    for i in range(len(total)):
        value += table[parts[i]] + table[total[i] - parts[i]]
    return value


@numba.njit(cache=True)
def _visit(
    documents, words, sizes, in_documents, in_words, of_alpha, of_beta, of_whole, of_one, stride, reference
):
    largest, states, kept, shares = -np.inf, [(0, 0, 0, 0)], [0.0], np.zeros(2 ** len(in_documents))
    states.pop()
    kept.pop()
    d_part, w_part, total = np.zeros_like(in_documents), np.zeros_like(in_words), in_words.sum()
    for a in range(0, sizes[0] + 1, stride):
        for b in range(0, sizes[1] + 1, stride):
            for c in range(0, sizes[2] + 1, stride):
                for d in range(0, sizes[3] + 1, stride):
                    state = (a, b, c, d)
                    d_part[:], w_part[:], value = 0, 0, 0.0
                    for i in range(4):
                        d_part[documents[i]] += state[i]
                        w_part[words[i]] += state[i]
                        value -= of_one[state[i]] + of_one[sizes[i] - state[i]]
                    value += _split(of_alpha, in_documents, d_part) + _split(of_beta, in_words, w_part)
                    value -= of_whole[a + b + c + d] + of_whole[total - a - b - c - d]
                    largest = max(largest, value)
                    if value > reference + LEAST:
                        states.append(state)
                        kept.append(value)
                    code = 0
                    for j in range(len(in_documents)):
                        code += (2 * d_part[j] > in_documents[j]) << j
                    shares[code] += np.exp(value - reference)
    return largest, states, kept, shares
