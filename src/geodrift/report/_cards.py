"""One card a component: its words, what sets it apart, its neighbours, its documents, its check."""

from geodrift.report._called import called, heading
from geodrift.report._data import Documents, Report
from geodrift.report._html_table import svg_button
from geodrift.report._marks import kind_label
from geodrift.report._markup import Markup, joined, outside, tag
from geodrift.report._size_figure import concentration_text, size_text
from geodrift.report._text import number, percent, shown
from geodrift.report._word_figure import word_figure

APART, NEAREST, DOCUMENTS = 8, 3, 5
TITLE = 3  # words in a card's heading
TEXT = 240  # characters of a document's text


def cards_section(report: Report) -> Markup:
    """The cards, the largest component first."""
    name = report.component
    return tag(
        "section",
        tag("h2", f"Words of each {name}" if _worded(report) else f"Each {name}"),
        tag("p", _about(report), class_="about"),
        tag("div", [_card(report, place) for place in report.by_size()], class_="cards"),
        id="words",
    )


def _worded(report: Report) -> bool:
    return any("words" in part for part in report.parts)


def _about(report: Report) -> str:
    if not _worded(report):
        return (
            f"The concentration is that of the von Mises-Fisher law of its {report.document}s, with its 90%"
            f" interval; nearest are those at the smallest angle to its mean direction."
        )
    what = "entry in the unit vector" if report.signed else "probability"
    text = (
        f"A dot is the posterior mean of a word's {what}, the line its 90% interval; an empty dot has none."
        f" P(top 10) is the probability that the word is among the ten highest of its {report.component}."
    )
    if report.checks is not None:
        text += (
            " Bursts compare how unevenly documents use words with documents that the fitted model draws"
            " (Mimno and Blei, 2011): 1 is what the model expects."
        )
    return text


def _card(report: Report, place: int) -> Markup:
    part, name = report.parts[place], report.component
    words = heading(report, place, TITLE)
    size = f"{size_text(part)} of the {report.sizes_of}" if "size" in part else None
    return tag(
        "article",
        tag("h3", tag("span", place, class_="no"), " ", words, id=f"h-{place}"),
        tag("p", size, " · " if size else None, kind_label(report, place), class_="sub"),
        _words(report, place),
        tag(
            "dl",
            _vector_numbers(report, place),
            _apart(report, place),
            _nearest(report, place),
            _check(report, place),
        ),
        _documents(report, place),
        id=f"{name}-{place}",
        class_="card",
        aria_labelledby=f"h-{place}",
    )


def _words(report: Report, place: int) -> Markup | None:
    part = report.parts[place]
    if "words" not in part:
        return None
    figure = word_figure(part, report.component, place, report.signed)
    return tag("div", figure, svg_button(), class_="plate")


def _vector_numbers(report: Report, place: int) -> Markup | None:
    """Of a component of vectors how concentrated it is, and the vectors nearest to it."""
    part = report.parts[place]
    if "concentration" not in part:
        return None
    near = part.get("nearest", ())[:APART]
    told = [
        [", " if i else "", outside(f"{report.document} {entry['row']}"), f" {entry['cosine']:.3f}"]
        for i, entry in enumerate(near)
    ]
    return joined(
        tag("dt", "Concentration"),
        tag("dd", concentration_text(part)),
        joined(tag("dt", f"Nearest {report.document}s, cosine"), tag("dd", told)) if told else None,
    )


def _apart(report: Report, place: int) -> Markup | None:
    words = report.apart[place][:APART] if report.apart else []
    if not words:
        return None
    told = [[", " if i else "", outside(entry["word"])] for i, entry in enumerate(words)]
    return joined(tag("dt", "Set apart by"), tag("dd", told))


def _nearest(report: Report, place: int) -> Markup | None:
    drawn, told = report.map, []
    for other in drawn.nearest(place, NEAREST):
        low, high = drawn.low[place, other], drawn.high[place, other]
        interval = "" if low != low else f" [{low:.0f}, {high:.0f}]"
        words = called(report, other, 2, 18)
        title = f"{words}; may be the same {report.component}" if drawn.alike(place, other) else words
        link = tag("a", other, href=f"#{report.component}-{other}", title=title)
        faded = "faded" if drawn.alike(place, other) else None
        told.append(tag("span", link, f" {drawn.angles[place, other]:.0f}°{interval}", class_=faded))
    if not told:
        return None
    return joined(
        tag("dt", "Nearest"), tag("dd", *[[", " if i else "", each] for i, each in enumerate(told)])
    )


def _check(report: Report, place: int) -> Markup | None:
    if report.checks is None:
        return None
    check = report.checks[place]
    if check["ratio"] is None:
        return None
    words = [[", " if i else ", most by ", outside(word)] for i, word in enumerate(check["words"][:4])]
    return joined(tag("dt", "Bursts"), tag("dd", f"{number(check['ratio'], 3)} times the model's", words))


def _beginning(documents: Documents, at: int) -> Markup | None:
    """The beginning of a document's text, or else its words, where there are any."""
    text = documents.texts.get(at) or " ".join(shown(word, 24) for word in documents.words.get(at, ()))
    return tag("span", tag("bdi", shown(" ".join(text.split()), TEXT)), class_="snippet") if text else None


def _documents(report: Report, place: int) -> Markup | None:
    documents = report.documents
    if documents is None:
        return None
    lines = []
    for at in documents.leading(place, DOCUMENTS):
        mean, low, high = (values[at, place] for values in (documents.mean, documents.low, documents.high))
        interval = "" if low != low else f" [{percent(float(low))}, {percent(float(high))}]"
        weight = tag("span", f"{percent(float(mean))}{interval}", class_="num")
        lines.append(tag("li", outside(documents.names[at]), " ", weight, _beginning(documents, at)))
    if not lines:
        return None
    return joined(
        tag("h4", f"{report.document.capitalize()}s with most of it"), tag("ul", lines, class_="docs")
    )
