"""Documents: found by name, by component, and by whether their leading component is certain."""

from geodrift.report._called import called
from geodrift.report._data import TOLD, Report
from geodrift.report._html_table import csv_button
from geodrift.report._markup import Markup, joined, tag
from geodrift.report._tables import LEADING, LEAST_WEIGHT
from geodrift.report._text import counted, shown


def documents_section(report: Report) -> Markup:
    """The tools and an empty table, which the page's script fills from the data."""
    documents = report.documents
    if documents is None:
        return tag(
            "section",
            tag("h2", f"{report.document.capitalize()}s"),
            tag(
                "p",
                f"No {report.document}s were asked for: this report is of the fitted model alone.",
                class_="about",
            ),
            id="documents",
        )
    tools = tag("div", _tools(report), class_="tools")
    table = tag(
        "table",
        tag("caption", "Documents", class_="unseen"),
        tag("thead", tag("tr", [tag("th", head, scope="col") for head in _heads(report)])),
        tag("tbody"),
        id="table-documents",
    )
    return tag(
        "section",
        tag("h2", f"{report.document.capitalize()}s"),
        tag("p", _about(report), class_="about"),
        tools,
        tag("noscript", tag("p", "This table needs the page's script.")),
        tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="Documents"),
        tag(
            "nav",
            tag("button", "Previous", type="button", data_page="-1"),
            tag("span", "", id="page-told", role="status"),
            tag("button", "Next", type="button", data_page="1"),
            class_="pages",
            aria_label="Pages of documents",
        ),
        id="documents",
    )


def _about(report: Report) -> str:
    documents, name = report.documents, report.component
    number = len(documents.numbers)
    if documents.of is None:
        which = f"{counted(number, report.document).capitalize()} given"
    elif number == documents.of:
        which = f"All {counted(number, report.document)} that were fitted"
    else:
        which = f"{number:,} of the {documents.of:,} {report.document}s that were fitted, drawn at random"
    told = [documents.told(place) for place in range(number)]
    text = (
        f"{which}, with the posterior means and 90% intervals of up to {LEADING} {name}s above"
        f" {LEAST_WEIGHT:.0%}. A {report.document} is certain where"
        f" the interval of its leading {name} lies above those of all others, or above one half, and no"
        f" other's reaches above one half with it, else a tie:"
        f" {told.count('certain'):,} are certain, {told.count('a tie'):,} are ties"
    )
    if told.count("no interval"):
        text += f"; for {told.count('no interval'):,} there are not the intervals to tell"
    return text + "."


def _heads(report: Report) -> list[str]:
    return [report.document.capitalize(), "", f"Leading {report.component}s"]


def _tools(report: Report) -> Markup:
    name = report.component
    choices = [tag("option", f"any {name}", value="")]
    for place in report.by_size():
        words = called(report, place, 3, 14)
        choices.append(tag("option", f"{place} {shown(words, 44)}", value=place))
    return joined(
        tag("label", "Search ", tag("input", type="search", id="document-search")),
        tag("label", f"{name.capitalize()} ", tag("select", choices, id="document-part")),
        tag(
            "label",
            "Told ",
            tag(
                "select",
                [tag("option", told, value="" if told == "any" else told) for told in ("any", *TOLD)],
                id="document-told",
            ),
        ),
        tag("span", "", class_="count", role="status", id="document-count"),
        csv_button("documents"),
        tag("span", csv_button("document_fields"), class_="named", data_label="ids")
        if report.documents.ids is not None
        else None,
    )
