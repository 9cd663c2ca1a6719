"""What the runs of topic models have in common: one estimate of the topics."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift.driver import Run
from geodrift.models.kit._component_answers import ComponentAnswers, flat
from geodrift.models.kit._found_draws import draws_found, with_intervals_of_shared
from geodrift.models.topics._expected_topics import expected_topics

TRANSFORM_DRAWS = 20  # draws that `transform` averages over, at most


class TopicAnswers(ComponentAnswers):
    """Of a model whose draws have the variable ``topics``, [topic, word], and mostly ``topic_sizes``."""

    variable = "topics"
    sizes = "topic_sizes"

    def transformer(
        self, run: Run, *, seed: int, intervals: bool = True
    ) -> Callable[[sp.csr_matrix], dict[str, Float[np.ndarray, "D K"]]]:
        """The draws are aligned once for all documents."""
        del intervals
        draws, agreed = self.aligned(run)
        of_all, found = flat(draws), draws_found(agreed)
        return lambda rows: with_intervals_of_shared(
            self.mixtures(run, rows, of_all, found, seed=seed), agreed
        )

    def export(self, run: Run) -> dict[str, np.ndarray]:
        """The same as for all models of components, and one estimate of the topics."""
        draws, agreed = self.aligned(run)
        expected = expected_topics(draws["topics"], agreed, self.signed)
        return super().export(run) | {"expected_topics": expected}
