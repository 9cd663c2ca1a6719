"""Which of the documents' fields a report tells: titles, beginnings of texts, groups and times."""

from collections.abc import Sequence
from typing import NamedTuple

from geodrift._errors import InputError
from geodrift.data import DocumentTable
from geodrift.data._documents import check_fields
from geodrift.models.kit._groups import Groups, groups_of

TITLES = ("title", "headline", "subject", "name")
TEXTS = ("text", "body", "abstract", "content", "summary", "description")
TIMES = ("date", "year", "time", "published", "created", "timestamp", "month")
GROUPS = ("group", "section", "category", "label", "class", "type", "folder", "source")
MOST_SHOWN = 3  # fields of a document that are told beside its title


class ReportFields(NamedTuple):
    """Fields by what they are for.

    Attributes:
        title: What documents are called by; None: their ids.
        text: The beginning of the text, where it was kept.
        by: Groups of the documents whose shares are compared, by the field.
        left: Other fields that make groups and have such a name, and that nobody asked for.
        shown: Fields that are told beside a document's title.
    """

    title: str | None
    text: str | None
    by: dict[str, Groups]
    shown: list[str]
    left: list[str]


def report_fields(
    table: DocumentTable | None, by: Sequence[str] | None, title: str | None, text: str | None
) -> ReportFields:
    """The fields that were asked for, or those that have a name of `TITLES` and so on.

    Args:
        table: Of the documents; None: nobody has said who they are.
        by: Fields that make groups; None: the first of `TIMES`, or else of `GROUPS`, that does.
        title: Field of titles, or None.
        text: Field of texts, or None.

    Raises:
        InputError: A field that was asked for is not there, or makes no groups.
    """
    known = [] if table is None else table.fields
    check_fields([*(by or ()), *(name for name in (title, text) if name is not None)], known)
    title, text = title or _first(known, TITLES), text or _first(known, TEXTS)
    groups: dict[str, Groups] = {}
    left: list[str] = []
    if by is not None:
        groups = {field: groups_of(table.column(field), field) for field in by}
    elif table is not None:
        groups = _first_groups(table, (*TIMES, *GROUPS))
        others = [name for name in known if name not in groups and name.lower() in (*TIMES, *GROUPS)]
        left = [name for name in others if _groups_of(table, name) is not None]
    others = [name for name in known if name not in (title, text) and name not in groups]
    return ReportFields(title, text, groups, [*groups, *others][:MOST_SHOWN], left)


def _first(known: Sequence[str], names: Sequence[str]) -> str | None:
    return next((field for name in names for field in known if field.lower() == name), None)


def _first_groups(table: DocumentTable, names: Sequence[str]) -> dict[str, Groups]:
    """The groups of the first field of these names that makes some."""
    for name in names:
        field = _first(table.fields, (name,))
        groups = None if field is None else _groups_of(table, field)
        if field is not None and groups is not None:
            return {field: groups}
    return {}


def _groups_of(table: DocumentTable, field: str) -> Groups | None:
    """The groups of a field; None where it makes none."""
    try:
        return groups_of(table.column(field), field)
    except InputError:
        return None
