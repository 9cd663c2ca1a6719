"""Shares of the components in groups of documents, or over time, one figure a component."""

from geodrift.report._called import heading
from geodrift.report._data import Prevalence, Report
from geodrift.report._html_table import csv_button, svg_button
from geodrift.report._markup import Markup, joined, outside, tag
from geodrift.report._prevalence_figure import prevalence_figure
from geodrift.report._text import shown

WORDS = 3  # of a component above its figure
LONGEST_NOTE = 200
FIGURES = 40  # of the largest components


def prevalence_section(report: Report) -> Markup | None:
    """Nothing, where no field of the documents makes groups."""
    if not report.prevalence:
        return None
    parts = [_of_field(report, number, told) for number, told in enumerate(report.prevalence)]
    return tag("section", tag("h2", "Groups and time"), parts, id="prevalence")


def _of_field(report: Report, number: int, told: Prevalence) -> Markup:
    groups = told.effects[0]["groups"]
    ends = [group[end] for effect in told.effects for group in effect["groups"] for end in ("mean", "high")]
    most = 100 * max(end for end in ends if end is not None)
    by_place = {effect[report.component]: effect for effect in told.effects}
    figures = [
        _plate(report, place, prevalence_figure(by_place[place], told.centres, most, _name(report, place)))
        for place in report.by_size()[:FIGURES]
        if place in by_place
    ]
    about = (
        f"The mean share of each {report.component} in {len(groups)} groups of documents, with 90% intervals:"
        " what is expected of another document of the group. Each group has a prior of its own, which is"
        " drawn with its documents' mixtures."
    )
    if len(report.parts) > FIGURES:
        about += f" Figures are of the {FIGURES} largest; the table has all."
    return joined(
        tag("h3", "By ", outside(told.field)),
        tag("p", about, class_="about"),
        [tag("p", tag("bdi", shown(note, LONGEST_NOTE)), ".", class_="about") for note in told.notes],
        tag("div", figures, class_="traces"),
        tag("div", csv_button(f"groups_{number + 1}"), class_="tools"),
    )


def _plate(report: Report, place: int, figure: Markup) -> Markup:
    link = tag("a", place, href=f"#{report.component}-{place}")
    caption = tag("figcaption", link, " ", heading(report, place, WORDS))
    return tag("figure", caption, tag("div", figure, svg_button(), class_="plate"))


def _name(report: Report, place: int) -> str:
    return f"{report.component} {place}"
