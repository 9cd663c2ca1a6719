"""Two runs are read, and brought together."""

from collections.abc import Sequence
from typing import Any

import scipy.sparse as sp

from geodrift._errors import InputError
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
        InputError: The runs have no words in common.
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
        documents, why, own = new_documents(runs, sp.csr_matrix(documents))
    scored: tuple[dict[str, Any] | None, str] = (None, why)
    if documents is not None:
        scored = paired_scores(((runs[0], answers[0]), (runs[1], answers[1])), documents, seed)
    return comparison(first, second, words, top, (*scored, own))
