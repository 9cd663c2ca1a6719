"""Answers of models of components that have no order of their own, such as topics or clusters."""

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
from geodrift.models.kit._alignment import in_order
from geodrift.models.kit._answers import Answers
from geodrift.models.kit._tables import LEGEND, component_lines, component_tables
from geodrift.models.kit._word_intervals import component_words

Draws = Mapping[str, np.ndarray]
"""Stored variables by name, [draw, ...]."""


class ComponentAnswers(Answers):
    """Of a model whose posterior is the same under any permutation of its components, which weigh words.

    Attributes:
        variable: The stored variable by which components are told apart, [component, word]. Every variable
            whose first dimension is `Model.component` has an entry for each of them.
        signed: Whether the weights of words in components have a sign.
        evaluation_draws: Draws that `evaluate` uses unless told otherwise, at most; None: all.
    """

    variable: ClassVar[str]
    signed: ClassVar[bool] = False
    evaluation_draws: ClassVar[int | None] = None

    @abc.abstractmethod
    def common_order(self, components: Float[np.ndarray, "N K V"]) -> Int[np.ndarray, "N K"]:
        """For each draw the component that stands in each place."""

    @abc.abstractmethod
    def score(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Held-out scores under some draws; ``options`` are those of `evaluate`."""

    @abc.abstractmethod
    def mixtures(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int
    ) -> dict[str, Float[np.ndarray, "D K"]]:
        """Weights of the components in documents under aligned draws; see `Answers.transform`."""

    def aligned_draws(self, run: Run) -> dict[str, np.ndarray]:
        """Draws of all chains, one after the other: every variable of components, in one order of them."""
        posterior = run.draws["posterior"].to_dataset()
        draws = {
            str(name): array.values.reshape(-1, *array.shape[2:])
            for name, array in posterior.data_vars.items()
            if array.dims[2:3] == (self.model.component,)
        }
        return in_order(draws, self.common_order(draws[self.variable]))

    def summarise(self, run: Run, top: int) -> list[dict[str, Any]]:
        """Each component's words with intervals."""
        draws, words = self.aligned_draws(run)[self.variable], run.labels["word"]
        return component_words(draws, words, top, self.model.component, signed=self.signed)

    def summary_text(self, found: list[dict[str, Any]]) -> str:
        """One table a component."""
        return component_tables(found, self.model.component)

    def summary_lines(self, found: list[dict[str, Any]], width: int) -> str:
        """A few lines a component, and what their numbers are."""
        return f"{component_lines(found, self.model.component, width)}\n\n{LEGEND}"

    def evaluate(
        self, run: Run, rows: sp.csr_matrix, *, num_draws: int | None, seed: int, **options: Any
    ) -> dict[str, Any]:
        """The model's held-out scores under the last ceil(N / chains) draws of each chain.

        Raises:
            InputError: There are not so many draws.
        """
        posterior = run.draws["posterior"].to_dataset()
        chains, length = posterior[self.variable].shape[:2]
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
            f"{self.model.component}_draws": chains * length,
            "chains": chains,
            f"{self.model.component}_draws_per_chain": length,
        }

    def transform(self, run: Run, rows: sp.csr_matrix, *, seed: int) -> dict[str, Float[np.ndarray, "D K"]]:
        """Weights of the components in documents.

        Random streams are named by a document's content: its weights do not depend on the documents beside
        it.
        """
        return self.mixtures(run, rows, self.aligned_draws(run), seed=seed)

    def export(self, run: Run) -> dict[str, np.ndarray]:
        """The aligned draws of all variables of components, the vocabulary, the hyperparameters as JSON."""
        keys = ("model", "settings", "seed", "chains", "documents", "plan", "geodrift")
        told = json.dumps({key: run.config[key] for key in keys if key in run.config})
        return self.aligned_draws(run) | {
            "vocabulary": np.array(run.labels["word"], dtype=np.str_),
            "hyperparameters": np.array(told),
        }
