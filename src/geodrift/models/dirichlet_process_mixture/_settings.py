"""Hyperparameters of the Dirichlet-process mixture and of its samplers."""

import dataclasses

from geodrift.models.clusters._command import cluster_groups
from geodrift.models.clusters._labels import AUTO
from geodrift.models.kit._allowed import Between, OneOf, Whole, WholeOr, YesNo
from geodrift.models.kit._settings import ModelSettings, setting

MAX_CLUSTERS = 2**16
MAX_BATCH = 2**31 - 1
METHODS = ("gibbs", "scir", "sgrld")


@dataclasses.dataclass(frozen=True)
class Settings(ModelSettings):
    """What is fixed while the clusters are sampled."""

    n_clusters: int | str | None = setting(
        None,
        WholeOr(AUTO, MAX_CLUSTERS),
        "K, the number of clusters, whose weights are Dirichlet(alpha / K); auto, or nothing: as many as the"
        " rows ask for, by a Dirichlet process of concentration alpha.",
        option="clusters",
    )
    cluster_word_prior: float = setting(
        0.5, Between(1e-4, 1e4), "a0, the Dirichlet parameter of each word in a cluster."
    )
    concentration: float | None = setting(
        None,
        Between(1e-6, 1e6),
        "alpha, the concentration; by default it is drawn with the clusters, under the prior Gamma(1, 1).",
    )
    method: str = setting(
        "gibbs",
        OneOf(METHODS),
        "gibbs keeps every row's cluster and is exact. scir and sgrld move weights and clusters by"
        " minibatches' counts scaled to all rows: scir by exact moves, sgrld by discretised ones.",
    )
    batch_size: int | None = setting(
        None,
        Whole(1, MAX_BATCH),
        "S, rows whose clusters are redrawn at each step; more than there are means all. By default at most"
        " 131,072 with method gibbs, 1,000 with the others.",
    )
    step_size: float | None = setting(
        None,
        Between(1e-9, 100.0),
        "h, the time of a move of methods scir and sgrld; by default 0.3 S / D of D rows.",
    )
    store_assignments: bool = setting(
        False, YesNo(), "Whether draws hold the cluster of every row, 4 bytes each."
    )

    cluster_groups: int | None = cluster_groups()

    @property
    def groups(self) -> int:
        """G; 1 where it was not told."""
        return self.cluster_groups or 1

    @property
    def given(self) -> int | None:
        """The number of clusters; None where it is inferred."""
        return None if self.n_clusters is None or self.n_clusters == AUTO else int(self.n_clusters)

    def check_together(self) -> None:
        """Raise ValueError where values do not go together."""
        if self.method == "gibbs" and self.step_size is not None:
            raise ValueError(
                f"step_size is {self.step_size!r} but method is 'gibbs', which has none: leave it out, or use"
                " method 'scir' or 'sgrld'"
            )
        if self.method != "gibbs" and self.groups > 1:
            raise ValueError(
                f"cluster_groups is {self.cluster_groups!r} but method is {self.method!r}, which has none:"
                " leave it out, or use method 'gibbs'"
            )
        if self.method != "gibbs" and self.given is not None:
            raise ValueError(
                f"n_clusters is {self.n_clusters!r} but method is {self.method!r}, which samples their "
                "number: leave it out, or use method 'gibbs'"
            )
