"""Mixtures of von Mises-Fisher laws: clusters of unit vectors, their number given or inferred."""

from typing import TYPE_CHECKING

from geodrift._lazy import lazy

if TYPE_CHECKING:
    from geodrift.models.von_mises_fisher_mixture._facade import (
        VonMisesFisherMixture as VonMisesFisherMixture,
    )
    from geodrift.models.von_mises_fisher_mixture._marginal import marginal_estimator as marginal_estimator
    from geodrift.models.von_mises_fisher_mixture._marginal import marginal_manifold as marginal_manifold
    from geodrift.models.von_mises_fisher_mixture._settings import Settings as Settings

__getattr__, __all__ = lazy(__name__, __file__)
