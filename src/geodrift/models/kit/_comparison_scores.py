"""Held-out scores of two runs on the same documents, and how far their difference is known."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift.driver import Run
from geodrift.models.kit._component_answers import ComponentAnswers
from geodrift.models.kit._fitted_among import fitted_among, mostly
from geodrift.models.kit._runs import corpus_of


def documents_aside(first: Run, second: Run) -> tuple[sp.csr_matrix | None, str]:
    """Counts of the documents that both runs have set aside, or why there are none."""
    if not (first.config["held_out"] and second.config["held_out"]):
        return None, "a run has no documents set aside (fit --held-out): give some with --documents"
    if first.config["corpus"]["checksum"] != second.config["corpus"]["checksum"]:
        return None, "the runs are of two corpora, and may have seen each other's documents: give some"
    corpus = corpus_of(first)
    everyone = np.arange(corpus.num_documents)
    left = everyone
    for run in (first, second):
        view, _ = corpus.split(run.config["held_out"], run.config["seed"])
        left = np.setdiff1d(left, view.documents)
    if len(left) < 2:
        return None, "the runs have set no two documents aside alike (fit with the same --seed): give some"
    return corpus.rows(left), ""


def new_documents(
    runs: Sequence[Run], documents: sp.csr_matrix
) -> tuple[sp.csr_matrix | None, str, int | None]:
    """Documents without those that a run was fitted to, which prefer the run that fits its own the closest.

    Where most of them are such documents there are none to score.

    Args:
        runs: The runs.
        documents: Counts, [D, V].

    Returns:
        The documents to score, or why there are none; and how many were fitted, None where the documents of a
        run are gone, so that nobody can say.
    """
    found = [fitted_among(run, documents) for run in runs]
    if any(fitted is None for fitted in found):
        return documents, "", None
    fitted, has_words = np.any(found, axis=0), documents.getnnz(axis=1) > 0
    own = int(fitted.sum())
    if mostly(fitted, has_words):
        why = f"{own:,} of the {has_words.sum():,} documents were fitted by one of the runs: give new ones"
        return None, why, own
    return documents[~fitted] if own else documents, "", own


def paired_scores(
    sides: tuple[tuple[Run, ComponentAnswers], tuple[Run, ComponentAnswers]],
    counts: sp.csr_matrix,
    seed: int,
) -> tuple[dict[str, Any] | None, str]:
    """Mean log scores of both, and their difference with its standard error over documents.

    Args:
        sides: The runs.
        counts: Documents that neither was fitted to, of the words of both.
        seed: Of what the scores draw.
    """
    weighted = [answers.rows(run, counts) for run, answers in sides]
    if abs(weighted[0] - weighted[1]).sum() > 1e-6 * abs(weighted[0]).sum():
        return (
            None,
            "the runs weigh the words of a document differently, so that their scores cannot be compared",
        )
    rows = weighted[0][np.diff(weighted[0].indptr) > 0]
    asked = min(answers.number_of_draws(run) for run, answers in sides)
    # Runs of other numbers of chains would have more draws or fewer, which a score depends on.
    draws = min(answers.draws_for(run, asked) for run, answers in sides)
    how: dict[str, Any] = {"num_draws": asked, "most": draws, "seed": seed}
    found = [answers.document_scores(run, rows, **how) for run, answers in sides]
    units = found[0][1]
    scored = units > 0
    if scored.sum() < 2:
        return None, "fewer than two documents have words enough to be scored"
    one, other, units = found[0][0][scored], found[1][0][scored], units[scored]
    if not np.isfinite([one, other]).all():
        return None, "a run gives a held-out word no probability at all"
    total = units.sum()
    difference, error = paired_difference(other - one, units)
    told = {"first": float(one.sum() / total), "second": float(other.sum() / total)}
    told |= {"difference": difference, "standard_error": error}
    return told | {
        "documents": int(scored.sum()),
        "units": float(total),
        "draws": draws,
        "chains": [run.num_chains for run, _ in sides],
        "decides": sides[0][1].score_decides,
    }, ""


def paired_difference(
    differences: Float[np.ndarray, " D"], units: Float[np.ndarray, " D"]
) -> tuple[float, float]:
    """The difference of two scores a unit, and its standard error over documents.

    Both are ratios of sums over the same documents; the error is that of a ratio, by the usual linearisation.

    Args:
        differences: Of each document's two scores.
        units: Of each document, such as words.
    """
    number, mean = len(units), float(differences.sum() / units.sum())
    deviations = differences - mean * units
    return mean, float(np.sqrt((deviations**2).sum() * number / (number - 1)) / units.sum())
