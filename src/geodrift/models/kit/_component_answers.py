"""Answers of models of components that have no order of their own, such as topics or clusters."""

import abc
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float

from geodrift._errors import InputError
from geodrift.data import VectorRows
from geodrift.driver import Run
from geodrift.models.kit._agreement import Agreement, agreement, aligned, with_intervals_of_shared
from geodrift.models.kit._alignment import directions_of
from geodrift.models.kit._answers import Answers, Findings
from geodrift.models.kit._datatree import component_datatree
from geodrift.models.kit._report_run import report_of_run
from geodrift.models.kit._tables import LEGEND, component_lines, component_tables, paragraphs
from geodrift.models.kit._verdict import Verdict, verdict_of
from geodrift.models.kit._word_intervals import component_words
from geodrift.report import Report

if TYPE_CHECKING:
    import xarray as xr

Draws = Mapping[str, np.ndarray]
"""Stored variables by name, [draw, ...]."""


class ComponentAnswers(Answers):
    """Of a model whose posterior is the same under any permutation of its components, which weigh words.

    Attributes:
        variable: The stored variable by which components are told apart, [component, word]. Every variable
            whose first dimension is `Model.component` has an entry for each of them.
        signed: Whether components are unit vectors, in which the weights of words have a sign.
        sizes: The stored variable that says which share of the documents each component has, where draws
            have it.
        evaluation_draws: Draws that `evaluate` uses unless told otherwise, at most; None: all.
    """

    variable: ClassVar[str]
    signed: ClassVar[bool] = False
    sizes: ClassVar[str]
    evaluation_draws: ClassVar[int | None] = None

    @abc.abstractmethod
    def score(
        self, run: Run, rows: VectorRows, draws: Draws, *, seed: int, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Held-out scores under some draws; ``options`` are those of `evaluate`."""

    @abc.abstractmethod
    def mixtures(
        self, run: Run, rows: VectorRows, draws: Draws, *, seed: int
    ) -> dict[str, Float[np.ndarray, "D K"]]:
        """Weights of the components in documents under aligned draws; see `Answers.transform`."""

    def vocabulary(self, run: Run) -> list[str] | None:
        """What the numbers of a component are of; None where nobody has said."""
        return run.labels["word"]

    def other_columns(self, run: Run) -> Sequence[str]:
        """What the columns of `transform` are that are no component's."""
        del run
        return ()

    def map_draws(self, draws: Draws) -> Draws:
        """Aligned draws without gaps, for the angles between components."""
        return draws

    _kept: tuple[Run, int, tuple[dict[str, np.ndarray], Agreement]] | None = None

    def aligned(self, run: Run) -> tuple[dict[str, np.ndarray], Agreement]:
        """Every variable of components, [chain, draw, component, ...], in one order of the components.

        Of one run it is done once: of many components it takes longer than what is done with it.

        Returns:
            The variables by name, and how far the chains agree.
        """
        if self._kept is None or self._kept[0] is not run or self._kept[1] != run.num_draws:
            self._kept = run, run.num_draws, self._aligned(run)
        return self._kept[2]

    def _aligned(self, run: Run) -> tuple[dict[str, np.ndarray], Agreement]:
        posterior = run.draws["posterior"].to_dataset()
        draws = {
            str(name): array.values
            for name, array in posterior.data_vars.items()
            if array.dims[2:3] == (self.model.component,)
        }
        return aligned(draws, self.variable, directions_of(self.signed))

    def summarise(self, run: Run, top: int) -> Findings:
        """Each component's words and size, with intervals where enough chains have found it."""
        draws, agreed = self.aligned(run)
        topics, words, name = draws[self.variable], self.vocabulary(run) or [], self.model.component
        sizes = draws.get(self.sizes)
        found = component_words(topics, words, top, name, agreed=agreed, signed=self.signed, sizes=sizes)
        return Findings(found, self._verdict(run, agreed))

    def verdict(self, run: Run) -> Verdict:
        """How far the chains agree on the components and on every number that is stored of a draw."""
        stored = run.draws["posterior"].to_dataset()[self.variable]
        of_chains = (stored[chain].values for chain in range(len(stored)))
        return self._verdict(run, agreement(of_chains, directions_of(self.signed)))

    def numbers(self, run: Run) -> dict[str, Float[np.ndarray, "C N"]]:
        """Every number of a draw that no order of the components changes, [chain, draw] by name."""
        posterior = run.draws["posterior"].to_dataset()
        return {str(name): array.values for name, array in posterior.items() if array.ndim == 2}

    def _verdict(self, run: Run, agreed: Agreement) -> Verdict:
        return verdict_of(agreed, self.numbers(run), self.model.component)

    def summary_text(self, found: Findings) -> str:
        """The verdict, and one table a component."""
        return f"{paragraphs(str(found.verdict))}\n\n{component_tables(found.parts, self.model.component)}"

    def summary_lines(self, found: Findings, width: int) -> str:
        """A few lines a component, what their numbers are, and the verdict."""
        lines = component_lines(found.parts, self.model.component, width)
        return f"{lines}\n\n{LEGEND}\n\n{paragraphs(str(found.verdict), width)}"

    def evaluate(
        self, run: Run, rows: VectorRows, *, num_draws: int | None, seed: int, **options: Any
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

    def transform(self, run: Run, rows: VectorRows, *, seed: int) -> dict[str, Float[np.ndarray, "D K"]]:
        """Weights of the components in documents; those of components that are not shared have no interval.

        Random streams are named by a document's content: its weights do not depend on the documents beside
        it.
        """
        draws, agreed = self.aligned(run)
        weights = self.mixtures(run, rows, flat(draws), seed=seed)
        return with_intervals_of_shared(weights, agreed)

    def export(self, run: Run) -> dict[str, np.ndarray]:
        """The aligned draws of all variables of components, the vocabulary, the hyperparameters as JSON.

        ``found`` [chain, component] says which chain has found a component, ``shared`` [component] whether
        enough chains have.
        """
        keys = ("model", "settings", "seed", "chains", "documents", "plan", "geodrift")
        told = json.dumps({key: run.config[key] for key in keys if key in run.config})
        (draws, agreed), words = self.aligned(run), self.vocabulary(run)
        named = {} if words is None else {"vocabulary": np.array(words, dtype=np.str_)}
        about = {"found": agreed.found, "shared": agreed.shared} | named
        return flat(draws) | about | {"hyperparameters": np.array(told)}

    def checks(self, run: Run, rows: VectorRows, draws: Draws, *, seed: int) -> list[dict[str, Any]] | None:
        """A posterior predictive check of each component on some documents; None of a model that has none.

        Args:
            run: The run.
            rows: From `rows`.
            draws: Aligned, [chain, draw, component, ...].
            seed: Of the replicas.

        Returns:
            For each component its number, ``observed`` and ``expected`` values, their ``ratio``, ``p_value``
            (the share of replicas at or above), and the ``words`` that depart most.
        """
        del run, rows, draws, seed
        return None

    def report(self, run: Run, *, top: int = 15, documents: int = 2000, seed: int = 0) -> Report:
        """See `Answers.report`; numbers are those of `summarise`, `transform` and `evaluate`."""
        return report_of_run(self, run, top=top, documents=documents, seed=seed)

    def to_datatree(self, run: Run) -> "xr.DataTree":
        """All draws, the components in one order, and by which chains each was found: `component_datatree`.

        ``run.draws`` has every draw's components in the order in which the chain has them.
        """
        posterior, (draws, agreed) = run.draws["posterior"].to_dataset().load(), self.aligned(run)
        ordered = {name: (posterior[name].dims, values) for name, values in draws.items()}
        return component_datatree(posterior.assign(ordered), agreed, self.model.component)


def flat(draws: Draws) -> dict[str, np.ndarray]:
    """Variables of all chains, one after the other."""
    return {name: values.reshape(-1, *values.shape[2:]) for name, values in draws.items()}
