"""What the runs of topic models have in common: tables of the topics' words, one estimate of the topics."""

import abc
from typing import Any

import numpy as np
from jaxtyping import Float

from geodrift.driver import Run
from geodrift.models.kit._component_answers import ComponentAnswers
from geodrift.models.topics._tables import LEGEND, topic_lines, topic_tables


class TopicAnswers(ComponentAnswers):
    """Of a model whose draws have the variable ``topics``, [topic, word]."""

    variable = "topics"

    @abc.abstractmethod
    def expected_topics(self, run: Run, topics: Float[np.ndarray, "N K V"]) -> Float[np.ndarray, "K V"]:
        """One estimate of the topics, in the order of the aligned draws ``topics``."""

    @abc.abstractmethod
    def summarise_draws(
        self, topics: Float[np.ndarray, "N K V"], vocabulary: list[str], top: int
    ) -> list[dict[str, Any]]:
        """Each aligned topic's words with intervals."""

    def summarise(self, run: Run, top: int) -> list[dict[str, Any]]:
        """Each topic's words with intervals."""
        return self.summarise_draws(self.aligned_draws(run)["topics"], run.labels["word"], top)

    def summary_text(self, found: list[dict[str, Any]]) -> str:
        """One table a topic."""
        return topic_tables(found)

    def summary_lines(self, found: list[dict[str, Any]], width: int) -> str:
        """A few lines a topic, and what their numbers are."""
        return f"{topic_lines(found, width)}\n\n{LEGEND}"

    def export(self, run: Run) -> dict[str, np.ndarray]:
        """The same as for all models of components, and one estimate of the topics."""
        exported = super().export(run)
        return exported | {"expected_topics": self.expected_topics(run, exported["topics"])}
