"""Latent Dirichlet allocation: Blei, Ng and Jordan (2003); Griffiths and Steyvers (2004)."""

from typing import TYPE_CHECKING

from geodrift._lazy import lazy

if TYPE_CHECKING:
    from geodrift.models.latent_dirichlet_allocation._chain import Chain as Chain
    from geodrift.models.latent_dirichlet_allocation._estimator_checks import (
        EXPECTED_FAILED_CHECKS as EXPECTED_FAILED_CHECKS,
    )
    from geodrift.models.latent_dirichlet_allocation._facade import (
        LatentDirichletAllocation as LatentDirichletAllocation,
    )
    from geodrift.models.latent_dirichlet_allocation._number_of_topics import (
        choose_number_of_topics as choose_number_of_topics,
    )
    from geodrift.models.latent_dirichlet_allocation._settings import Settings as Settings
    from geodrift.models.latent_dirichlet_allocation.documents._mixtures import (
        document_mixtures as document_mixtures,
    )
    from geodrift.models.latent_dirichlet_allocation.evaluation._completion import (
        CompletionScore as CompletionScore,
    )
    from geodrift.models.latent_dirichlet_allocation.evaluation._completion import (
        completion_perplexity as completion_perplexity,
    )
    from geodrift.models.latent_dirichlet_allocation.evaluation._scores import evaluate as evaluate
    from geodrift.models.latent_dirichlet_allocation.evaluation._summaries import align as align
    from geodrift.models.latent_dirichlet_allocation.evaluation._summaries import common_order as common_order
    from geodrift.models.latent_dirichlet_allocation.evaluation._summaries import mean_topics as mean_topics
    from geodrift.models.latent_dirichlet_allocation.evaluation._summaries import (
        summarise_topics as summarise_topics,
    )
    from geodrift.models.latent_dirichlet_allocation.evaluation._token_split import (
        split_tokens as split_tokens,
    )
    from geodrift.models.latent_dirichlet_allocation.scaled_counts._stream import StreamChain as StreamChain
    from geodrift.models.latent_dirichlet_allocation.variational._hybrid_variational import (
        HybridVariationalResult as HybridVariationalResult,
    )
    from geodrift.models.latent_dirichlet_allocation.variational._hybrid_variational import (
        fit_hybrid_variational as fit_hybrid_variational,
    )

__getattr__, __all__ = lazy(__name__, __file__)
