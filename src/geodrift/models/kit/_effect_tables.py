"""Effects of groups as text for a person."""

from typing import Any

from geodrift._terminal import visible
from geodrift.models.kit._tables import by_size, heading


def effect_text(found: list[dict[str, Any]], component: str, field: str) -> str:
    """The same as lines, a table for each component."""
    lines = []
    for told in by_size(found):
        lines.append(f"{heading(told, component)}: {' '.join(map(visible, told['words']))}")
        reference = visible(told["reference"])
        width = min(30, max([len(visible(group["group"])) for group in told["groups"]] + [len(field)]))
        head = f"  {visible(field)[:width]:<{width}}  documents  share  90% interval"
        lines.append(f"{head}    less {reference[:20]}")
        for group in told["groups"]:
            change = "" if group["difference"] is None else _shown(group["difference"], "+")
            name = visible(group["group"])[:width]
            lines.append(
                f"  {name:<{width}}  {group['documents']:>9,}  {_shown(group):<22} {change}".rstrip()
            )
        if "trend" in told:
            lines.append(f"  change for each unit, or year: {_shown(told['trend'], '+', 5)}")
        lines.append("")
    return "\n".join(lines)


def _shown(summary: dict[str, Any], sign: str = "", digits: int = 3) -> str:
    interval = "-"
    if summary["low"] is not None:
        interval = f"[{summary['low']:{sign}.{digits}f}, {summary['high']:{sign}.{digits}f}]"
    return f"{summary['mean']:{sign}.{digits}f}  {interval}"
