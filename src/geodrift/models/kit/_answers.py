"""What a model answers: chains from documents, and summaries, scores and mixtures from a run."""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float

from geodrift._errors import InputError
from geodrift.data import VectorRows
from geodrift.driver import Run
from geodrift.models.kit._chain import ModelChain
from geodrift.models.kit._model import Model
from geodrift.models.kit._verdict import Verdict
from geodrift.report import Report


class Findings(NamedTuple):
    """What a run has found.

    Attributes:
        parts: Of each component or other part, for JSON.
        verdict: What may be believed of them.
        numbers: Of each number that was found beside the parts, such as how many there are, for JSON.
        notes: What could not be told, and why.
    """

    parts: list[dict[str, Any]]
    verdict: Verdict
    numbers: Sequence[dict[str, Any]] = ()
    notes: Sequence[str] = ()


class Answers(abc.ABC):
    """The working part of a model; its specification (`Model`) says which class it is.

    Args:
        model: The specification.

    Attributes:
        chain_type: The class of the model's chains.
        tells_groups: Whether `group_shares` tells the shares of components in groups of documents.
    """

    chain_type: ClassVar[Callable[..., ModelChain]]
    tells_groups: ClassVar[bool] = False

    def __init__(self, model: Model) -> None:
        self.model = model

    def chain(
        self,
        training: Any,
        settings: Any,
        *,
        seed: int,
        chain: int,
        held_out: VectorRows | None,
        **shared: Any,
    ) -> ModelChain:
        """A chain at its start.

        Args:
            training: Documents, of the kind that the model `reads`.
            settings: Of the type ``settings_type``.
            seed: Of the run.
            chain: Number of the chain.
            held_out: Documents to score on the way, or None.
            shared: ``team``, the processes that take its steps together, of a model that says it can; or
                nothing.
        """
        return self.chain_type(training, settings, seed=seed, chain=chain, held_out=held_out, **shared)

    def rows(self, run: Run, counts: VectorRows) -> VectorRows:
        """New documents in the form that the model takes: as they are, unless a model says else."""
        del run
        return counts

    @abc.abstractmethod
    def summarise(self, run: Run, top: int) -> Findings:
        """What was found, and what may be believed of it."""

    @abc.abstractmethod
    def verdict(self, run: Run) -> Verdict:
        """What may be believed of it, without the findings themselves."""

    def closing(self, run: Run) -> list[str]:
        """What is said at the end of a fit."""
        return str(self.verdict(run)).splitlines()

    @abc.abstractmethod
    def summary_text(self, found: Findings) -> str:
        """The same as tables."""

    @abc.abstractmethod
    def summary_lines(self, found: Findings, width: int) -> str:
        """The same as a few lines, of at most ``width`` characters."""

    @abc.abstractmethod
    def evaluate(
        self, run: Run, rows: VectorRows, *, num_draws: int | None, seed: int, **options: Any
    ) -> dict[str, Any]:
        """Held-out scores of documents and what they are measured on, for JSON.

        Args:
            run: The run.
            rows: From `rows`.
            num_draws: Posterior draws to use; None: the model's choice.
            seed: Of what the score draws.
            options: See ``evaluation_options``.
        """

    @abc.abstractmethod
    def sentence(self, scores: Mapping[str, Any]) -> str:
        """The scores for a person."""

    @abc.abstractmethod
    def transform(
        self, run: Run, rows: VectorRows, *, seed: int, fitted: bool = False
    ) -> dict[str, Float[np.ndarray, "D K"]]:
        """Weights of the components in documents: a document's mixture, or the probability of each cluster.

        Args:
            run: The run.
            rows: From `rows`.
            seed: Of the random streams.
            fitted: Whether the documents are the run's own, which have had their say in every draw.

        Returns:
            ``mean``, and the ends ``low`` and ``high`` of 90% intervals.
        """

    def transformer(
        self, run: Run, *, seed: int, intervals: bool = True, fitted: bool = False
    ) -> Callable[[VectorRows], dict[str, Float[np.ndarray, "D K"]]]:
        """`transform` as a function of the documents, for one block of them after the other.

        Without ``intervals`` a model whose means are had for less leaves ``low`` and ``high`` out.
        """
        del intervals
        return lambda rows: self.transform(run, rows, seed=seed, fitted=fitted)

    def other_columns(self, run: Run) -> Sequence[str]:
        """What the columns of `transform` are that are no component's."""
        del run
        return ()

    def documents_a_block(self, run: Run) -> int:
        """Documents that are weighed at a time."""
        del run
        return 2000

    def group_shares(
        self, run: Run, *, seed: int
    ) -> tuple[
        Callable[[sp.csr_matrix, int], Float[np.ndarray, "M K"]],
        Bool[np.ndarray, "M K"],
        Bool[np.ndarray, " K"],
    ]:
        """How the components' mean shares in groups of documents are drawn, with a prior for each group.

        Returns:
            A function from the documents of a group, and its number, to draws; draw m of all groups belongs
            to one draw of the components. Which draws are of a chain that has found each component, whose
            shares are theirs. And of which components there are intervals.

        Raises:
            InputError: The model does not tell them.
        """
        raise self.no_groups(run)

    def no_groups(self, run: Run) -> InputError:
        """That the model does not tell shares of groups, and what does."""
        return InputError(
            f"run {run.path} is of {self.model.title}, which has no effects of groups: they take a prior of"
            " each group, which is not sampled for it; fit lda to compare groups of texts"
        )

    def names(self, run: Run) -> dict[int, str]:
        """What components were called with `rename`, by their numbers."""
        del run
        return {}

    def rename(self, run: Run, number: int, name: str | None) -> None:
        """Keep a name of a component beside the run; None takes it away.

        Raises:
            InputError: There is no such component, the name is empty or too long, or the model has none.
        """
        raise InputError(f"run {run.path} is of {self.model.title}, whose parts have no names of their own")

    @abc.abstractmethod
    def export(self, run: Run) -> dict[str, np.ndarray]:
        """The draws as plain arrays, with what is needed to read them."""

    @abc.abstractmethod
    def report(self, run: Run, **asked: Any) -> Report:
        """All that a run has to tell, for readers: `Report.save` writes it as a page.

        Args:
            run: The run.
            asked: ``top``, words of a component (15); ``documents`` whose weights are told, at most (2,000; 0
                does without the corpus); ``seed`` of what the documents' weights, their scores and their
                choice draw (0); ``by``, fields that make groups whose shares are compared (None: a time or
                else a group, where the documents have them); ``title`` and ``text``, the fields of titles and
                of texts; ``progress``, which is told how many pieces are done, of how many, and what goes on.
        """
