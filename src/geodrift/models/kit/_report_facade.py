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
) -> Report:
    """A report of a fitted estimator.

    Args:
        estimator: With ``signed``, `transform_with_intervals`, ``_checks``, ``_numbers``, ``_told_numbers``
            and `get_params`.
        draws: Aligned draws of the components.
        agreed: How far the chains agree.
        parts: From `component_words`.
        vocabulary: V words.
        documents: Documents to weigh, or None.
        names: What each is called, or None.
        title: Of the page, or None.
        component: What a component is called.
    """
    verdict, kind = verdict_of(agreed, estimator._numbers(), component), type(estimator).__name__
    told: Documents | None = None
    checks = None
    if documents is not None:
        counts = sp.csr_matrix(documents)
        weights = estimator.transform_with_intervals(documents)
        number = counts.shape[0]
        titles = [f"document {place}" for place in range(number)] if names is None else list(map(str, names))
        if len(titles) != number:
            raise ValueError(
                f"names must have one name for each of the {number} documents, got {len(titles)}"
            )
        told = weighed_documents(np.arange(number), titles, counts, weights, vocabulary, number)
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
        numbers=estimator._told_numbers(),
        traces=estimator._numbers(),
        settings=[*settings, Entry("Versions", "geodrift", __version__)],
        **of_draws({"draws": draws}, "draws", agreed, parts, vocabulary, estimator.signed),
    )
