"""What documents are called in a report: the one place that knows."""

from collections.abc import Iterable

from geodrift.data import Corpus, VectorSource


def document_names(corpus: Corpus | VectorSource, numbers: Iterable[int], document: str) -> list[str]:
    """A name for each document: its number, counted from 0 as everywhere else."""
    del corpus
    return [f"{document} {number}" for number in numbers]
