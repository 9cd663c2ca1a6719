"""The spherical admixture model: topics and documents are unit vectors.

Reisinger et al. 2010; sampled as by Liu, Zhu and Song 2016.
"""

from typing import TYPE_CHECKING

from geodrift._lazy import lazy

if TYPE_CHECKING:
    from geodrift.models.kit._alignment import align as align
    from geodrift.models.kit._alignment import common_order as common_order
    from geodrift.models.spherical_admixture._chain import Chain as Chain
    from geodrift.models.spherical_admixture._facade import SphericalAdmixture as SphericalAdmixture
    from geodrift.models.spherical_admixture._settings import Settings as Settings
    from geodrift.models.spherical_admixture.documents._documents import DocumentSource as DocumentSource
    from geodrift.models.spherical_admixture.documents._mixtures import document_mixtures as document_mixtures
    from geodrift.models.spherical_admixture.documents._weighting import weight_rows as weight_rows
    from geodrift.models.spherical_admixture.evaluation._annealing import (
        annealed_log_perplexity as annealed_log_perplexity,
    )
    from geodrift.models.spherical_admixture.evaluation._log_perplexity import (
        log_perplexity as log_perplexity,
    )
    from geodrift.models.spherical_admixture.evaluation._summaries import expected_topics as expected_topics
    from geodrift.models.spherical_admixture.evaluation._summaries import summarise_topics as summarise_topics
    from geodrift.models.spherical_admixture.variational._model import Hyperparameters as Hyperparameters
    from geodrift.models.spherical_admixture.variational._stochastic import (
        fit_stochastic_variational as fit_stochastic_variational,
    )
    from geodrift.models.spherical_admixture.variational._variational import (
        fit_variational as fit_variational,
    )

__getattr__, __all__ = lazy(__name__, __file__)
