"""What the runs of topic models have in common: one order of topics, their words, the last draws to score."""

import abc
import json
import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from geodrift._errors import InputError
from geodrift.driver import Run
from geodrift.models.kit._answers import Answers
from geodrift.models.topics._alignment import in_order
from geodrift.models.topics._tables import topic_lines, topic_tables

Draws = Mapping[str, np.ndarray]
"""Stored variables by name, [draw, ...]; "topics" is [draw, topic, word]."""

_TOPIC = "topic"


class TopicAnswers(Answers):
    """Of a model whose draws have the variable ``topics``, [topic, word].

    Attributes:
        evaluation_draws: Draws that `evaluate` uses unless told otherwise, at most; None: all.
    """

    evaluation_draws: ClassVar[int | None] = None

    @abc.abstractmethod
    def common_order(self, topics: Float[np.ndarray, "N K V"]) -> Int[np.ndarray, "N K"]:
        """For each draw the topic that stands in each place."""

    @abc.abstractmethod
    def expected_topics(self, run: Run, topics: Float[np.ndarray, "N K V"]) -> Float[np.ndarray, "K V"]:
        """One estimate of the topics, in the order of the aligned draws ``topics``."""

    @abc.abstractmethod
    def summarise_draws(
        self, topics: Float[np.ndarray, "N K V"], vocabulary: list[str], top: int
    ) -> list[dict[str, Any]]:
        """Each aligned topic's words with intervals."""

    @abc.abstractmethod
    def score(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Held-out scores under some draws; ``options`` are those of `evaluate`."""

    @abc.abstractmethod
    def mixtures(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int
    ) -> dict[str, Float[np.ndarray, "D K"]]:
        """Mixtures of documents under aligned draws."""

    def aligned_draws(self, run: Run) -> dict[str, np.ndarray]:
        """Draws of all chains, one after the other, with every variable of topics in one order of them."""
        posterior = run.draws["posterior"].to_dataset()
        draws = {
            str(name): array.values.reshape(-1, *array.shape[2:])
            for name, array in posterior.data_vars.items()
            if array.dims[2:3] == (_TOPIC,)
        }
        return in_order(draws, self.common_order(draws["topics"]))

    def summarise(self, run: Run, top: int) -> list[dict[str, Any]]:
        """Each topic's words with intervals."""
        return self.summarise_draws(self.aligned_draws(run)["topics"], run.labels["word"], top)

    def summary_text(self, found: list[dict[str, Any]]) -> str:
        """One table a topic."""
        return topic_tables(found)

    def summary_lines(self, found: list[dict[str, Any]], width: int) -> str:
        """A few lines a topic."""
        return topic_lines(found, width)

    def evaluate(
        self, run: Run, rows: sp.csr_matrix, *, num_draws: int | None, seed: int, **options: Any
    ) -> dict[str, Any]:
        """The model's held-out scores under the last ceil(N / chains) draws of each chain.

        Raises:
            InputError: There are not so many draws.
        """
        posterior = run.draws["posterior"].to_dataset()
        chains, length = posterior["topics"].shape[:2]
        if num_draws is None:
            num_draws = min(self.evaluation_draws or chains * length, chains * length)
        if not 1 <= num_draws <= chains * length:
            raise InputError(f"the run has {chains * length} draws, {num_draws} were asked for")
        length = math.ceil(num_draws / chains)
        draws = {
            str(name): array[:, -length:].values.reshape(-1, *array.shape[2:])
            for name, array in posterior.data_vars.items()
        }
        return self.score(run, rows, draws, seed=seed, options=options) | {
            "topic_draws": chains * length,
            "chains": chains,
            "topic_draws_per_chain": length,
        }

    def transform(self, run: Run, rows: sp.csr_matrix, *, seed: int) -> dict[str, Float[np.ndarray, "D K"]]:
        """Mixtures of documents.

        Random streams are named by a document's content: its mixture does not depend on the documents beside
        it.
        """
        return self.mixtures(run, rows, self.aligned_draws(run), seed=seed)

    def export(self, run: Run) -> dict[str, np.ndarray]:
        """Aligned topic draws, one estimate of them, the vocabulary, and the hyperparameters as JSON."""
        topics = self.aligned_draws(run)["topics"]
        keys = ("model", "settings", "seed", "chains", "documents", "plan", "geodrift")
        told = json.dumps({key: run.config[key] for key in keys if key in run.config})
        return {
            "topics": topics,
            "expected_topics": self.expected_topics(run, topics),
            "vocabulary": np.array(run.labels["word"], dtype=np.str_),
            "hyperparameters": np.array(told),
        }
