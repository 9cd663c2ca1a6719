"""What the runs of topic models have in common: one estimate of the topics."""

import numpy as np

from geodrift.driver import Run
from geodrift.models.kit._component_answers import ComponentAnswers
from geodrift.models.topics._expected_topics import expected_topics

TRANSFORM_DRAWS = 20  # draws that `transform` averages over, at most


class TopicAnswers(ComponentAnswers):
    """Of a model whose draws have the variable ``topics``, [topic, word], and mostly ``topic_sizes``."""

    variable = "topics"
    sizes = "topic_sizes"

    def export(self, run: Run) -> dict[str, np.ndarray]:
        """The same as for all models of components, and one estimate of the topics."""
        draws, agreed = self.aligned(run)
        expected = expected_topics(draws["topics"], agreed, self.signed)
        return super().export(run) | {"expected_topics": expected}
