"""One chain of a hierarchical Dirichlet process: what it draws."""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift.driver import ShownMetric, Variable
from geodrift.models.hierarchical_dirichlet_process._open_completion import open_completion
from geodrift.models.hierarchical_dirichlet_process.sampler._gibbs import WeightedGibbs
from geodrift.models.latent_dirichlet_allocation._minibatch_chain import MinibatchChain
from geodrift.models.latent_dirichlet_allocation.evaluation._completion import CompletionScore

STORED_SHARE = 0.001  # of the tokens, that a topic has at least which is stored by itself
LEAST_PRIOR = 1e-30


class Chain(MinibatchChain):
    """See `MinibatchChain`.

    A draw holds the topics with `STORED_SHARE` of the tokens or more, the largest first, and all others as
    one: on large corpora these are hundreds of topics of a burst of words in one document.
    """

    shown_metrics = (ShownMetric("topics", "{:,.0f} topics"), *MinibatchChain.shown_metrics)
    counted_length = 100  # topics: a draw has tens or hundreds
    move: WeightedGibbs

    @property
    def variables(self) -> dict[str, Variable]:
        """Topics, of which there are as many as a draw has, and what no order of them changes."""
        return {
            "topics": Variable(("topic", "word"), (None, self.source.num_words), "float32"),
            "topic_weights": Variable(("topic",), (None,), "float32"),
            "topic_sizes": Variable(("topic",), (None,), "float32"),
            "other_words": Variable(("word",), (self.source.num_words,), "float32"),
            "other_weight": Variable((), (), "float64"),
            "mixture_concentration": Variable((), (), "float64"),
            "weight_concentration": Variable((), (), "float64"),
            "number_of_topics": Variable((), (), "int32"),
            "log_joint": Variable((), (), "float64"),
        }

    def prepare(self) -> None:
        """Find topics to start from."""
        self.move.prepare(self._order(0, self.source.num_documents))

    def draw(self) -> dict[str, np.ndarray]:
        """The present value of each variable."""
        every, sizes, topics = self.move.order(), self.move.topic_sizes(), self.topics()
        number = max(1, int(np.count_nonzero(sizes[every] >= np.float32(STORED_SHARE))))
        order, small = every[:number], every[number:]
        weights = self.move.alpha / self.move.alpha.sum()
        # Of topics without a token, in whose mean all words are alike.
        new = max(np.delete(weights, every).sum(), LEAST_PRIOR)
        others = weights[small] @ topics[small] + new / topics.shape[1]
        return {
            "topics": topics[order],
            "topic_weights": weights[order].astype(np.float32),
            "topic_sizes": sizes[order],
            "other_words": (others / others.sum()).astype(np.float32),
            "other_weight": np.array(new + weights[small].sum()),
            "mixture_concentration": np.array(self.move.concentrations.mixture),
            "weight_concentration": np.array(self.move.concentrations.weight),
            "number_of_topics": np.array(len(every), np.int32),
            "log_joint": np.array(self.move.log_joint()),
        }

    def topic_prior(self) -> Float[np.ndarray, " K"]:
        """alpha_0 beta, with what all topics that are not represented have together as the last."""
        return np.maximum(self.move.alpha, LEAST_PRIOR)

    def _completion(self, counts: sp.csr_matrix, *, sweeps: int, burn_in: int) -> CompletionScore:
        topics, prior = self.expected_topics()[None], self.topic_prior()[None]
        eta = self.settings.topic_word_prior
        return open_completion(counts, topics, prior, eta, sweeps=sweeps, burn_in=burn_in)

    def _move(self) -> WeightedGibbs:
        return WeightedGibbs(self.source, self.settings, self.seed, self.chain)
