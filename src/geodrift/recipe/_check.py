r"""A test whether a process leaves :math:`\exp(-H)` invariant, which names the term that is wrong."""

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

from geodrift._jax_release import double_precision
from geodrift._tree import add, sub
from geodrift._types import RandomKey
from geodrift._types import Scalar as Number
from geodrift.recipe import _dynamics
from geodrift.recipe._dynamics import Coefficients, OperatorFunction, as_operator_function
from geodrift.recipe._explain import drift_terms, explain_rows, gamma_terms
from geodrift.recipe._operators import Operator
from geodrift.recipe._parts import check_alike, white
from geodrift.recipe._properties import Defects, defects, sentences

# Relative to the largest term. Derivatives in float64 round at 1e-13, constants given in float32 at 1e-7.
_TOLERANCE = 1e-6
_NUM_POINTS = 8


class Report(NamedTuple):
    """The result of `check`; ``print`` shows it in words."""

    residual: float  # largest Fokker-Planck residual, relative to its terms; 0 up to rounding if invariant
    wrong: tuple[str, ...]  # a sentence for each thing that is wrong; empty if nothing is

    @property
    def ok(self) -> bool:
        """Whether exp(-H) is invariant: nothing is wrong."""
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

    relative to the sum of its terms' magnitudes, so that units do not matter, and up to a millionth. Many
    standard deviations from where the law has its mass the terms with the square of H's gradient are nearly
    all of that sum, and hide a Gamma that is missing: draw ``point`` where the law is. Without ``gamma`` and
    ``drift``, f is the drift of a `Recipe`, and the statement ``elementwise=True`` of an operator is tested
    too.

    Args:
        hamiltonian: H, a function of z.
        diffusion: D, an operator or a function of z that returns one.
        curl: Q, likewise.
        point: A z, around which eight points are drawn with standard normal steps; or a function of a random
            key that draws a point, for a law that is much narrower or wider, as a posterior of many data
            is, or a z that must be positive.
        gamma: A function :math:`\Gamma(z)` of yours, to be tested.
        drift: A function f(z) of yours, to be tested, for a process with the noise of D; Q may be any.
        key: Random key of the points.

    Returns:
        The report. ``report.ok`` is whether the law is invariant; ``print(report)`` says what is wrong.

    Raises:
        ValueError: A function returns something of the wrong shape.
    """
    claim = _Claim(
        hamiltonian, Coefficients(as_operator_function(diffusion), as_operator_function(curl)), gamma, drift
    )
    with double_precision():
        points = _points(jax.random.key(0) if key is None else key, point)
        _check_shapes(claim, jax.tree.map(lambda x: x[0], points))
        found, residuals = jax.jit(jax.vmap(claim.defects_and_residual))(points)
        wrong, residual = sentences(found), float(jnp.max(residuals))
        if not residual <= _TOLERANCE:
            wrong = (wrong + claim.wrong_terms(points)) or [_unexplained(residual)]
    return Report(residual, tuple(wrong))


class _Claim(NamedTuple):
    """A process that is claimed to leave exp(-H) invariant."""

    hamiltonian: Callable[[PyTree], Number]
    coefficients: Coefficients
    gamma: Callable[[PyTree], PyTree] | None  # the caller's own, to be tested; None for the recipe's
    drift: Callable[[PyTree], PyTree] | None  # likewise

    def gamma_at(self, z: PyTree) -> PyTree:
        return _dynamics.gamma(*self.coefficients, z) if self.gamma is None else self.gamma(z)

    def drift_at(self, z: PyTree) -> PyTree:
        if self.drift is not None:
            return self.drift(z)
        gradient = jax.grad(self.hamiltonian)(z)
        return sub(self.gamma_at(z), add(*(fn(z).matvec(gradient) for fn in self.coefficients)))

    @property
    def exact(self) -> Coefficients:
        """D and Q, with divergences that do not rely on ``elementwise``."""
        return Coefficients(*(_NotElementwise(fn) for fn in self.coefficients))

    def defects_and_residual(self, z: PyTree) -> tuple[Defects, Float[Array, ""]]:
        """Of D and Q, and of the Fokker-Planck equation, at z."""
        found = defects(self.coefficients.diffusion(z), self.coefficients.curl(z), z)
        return found, _residual(self.hamiltonian, self.exact.diffusion, self.drift_at, z)

    def wrong_terms(self, points: PyTree) -> list[str]:
        """A sentence for each wrong term of the drift or of Gamma, found at these points."""
        first = jax.tree.map(lambda x: x[0], points)
        rows, exact = _dynamics.row_names(self.coefficients, first, strict=False), self.exact
        if self.drift is not None:
            right = partial(drift_terms, self.hamiltonian, exact, rows)
            return explain_rows("the drift", self.drift, right, rows, points, _TOLERANCE)
        right = partial(gamma_terms, exact, rows)
        found = explain_rows("Gamma", self.gamma_at, right, rows, points, _TOLERANCE)
        if found and self.gamma is None:
            return ["Gamma: an operator is called elementwise whose entries depend on other coordinates"]
        return found


def _unexplained(residual: float) -> str:
    """What is wrong where no term is."""
    if np.isfinite(residual):
        return "this drift, with the noise of D, does not belong to this H"
    return "the residual is not finite: give a function that draws points where H, D and Q are smooth"


class _NotElementwise(eqx.Module):
    """The same operators with ``elementwise=False``, so that divergences do not rely on that statement."""

    function: OperatorFunction

    def __call__(self, z: PyTree) -> Operator:
        def has_flag(node: Any) -> bool:
            return hasattr(node, "elementwise")

        def cleared(node: Any) -> Any:
            return dataclasses.replace(node, elementwise=False) if has_flag(node) else node

        return jax.tree.map(cleared, self.function(z), is_leaf=has_flag)


def _residual(
    hamiltonian: Callable[[PyTree], Number],
    diffusion: OperatorFunction,
    drift: Callable[[PyTree], PyTree],
    z: PyTree,
) -> Array:
    r"""The residual :math:`j \cdot \nabla H - \nabla \cdot j`, relative to its terms.

    :math:`j = f + D \nabla H - \nabla \cdot D` is the probability current divided by the density.
    """
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


def _points(key: RandomKey, point: Any) -> PyTree:
    """Eight random points, leaves ``[8, *leaf]`` in float64."""

    def scattered(key: RandomKey) -> PyTree:
        centre = jax.tree.map(lambda x: jnp.asarray(x, jnp.float64), point)
        return add(centre, white(key, centre))

    keys = jax.random.split(key, _NUM_POINTS)
    points = jax.vmap(point if callable(point) else scattered)(keys)
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.float64), points)


def _check_shapes(claim: _Claim, z: PyTree) -> None:
    """Raise ValueError where H, D, Q or one of the caller's functions gives a wrong shape at z."""
    value = jax.eval_shape(claim.hamiltonian, z)
    if getattr(value, "shape", None) != ():
        raise ValueError(f"hamiltonian returns {value}: must be one number")
    for name, fn in zip("DQ", claim.coefficients, strict=True):
        fn(z).check_fits(z, z, name)
    for fn in (claim.gamma, claim.drift):
        if fn is not None:
            check_alike(jax.eval_shape(fn, z), z, "gamma or drift maps")


def _vector(tree: PyTree) -> Float[Array, " n"]:
    return ravel_pytree(tree)[0]
