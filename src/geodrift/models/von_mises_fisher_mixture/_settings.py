"""Settings of von Mises-Fisher mixtures."""

import dataclasses
from typing import TYPE_CHECKING

from geodrift.models.clusters._command import cluster_groups
from geodrift.models.clusters._labels import AUTO
from geodrift.models.kit._allowed import Between, OneOf, Whole, WholeOr, YesNo
from geodrift.models.kit._settings import ModelSettings, setting
from geodrift.models.von_mises_fisher_mixture._cluster_number import (
    ClusterNumber,
    Components,
    DirichletProcess,
    FiniteMixtures,
)

if TYPE_CHECKING:
    from geodrift.models.von_mises_fisher_mixture._concentrations import ConcentrationPrior

NUMBER_PRIORS = ("finite mixtures", "Dirichlet process")
MOST_CLUSTERS = 2**15
LARGEST = 1e6  # kappa: rows in single precision do not tell larger ones apart


@dataclasses.dataclass(frozen=True)
class Settings(ModelSettings):
    """What is fixed while clusters are sampled."""

    n_clusters: int | str = setting(
        AUTO,
        WholeOr(AUTO, MOST_CLUSTERS),
        "K, the number of clusters; auto: it is inferred.",
        option="clusters",
    )
    number_prior: str = setting(
        "finite mixtures",
        OneOf(NUMBER_PRIORS),
        "Prior of an inferred number of clusters. Finite mixtures: K - 1 is beta-negative-binomial (1, 4, 3),"
        " and the number is consistent. Dirichlet process: the number grows with the logarithm of the rows.",
    )
    most_clusters: int = setting(1_000, Whole(1, MOST_CLUSTERS), "Largest K of finite mixtures.")
    weight_prior: float | None = setting(
        None,
        Between(1e-6, 1e6),
        "Dirichlet parameter of each cluster's weight, or alpha of the Dirichlet process. Default: 1; alpha"
        " is drawn, with an exponential prior of mean 4.",
    )
    concentration_median: float | None = setting(
        None, Between(1e-3, 1e9), "Prior median m of kappa. Default: the dimension."
    )
    concentration_shape: float = setting(
        1.0,
        Between(0.1, 1e6),
        "p: kappa / (kappa + m) has the prior Beta(p, p). 1 is uniform; larger is closer to the median.",
    )
    shared_concentration: bool | None = setting(
        None,
        YesNo(),
        "Whether all clusters have one kappa, or each its own: nearly equal rows then become tight clusters."
        " Default: one where K is given, of which these would take some; one each where it is inferred.",
    )
    background: float = setting(
        0.0,
        Between(0.0, 1e9),
        "Dirichlet parameter of the weight of rows that belong to no cluster, which are uniform on the"
        " sphere; 0: every row belongs to one.",
    )
    normalise: bool = setting(False, YesNo(), "Scale rows to norm 1, which are refused otherwise.")
    batch_size: int = setting(
        2_048, Whole(1, 2**31 - 1), "S, rows whose clusters are redrawn at a step; more than there are: all."
    )

    cluster_groups: int | None = cluster_groups()

    @property
    def groups(self) -> int:
        """G; 1 where it was not told."""
        return self.cluster_groups or 1

    @property
    def inferred(self) -> bool:
        """Whether the number of clusters is."""
        return self.n_clusters == AUTO

    @property
    def shared(self) -> bool:
        """Whether all clusters have one kappa."""
        return not self.inferred if self.shared_concentration is None else self.shared_concentration

    def number(self) -> ClusterNumber:
        """The prior of the number of clusters."""
        weight = 1.0 if self.weight_prior is None else float(self.weight_prior)
        if not self.inferred:
            return Components(int(self.n_clusters), weight)
        if self.number_prior == NUMBER_PRIORS[0]:
            return FiniteMixtures(self.most_clusters, weight)
        return DirichletProcess(self.weight_prior)

    def concentration(self, dim: int) -> "ConcentrationPrior":
        """The prior of kappa in d dimensions."""
        # Compiled code stands beside it, which the command's help does without.
        from geodrift.models.von_mises_fisher_mixture._concentrations import ConcentrationPrior

        median = float(dim) if self.concentration_median is None else float(self.concentration_median)
        return ConcentrationPrior(median, float(self.concentration_shape), max(LARGEST, 1_000 * median))
