"""How sure a component is: one word, one sentence and one mark, the same wherever it is told."""

from typing import Any

from geodrift.report._data import Report
from geodrift.report._markup import Markup, joined, tag

LABELS = {
    "shared": "shared",
    "split": "split",
    "merged": "merged",
    "some chains": "some chains",
    "one chain": "one chain",
    "own": "of one chain",
}
DIFFER = "the chains differ in other numbers, which the diagnostics tell"


def kind_sentence(kind: str, part: dict[str, Any], component: str, at_rest: bool) -> str:
    """What a kind means for one component, of chains that are at rest or are not (`Verdict.at_rest`)."""
    found, chains = part["found"], part["chains"]
    hold = "its intervals hold for another run" if at_rest else f"alike, though {DIFFER}"
    return {
        "shared": f"found by {found} of {chains} chains: {hold}",
        "split": f"two {component}s in other chains; found by {found} of {chains}: no intervals",
        "merged": f"a part of one {component} in other chains; found by {found} of {chains}: no intervals",
        "some chains": f"found by {found} of {chains} chains: a possibility, without intervals",
        "one chain": f"found by one chain of {chains}: a possibility, without intervals",
        "own": "of one chain: its intervals are those of this chain alone",
    }[kind]


def mark(kind: str) -> Markup:
    """A disc that is full, half, cut in two, ringed or empty, 12 pixels wide, beside its word."""
    full = tag("circle", cx=6, cy=6, r=5, class_="m-full")
    ring = tag("circle", cx=6, cy=6, r=4.5, class_="m-ring")
    shapes = {
        "shared": full,
        "own": joined(ring, tag("circle", cx=6, cy=6, r=2.5, class_="m-full")),
        "split": joined(
            tag("path", d="M5 1.2a4.9 4.9 0 0 0 0 9.6z", class_="m-full"),
            tag("path", d="M7 1.2a4.9 4.9 0 0 1 0 9.6z", class_="m-full"),
        ),
        "merged": joined(ring, tag("path", d="M6 1.5a4.5 4.5 0 0 0 0 9z", class_="m-full")),
        "some chains": joined(ring, tag("path", d="M6 6V1.5A4.5 4.5 0 0 1 10.5 6z", class_="m-full")),
        "one chain": ring,
    }
    return tag(
        "svg", shapes[kind], class_=f"mark k-{kind.split()[0]}", viewBox="0 0 12 12", aria_hidden="true"
    )


def kind_label(report: Report, place: int) -> Markup:
    """The mark and word of a component, with the sentence for those who ask."""
    kind = report.kinds[place]
    sentence = kind_sentence(kind, report.parts[place], report.component, report.at_rest)
    return tag("span", mark(kind), " ", LABELS[kind], class_="kind", title=sentence)
