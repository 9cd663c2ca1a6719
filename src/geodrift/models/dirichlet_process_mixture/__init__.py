"""Dirichlet-process mixtures of multinomials: clusters of rows of counts, as many as the rows ask for."""

from typing import TYPE_CHECKING

from geodrift._lazy import lazy

if TYPE_CHECKING:
    from geodrift.models.dirichlet_process_mixture._chain import Chain as Chain
    from geodrift.models.dirichlet_process_mixture._facade import (
        DirichletProcessMixture as DirichletProcessMixture,
    )
    from geodrift.models.dirichlet_process_mixture._settings import Settings as Settings
    from geodrift.models.dirichlet_process_mixture.evaluation._log_predictive import (
        log_predictive as log_predictive,
    )
    from geodrift.models.dirichlet_process_mixture.evaluation._membership import membership as membership

__getattr__, __all__ = lazy(__name__, __file__)
