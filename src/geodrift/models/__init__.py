"""Models with a full posterior: each a specification, a chain, and a scikit-learn facade."""

from geodrift._lazy import lazy

__getattr__, __all__ = lazy(
    __name__,
    {
        "latent_dirichlet_allocation": ("LatentDirichletAllocation",),
        "spherical_admixture": ("SphericalAdmixture",),
        "_registry": ("model_named", "model_of", "models"),
        "kit": ("Answers", "Model", "create_run", "document_rows", "fit", "make_chains"),
    },
)
