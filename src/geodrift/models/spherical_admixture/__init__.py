"""The spherical admixture model: topics and documents are unit vectors.

Reisinger et al. 2010; sampled as by Liu, Zhu and Song 2016.
"""

from geodrift.models._alignment import align as align
from geodrift.models._alignment import common_order as common_order
from geodrift.models.spherical_admixture._annealing import annealed_log_perplexity as annealed_log_perplexity
from geodrift.models.spherical_admixture._documents import DocumentSource as DocumentSource
from geodrift.models.spherical_admixture._engine import Engine as Engine
from geodrift.models.spherical_admixture._evaluation import log_perplexity as log_perplexity
from geodrift.models.spherical_admixture._facade import SphericalAdmixture as SphericalAdmixture
from geodrift.models.spherical_admixture._settings import Settings as Settings
from geodrift.models.spherical_admixture._summaries import document_mixtures as document_mixtures
from geodrift.models.spherical_admixture._summaries import expected_topics as expected_topics
from geodrift.models.spherical_admixture._summaries import summarise_topics as summarise_topics
from geodrift.models.spherical_admixture._variational import fit_variational as fit_variational
from geodrift.models.spherical_admixture._variational_published import (
    fit_stochastic_variational_as_published as fit_stochastic_variational_as_published,
)
from geodrift.models.spherical_admixture._variational_published import (
    fit_variational_as_published as fit_variational_as_published,
)
from geodrift.models.spherical_admixture._variational_stochastic import (
    fit_stochastic_variational as fit_stochastic_variational,
)
from geodrift.models.spherical_admixture._weighting import weight_rows as weight_rows
