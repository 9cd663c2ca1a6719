"""What the runs of topic models have in common: one estimate of the topics."""

import abc

import numpy as np
from jaxtyping import Float

from geodrift.driver import Run
from geodrift.models.kit._component_answers import ComponentAnswers


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

    def export(self, run: Run) -> dict[str, np.ndarray]:
        """The same as for all models of components, and one estimate of the topics."""
        exported = super().export(run)
        expected = self.expected_topics(run, exported["topics"])
        return exported if expected is None else exported | {"expected_topics": expected}
