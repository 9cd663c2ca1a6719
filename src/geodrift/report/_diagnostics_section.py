"""How far the run may be believed: convergence, held-out score, checks of the components."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from geodrift.report._data import Report
from geodrift.report._html_table import Cell, Column, csv_button, html_table, svg_button
from geodrift.report._markup import Markup, joined, outside, tag
from geodrift.report._text import number
from geodrift.report._trace_figure import lines_of, trace_figure

ON_THE_WAY = (
    "A held-out score on the way is that of one state of one chain, and shows whether the chain has settled."
    " The score of what was set aside is that of the draws of all chains together: the two differ."
)


def diagnostics_section(report: Report) -> Markup:
    """What there is of it."""
    return tag(
        "section",
        tag("h2", "Diagnostics"),
        _numbers(report),
        _scores(report),
        _quantities(report),
        _figures(report),
        _checks(report),
        id="diagnostics",
    )


def _numbers(report: Report) -> Markup | None:
    if not report.numbers:
        return None
    columns = [
        Column("Number"),
        Column("Of", sorts=False),
        Column("Mean", True),
        Column("90% interval", True),
    ]
    rows = [
        [
            outside(each["name"].replace("_", " ")),
            outside(each["of"]),
            Cell(number(each["mean"]), each["mean"]),
            f"[{number(each['low'])}, {number(each['high'])}]",
        ]
        for each in report.numbers
    ]
    return joined(
        tag("h3", f"Numbers beside the {report.component}s"),
        html_table("numbers", f"Numbers beside the {report.component}s", columns, rows),
        tag("div", csv_button("numbers"), class_="tools"),
    )


def _quantities(report: Report) -> Markup:
    if report.verdict is None or not report.verdict["quantities"]:
        return tag("p", "No number beside the components was kept.", class_="about")
    chains = report.verdict["chains"]
    columns = [
        Column("Quantity"),
        Column("R-hat", True),
        Column("ESS", True),
        Column("Chains still moving", True),
    ]
    columns += [Column(f"Mean of chain {chain}", True) for chain in range(min(chains, 8))]
    rows = [
        [
            outside(name.replace("_", " ")),
            *(Cell(number(told[key]), told[key]) for key in ("rhat", "ess")),
            Cell(told["moving"], told["moving"]),
            *(Cell(number(mean, 6), mean) for mean in told["means"][:8]),
        ]
        for name, told in report.verdict["quantities"].items()
    ]
    about = (
        "Numbers that no order of the components changes. R-hat compares chains with one another, and halves"
        " of a chain: up to 1.05 they count as having one law. ESS is how many independent draws they are"
        " worth."
    )
    table = html_table("quantities", "Convergence", columns, rows)
    return joined(
        tag("h3", "Convergence"),
        tag("p", about, class_="about"),
        table,
        tag("div", csv_button("quantities"), class_="tools"),
    )


def _figures(report: Report) -> Markup:
    figures = [
        _plate(name.replace("_", " "), trace_figure(name.replace("_", " "), lines_of(draws), "draw"))
        for name, draws in report.traces.items()
    ]
    for name in dict.fromkeys(entry["name"] for entry in report.history):
        mine = [entry for entry in report.history if entry["name"] == name]
        chains = sorted({entry["chain"] for entry in mine})
        lines = [
            np.array([(e["step"], e["value"]) for e in mine if e["chain"] == chain], float)
            for chain in chains
        ]
        figures.append(
            _plate(
                f"{name.replace('_', ' ')} on the way", trace_figure(name.replace("_", " "), lines, "step")
            )
        )
    scored = any(entry["name"].startswith("held_out") for entry in report.history)
    return joined(
        tag("h3", "Traces, one line a chain") if figures else None,
        tag("p", ON_THE_WAY, class_="about") if scored else None,
        tag("div", figures, class_="traces"),
        tag("div", csv_button("held_out"), class_="tools") if report.history else None,
    )


def _plate(title: str, figure: Markup) -> Markup:
    return tag("figure", tag("figcaption", title), tag("div", figure, svg_button(), class_="plate"))


def _scores(report: Report) -> Markup | None:
    if report.scores is None:
        return None
    lines = []
    for name, value in report.scores.items():
        if isinstance(value, dict):
            if value.get("value") is None:
                continue
            lines.append((name, _of_draws_and_mean(value, report.component)))
        elif not isinstance(value, list):
            lines.append((name, f"{value:,}" if isinstance(value, int) else number(value, 5)))
    told = [tag("div", tag("dt", outside(name.replace("_", " "))), tag("dd", text)) for name, text in lines]
    return joined(
        tag("h3", f"{report.document.capitalize()}s set aside"),
        [tag("p", line, class_="about") for line in told_lines(report)],
        tag("details", tag("summary", "All numbers"), tag("dl", told, class_="numbers")),
        tag("div", csv_button("scores"), class_="tools"),
    )


def _of_draws_and_mean(score: Mapping[str, Any], component: str) -> str:
    """What the sentence says, the median of the draws with its interval, and the score of their mean."""
    of_mean = f"{number(score['value'], 3)} of the mean {component}s"
    if score.get("median") is None or score["low"] is None:
        return of_mean
    ends = f"[{number(score['low'], 3)}, {number(score['high'], 3)}]"
    return f"{number(score['median'], 3)} {ends}, {of_mean}"


def told_lines(report: Report) -> list[str]:
    """The scores in words, with the standard error where there is one."""
    scores, lines = report.scores, [line for line in report.scores_told.split("\n") if line]
    lines[:1] = [line[:1].upper() + line[1:] for line in lines[:1]]
    mean, error = scores.get("log_likelihood_per_token"), scores.get("standard_error")
    if mean is not None and error is not None:
        lines.insert(
            1, f"Log likelihood of a held-out word {mean:.3f}, standard error over documents {error:.3f}."
        )
    return lines


def _checks(report: Report) -> Markup | None:
    if report.checks is None:
        return None
    name = report.component
    columns = [
        Column(name.capitalize(), True),
        Column("Observed", True),
        Column("Expected", True),
        Column("Ratio", True),
    ]
    columns += [
        Column("Share of replicas at or above", True),
        Column("Words that come in bursts", sorts=False),
    ]
    rows = [
        [
            Cell(tag("a", check[name], href=f"#{name}-{check[name]}"), check[name]),
            *(
                Cell(number(check[key], 3), check[key])
                for key in ("observed", "expected", "ratio", "p_value")
            ),
            joined(*[[outside(word), " "] for word in check["words"][:6]]),
        ]
        for check in report.checks
    ]
    about = (
        f"Given its {name}, a word should not depend on the document. Observed is the mutual information, in"
        " nats, of words and documents of the tokens of each; expected that of replicas whose words the"
        " fitted model draws (Mimno and Blei, 2011). Real documents repeat their words: look for those that"
        " stand out."
    )
    table = html_table("checks", f"Posterior predictive check of each {name}", columns, rows)
    return joined(
        tag("h3", f"Posterior predictive check of each {name}"),
        tag("p", about, class_="about"),
        table,
        tag("div", csv_button("checks"), class_="tools"),
    )
