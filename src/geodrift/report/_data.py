"""What a report tells, as plain data: figures, tables and the page are functions of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

if TYPE_CHECKING:
    import pandas as pd


TOLD = ("certain", "a tie", "no interval")  # of a document's leading component


class Entry(NamedTuple):
    """A line of the settings."""

    group: str
    name: str
    value: str


class ComponentMap(NamedTuple):
    """Angles between components, and a picture of them in the plane.

    Attributes:
        places: Of each component in the plane, in degrees of angle.
        spreads: Covariance of each place over draws and chains, degrees squared.
        explained: The share of the squared distances that the plane shows.
        angles: Mean angle of each pair, in degrees: 0 for the same direction, 90 for no word in common.
        low: The lower end of its 90% interval, NaN where there is none; so ``high``.
        same: The angle, in degrees, below which components of two chains can count as the same.
    """

    places: Float[np.ndarray, "K 2"]
    spreads: Float[np.ndarray, "K 2 2"]
    explained: float
    angles: Float[np.ndarray, "K K"]
    low: Float[np.ndarray, "K K"]
    high: Float[np.ndarray, "K K"]
    same: float

    def alike(self, one: int, other: int) -> bool:
        """Whether the interval of the angle reaches down to what counts as the same component."""
        low = self.low[one, other]
        return bool((self.angles[one, other] if np.isnan(low) else low) < self.same)

    def nearest(self, place: int, number: int) -> list[int]:
        """The components at the smallest angles."""
        order = np.argsort(self.angles[place], kind="stable")
        return [int(other) for other in order if other != place][:number]


class Documents(NamedTuple):
    """Documents with their weights.

    Attributes:
        numbers: Of each document in the corpus.
        names: What each is called.
        mean: Posterior mean of each component's weight, [D, K] or more where there is a rest.
        low: The lower end of its 90% interval, NaN where there is none; so ``high``.
        of: Number of all documents that were fitted; None where these were given, fitted or not.
        words: Words of some documents, by the place in ``numbers``.
        others: What columns are that are no component's: a rest, no component.
        ids: What the source of each calls it; None where nobody has said.
        fields: What else is told of each, such as a date or a group, by name.
        texts: The beginnings of the texts of some documents, by the place in ``numbers``.
        silent: Places of documents without a word, whose weights are those of the prior: they lead nothing.
    """

    numbers: Int[np.ndarray, " D"]
    names: list[str]
    mean: Float[np.ndarray, "D K"]
    low: Float[np.ndarray, "D K"]
    high: Float[np.ndarray, "D K"]
    of: int | None
    words: dict[int, list[str]]
    others: Sequence[str] = ()
    ids: list[str] | None = None
    fields: Mapping[str, list[Any]] = MappingProxyType({})
    texts: Mapping[int, str] = MappingProxyType({})
    silent: frozenset[int] = frozenset()

    def leading(self, component: int, number: int) -> list[int]:
        """Places of the documents that have most of a component, those that have a word and any of it."""
        order = np.argsort(-self.mean[:, component], kind="stable")[: number + len(self.silent)].tolist()
        told = [place for place in order if place not in self.silent]
        return [place for place in told[:number] if self.mean[place, component] > 0]

    def told(self, place: int) -> str:
        """Whether a document's leading component is "certain", "a tie", or has no interval to say so."""
        first = int(self.mean[place].argmax())
        low, others = self.low[place, first], np.delete(self.high[place], first)
        if np.isnan(low) and len(others):
            return "no interval"
        # Weights of one draw sum to 1, so that none is above one that has more than half; but where a chain
        # has another component in the place of the first, ends are of different chains, and both may be.
        above = (others > 0.5).any() if low > 0.5 else (others >= low).any()
        if above:
            return "a tie"
        return "certain" if low > 0.5 or not np.isnan(others).any() else "no interval"


