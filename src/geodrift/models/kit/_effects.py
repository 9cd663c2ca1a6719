"""The effect of a group, or of time, on the components' shares of the documents, with intervals."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from geodrift._errors import InputError
from geodrift.data import Corpus, VectorSource
from geodrift.driver import Run
from geodrift.models.kit._answers import Answers
from geodrift.models.kit._documents_looked_at import documents_looked_at
from geodrift.models.kit._groups import Groups
from geodrift.models.kit._model import Model
from geodrift.models.kit._next_draw import INTERVAL
from geodrift.models.kit._runs import document_rows

WORDS = 6
MOST = 20_000  # documents that are looked at


class Effects(NamedTuple):
    """What `effects` has found, and from which documents.

    Attributes:
        parts: Of each component ``words``, ``groups`` and, where the field is numbers or dates, ``trend``,
            the change of its share for each unit, or year. ``documents`` of a group are those that were used.
            Ends of intervals are None of a component that the chains do not share.
        documents: For JSON: how many documents there are (``all``), how many were ``looked_at``, how many of
            all are ``without_field``, and how many of those looked at ``without_words`` that the run knows.
        days: Whether the field's values are numbers that were read as dates.
    """

    parts: list[dict[str, Any]]
    documents: dict[str, int]
    days: bool = False

    def notes(self, field: str) -> list[str]:
        """Which documents were not used."""
        told, notes = self.documents, []
        looked_at, of_all = f"{told['looked_at']:,}", f"{told['all']:,} documents"
        if self.days:
            notes.append(f"the numbers of field {field!r} are read as dates: year, month, day")
        if left := told["without_field"]:
            notes.append(f"{left:,} of {of_all} have no field {field!r} and are left out")
        if told["looked_at"] < told["all"]:
            notes.append(f"{looked_at} of {of_all} were looked at, chosen at random (geodrift effect --most)")
        if left := told["without_words"]:
            notes.append(f"{left:,} of the documents looked at have no word that the run knows: left out")
        return notes


def effects(
    run: Run,
    model: Model,
    corpus: Corpus | VectorSource,
    groups: Groups,
    *,
    reference: str | None = None,
    most: int = MOST,
    seed: int = 0,
    answers: Answers | None = None,
    progress: Callable[[int, int, str], object] = lambda done, total, what: None,
) -> Effects:
    """Mean shares of each component in each group, and how they differ.

    Args:
        run: The run.
        model: Its model.
        corpus: The run's corpus.
        groups: Of its documents.
        reference: The group with which the others are compared; None: the first.
        most: Documents that are looked at; of a larger corpus so many at random.
        seed: Of the choice and of the draws.
        answers: Of the model, which may have read the draws already; None: new ones.
        progress: Told how many groups are done, and of how many.

    Raises:
        InputError: There is no such reference, a group has no words, or the model tells no shares of groups.
    """
    names = groups.names
    if reference is not None and reference not in names:
        raise InputError(f"reference {reference!r} is no group (groups: {', '.join(names[:20])})")
    chosen = documents_looked_at(corpus.num_documents, most, seed)
    answers = model.answers() if answers is None else answers
    progress(0, 0, "reading the draws")
    parts = answers.summarise(run, WORDS).parts
    shares_of, found, shared = answers.group_shares(run, seed=seed)
    draws, used, empty = [], [], 0
    for group, name in enumerate(names):
        numbers = chosen[groups.of[chosen] == group]
        if not len(numbers):
            raise InputError(f"group {name!r} has no document among those looked at: take more (--most)")
        progress(group, len(names), "drawing shares of groups")
        rows = document_rows(run, model, corpus.rows(numbers))
        if not rows.nnz:
            raise InputError(f"no document of group {name!r} has a word: there is nothing to compare")
        used.append(int(np.count_nonzero(np.diff(rows.indptr))))
        empty += len(numbers) - used[-1]
        draws.append(shares_of(rows, group))
    stacked = np.stack(draws)  # [group, draw, component]
    at = 0 if reference is None else names.index(reference)
    told = []
    for part in parts:
        place = part[model.component]
        of_groups = stacked[:, found[:, place], place]
        told.append(_told(part, of_groups, bool(shared[place]), groups, used, at, model))
    left = int((groups.of < 0).sum())
    counts = {"all": corpus.num_documents, "looked_at": len(chosen)}
    return Effects(told, counts | {"without_field": left, "without_words": empty}, groups.days)


def _told(
    part: dict[str, Any],
    of_groups: Float[np.ndarray, "G M"],
    shared: bool,
    groups: Groups,
    used: Sequence[int],
    reference: int,
    model: Model,
) -> dict[str, Any]:
    """The effects on one component, of the draws that have found it."""
    place = part[model.component]
    told = []
    for group, name in enumerate(groups.names):
        difference = None
        if group != reference:
            change = of_groups[group] - of_groups[reference]
            above = float((change > 0).mean()) if shared else None
            difference = _summary(change, shared) | {"p_above_0": above}
        told.append(
            {"group": name, "documents": used[group]}
            | _summary(of_groups[group], shared)
            | {"difference": difference}
        )
    effect = {model.component: place} | {key: part[key] for key in ("name", "size") if key in part}
    effect |= {"words": [entry["word"] for entry in part.get("words", [])]}
    effect |= {"shared": shared, "reference": groups.names[reference], "groups": told}
    if groups.centres is not None:
        effect["trend"] = _summary(trend(of_groups, groups.centres, used), shared)
    return effect


def trend(
    shares: Float[np.ndarray, "G M"], centres: Float[np.ndarray, " G"], sizes: Sequence[int] | np.ndarray
) -> Float[np.ndarray, " M"]:
    """The slope of each draw's least squares line through the groups, weighted by their documents."""
    weights = np.asarray(sizes) / np.sum(sizes)
    middle = centres - weights @ centres
    return (weights * middle) @ shares / (weights @ middle**2)


def _summary(draws: Float[np.ndarray, " M"], shared: bool) -> dict[str, float | None]:
    low, high = map(float, np.quantile(draws, INTERVAL)) if shared else (None, None)
    return {"mean": float(draws.mean()), "low": low, "high": high}
