"""Two runs are read, and brought together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from geodrift._errors import InputError
from geodrift.data._counts import canonical_rows
from geodrift.driver import Run
from geodrift.models.kit._comparison import Comparison, comparison
from geodrift.models.kit._comparison_scores import documents_aside, new_documents, paired_scores
from geodrift.models.kit._component_answers import ComponentAnswers
from geodrift.models.kit._matched_runs import common_words, side_of

LEAST_COMMON = 2  # words


def compared(
    runs: Sequence[Run],
    answers: Sequence[ComponentAnswers],
    documents: sp.csr_matrix | None,
    *,
    top: int,
    seed: int,
) -> Comparison:
    """See `geodrift.models.compare`.

    Args:
        runs: Two runs of one model.
        answers: Of each.
        documents: Counts of new documents, or None; those that a run was fitted to are not scored.
        top: Words of each pair of components.
        seed: Of what the scores draw.

    Raises:
        InputError: The runs have no words in common, or the documents are no counts of their words.
    """
    vocabularies = [run.labels["word"] for run in runs]
    words, ours, theirs = common_words(*vocabularies)
    if len(words) < LEAST_COMMON:
        raise InputError(f"runs {runs[0].path} and {runs[1].path} have {len(words)} words in common")
    first, second = (side_of(*each) for each in zip(runs, answers, (ours, theirs), strict=True))
    why, own = "", 0
    if vocabularies[0] != vocabularies[1]:
        documents, why = None, "scores of runs with other words cannot be compared"
    elif documents is None:
        documents, why = documents_aside(*runs)
    else:
        signed = answers[0].model.may_be_negative(runs[0].config["settings"])
        documents, why, own = new_documents(runs, _checked(documents, len(vocabularies[0]), signed))
    scored: tuple[dict[str, Any] | None, str] = (None, why)
    if documents is not None:
        scored = paired_scores(((runs[0], answers[0]), (runs[1], answers[1])), documents, seed)
    return comparison(first, second, words, top, (*scored, own))


def _checked(documents: Any, words: int, signed: bool) -> sp.csr_matrix:
    """Counts of documents, each of the runs' words in its own column."""
    if not sp.issparse(documents) and np.ndim(documents) != 2:
        raise InputError(
            f"documents: is a {type(documents).__name__}: give counts [document, word], as of corpus.matrix()"
        )
    rows = canonical_rows(documents, signed=signed)
    if rows.shape[1] != words:
        raise InputError(
            f"documents: has {rows.shape[1]:,} columns: give one for each of the {words:,} words"
        )
    return rows
