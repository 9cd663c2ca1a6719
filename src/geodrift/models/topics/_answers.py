"""What the runs of topic models have in common: one estimate of the topics."""

import abc
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift.driver import Run
from geodrift.models.kit._agreement import with_intervals_of_shared
from geodrift.models.kit._component_answers import ComponentAnswers, flat


class TopicAnswers(ComponentAnswers):
    """Of a model whose draws have the variable ``topics``, [topic, word], and mostly ``topic_sizes``."""

    variable = "topics"
    sizes = "topic_sizes"

    @abc.abstractmethod
    def expected_topics(
        self, run: Run, topics: Float[np.ndarray, "N K V"]
    ) -> Float[np.ndarray, "K V"] | None:
        """One estimate of the topics, in the order of the aligned draws ``topics``.

        None where it stands in a state that was lost: a repaired run may have draws alone.
        """

    def transformer(
        self, run: Run, *, seed: int, intervals: bool = True
    ) -> Callable[[sp.csr_matrix], dict[str, Float[np.ndarray, "D K"]]]:
        """The draws are aligned once for all documents."""
        del intervals
        draws, agreed = self.aligned(run)
        of_all = flat(draws)
        return lambda rows: with_intervals_of_shared(self.mixtures(run, rows, of_all, seed=seed), agreed)

    def export(self, run: Run) -> dict[str, np.ndarray]:
        """The same as for all models of components, and one estimate of the topics."""
        exported = super().export(run)
        expected = self.expected_topics(run, exported["topics"])
        return exported if expected is None else exported | {"expected_topics": expected}
