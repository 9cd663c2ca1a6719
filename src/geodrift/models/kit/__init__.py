"""What every model is made with: its specification, its chains in a run, and its answers."""

from geodrift._lazy import lazy

__getattr__, __all__ = lazy(
    __name__,
    {
        "_answers": ("Answers",),
        "_chain": ("ModelChain",),
        "_facade": ("Facade",),
        "_held_out": ("HeldOutScore",),
        "_model": ("Model", "Summary"),
        "_runs": (
            "corpus_of",
            "create_run",
            "document_frequencies",
            "document_rows",
            "fit",
            "make_chains",
            "memory_needed",
        ),
        "_settings": (
            "ModelSettings",
            "Numbers",
            "OneOf",
            "Positive",
            "Setting",
            "Share",
            "Whole",
            "YesNo",
            "setting",
        ),
    },
)
