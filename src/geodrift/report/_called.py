"""What a component is called on the page: the name that a reader gave it, or else what it is known by."""

from geodrift.report._data import Report
from geodrift.report._markup import Markup, joined, outside, tag
from geodrift.report._text import shown


def called(report: Report, place: int, most: int, letters: int = 80) -> str:
    """As text: the name, or so many words, or nearest documents, of at most so many letters each."""
    name = report.parts[place].get("name")
    return shown(name) if name else " ".join(shown(known, letters) for known in report.names_of(place)[:most])


def heading(report: Report, place: int, most: int) -> Markup:
    """As markup: the name, and behind it the words, or the nearest documents with commas between them."""
    part = report.parts[place]
    between = " " if part.get("words") else ", "
    known = enumerate(report.names_of(place)[:most])
    told = joined(*[[between if number else "", outside(each)] for number, each in known])
    name = part.get("name")
    return joined(tag("b", outside(name)), " ", tag("span", told, class_="soft")) if name else told
