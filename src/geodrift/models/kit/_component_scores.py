"""Held-out scores of models of components, under evenly spaced draws of every chain."""

import abc
import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from geodrift._errors import InputError
from geodrift.data import VectorRows
from geodrift.driver import Run
from geodrift.models.kit._answers import Answers
from geodrift.models.kit._places import spaced
from geodrift.models.kit._spread_draws import spread_draws

Draws = Mapping[str, np.ndarray]
"""Stored variables by name, [draw, ...]."""


class ComponentScores(Answers):
    """The part of `ComponentAnswers` that scores documents.

    Attributes:
        variable: The stored variable by which components are told apart, [component, word]. Every variable
            whose first dimension is `Model.component` has an entry for each of them.
        evaluation_draws: Draws that `evaluate` uses unless told otherwise, at most; None: all.
    """

    variable: ClassVar[str]
    evaluation_draws: ClassVar[int | None] = None

    @abc.abstractmethod
    def score(
        self, run: Run, rows: VectorRows, draws: Draws, *, seed: int, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Held-out scores under some draws; ``options`` are those of `evaluate`."""

    def evaluate(
        self, run: Run, rows: VectorRows, *, num_draws: int | None, seed: int, **options: Any
    ) -> dict[str, Any]:
        """The model's held-out scores under ceil(N / chains) draws of each chain; see `spread_draws`.

        Raises:
            InputError: There are not so many draws.
        """
        draws, chains, length = self._some_draws(run, num_draws)
        return self.score(run, rows, draws, seed=seed, options=options) | {
            f"{self.model.component}_draws": chains * length,
            "chains": chains,
            f"{self.model.component}_draws_per_chain": length,
        }

    score_decides: ClassVar[bool] = True  # whether a held-out score tells which of two runs is better

    def document_scores(
        self, run: Run, rows: VectorRows, *, num_draws: int | None, seed: int, most: int | None = None
    ) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
        """Each document's held-out log score, and of how many units it is, such as words.

        Args:
            run: The run.
            rows: From `rows`, each with an entry.
            num_draws: As for `evaluate`.
            seed: Of what the score draws.
            most: So many of these draws, evenly spaced; None: all.
        """
        draws = self._some_draws(run, num_draws)[0]
        if most is not None:
            draws = {name: values[spaced(len(values), most)] for name, values in draws.items()}
        return self.scores_of_documents(run, rows, draws, seed=seed)

    def scores_of_documents(
        self, run: Run, rows: VectorRows, draws: Draws, *, seed: int
    ) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
        """See `document_scores`.

        Raises:
            InputError: The model does not tell them.
        """
        del rows, draws, seed
        raise InputError(f"run {run.path} is of {self.model.title}, which has no scores of single documents")

    def number_of_draws(self, run: Run) -> int:
        """Draws that `evaluate` uses unless told otherwise."""
        chains, length = run.num_chains, run.num_draws
        return min(self.evaluation_draws or chains * length, chains * length)

    def draws_for(self, run: Run, num_draws: int) -> int:
        """Draws that `evaluate` uses where so many are asked for: as many of each chain."""
        return run.num_chains * math.ceil(num_draws / run.num_chains)

    def _some_draws(self, run: Run, num_draws: int | None) -> tuple[dict[str, np.ndarray], int, int]:
        """`ComponentScores.evaluate`'s draws, chain after chain; how many chains, and draws of each."""
        posterior = run.draws["posterior"].to_dataset()
        chains, length = posterior[self.variable].shape[:2]
        if num_draws is None:
            num_draws = self.number_of_draws(run)
        if not 1 <= num_draws <= chains * length:
            raise InputError(f"the run has {chains * length} draws, {num_draws} were asked for")
        chosen = spread_draws(length, math.ceil(num_draws / chains))
        draws = {
            str(name): array[:, chosen].values.reshape(len(array) * len(chosen), *array.shape[2:])
            for name, array in posterior.data_vars.items()
        }
        return draws, chains, len(chosen)
