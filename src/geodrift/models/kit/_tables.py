"""Results as text for a person."""

import re
from typing import Any

from geodrift._terminal import columns, cut, padded, terminal_width, visible

BESIDE_WORDS, LEAST_ROOM = 44, 12  # characters of a line of `word_table` that are not a word's; of a word's
_TAIL, _LEAST_WITHOUT = 12, 8  # of the first, those of the last column; of a word's without that column
_WORDS = re.compile(r"([ \t\n]*)([^ \t\n]+)")  # with the spaces before them; no-break spaces are a word's
# Of `component_lines`.
LEGEND = "size, (chains that found it / chains)  word, mean of its weight, [90% interval]"


def word_table(words: list[dict[str, Any]], negative: list[dict[str, Any]] | None = None) -> list[str]:
    """The lines of a table of words from `leading_words`; words are cut that the terminal is too narrow for.

    Of a terminal that has no room for the last column either, as of 40 characters, it is left out.

    Args:
        words: The most favoured.
        negative: The most avoided, where weights have a sign; None where they have none.
    """
    longest = max([columns(visible(entry["word"])) for entry in words + (negative or [])], default=4)
    room, least, sign = terminal_width() - BESIDE_WORDS, LEAST_ROOM, " " if negative is None else "+"
    whole = room >= min(longest, least)
    if not whole:
        room, least = room + _TAIL, _LEAST_WITHOUT
    width = min(longest, max(least, room))
    tops = ("P(top 10)", "P(bottom 10)") if whole else ("", "")
    lines = [f"  {'word':<{width}}   weight   90% interval       {tops[0]}".rstrip()]
    lines += [_row(entry, width, sign, whole) for entry in words]
    if negative:
        lines.append(f"  {'negative end':<{width}}                              {tops[1]}".rstrip())
        lines += [_row(entry, width, sign, whole) for entry in negative]
    return lines


def paragraphs(text: str, width: int | None = None) -> str:
    """Lines of at most ``width`` columns, each line of the text from a new one, as far in as it begins.

    They are broken between words: a longer word stays whole. Without a width it is the terminal's.
    """
    width = terminal_width() if width is None else width

    def filled(line: str) -> str:
        inset = line[: len(line) - len(line.lstrip(" "))]
        return hanging(line[len(inset) :], inset, width, inset)

    return "\n".join(map(filled, text.splitlines()))


def hanging(text: str, head: str, width: int, inset: str | None = None) -> str:
    """Lines of at most ``width`` columns: the first after a head, those below it as far in as the head.

    Words that are joined by no-break spaces stay together.
    """
    inset = " " * columns(head) if inset is None else inset
    lines, line, empty = [], head, True
    for gap, word in _WORDS.findall(text):
        if not empty and columns(line) + len(gap) + columns(word) > width:
            lines.append(line)
            line, empty = inset, True
        line, empty = line + ("" if empty else " " * len(gap)) + word, False
    return "\n".join([*lines, line]).replace("\xa0", " ")


def component_tables(found: list[dict[str, Any]], component: str, sizes_of: str) -> str:
    """One table a component, the largest first: the words it favours, those it avoids, what tells it apart.

    Args:
        found: From `component_words`.
        component: What a component is called.
        sizes_of: What sizes are shares of, in the plural.
    """
    lines = []
    for told in by_size(found):
        table = word_table(told["words"], told.get("negative_words"))
        lines += [paragraphs(component_head(told, component, sizes_of)), *table, *_apart(told), ""]
    return "\n".join(lines)


def component_head(told: dict[str, Any], component: str, sizes_of: str) -> str:
    """Its number and name, its size, and by how many chains it was found."""
    return f"{heading(told, component)}{_size(told, sizes_of)}{_found(told)}"


def by_size(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The largest components first; as they are where they have no sizes."""
    return sorted(found, key=lambda told: -told.get("size", 0.0))


def heading(told: dict[str, Any], component: str) -> str:
    """The number of a component, which is the run's, and its name where it has one."""
    name = told.get("name")
    return f"{component} {told[component]}" + ("" if name is None else f' "{visible(name)}"')


def component_lines(found: list[dict[str, Any]], component: str, width: int) -> str:
    """A few lines a component, weights as mean [low, high]; see `component_tables`."""
    lines = []
    for told in by_size(found):
        words = [
            f"{visible(e['word'])}\xa0{e['weight']:.2f}"
            + (f"\xa0[{e['low']:.2f},\xa0{e['high']:.2f}]" if e["low"] is not None else "")
            for e in told["words"]
        ]
        head = f"{component} {told[component]:>2}  "
        if told.get("name"):
            head += f'"{visible(told["name"])}"  '
        if "size" in told:
            head += f"{told['size']:5.1%}  "
        if told["chains"] > 1:
            head += f"({told['found']}/{told['chains']})  "
        # Broken only between words, never inside an interval.
        lines.append(hanging("  ".join(words), head, width))
    return "\n".join(lines)


def _apart(told: dict[str, Any]) -> list[str]:
    """The words that tell a component apart, most of which may not be among its most frequent."""
    words = [visible(entry["word"]) for entry in told.get("apart", ())]
    if not words:
        return []
    return [paragraphs(f"  set apart by: {', '.join(words)}")]


def _row(entry: dict[str, Any], width: int, sign: str, whole: bool) -> str:
    interval = "-" if entry["low"] is None else f"[{entry['low']:{sign}.4f}, {entry['high']:{sign}.4f}]"
    word, size = padded(cut(visible(entry["word"]), width), width), 18 if sign == "+" else 16
    line = f"  {word}  {entry['weight']:{sign}.4f}  {interval:<{size}}"
    return f"{line}  {entry['p_top10']:6.2f}" if whole else line.rstrip()


def _size(told: dict[str, Any], sizes_of: str) -> str:
    """The share of the words, documents or rows that a component has, where a model has one."""
    if "size" not in told:
        return ""
    interval = "" if told["size_low"] is None else f" [{told['size_low']:.1%}, {told['size_high']:.1%}]"
    return f", {told['size']:.1%}{interval} of the {sizes_of}"


def _found(told: dict[str, Any]) -> str:
    """By how many chains a component was found, where there are several."""
    if told["chains"] == 1:
        return ""
    return f", found by {told['found']} of {told['chains']} chains" + (
        "" if told["shared"] else ": no interval"
    )
