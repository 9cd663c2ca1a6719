"""Functions of topics and mixtures that are the same under every labelling of the topics."""

import itertools

import numpy as np
from samplers import Counts, Exchange, Problem, log_joint

DOCUMENTS, WORDS = 4, 5  # whose similarities are followed


class Quantities:
    """Computes them from one state: theta and phi are drawn from their exact law given z.

    * ``log_joint``: log p(w, z), topics and mixtures integrated out;
    * ``log_likelihood``: log p(w | theta, phi), assignments summed out;
    * ``topic_size_R``: the share of the tokens of the R-th largest topic;
    * ``documents_I_J``: sum over k of theta_Ik theta_Jk, of the first documents;
    * ``words_V_U``: sum over k of phi_kV phi_kU, of the most common words.

    Numbers are those of the data, from 1.
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        pairs = np.stack([problem.documents, problem.words])
        (self.documents, self.words), self.times = np.unique(pairs, axis=1, return_counts=True)
        first = range(min(DOCUMENTS, problem.num_documents))
        frequency = np.bincount(problem.words, minlength=problem.num_words)
        common = np.argsort(-frequency, kind="stable")[:WORDS]
        self.document_pairs = np.array(list(itertools.combinations_with_replacement(first, 2))).T
        self.word_pairs = np.array(list(itertools.combinations_with_replacement(common, 2))).T

    @property
    def names(self) -> list[str]:
        """In the order of the values."""
        sizes = [f"topic_size_{k + 1}" for k in range(self.problem.num_topics)]
        documents = [f"documents_{i + 1}_{j + 1}" for i, j in self.document_pairs.T]
        words = [f"words_{v + 1}_{u + 1}" for v, u in self.word_pairs.T]
        return ["log_joint", "log_likelihood", *sizes, *documents, *words]

    def __call__(self, chain: Exchange) -> np.ndarray:
        """The values at the chain's present draw."""
        return self.of(chain.cold, chain.rng)

    def of(self, counts: Counts, rng: np.random.Generator) -> np.ndarray:
        """The values at a draw of theta and phi given the assignments."""
        theta = rng.standard_gamma(self.problem.alpha + counts.in_documents)
        theta /= theta.sum(axis=1, keepdims=True)
        phi = rng.standard_gamma(self.problem.beta + counts.in_words)
        phi /= phi.sum(axis=0)
        tokens = (theta[self.documents] * phi[self.words]).sum(axis=1)
        i, j = self.document_pairs
        return np.concatenate(
            [
                [log_joint(self.problem, counts), self.times @ np.log(tokens)],
                np.sort(counts.in_topics)[::-1] / len(self.problem.words),
                (theta[i] * theta[j]).sum(axis=1),
                self.word_products(phi),
            ]
        )

    def word_products(self, phi: np.ndarray) -> np.ndarray:
        """Of topics ``[word, topic]``."""
        v, u = self.word_pairs
        return (phi[v] * phi[u]).sum(axis=1)
