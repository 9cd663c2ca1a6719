r"""Does a process leave :math:`\exp(-H)` invariant, and if not, which term is wrong?"""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from geodrift._tree import add, sub
from geodrift._types import RandomKey
from geodrift._types import Scalar as Number
from geodrift.recipe import _dynamics
from geodrift.recipe._dynamics import Coefficients, OperatorFunction, as_operator_function
from geodrift.recipe._explain import Term, explain
from geodrift.recipe._operators import Operator
from geodrift.recipe._parts import WHOLE, check_alike, part, white
from geodrift.recipe._properties import Defects, defects, sentences

# Relative to the largest term. Derivatives in float64 round at 1e-13, constants given in float32 at 1e-7.
_TOLERANCE = 1e-6
_NUM_POINTS = 8


class Report(NamedTuple):
    """What `check` found; printed, it says so in words."""

    residual: float  # largest Fokker-Planck residual, relative to its terms: rounding when invariant
    wrong: tuple[str, ...]  # what is wrong, a sentence each; empty when nothing is

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong: exp(-H) is invariant."""
        return not self.wrong

    def __str__(self) -> str:
        verdict = "exp(-H) is invariant" if self.ok else "wrong"
        lines = [f"{verdict}: relative Fokker-Planck residual {self.residual:.1e}"]
        return "\n".join(lines + [f"  {sentence}" for sentence in self.wrong])


def check(
    hamiltonian: Callable[[PyTree], Number],
    diffusion: Any,
    curl: Any,
    point: PyTree | Callable[[RandomKey], PyTree],
    *,
    gamma: Callable[[PyTree], PyTree] | None = None,
    drift: Callable[[PyTree], PyTree] | None = None,
    key: RandomKey | None = None,
) -> Report:
    r"""Test whether H, D and Q make a process that leaves :math:`\exp(-H)` invariant, and name what is wrong.

    At random points, in float64: D must be symmetric and positive semidefinite, Q skew, and the residual of
    the stationary Fokker-Planck equation 0, Ma, Chen and Fox (2015), eq. 4,

    .. math:: -\sum_i \partial_i (f_i p) + \sum_{ij} \partial_i \partial_j (D_{ij} p) = 0, \quad p = e^{-H},

    relative to the sum of its terms' magnitudes, so that no scale of H, z or time matters. Without ``gamma``
    and ``drift`` f is what a `Recipe` runs, and a claim ``elementwise`` of an operator is tested.

    Args:
        hamiltonian: H, a function of z.
        diffusion: D, an operator or a function of z that returns one.
        curl: Q, likewise.
        point: A z, around which eight points scatter by standard normal steps, or a function of a random
            key that draws one: for a z that has a scale of its own, or must be positive.
        gamma: Your own :math:`\Gamma(z)`, to test it.
        drift: Your own f(z), to test it: any process with the noise of D, whether Q is its curl or not.
        key: Random key of the points.

    Returns:
        The report. ``report.ok`` says whether all is right; ``print(report)`` names what is not.

    Raises:
        ValueError: A function returns something of the wrong shape.
    """
    given = Coefficients(as_operator_function(diffusion), as_operator_function(curl))
    exact = Coefficients(*(_WithoutClaims(fn) for fn in given))

    def given_gamma(z: PyTree) -> PyTree:
        return _dynamics.gamma(*given, z) if gamma is None else gamma(z)

    def given_drift(z: PyTree) -> PyTree:
        if drift is not None:
            return drift(z)
        gradient = jax.grad(hamiltonian)(z)
        return sub(given_gamma(z), add(*(fn(z).matvec(gradient) for fn in given)))

    with _float64():
        points = _points(jax.random.key(0) if key is None else key, point)
        first = jax.tree.map(lambda x: x[0], points)
        _check_shapes(hamiltonian, given, [fn for fn in (gamma, drift) if fn is not None], first)

        def measured(z: PyTree) -> tuple[Defects, Array]:
            found = defects(given.diffusion(z), given.curl(z), z)
            return found, _residual(hamiltonian, exact.diffusion, given_drift, z)

        found, residuals = jax.jit(jax.vmap(measured))(points)
        wrong, residual = sentences(found), float(jnp.max(residuals))
        if residual <= _TOLERANCE:
            return Report(residual, tuple(wrong))
        rows = _dynamics.row_names(given, first, strict=False)
        if drift is not None:
            named = _explained(
                "the drift", drift, partial(_drift_terms, hamiltonian, exact, rows), rows, points
            )
        else:
            named = _explained("Gamma", given_gamma, partial(_gamma_terms, exact, rows), rows, points)
    if named and gamma is None and drift is None:
        named = ["Gamma: an operator is called elementwise whose entries depend on other coordinates"]
    unnamed = "the residual is not finite: give a function that draws points where H, D and Q are smooth"
    if np.isfinite(residual):
        unnamed = "this drift, with the noise of D, does not belong to this H"
    return Report(residual, (*wrong, *named) or (unnamed,))


class _WithoutClaims(eqx.Module):
    """The same operators, their divergences taken without trust in ``elementwise``."""

    function: OperatorFunction

    def __call__(self, z: PyTree) -> Operator:
        def claims(node: Any) -> bool:
            return hasattr(node, "elementwise")

        def cleared(node: Any) -> Any:
            return dataclasses.replace(node, elementwise=False) if claims(node) else node

        return jax.tree.map(cleared, self.function(z), is_leaf=claims)


def _residual(
    hamiltonian: Callable[[PyTree], Number],
    diffusion: OperatorFunction,
    drift: Callable[[PyTree], PyTree],
    z: PyTree,
) -> Array:
    r"""Of :math:`j \cdot \nabla H - \nabla \cdot j`, with :math:`j = f + D \nabla H - \nabla \cdot D`."""
    flat, unflatten = ravel_pytree(z)

    def current(x: Array) -> Float[Array, "3 n"]:
        """The terms of j."""
        z = unflatten(x)
        operator = diffusion(z)
        pull = operator.matvec(jax.grad(hamiltonian)(z))
        return jnp.stack([_vector(term) for term in (drift(z), pull, operator.divergence(diffusion, z))])

    gradient = _vector(jax.grad(hamiltonian)(z))
    slopes = jax.vmap(lambda i, e: jax.jvp(current, (flat,), (e,))[1][:, i])
    against, spread = current(flat) * gradient, slopes(jnp.arange(flat.size), jnp.eye(flat.size)).T
    total = jnp.sum(jnp.array([1.0, 1.0, -1.0]) @ (against - spread))
    size = jnp.sum(jnp.abs(against) + jnp.abs(spread))
    residual = jnp.where(size == 0, 0.0, jnp.abs(total) / jnp.where(size == 0, 1.0, size))
    return jnp.where(jnp.isfinite(hamiltonian(z)), residual, jnp.nan)


def _gamma_terms(exact: Coefficients, rows: tuple, z: PyTree) -> list[dict[str, PyTree]]:
    """For each row, what its Gamma is the sum of, by label."""
    both = {name: fn(z).divergence(fn, z) for name, fn in zip("DQ", exact, strict=True)}
    return [{f"Gamma of {name}": part(whole, row) for name, whole in both.items()} for row in rows]


def _drift_terms(
    hamiltonian: Callable[[PyTree], Number], exact: Coefficients, rows: tuple, z: PyTree
) -> list[dict[str, PyTree]]:
    """For each row, what its drift is the sum of, by label; those with grad H are subtracted."""
    gradient, found = jax.grad(hamiltonian)(z), _gamma_terms(exact, rows, z)
    for row, terms in zip(rows, found, strict=True):
        operators = [fn(z) for fn in exact] if row is WHOLE else _dynamics.in_parts(exact, z)
        for name, operator in zip("DQ", operators, strict=True):
            for column, cell in _dynamics.cells(operator, row).items():
                place = "" if row is WHOLE else f"[{row!r}][{column!r}]"
                terms[f"{name}{place} grad H"] = cell.matvec(part(gradient, column))
    return found


def _explained(
    name: str,
    claimed: Callable[[PyTree], PyTree],
    terms: Callable[[PyTree], list[dict[str, PyTree]]],
    rows: tuple,
    points: PyTree,
) -> list[str]:
    """Sentences on each row of what was given by hand."""
    values, expected = jax.jit(jax.vmap(lambda z: (claimed(z), terms(z))))(points)
    clauses = []
    for row, right in zip(rows, expected, strict=True):
        listed = [Term(k, -1.0 if "grad" in k else 1.0, _flat(x)) for k, x in right.items()]
        place = name if row is WHOLE else f"{name} of {row!r}"
        clauses += [f"{place}: {clause}" for clause in explain(_flat(part(values, row)), listed, _TOLERANCE)]
    return clauses


def _points(key: RandomKey, point: Any) -> PyTree:
    """Eight points, leaves ``[8, *leaf]`` in float64."""

    def scattered(key: RandomKey) -> PyTree:
        centre = jax.tree.map(lambda x: jnp.asarray(x, jnp.float64), point)
        return add(centre, white(key, centre))

    keys = jax.random.split(key, _NUM_POINTS)
    points = jax.vmap(point if callable(point) else scattered)(keys)
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.float64), points)


def _check_shapes(
    hamiltonian: Callable[[PyTree], Number], given: Coefficients, by_hand: list, z: PyTree
) -> None:
    value = jax.eval_shape(hamiltonian, z)
    if getattr(value, "shape", None) != ():
        raise ValueError(f"hamiltonian returns {value}: must be one number")
    for name, fn in zip("DQ", given, strict=True):
        fn(z).check_fits(z, z, name)
    for fn in by_hand:
        check_alike(jax.eval_shape(fn, z), z, "gamma or drift maps")


def _vector(tree: PyTree) -> Array:
    return ravel_pytree(tree)[0]


def _flat(tree: PyTree) -> np.ndarray:
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])


def _float64() -> Any:
    # The context moved between versions of JAX.
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return jax.experimental.enable_x64()  # type: ignore[attr-defined]
