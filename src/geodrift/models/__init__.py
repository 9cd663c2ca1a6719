"""Models with a full posterior: each a specification, a chain, and a scikit-learn facade."""

from typing import TYPE_CHECKING

from geodrift._lazy import lazy

if TYPE_CHECKING:
    from geodrift.models._registry import compare as compare
    from geodrift.models._registry import model_named as model_named
    from geodrift.models._registry import model_of as model_of
    from geodrift.models._registry import models as models
    from geodrift.models._registry import rename as rename
    from geodrift.models._registry import report as report
    from geodrift.models._registry import to_pyldavis as to_pyldavis
    from geodrift.models.dirichlet_process_mixture import (
        DirichletProcessMixture as DirichletProcessMixture,
    )
    from geodrift.models.hierarchical_dirichlet_process import (
        HierarchicalDirichletProcess as HierarchicalDirichletProcess,
    )
    from geodrift.models.kit import Answers as Answers
    from geodrift.models.kit import Model as Model
    from geodrift.models.kit import create_run as create_run
    from geodrift.models.kit import document_rows as document_rows
    from geodrift.models.kit import fit as fit
    from geodrift.models.kit import make_chains as make_chains
    from geodrift.models.latent_dirichlet_allocation import (
        LatentDirichletAllocation as LatentDirichletAllocation,
    )
    from geodrift.models.latent_dirichlet_allocation import (
        choose_number_of_topics as choose_number_of_topics,
    )
    from geodrift.models.spherical_admixture import SphericalAdmixture as SphericalAdmixture
    from geodrift.models.topics.starts._seed_words import topics_of_words as topics_of_words
    from geodrift.models.von_mises_fisher_mixture import VonMisesFisherMixture as VonMisesFisherMixture

__getattr__, __all__ = lazy(__name__, __file__)
