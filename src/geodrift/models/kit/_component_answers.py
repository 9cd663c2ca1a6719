"""Answers of models of components that have no order of their own, such as topics or clusters."""

import dataclasses
import json
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float

from geodrift.data import VectorRows
from geodrift.driver import Run
from geodrift.models.kit._agreement import Agreement, agreement, aligned
from geodrift.models.kit._alignment import directions_of
from geodrift.models.kit._answers import Findings
from geodrift.models.kit._component_names import means_of, named, names_of, read_names, write_name
from geodrift.models.kit._component_scores import ComponentScores, Draws
from geodrift.models.kit._datatree import component_datatree
from geodrift.models.kit._report_run import Asked, report_of_run
from geodrift.models.kit._tables import LEGEND, component_lines, component_tables, paragraphs
from geodrift.models.kit._told_apart import told_apart
from geodrift.models.kit._verdict import Verdict, verdict_of
from geodrift.models.kit._word_intervals import component_words
from geodrift.report import Report
from geodrift.report._text import of_sizes

if TYPE_CHECKING:
    import xarray as xr


class ComponentAnswers(ComponentScores):
    """Of a model whose posterior is the same under any permutation of its components, which weigh words.

    Attributes:
        signed: Whether components are unit vectors, in which the weights of words have a sign.
        sizes: The stored variable of each component's size, a share of what `Model.sizes_of` says, where
            draws have it.
    """

    signed: ClassVar[bool] = False
    sizes: ClassVar[str]

    def vocabulary(self, run: Run) -> list[str] | None:
        """What the numbers of a component are of; None where nobody has said."""
        return run.labels["word"]

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

    def agreed(self, run: Run) -> Agreement:
        """How far the chains agree on the components, with one chain in memory at a time."""
        if self._kept is not None and self._kept[0] is run and self._kept[1] == run.num_draws:
            return self._kept[2][1]
        stored = run.draws["posterior"].to_dataset()[self.variable]
        of_chains = (stored[chain].values for chain in range(len(stored)))
        return agreement(of_chains, directions_of(self.signed))

    def _aligned(self, run: Run) -> tuple[dict[str, np.ndarray], Agreement]:
        posterior = run.draws["posterior"].to_dataset()
        draws = {
            str(name): array.values
            for name, array in posterior.data_vars.items()
            if array.dims[2:3] == (self.model.component,)
        }
        return aligned(draws, self.variable, directions_of(self.signed))

    def summarise(self, run: Run, top: int) -> Findings:
        """Each component's words and size, with intervals where enough chains have found it.

        Beside them ``apart``, the words that tell it apart from the others (see `told_apart`), and ``name``,
        what it was called with `geodrift rename`, or None.
        """
        draws, agreed = self.aligned(run)
        topics, words, name = draws[self.variable], self.vocabulary(run) or [], self.model.component
        sizes, means = draws.get(self.sizes), self._means(draws, agreed)
        found = component_words(topics, words, top, name, agreed=agreed, signed=self.signed, sizes=sizes)
        shares = np.array([part.get("size", 1.0) for part in found])
        apart = told_apart(means, shares, words, top)
        found = [part | {"apart": own} for part, own in zip(found, apart, strict=True)]
        return Findings(named(found, names_of(run, means, self.signed), name), self._verdict(run, agreed))

    def _means(self, draws: Draws, agreed: Agreement) -> Float[np.ndarray, "K V"]:
        """Mean weights of each component, over the chains that have found it."""
        return means_of(self.map_draws(draws)[self.variable], agreed)

    def names(self, run: Run) -> dict[int, str]:
        """See `Answers.names`."""
        if not read_names(run):
            return {}
        draws, agreed = self.aligned(run)
        return names_of(run, self._means(draws, agreed), self.signed)

    def rename(self, run: Run, number: int, name: str | None) -> None:
        """See `Answers.rename`."""
        draws, agreed = self.aligned(run)
        write_name(run, self._means(draws, agreed), self.signed, number, name)

    def verdict(self, run: Run) -> Verdict:
        """How far the chains agree on the components and on every number that is stored of a draw."""
        return self._verdict(run, self.agreed(run))

    def numbers(self, run: Run) -> dict[str, Float[np.ndarray, "C N"]]:
        """Every number of a draw that no order of the components changes, [chain, draw] by name."""
        posterior = run.draws["posterior"].to_dataset()
        return {str(name): array.values for name, array in posterior.items() if array.ndim == 2}

    def _verdict(self, run: Run, agreed: Agreement) -> Verdict:
        found = verdict_of(agreed, self.numbers(run), self.model.component)
        return dataclasses.replace(found, start=run.config.get("start"))

    def summary_text(self, found: Findings) -> str:
        """The verdict, and one table a component."""
        component = self.model.component
        tables = component_tables(found.parts, component, self.model.sizes_of)
        return f"{paragraphs(self._sentences(found))}\n\n{tables}"

    def summary_lines(self, found: Findings, width: int) -> str:
        """A few lines a component, what their numbers are, and the verdict."""
        lines = component_lines(found.parts, self.model.component, width)
        return f"{lines}\n\n{LEGEND}\n\n{paragraphs(self._sentences(found), width)}"

    def _sentences(self, found: Findings) -> str:
        """The verdict, and what is to be said of the sizes."""
        return "\n".join(filter(None, [str(found.verdict), of_sizes(found.parts, self.model.component)]))

    def export(self, run: Run) -> dict[str, np.ndarray]:
        """The aligned draws of all variables of components, the vocabulary, the hyperparameters as JSON.

        ``found`` [chain, component] says which chain has found a component, ``shared`` [component] whether
        enough chains have; ``names`` [component] what each was called with `geodrift rename`.
        """
        keys = ("model", "settings", "seed", "chains", "documents", "plan", "geodrift")
        told = json.dumps({key: run.config[key] for key in keys if key in run.config})
        (draws, agreed), words, names = self.aligned(run), self.vocabulary(run), self.names(run)
        named = {} if words is None else {"vocabulary": np.array(words, dtype=np.str_)}
        called = np.array([names.get(place, "") for place in range(len(agreed.shared))], dtype=np.str_)
        about = {"found": agreed.found, "shared": agreed.shared, "names": called} | named
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

    def report(self, run: Run, **asked: Any) -> Report:
        """See `Answers.report`; numbers are those of `summarise`, `transform` and `evaluate`."""
        return report_of_run(self, run, Asked(**asked))

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
