"""The spherical admixture model: topics and documents are unit vectors.

Reisinger et al. 2010; sampled as by Liu, Zhu and Song 2016.
"""

from geodrift._lazy import lazy

__getattr__, __all__ = lazy(
    __name__,
    {
        "_chain": ("Chain",),
        "_facade": ("SphericalAdmixture",),
        "_settings": ("Settings",),
        "documents._documents": ("DocumentSource",),
        "documents._weighting": ("weight_rows",),
        "evaluation._annealing": ("annealed_log_perplexity",),
        "evaluation._log_perplexity": ("log_perplexity",),
        "evaluation._summaries": (
            "document_mixtures",
            "expected_topics",
            "summarise_topics",
        ),
        "variational._model": ("Hyperparameters",),
        "variational._stochastic": ("fit_stochastic_variational",),
        "variational._variational": ("fit_variational",),
        "geodrift.models.topics._alignment": ("align", "common_order"),
    },
)