class Prevalence(NamedTuple):
    """How much of groups of documents, or of times, each component has.

    Attributes:
        field: The documents' field that makes the groups.
        centres: Where each group stands on an axis, where values are numbers or dates; else None.
        effects: As `geodrift effect --json` has them, of every component.
        notes: Which documents were not used.
    """

    field: str
    centres: Float[np.ndarray, " G"] | None
    effects: list[dict[str, Any]]
    notes: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Report:
    """What a fitted model of components has found, for readers.

    Attributes:
        title: Of the page.
        model: What the model is called.
        component: What a component is called, such as ``topic``.
        signed: Whether weights of words have a sign.
        parts: Of each component, as `geodrift topics --json` has it.
        kinds: Of each component "shared", "split", "merged", "some chains", "one chain", or "own" where
            there is one chain.
        verdict: As `geodrift topics --json` has it; None where nothing but the components was kept.
        sentences: The verdict in words.
        apart: Of each component ``{"word", "relevance", "weight", "lift"}`` of words that tell it apart.
        map: Angles between components.
        documents: Documents with their weights; None without.
        checks: A posterior predictive check of each component, where the model has one.
        numbers: Of each number that was found beside the components, ``{"name", "of", "mean", "low",
            "high"}``. ``"probabilities"`` of a number that is whole.
        traces: Numbers that no order of the components changes, [chain, draw] by name.
        history: What was measured on the way, ``{"step", "chain", "name", "value"}``.
        scores: Held-out scores of the documents set aside, as `geodrift evaluate --json` has them.
        scores_told: The same as a sentence.
        settings: Settings, seed, versions, the data's digest.
        document: What a document is called.
        sizes_of: What sizes of components are shares of, in the plural.
        notes: What could not be told, and why.
        prevalence: Shares of the components in groups of documents, or over time.
    """

    title: str
    model: str
    component: str
    signed: bool
    parts: list[dict[str, Any]]
    kinds: list[str]
    sentences: list[str]
    apart: list[list[dict[str, Any]]]
    map: ComponentMap
    verdict: dict[str, Any] | None = None
    documents: Documents | None = None
    checks: list[dict[str, Any]] | None = None
    traces: dict[str, Float[np.ndarray, "C N"]] = dataclasses.field(default_factory=dict)
    history: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    scores: dict[str, Any] | None = None
    scores_told: str = ""
    settings: list[Entry] = dataclasses.field(default_factory=list)
    numbers: Sequence[dict[str, Any]] = ()
    document: str = "document"
    sizes_of: str = "documents"
    notes: Sequence[str] = ()
    prevalence: list[Prevalence] = dataclasses.field(default_factory=list)

    @property
    def at_rest(self) -> bool:
        """Whether the chains agree in every number that no order of the components changes."""
        return self.verdict is None or self.verdict["at_rest"]

    def by_size(self) -> list[int]:
        """The components' numbers, the largest first; as they are where they have no sizes."""
        return sorted(range(len(self.parts)), key=lambda place: -self.parts[place].get("size", 0.0))

    def names_of(self, place: int) -> list[str]:
        """What a component is known by: its leading words, or the documents nearest to it."""
        part = self.parts[place]
        if part.get("words"):
            return [entry["word"] for entry in part["words"]]
        return [f"{self.document} {entry['row']}" for entry in part.get("nearest", ())]

    def html(self) -> str:
        """The whole page."""
        from geodrift.report._page import page

        return page(self)

    def save(self, path: str | Path) -> None:
        """Write the page, whole or not at all; an earlier report at ``path`` is replaced.

        Raises:
            InputError: Something else stands at ``path``.
            StorageFullError: The disk is full.
        """
        from geodrift.report._save import save

        save(self, Path(path))

    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables of the page as pandas: ``"words"``, ``"documents"`` and so on."""
        import pandas as pd

        from geodrift.report._tables import tables

        return {table.name: pd.DataFrame(table.rows, columns=table.columns) for table in tables(self)}
