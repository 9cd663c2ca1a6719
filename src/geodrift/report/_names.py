"""What a component is known by, in one line."""

from geodrift.report._data import Report
from geodrift.report._markup import Markup, joined, outside


def names_line(report: Report, place: int, most: int) -> Markup:
    """Its leading words, or the documents nearest to it with commas between them."""
    between = " " if report.parts[place].get("words") else ", "
    return joined(
        *[[between if i else "", outside(name)] for i, name in enumerate(report.names_of(place)[:most])]
    )
