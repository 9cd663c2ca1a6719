"""Settings, seed, versions, and the data's digest."""

from geodrift.report._data import Report
from geodrift.report._html_table import csv_button
from geodrift.report._markup import Markup, joined, outside, tag


def settings_section(report: Report) -> Markup:
    """One list a group."""
    groups = []
    for group in dict.fromkeys(entry.group for entry in report.settings):
        lines = [
            tag("div", tag("dt", outside(name)), tag("dd", outside(value)))
            for own, name, value in report.settings
            if own == group
        ]
        groups.append(joined(tag("h3", outside(group)), tag("dl", lines, class_="numbers")))
    return tag(
        "section",
        tag("h2", "How it was made"),
        groups,
        tag("div", csv_button("settings"), class_="tools"),
        id="settings",
    )
