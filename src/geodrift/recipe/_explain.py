"""Which terms of a given Gamma or drift have the wrong factor."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PyTree

from geodrift._types import Scalar as Number
from geodrift.recipe._dynamics import Coefficients, cells, in_parts
from geodrift.recipe._parts import WHOLE, part


class Term(NamedTuple):
    """A term of the right expression."""

    label: str
    factor: float  # its factor in the right expression
    values: Float[np.ndarray, " n"]  # its entries at all points


def explain(given: Float[np.ndarray, " n"], terms: list[Term], tolerance: float) -> list[str]:
    """What is wrong with ``given``, which should be the sum of the terms times their factors.

    Finds the smallest set of terms that explains the difference by other factors.

    Args:
        given: The expression to test.
        terms: The terms of the right expression.
        tolerance: Largest error that counts as rounding, relative to the largest value.

    Returns:
        A clause for each wrong term; empty when all are right.
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


def gamma_terms(exact: Coefficients, rows: tuple, z: PyTree) -> list[dict[str, PyTree]]:
    """The terms of Gamma for each row, by label."""
    both = {name: fn(z).divergence(fn, z) for name, fn in zip("DQ", exact, strict=True)}
    return [{f"Gamma of {name}": part(whole, row) for name, whole in both.items()} for row in rows]


def drift_terms(
    hamiltonian: Callable[[PyTree], Number], exact: Coefficients, rows: tuple, z: PyTree
) -> list[dict[str, PyTree]]:
    """The terms of the drift for each row, by label; those with grad H have the factor -1 in the drift."""
    gradient, found = jax.grad(hamiltonian)(z), gamma_terms(exact, rows, z)
    for row, terms in zip(rows, found, strict=True):
        operators = [fn(z) for fn in exact] if row is WHOLE else in_parts(exact, z)
        for name, operator in zip("DQ", operators, strict=True):
            for column, cell in cells(operator, row).items():
                place = "" if row is WHOLE else f"[{row!r}][{column!r}]"
                terms[f"{name}{place} grad H"] = cell.matvec(part(gradient, column))
    return found


def explain_rows(
    name: str,
    claimed: Callable[[PyTree], PyTree],
    terms: Callable[[PyTree], list[dict[str, PyTree]]],
    rows: tuple,
    points: PyTree,
    tolerance: float,
) -> list[str]:
    """A sentence for each wrong term of a Gamma or a drift that the caller gave, row by row.

    Args:
        name: What it is called in the sentences.
        claimed: The caller's function.
        terms: The terms of the right expression for each row, by label.
        rows: Names of the rows.
        points: Where to compare, leaves ``[point, ...]``.
        tolerance: As for `explain`.
    """
    values, expected = jax.jit(jax.vmap(lambda z: (claimed(z), terms(z))))(points)
    clauses = []
    for row, right in zip(rows, expected, strict=True):
        listed = [Term(k, -1.0 if "grad" in k else 1.0, _flat(x)) for k, x in right.items()]
        place = name if row is WHOLE else f"{name} of {row!r}"
        clauses += [f"{place}: {clause}" for clause in explain(_flat(part(values, row)), listed, tolerance)]
    return clauses


def _flat(tree: PyTree) -> Float[np.ndarray, " n"]:
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])
