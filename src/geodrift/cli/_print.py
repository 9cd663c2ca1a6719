"""Results as text for a person."""

import textwrap
from typing import Any


def topic_tables(topics: list[dict[str, Any]]) -> str:
    """One table a topic: the words it favours, then those it avoids."""
    lines = []
    for topic in topics:
        lines.append(f"topic {topic['topic']}")
        width = max([len(entry["word"]) for entry in topic["words"] + topic["negative_words"]], default=4)
        lines.append(f"  {'word':<{width}}   weight   90% interval       P(top 10)")
        lines += [_row(entry, width) for entry in topic["words"]]
        if topic["negative_words"]:
            lines.append(f"  {'negative end':<{width}}                              P(bottom 10)")
            lines += [_row(entry, width) for entry in topic["negative_words"]]
        lines.append("")
    return "\n".join(lines)


def topic_lines(topics: list[dict[str, Any]], width: int) -> str:
    """A few lines a topic, weights as mean [low, high]."""
    paragraphs = []
    for topic in topics:
        words = [
            f"{e['word']}\xa0{e['weight']:.2f}\xa0[{e['low']:.2f},\xa0{e['high']:.2f}]"
            for e in topic["words"]
        ]
        # Broken only between words, never inside an interval.
        text = textwrap.fill(
            "  ".join(words),
            width,
            initial_indent=f"topic {topic['topic']:>2}  ",
            subsequent_indent=" " * 10,
            break_on_hyphens=False,
            break_long_words=False,
        )
        paragraphs.append(text.replace("\xa0", " "))
    return "\n".join(paragraphs)


def _row(entry: dict[str, Any], width: int) -> str:
    interval = f"[{entry['low']:+.4f}, {entry['high']:+.4f}]"
    return f"  {entry['word']:<{width}}  {entry['weight']:+.4f}  {interval}  {entry['p_top10']:6.2f}"
