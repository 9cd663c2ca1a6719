"""A component's shares of the groups of documents, with their intervals."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from geodrift._errors import InputError
from geodrift.plots._axes import axes_or_new, dots

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def effects(
    found: Sequence[Mapping[str, Any]],
    component: int,
    *,
    differences: bool = False,
    axes: "Axes | None" = None,
) -> "Axes":
    """A component's share of each group of documents, in their order.

    Args:
        found: What ``geodrift effect --json`` prints under ``effects``, an entry a component.
        component: The number of one.
        differences: Draw how far each group is from the reference, which is left out, in the shares' place.
        axes: To draw on; None: those of a new figure.

    Raises:
        InputError: There is no such component, or there is no matplotlib.
    """
    if not 0 <= component < len(found):
        raise InputError(f"component must be from 0 to {len(found) - 1}, got {component!r}")
    told = found[component]
    rows = [(group["group"], group["difference"] if differences else group) for group in told["groups"]]
    rows = [(label, values) for label, values in rows if values is not None]
    drawn = axes_or_new(axes, 5.5, 0.8 + 0.25 * len(rows))
    dots(
        drawn,
        [f"{label}" for label, _ in rows],
        [tuple(values[name] for name in ("mean", "low", "high")) for _, values in rows],
    )
    if differences:
        drawn.axvline(0.0, color="#999999", linewidth=0.8, zorder=0)
        drawn.set_xlabel(f"difference of the share from that of {told['reference']}".replace("$", r"\$"))
    else:
        drawn.set_xlabel("share of the documents' words")
        drawn.set_xlim(left=0)
    return drawn
