r"""Divergences :math:`\sum_j \partial_j M_{ij}(z)` by directional derivatives, without storing a Jacobian.

Each function takes the operator's entries as a function ``fn`` of x, the part of the point that the operator
acts on, and the value of x.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Literal
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

# Directional derivatives taken at once; each needs the memory of a value of ``fn``.
_CHUNK = 16


def depends(fn: Callable[[PyTree], PyTree], x: PyTree) -> bool:
    """Whether an output of ``fn`` is computed from ``x``; if not, its derivative is 0."""
    jaxpr = jax.make_jaxpr(fn)(x).jaxpr
    reached = set(jaxpr.invars)

    def is_reached(atom: Any) -> bool:
        return not isinstance(atom, Literal) and atom in reached

    for equation in jaxpr.eqns:
        if any(is_reached(atom) for atom in equation.invars):
            reached.update(equation.outvars)
    return any(is_reached(atom) for atom in jaxpr.outvars)


def diagonal_derivative(fn: Callable[[PyTree], PyTree], x: PyTree, elementwise: bool) -> PyTree:
    r"""The diagonal :math:`\partial f_i / \partial x_i` of a Jacobian.

    Args:
        fn: From x to a tree like x.
        x: The point.
        elementwise: Whether entry i of ``fn`` is a function of :math:`x_i` alone: the cost is then one
            directional derivative, else one for each entry of x.
    """
    if not depends(fn, x):
        return jax.tree.map(jnp.zeros_like, x)
    if elementwise:
        return jax.jvp(fn, (x,), (jax.tree.map(jnp.ones_like, x),))[1]
    unflatten = ravel_pytree(fn(x))[1]
    return unflatten(_along_axes(fn, x, lambda change, i: ravel_pytree(change)[0][i]))


def matrix_divergence(fn: Callable[[PyTree], Float[Array, "n m"]], x: PyTree) -> Float[Array, " n"]:
    r""":math:`\sum_j \partial_j M_{ij}` of a matrix whose columns are the entries of x."""
    if not depends(fn, x):
        return jnp.zeros_like(ravel_pytree(x)[0])
    return jnp.sum(_along_axes(fn, x, lambda change, i: change[:, i]), axis=0)


def outer_divergence(fn: Callable[[PyTree], tuple[PyTree, PyTree]], x: PyTree, elementwise: bool) -> PyTree:
    r"""Divergence of :math:`\sum_k a_k b_k^T`: :math:`\sum_k (b_k \cdot \nabla) a_k + a_k \nabla \cdot b_k`.

    Args:
        fn: From x to the vectors a, leaves ``[*row, k]``, and b, leaves ``[*leaf of x, k]``.
        x: The point.
        elementwise: Whether each entry of b is a function of the same entry of x alone.
    """
    left, right = fn(x)
    total = jax.tree.map(lambda a: jnp.zeros(a.shape[:-1], a.dtype), left)
    if depends(lambda x: fn(x)[1], x):
        traces = _traces(lambda x: fn(x)[1], x, elementwise)
        total = jax.tree.map(lambda a: a @ traces.astype(a.dtype), left)
    if depends(lambda x: fn(x)[0], x):

        def along(k: Array) -> PyTree:
            direction = jax.tree.map(lambda b, xi: b[..., k].astype(xi.dtype), right, x)
            change = jax.jvp(lambda x: fn(x)[0], (x,), (direction,))[1]
            return jax.tree.map(lambda a: a[..., k], change)

        rank = jax.tree.leaves(right)[0].shape[-1]
        total = jax.tree.map(lambda t, m: t + jnp.sum(m, axis=0), total, _map(along, rank))
    return total


def _traces(fn: Callable[[PyTree], PyTree], x: PyTree, elementwise: bool) -> Float[Array, " k"]:
    r""":math:`\nabla \cdot b_k` of each vector of a tree with leaves ``[*leaf of x, k]``."""

    def rows(tree: PyTree) -> Float[Array, "n k"]:
        return jnp.concatenate([b.reshape(-1, b.shape[-1]) for b in jax.tree.leaves(tree)])

    if elementwise:
        change = jax.jvp(fn, (x,), (jax.tree.map(jnp.ones_like, x),))[1]
        return jnp.sum(rows(change), axis=0)
    return jnp.sum(_along_axes(fn, x, lambda change, i: rows(change)[i]), axis=0)


def _along_axes(
    fn: Callable[[PyTree], PyTree], x: PyTree, keep: Callable[[PyTree, Array], Array]
) -> Float[Array, "n ..."]:
    """``keep(derivative, i)`` of the derivative of ``fn`` along each coordinate axis i, stacked."""
    flat, unflatten = ravel_pytree(x)

    def along(i: Array) -> Array:
        direction = unflatten(jnp.zeros_like(flat).at[i].set(1))
        return keep(jax.jvp(fn, (x,), (direction,))[1], i)

    return _map(along, flat.size)


def _map(fn: Callable[[Array], PyTree], size: int) -> PyTree:
    """``fn`` of 0, ..., size - 1, stacked; a chunk at a time where there are many."""
    indices = jnp.arange(size)
    return jax.vmap(fn)(indices) if size <= _CHUNK else jax.lax.map(fn, indices, batch_size=_CHUNK)
