"""What documents are called in a report: the one place that knows."""

from collections.abc import Sequence

from geodrift.data import Document


def document_names(
    documents: Sequence[Document], title: str | None, *, known: bool = True, called: str = "document"
) -> list[str]:
    """A name for each document: its title, or else its id.

    Args:
        documents: Who they are.
        title: Field of the titles, or None.
        known: Whether somebody has said who they are: else an id is a number, counted from 0.
        called: What a document is called, for the name of one that is a number.
    """
    if not known:
        return [f"{called} {document.id}" for document in documents]
    titles = [document.fields.get(title) if title else None for document in documents]
    return [str(told) if told else document.id for told, document in zip(titles, documents, strict=True)]
