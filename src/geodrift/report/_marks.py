"""How sure a component is: one word, one sentence and one mark, the same wherever it is told."""

from typing import Any

from geodrift.report._markup import Markup, joined, tag

LABELS = {
    "shared": "shared",
    "split": "split",
    "merged": "merged",
    "some chains": "some chains",
    "one chain": "one chain",
    "own": "of one chain",
}


def kind_sentence(kind: str, part: dict[str, Any], component: str) -> str:
    """What a kind means for one component."""
    found, chains = part["found"], part["chains"]
    return {
        "shared": f"found by {found} of {chains} chains: its intervals hold for another run",
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


def kind_label(kind: str, part: dict[str, Any], component: str) -> Markup:
    """The mark and its word, with the sentence for those who ask."""
    return tag(
        "span", mark(kind), " ", LABELS[kind], class_="kind", title=kind_sentence(kind, part, component)
    )
