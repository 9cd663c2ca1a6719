"""What a hierarchical Dirichlet process answers."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift.driver import Run
from geodrift.models.clusters._counted_answers import CountedAnswers
from geodrift.models.hierarchical_dirichlet_process._all_topics import as_lda, some_of, told_first, with_means
from geodrift.models.hierarchical_dirichlet_process._chain import Chain
from geodrift.models.hierarchical_dirichlet_process._open_completion import open_completion
from geodrift.models.hierarchical_dirichlet_process._open_mixtures import open_mixtures
from geodrift.models.kit import _places
from geodrift.models.kit._component_answers import flat
from geodrift.models.kit._component_scores import Draws
from geodrift.models.kit._found_draws import draws_found
from geodrift.models.latent_dirichlet_allocation._answers import completion_sentence
from geodrift.models.topics._answers import TRANSFORM_DRAWS, TopicAnswers
from geodrift.models.topics._expected_topics import expected_topics
from geodrift.models.topics._topic_scores import topic_scores

OTHERS = "other topics"  # the last column of `transform`


class HierarchicalAnswers(CountedAnswers, TopicAnswers):
    """See `Answers`; which topics are told of is said in `kit._places`."""

    chain_type = Chain
    counted_data = "token"
    # A score takes 75 sweeps over the documents for each draw.
    evaluation_draws = 10

    def score(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Perplexity by document completion under all topics; scores of those that are told of."""
        del options
        completion = open_completion(rows, *as_lda(draws), _eta(run), seed=seed).to_dict()
        (ordered, agreed), top = self.aligned(run), min(10, rows.shape[1])
        expected = expected_topics(ordered[self.variable], agreed, self.signed)
        drawn, found = flat(ordered), draws_found(agreed)
        topics = np.where((drawn["topic_weights"] > 0)[..., None], drawn[self.variable], np.nan)
        return completion | topic_scores(expected, rows, draws=topics, found=found, top=top)

    def sentence(self, scores: Mapping[str, Any]) -> str:
        """Perplexity and what it is of; a line of the topics' scores."""
        return completion_sentence(scores)

    def transform(
        self, run: Run, rows: sp.csr_matrix, *, seed: int, fitted: bool = False
    ) -> dict[str, Float[np.ndarray, "D K"]]:
        """Shares of the topics that are told of, and of all others together."""
        return self.transformer(run, seed=seed, fitted=fitted)(rows)

    def transformer(
        self, run: Run, *, seed: int, intervals: bool = True, fitted: bool = False
    ) -> Callable[[sp.csr_matrix], dict[str, Float[np.ndarray, "D K"]]]:
        """Under up to `TRANSFORM_DRAWS` of the draws, evenly spaced, all topics of them."""
        del intervals
        (told, agreed), posterior = self.aligned(run), run.draws["posterior"].to_dataset()
        names = ("topics", "topic_weights", "other_words", "other_weight", "mixture_concentration")
        some, chosen = some_of(flat({name: posterior[name].values for name in names}), TRANSFORM_DRAWS)
        orders = agreed.orders.reshape(-1, agreed.orders.shape[2])
        topics, alpha = told_first(some, orders[chosen])
        if not fitted:
            topics = with_means(topics, told["topics"], told["topic_weights"], chosen)
        how: dict[str, Any] = {"seed": seed, "told": orders.shape[1], "found": draws_found(agreed, chosen, 1)}
        given = topics, alpha, _eta(run)
        return lambda rows: _places.with_intervals(open_mixtures(rows, *given, **how), agreed)

    def scores_of_documents(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int
    ) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
        """Log likelihood of each document's held-out words under all topics, and their number."""
        found = open_completion(rows, *as_lda(draws), _eta(run), seed=seed)
        return found.document_log_likelihood, found.document_held_out_tokens.astype(np.float64)

    def other_columns(self, run: Run) -> list[str]:
        """Topics that are not told of."""
        del run
        return [OTHERS]


def _eta(run: Run) -> float:
    return float(run.config["settings"]["topic_word_prior"])
