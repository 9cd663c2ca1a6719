"""Which terms of a drift given by hand stand with the wrong factor."""

import itertools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Term(NamedTuple):
    """A term of the right expression: a matrix of one value for each point and entry."""

    label: str
    factor: float  # what it stands with
    values: Float[np.ndarray, " n"]


def explain(given: Float[np.ndarray, " n"], terms: list[Term], tolerance: float) -> list[str]:
    """What is wrong with ``given``, which should be the sum of the terms times their factors.

    The smallest set of terms is sought whose factors, changed, make up for the difference.

    Returns:
        A clause for each wrong term, nothing when all are right.
    """
    terms = [t for t in terms if np.any(t.values)]
    size = np.max(np.abs([given, *(t.values for t in terms)]))
    difference = given - sum((t.factor * t.values for t in terms), np.zeros_like(given))
    if not np.max(np.abs(difference)) > tolerance * size:
        return []
    for count in range(1, len(terms) + 1):
        for chosen in itertools.combinations(terms, count):
            scales = np.array([np.max(np.abs(t.values)) for t in chosen])
            columns = np.stack([t.values for t in chosen], axis=1) / scales
            changes = np.linalg.lstsq(columns, difference, rcond=None)[0]
            if np.max(np.abs(columns @ changes - difference)) <= tolerance * size:
                factors = [t.factor + c for t, c in zip(chosen, changes / scales, strict=True)]
                return [_clause(t, k) for t, k in zip(chosen, factors, strict=True)]
    labels = ", ".join(t.label for t in terms)
    return [f"is no sum of {labels} with constant factors" if terms else "is not 0, which it must be"]


def _clause(term: Term, factor: float) -> str:
    if abs(factor) < 1e-4:
        return f"the term {term.label} is missing"
    if abs(factor + term.factor) < 1e-4:
        return f"the term {term.label} has the wrong sign"
    return f"the term {term.label} has the factor {factor:.4g} where {term.factor:+.0f} is right"
