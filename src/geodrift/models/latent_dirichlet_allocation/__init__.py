"""Latent Dirichlet allocation: Blei, Ng and Jordan (2003); Griffiths and Steyvers (2004)."""

from geodrift._lazy import lazy

__getattr__, __all__ = lazy(
    __name__,
    {
        "_chain": ("Chain",),
        "_facade": ("LatentDirichletAllocation",),
        "_settings": ("Settings",),
        "documents._mixtures": ("document_mixtures",),
        "evaluation._completion": (
            "CompletionScore",
            "completion_perplexity",
        ),
        "evaluation._scores": ("evaluate",),
        "evaluation._summaries": (
            "align",
            "common_order",
            "in_order_of",
            "mean_topics",
            "summarise_topics",
        ),
        "evaluation._token_split": ("split_tokens",),
        "scaled_counts._stream": ("StreamChain",),
        "variational._hybrid_variational": (
            "HybridVariationalResult",
            "fit_hybrid_variational",
        ),
    },
)
