"""What the run directory and the command line need of a model."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from geodrift.data import Corpus, CorpusView
from geodrift.runs._fit import Engine
from geodrift.runs._run import Run

Draws = Mapping[str, np.ndarray]
"""Stored variables by name, [draw, ...]; "topics" is [draw, topic, word]."""


class Model(Protocol):
    """A model between its engines and a run; it imports its own code when it is used.

    Attributes:
        name: In `config.json` and on the command line.
        title: For a reader.
        evaluation_options: Names of what `evaluate` takes besides the seed.
        evaluation_draws: Topic draws that `evaluate` is given unless told otherwise, at most; None: all.
        memory_of_a_step: Memory that a step needs, as a multiple of the state's.
    """

    name: str
    title: str
    evaluation_options: tuple[str, ...]
    evaluation_draws: int | None
    memory_of_a_step: float

    def setting_names(self) -> set[str]:
        """Names of the settings that `engines` takes."""
        ...

    def takes_negative(self, settings: Mapping[str, Any]) -> bool:
        """Whether documents may have negative entries under the settings."""
        ...

    def engines(
        self,
        training: Corpus | CorpusView,
        settings: Mapping[str, Any],
        *,
        seed: int,
        chains: int,
        held_out: sp.csr_matrix | None,
    ) -> list[Engine]:
        """One engine a chain, as at the start; ``held_out`` are counts to score on the way."""
        ...

    def rows(self, run: Run, counts: sp.csr_matrix) -> sp.csr_matrix:
        """Counts of new documents in the form that the model takes."""
        ...

    def common_order(self, topics: Float[np.ndarray, "N K V"]) -> Int[np.ndarray, "N K"]:
        """For each draw the topic that stands in each place."""
        ...

    def expected_topics(self, run: Run, topics: Float[np.ndarray, "N K V"]) -> Float[np.ndarray, "K V"]:
        """One estimate of the topics, in the order of the aligned draws ``topics``."""
        ...

    def summarise(
        self, topics: Float[np.ndarray, "N K V"], vocabulary: list[str], top: int
    ) -> list[dict[str, Any]]:
        """Each aligned topic's words with intervals."""
        ...

    def evaluate(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int, **options: Any
    ) -> dict[str, Any]:
        """Held-out scores and what they are measured on, for JSON."""
        ...

    def sentence(self, scores: Mapping[str, Any]) -> str:
        """The scores for a person."""
        ...

    def transform(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int
    ) -> dict[str, Float[np.ndarray, "D K"]]:
        """Mixtures of documents under aligned draws: mean and 90% interval."""
        ...
