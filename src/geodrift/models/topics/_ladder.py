"""How many topics: a ladder of numbers fitted under one budget, compared on the same held-out documents."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geodrift.data import Corpus
from geodrift.files import write_json
from geodrift.models.kit._model import Model
from geodrift.models.topics._json_numbers import json_number
from geodrift.models.topics._ladder_others import other_runs, shorter_or_longer
from geodrift.models.topics._ladder_rule import RULE, TOLD_APART, compared
from geodrift.models.topics._ladder_runs import CHAINS, fitted_runs, held_out_of
from geodrift.models.topics._ladder_scores import scored
from geodrift.models.topics._ladder_text import ladder_text
from geodrift.report import LadderReport, refuse_foreign
from geodrift.report._ladder import FIGURE_MARK
from geodrift.report._save import PAGE_MARK

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

SECONDS = 300.0
PAGE, FIGURE, NUMBERS = "choice.html", "choice.svg", "choice.json"
# By which earlier ones of ours are known.
_MARKS = {PAGE: PAGE_MARK, FIGURE: FIGURE_MARK, NUMBERS: '{\n  "rows": [\n    {\n      "topics": '}


@dataclasses.dataclass(frozen=True)
class Ladder:
    """Numbers of topics beside one another.

    Attributes:
        rows: Of each number ``topics``; ``perplexity`` of the held-out tokens under the draws of all chains,
            and ``log_likelihood_per_token`` with its ``standard_error``; what `compared` says; ``shared``,
            how many topics the chains share; ``npmi``, the coherence of the topics, each the mean over the
            chains that have found it, and ``diversity``; ``steps`` and ``seconds`` of the fit; ``run``, the
            run directory.
        best: The number of the highest score.
        chosen: The smallest number that cannot be told from it.
        chains: Of each run.
        documents: Held-out documents.
        tokens: Their held-out tokens.
        notes: Which numbers that stood in the directory are compared too, and what there is not compared.
    """

    rows: list[dict[str, Any]]
    best: int
    chosen: int
    chains: int
    documents: int
    tokens: int
    notes: list[str] = dataclasses.field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, which has neither NaN nor infinities: they are None."""
        told = dataclasses.asdict(self) | {"rule": RULE, "standard_errors": TOLD_APART}
        return told | {"rows": [{name: _for_json(value) for name, value in row.items()} for row in self.rows]}

    def frame(self) -> "pd.DataFrame":
        """The rows as pandas."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def report(self) -> LadderReport:
        """For readers: ``ladder.report().save("topics.html")``, or ``.svg()``."""
        counts = self.chains, self.documents, self.tokens
        return LadderReport(self.rows, self.best, self.chosen, *counts, RULE, self.notes)

    def save(self, folder: str | Path) -> None:
        """Write the page, the figure and the numbers into a directory; earlier ones of ours are replaced.

        Raises:
            InputError: Something else stands in the place of one of them; nothing is written then.
        """
        folder = Path(folder)
        _refuse_foreign(folder)
        self.report().save(folder / PAGE)
        self.report().save(folder / FIGURE)
        write_json(folder / NUMBERS, self.to_dict(), overwrite=True)

    def __str__(self) -> str:
        return ladder_text(self)


def climb(
    model: Model,
    corpus: Corpus,
    numbers: Sequence[int],
    folder: Path,
    *,
    settings: Mapping[str, Any],
    seconds: float | None = None,
    steps: int | None = None,
    chains: int = CHAINS,
    held_out: int | None = None,
    seed: int = 0,
    console: "Console | None" = None,
    say: Callable[[str], object] = lambda line: None,
) -> Ladder:
    """Fit every number of topics, and compare them, with those that the directory holds already.

    Args:
        model: With a `Model.ladder_setting`.
        corpus: Documents; some are set aside.
        numbers: Of topics.
        folder: Where the runs are written, or stand; those that are done are not fitted again.
        settings: Of all runs, those of ``model.ladder_defaults`` among them unless told otherwise.
        seconds: Time for the steps of all runs together; `SECONDS` where no steps are told either.
        steps: Steps of each chain, instead of a time.
        chains: Of each run.
        held_out: Documents set aside; None: a tenth, and of small corpora more.
        seed: Of the runs, of the documents set aside and of the scores.
        console: Where progress goes.
        say: What goes on, in lines.

    Raises:
        ValueError: Numbers that cannot be compared, or settings outside what is allowed.
        InputError: Another run stands where one is to be written, or something else where the page is to be,
            the figure or the numbers.
    """
    _refuse_foreign(folder)
    aside = held_out_of(corpus.num_documents) if held_out is None else held_out
    config: dict[str, Any] = {"settings": {**model.ladder_defaults, **settings}}
    config |= {"seed": seed, "chains": chains, "held_out": aside}
    budget = SECONDS if seconds is None and steps is None else seconds
    runs = fitted_runs(model, corpus, numbers, folder, config, (budget, steps), console, say)
    others, notes = other_runs(model, folder, runs)
    runs = dict(sorted({**runs, **others}.items()))
    notes += shorter_or_longer(runs.values(), steps)
    view, rows = corpus.split(aside, seed)
    found = []
    for number, run in runs.items():
        say(f"scoring {number} {model.component}s on {aside:,} documents set aside")
        found.append(scored(model, run, rows, view, seed))
    tokens = found[0].tokens
    told = [
        {"topics": number} | each.told | against | {"run": str(run.path)}
        for (number, run), each, against in zip(
            runs.items(), found, compared([each.by_chain for each in found], tokens), strict=True
        )
    ]
    best = max(told, key=lambda row: row["score"])["topics"]
    chosen = min(row["topics"] for row in told if not row["apart"])
    return Ladder(told, best, chosen, chains, int((tokens > 0).sum()), int(np.sum(tokens)), notes)


def _refuse_foreign(folder: Path) -> None:
    """Raise InputError where something stands in the place of a file of ours that is none."""
    for name, mark in _MARKS.items():
        refuse_foreign(folder / name, mark)


def _for_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_for_json(each) for each in value]
    return json_number(value) if isinstance(value, float) else value
