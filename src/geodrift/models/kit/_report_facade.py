"""The report of an estimator: its own numbers, and no run directory's."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift import __version__
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
    vocabulary: Sequence[str],
    documents: Any,
    names: Sequence[str] | None,
    title: str | None,
    component: str = "topic",
    texts: Sequence[str] | None = None,
) -> Report:
    """A report of a fitted estimator.

    Args:
        estimator: With ``signed``, `transform_with_intervals`, ``_checks`` and `get_params`.
        draws: Aligned draws of the components.
        agreed: How far the chains agree.
        parts: From `component_words`.
        vocabulary: V words.
        documents: Documents to weigh, or None.
        names: What each is called, or None.
        title: Of the page, or None.
        component: What a component is called.
        texts: Of the documents, of which the beginnings of those that lead are told, or None.

    Raises:
        ValueError: There is not a name, or a text, for each document.
    """
    verdict, kind = verdict_of(agreed, {}, component), type(estimator).__name__
    told: Documents | None = None
    checks = None
    if documents is not None:
        told = _told_documents(estimator, documents, vocabulary, names, texts)
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
        **of_draws({"draws": draws}, "draws", agreed, parts, vocabulary, estimator.signed),
    )


def _told_documents(
    estimator: Any,
    documents: Any,
    vocabulary: Sequence[str],
    names: Sequence[str] | None,
    texts: Sequence[str] | None,
) -> Documents:
    """Documents with their weights; see `report_of_estimator`."""
    counts = sp.csr_matrix(documents)
    weights = estimator.transform_with_intervals(documents)
    number = counts.shape[0]
    titles = [f"document {place}" for place in range(number)] if names is None else list(map(str, names))
    for what, given in (("name", titles), ("text", texts)):
        if given is not None and len(given) != number:
            raise ValueError(
                f"{what}s must have one {what} for each of the {number} documents, got {len(given)}"
            )
    beginnings = [] if texts is None else [str(text)[:BEGINNING] for text in texts]
    return weighed_documents(np.arange(number), titles, counts, weights, vocabulary, number, beginnings)
