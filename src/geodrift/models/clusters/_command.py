"""What the command line says of clusters, for the specifications of mixtures."""

from geodrift.models.kit._model import Summary

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
