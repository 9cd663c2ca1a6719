"""What the command line says of clusters, for the specifications of mixtures."""

from collections.abc import Mapping
from typing import Any

from geodrift.models.kit._allowed import Whole
from geodrift.models.kit._model import Summary
from geodrift.models.kit._settings import setting

COMPONENT = "cluster"
OTHERS, OUTSIDE = "other clusters", "no cluster"  # columns of `transform` beside those of clusters


def other_columns(rest: bool, outside: bool) -> list[str]:
    """What the columns of `transform` behind those of clusters are: of other clusters, and of none."""
    return [OTHERS] * rest + [OUTSIDE] * outside


SUMMARY = Summary(
    "clusters",
    "Print how many clusters there are, and each one's share with its 90% interval: of counts with leading"
    " words, of vectors with its concentration and the nearest rows.",
    "Words, or rows, of a cluster.",
)

GROUPS, MOST_GROUPS = 8, 1024  # of clusters: where processes share the work, and at most


def cluster_groups() -> Any:
    """The setting of that name."""
    return setting(
        None,
        Whole(1, MOST_GROUPS),
        "G, random groups of clusters, drawn anew at each step of a sampler that keeps each row's cluster;"
        " rows are redrawn among the clusters of their group, and processes share the groups. The law is the"
        " same; rows take more steps to find their way. By default 1, and 8 where processes share the work.",
    )


def cannot_share(settings: Mapping[str, Any], number: int) -> str | None:
    """See `Model`: a process has work where it has a group."""
    groups = settings.get("cluster_groups") or 1
    return None if number <= groups else f"cluster_groups is {groups}: each of them needs one at least"


def to_share(settings: Mapping[str, Any]) -> dict[str, Any]:
    """See `Model`."""
    told = settings.get("cluster_groups") is not None
    return dict(settings) if told else {**settings, "cluster_groups": GROUPS}
