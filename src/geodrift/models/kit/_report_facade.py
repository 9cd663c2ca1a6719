"""The report of an estimator: its own numbers, and no run directory's."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float

from geodrift import __version__
from geodrift.data import as_csr
from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._report_documents import weighed_documents
from geodrift.models.kit._report_parts import kinds_of, of_draws
from geodrift.models.kit._verdict import verdict_of
from geodrift.report import Documents, Entry, Report

BEGINNING = 1000  # characters of a text, as a corpus keeps them


def report_of_estimator(
    estimator: Any,
    draws: Float[np.ndarray, "C N K V"],
    agreed: Agreement,
    parts: list[dict[str, Any]],
    vocabulary: Sequence[str] | None,
    documents: Any,
    names: Sequence[str] | None,
    title: str | None,
    component: str = "topic",
    more: Mapping[str, Any] = MappingProxyType({}),
    texts: Sequence[str] | None = None,
) -> Report:
    """A report of a fitted estimator.

    Args:
        estimator: With ``signed``, `transform_with_intervals`, ``_checks``, ``_numbers``, ``_told_numbers``
            and `get_params`.
        draws: Aligned draws of the components.
        agreed: How far the chains agree.
        parts: From `component_words`.
        vocabulary: V words; None where components do not weigh words.
        documents: Documents to weigh, or None.
        names: What each is called, or None.
        title: Of the page, or None.
        component: What a component is called.
        more: Fields of the report: ``traces``, ``numbers``, ``document``, ``sizes_of`` and others; ``others``
            of its documents.
        texts: Of the documents, of which the beginnings of those that lead are told, or None.

    Raises:
        ValueError: There is not a name, or a text, for each document.
    """
    others, fields = more.get("others", ()), {name: more[name] for name in more if name != "others"}
    verdict, kind = verdict_of(agreed, estimator._numbers(), component), type(estimator).__name__
    told, checks = None, None
    if documents is not None:
        called = more.get("document", "document")
        told = _documents(estimator, documents, names, texts, vocabulary, called, others)
        checks = estimator._checks(documents, vocabulary)
    settings = [
        Entry("Settings", name.replace("_", " "), str(value))
        for name, value in estimator.get_params().items()
    ]
    return Report(
        title=kind if title is None else title,
        model=kind,
        component=component,
        signed=estimator.signed,
        parts=parts,
        kinds=kinds_of(verdict),
        verdict=verdict.to_dict(),
        sentences=str(verdict).split("\n"),
        documents=told,
        checks=checks,
        settings=[*settings, Entry("Versions", "geodrift", __version__)],
        **{"numbers": estimator._told_numbers(), "traces": estimator._numbers()} | fields,
        **of_draws({"draws": draws}, "draws", agreed, parts, vocabulary, estimator.signed),
    )


def _documents(
    estimator: Any,
    documents: Any,
    names: Sequence[str] | None,
    texts: Sequence[str] | None,
    vocabulary: Sequence[str] | None,
    called: str,
    others: Sequence[str],
) -> Documents:
    """The documents with their weights; see `report_of_estimator`."""
    counts = documents if vocabulary is None else as_csr(documents, "documents")
    weights, number = estimator.transform_with_intervals(documents), counts.shape[0]
    if names is None:
        names = _named_rows(documents)
    titles = [f"{called} {place}" for place in range(number)] if names is None else list(map(str, names))
    for what, given in (("name", titles), ("text", texts)):
        if given is not None and len(given) != number:
            raise ValueError(
                f"{what}s must have one {what} for each of the {number} documents, got {len(given)}"
            )
    beginnings = [] if texts is None else [str(text)[:BEGINNING] for text in texts]
    return weighed_documents(np.arange(number), titles, counts, weights, vocabulary, None, others, beginnings)


def _named_rows(documents: Any) -> list[str] | None:
    """The names in the index of a data frame; None where it numbers the rows, or is none."""
    if not hasattr(documents, "columns"):
        return None
    names = list(documents.index)
    return None if names == list(range(len(names))) else [str(name) for name in names]
