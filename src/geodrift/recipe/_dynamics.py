r"""The drift :math:`-(D + Q) \nabla H + \Gamma`, for all of z or for one part of it."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from geodrift._tree import add, sub
from geodrift._types import Scalar as Number
from geodrift.recipe._blocks import Block, as_operator
from geodrift.recipe._operators import Diagonal, Operator, Scalar
from geodrift.recipe._parts import WHOLE, part, parts, replaced

OperatorFunction: TypeAlias = Callable[[PyTree], Operator]


class _Constant(eqx.Module):
    """An operator that is the same at every z."""

    operator: Operator

    def __call__(self, z: PyTree) -> Operator:
        del z
        return self.operator


class _Function(eqx.Module):
    """A function of z that returns an operator, or a number or a mapping that `as_operator` converts."""

    function: Callable[[PyTree], Any] = eqx.field(static=True)

    def __call__(self, z: PyTree) -> Operator:
        return as_operator(self.function(z))


class _Module(eqx.Module):
    """The same for a function that is an Equinox module, whose arrays are leaves of the pytree."""

    function: Callable[[PyTree], Any]

    def __call__(self, z: PyTree) -> Operator:
        return as_operator(self.function(z))


def as_operator_function(given: Any) -> OperatorFunction:
    """D or Q as a function of z, from such a function or from a constant operator, number or mapping.

    Raises:
        ValueError: ``given`` is none of these.
    """
    if isinstance(given, _Constant | _Function | _Module):
        return given
    if isinstance(given, Operator) or not callable(given):
        return _Constant(as_operator(given))
    function: Callable[[PyTree], Any] = given
    return _Module(function) if isinstance(given, eqx.Module) else _Function(function)


def is_constant(function: OperatorFunction) -> bool:
    """Whether D or Q was given as an operator, number or mapping, which depends on no z."""
    return isinstance(function, _Constant)


class Coefficients(NamedTuple):
    """D and Q as functions of z."""

    diffusion: OperatorFunction
    curl: OperatorFunction


def gamma(diffusion: Any, curl: Any, z: PyTree) -> PyTree:
    r"""The correction :math:`\Gamma_i = \sum_j \partial_j (D_{ij} + Q_{ij})`, exact.

    Ma, Chen and Fox (2015), eq. 3. It costs one gradient for `Scalar`, one directional derivative for an
    elementwise `Diagonal`, k more for an operator of rank k, and otherwise one for each coordinate. Operators
    that do not depend on the coordinates they act on cost nothing. No matrix is stored except `Dense` ones.

    Args:
        diffusion: D, an operator or a function of z that returns one.
        curl: Q, likewise.
        z: The point.

    Returns:
        A pytree like z.
    """
    given = Coefficients(as_operator_function(diffusion), as_operator_function(curl))
    return add(*(fn(z).divergence(fn, z) for fn in given))


def drift(hamiltonian: Callable[[PyTree], Number], diffusion: Any, curl: Any, z: PyTree) -> PyTree:
    r"""The drift :math:`f = -(D + Q) \nabla H + \Gamma` of the recipe, Ma, Chen and Fox (2015), eq. 3.

    Their eqs. 6, 9 and 20 have the sign of :math:`\Gamma` wrong.

    Args:
        hamiltonian: H, the negative log of the stationary density, a function of z.
        diffusion: D, an operator or a function of z that returns one.
        curl: Q, likewise.
        z: The point.

    Returns:
        A pytree like z, in units of z over time.
    """
    given = Coefficients(as_operator_function(diffusion), as_operator_function(curl))
    return part_drift(given, WHOLE, z, jax.grad(hamiltonian)(z))


def part_drift(coefficients: Coefficients, row: Any, z: PyTree, gradient: PyTree) -> PyTree:
    """The drift of one part of z, from the gradient of H at z.

    Args:
        coefficients: D and Q.
        row: The name of the part; `WHOLE` for all of z.
        z: The point.
        gradient: The gradient of H at z.
    """

    def row_at(which: int, point: PyTree) -> dict[Any, Operator]:
        return cells(
            coefficients[which](point) if row is WHOLE else in_parts(coefficients, point)[which], row
        )

    out = jax.tree.map(jnp.zeros_like, part(z, row))
    for which, _ in enumerate(coefficients):
        for column, cell in row_at(which, z).items():

            def cell_at(child: PyTree, which: int = which, column: Any = column) -> Operator:
                return row_at(which, replaced(z, column, child))[column]

            pull = cell.matvec(part(gradient, column))
            out = add(out, sub(cell.divergence(cell_at, part(z, column)), pull))
    return out


def cells(operator: Operator, row: Any) -> dict[Any, Operator]:
    """The blocks of a row, by column; for `WHOLE` the operator itself."""
    if row is WHOLE:
        return {WHOLE: operator}
    return operator.blocks.get(row, {}) if isinstance(operator, Block) else {}


def in_parts(coefficients: Coefficients, z: PyTree) -> tuple[Block, Block]:
    """D and Q at z as blocks between the parts of z; only where `row_names` is not `WHOLE` alone."""
    return _as_block(coefficients.diffusion(z), z), _as_block(coefficients.curl(z), z)


def row_names(coefficients: Coefficients, z: PyTree, strict: bool) -> tuple[Any, ...]:
    """The names of the parts between which D and Q are blocks; `WHOLE` alone where they are not.

    Raises:
        ValueError: When ``strict``: one is a `Block` and the other cannot be split into blocks.
    """
    operators = [jax.eval_shape(fn, z) for fn in coefficients]
    if not any(isinstance(m, Block) and m.blocks for m in operators):
        return (WHOLE,)
    for name, operator in zip("DQ", operators, strict=True):
        if not isinstance(operator, Block | Scalar | Diagonal):
            if strict:
                raise ValueError(
                    f"{name} is {type(operator).__name__} over all of z while the other is of blocks: give"
                    " both as blocks, or discretisation='euler'"
                )
            return (WHOLE,)
    return tuple(parts(z))


def _as_block(operator: Operator, z: PyTree) -> Block:
    if isinstance(operator, Scalar):
        return Block({row: {row: operator} for row in parts(z)})
    if isinstance(operator, Diagonal):
        entries = parts(operator.entries).items()
        return Block({row: {row: Diagonal(e, operator.elementwise)} for row, e in entries})
    assert isinstance(operator, Block)
    return operator
