"""The tables of a report, as files have them: every number that the page shows stands in one of them."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from geodrift.report._data import Prevalence, Report
from geodrift.report._text import cut, significant

NEAREST = 5  # other components whose angles are told
LEADING = 3  # components of a document that are told, where they have at least
LEAST_WEIGHT = 0.05


class Table(NamedTuple):
    """A table; numbers have six digits."""

    name: str
    columns: list[str]
    rows: list[list[Any]]


def tables(report: Report) -> list[Table]:
    """Every table that the report has something for."""
    found = [_parts(report), _probabilities(report), _words(report), _apart(report), _nearest(report)]
    found.append(_angles(report))
    if report.documents is not None:
        found += [_documents(report), _document_fields(report)]
    found += [_groups(report, number, told) for number, told in enumerate(report.prevalence)]
    if report.checks is not None:
        found.append(_of_dicts("checks", report.checks))
    if report.numbers:
        names = ("name", "of", "mean", "low", "high")
        found.append(_of_dicts("numbers", [{name: each[name] for name in names} for each in report.numbers]))
    if report.verdict is not None:
        found.append(_quantities(report.verdict["quantities"]))
    if report.history:
        found.append(_of_dicts("held_out", report.history))
    if report.scores is not None:
        found.append(_scores(report.scores))
    found.append(Table("settings", ["group", "name", "value"], [list(entry) for entry in report.settings]))
    return [table for table in found if table.rows]


def _value(value: Any) -> Any:
    """A cell: words in a list are one text, as a cell of a file is."""
    if isinstance(value, list):
        return " ".join(map(cut, value))
    return significant(value) if isinstance(value, float) else cut(value) if isinstance(value, str) else value


def _named(fields: Sequence[str], ours: Sequence[str]) -> list[str]:
    """Columns of fields: one that is called as a column of ours, or as one before, has a word before it."""
    taken, names = set(ours), []
    for field in fields:
        name = cut(field)
        while name in taken:
            name = cut(f"field_{name}")
        taken.add(name)
        names.append(name)
    return names


def _of_dicts(name: str, entries: list[dict[str, Any]]) -> Table:
    columns = list(entries[0]) if entries else []
    return Table(name, columns, [[_value(entry[column]) for column in columns] for entry in entries])


def _parts(report: Report) -> Table:
    known = {report.component, "name", "chains", "found", "shared", "words", "negative_words"}
    told_of = report.parts[0] if report.parts else {}
    names = [name for name, value in told_of.items() if name not in known and not isinstance(value, list)]
    columns = [report.component, "name", *names, "found", "chains", "shared", "kind"]
    rows = []
    for place in report.by_size():
        part = report.parts[place]
        sizes = [significant(part[name]) for name in names]
        told = [part["found"], part["chains"], part["shared"], report.kinds[place]]
        name = part.get("name")
        rows.append([place, None if name is None else cut(name), *sizes, *told])
    return Table(f"{report.component}s", columns, rows)


def _words(report: Report) -> Table:
    numbers = ("weight", "low", "high", "p_top10")
    rows = [
        [place, end, cut(entry["word"]), *(significant(entry[name]) for name in numbers)]
        for place, part in enumerate(report.parts)
        for end, key in (("top", "words"), ("bottom", "negative_words"))
        for entry in part.get(key, ())
    ]
    return Table("words", [report.component, "end", "word", *numbers], rows)


def _nearest(report: Report) -> Table:
    rows = [
        [place, entry["row"], significant(entry["cosine"])]
        for place, part in enumerate(report.parts)
        for entry in part.get("nearest", ())
    ]
    return Table("nearest", [report.component, report.document, "cosine"], rows)


def _probabilities(report: Report) -> Table:
    rows = [
        [told["name"], told["of"], number, significant(probability)]
        for told in report.numbers
        for number, probability in told.get("probabilities", {}).items()
    ]
    return Table("probabilities", ["name", "of", "number", "probability"], rows)


def _apart(report: Report) -> Table:
    numbers = ("relevance", "weight", "lift")
    rows = [
        [place, cut(entry["word"]), *(significant(entry[name]) for name in numbers)]
        for place, words in enumerate(report.apart)
        for entry in words
    ]
    return Table("told_apart", [report.component, "word", *numbers], rows)


def _angles(report: Report) -> Table:
    drawn = report.map
    rows = [
        [place, other]
        + [significant(float(ends[place, other])) for ends in (drawn.angles, drawn.low, drawn.high)]
        + [drawn.alike(place, other)]
        for place in range(len(report.parts))
        for other in drawn.nearest(place, NEAREST)
    ]
    return Table("angles", [report.component, "other", "degrees", "low", "high", "may_be_the_same"], rows)


def _documents(report: Report) -> Table:
    """Of each document the leading weights, to three decimals."""
    documents, columns = report.documents, ["document", "name", "told"]
    for rank in range(1, LEADING + 1):
        columns += [f"{report.component}_{rank}", f"mean_{rank}", f"low_{rank}", f"high_{rank}"]
    rows = []
    for place, number in enumerate(documents.numbers.tolist()):
        mean = documents.mean[place]
        order = (-mean).argsort(kind="stable")[:LEADING]
        row = [number, cut(documents.names[place]), documents.told(place)]
        for rank, component in enumerate(order.tolist()):
            if rank and mean[component] < LEAST_WEIGHT:
                break
            ends = (documents.mean, documents.low, documents.high)
            row += [component, *(_thousandths(float(values[place, component])) for values in ends)]
        rows.append(row + [None] * (len(columns) - len(row)))
    return Table("documents", columns, rows)


def _document_fields(report: Report) -> Table:
    """Who the documents are: their ids, and what else is told of them."""
    documents, names = report.documents, list(report.documents.fields)
    ids = [None] * len(documents.numbers) if documents.ids is None else documents.ids
    if documents.ids is None and not names:
        return Table("document_fields", [], [])
    rows = [
        [number, cut(ids[at])] + [_value(documents.fields[name][at]) for name in names]
        for at, number in enumerate(documents.numbers.tolist())
    ]
    ours = ["document", "id"]
    return Table("document_fields", ours + _named(names, ours), rows)


def _groups(report: Report, number: int, told: Prevalence) -> Table:
    """Shares in groups, and their differences from the group that they are compared with."""
    name, numbers = report.component, ("mean", "low", "high")
    columns = ["documents", *numbers, "reference"]
    columns += [f"difference_{end}" for end in numbers] + ["difference_p_above_0"]
    columns = [name, *_named([told.field], [name, *columns]), *columns]
    rows = []
    for effect in told.effects:
        for group in effect["groups"]:
            change = group["difference"] or {}
            row = [effect[name], cut(group["group"]), group["documents"]]
            row += [*(significant(group[end]) for end in numbers), cut(effect["reference"])]
            rows.append(row + [significant(change.get(end)) for end in (*numbers, "p_above_0")])
    return Table(f"groups_{number + 1}", columns, rows)


def _thousandths(value: float) -> float | None:
    return round(value, 3) if math.isfinite(value) else None


def _scores(scores: dict[str, Any]) -> Table:
    """Scores, and of those of each draw the median and the 90% interval too."""
    names = ("value", "median", "low", "high")
    rows = [
        [name, *(significant(value.get(each)) for each in names)]
        if isinstance(value, dict)
        else [name, _value(value), None, None, None]
        for name, value in scores.items()
    ]
    return Table("scores", ["score", *names], rows)


def _quantities(quantities: dict[str, dict[str, Any]]) -> Table:
    rows = [
        [name, significant(told["rhat"]), significant(told["ess"]), told["moving"]]
        for name, told in quantities.items()
    ]
    return Table("quantities", ["quantity", "rhat", "ess", "moving"], rows)
