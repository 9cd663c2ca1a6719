"""D, Q and the curvature of the auxiliary variables' energy at one point, as matrices."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, PyTree

from geodrift._types import Position, RandomKey
from geodrift.recipe._dynamics import Coefficients, row_names
from geodrift.recipe._parts import WHOLE, part
from geodrift.recipe._recipe import Recipe


class Frozen(NamedTuple):
    """A recipe at a point z of n numbers, leaf after leaf.

    Auxiliary variables are where their density is largest. Drawn ones turn over and over: what couples them
    to each other, such as momenta to a thermostat, would not be what it is on average.

    Attributes:
        diffusion: D, [n, n].
        curl: Q, [n, n].
        curvature: The Hessian of the auxiliary variables' energy, [n, n].
        rows: The numbers of the parts that a step moves one after the other; all at once if it is one.
        position: The numbers of the position.
    """

    diffusion: Float[np.ndarray, "n n"]
    curl: Float[np.ndarray, "n n"]
    curvature: Float[np.ndarray, "n n"]
    rows: list[Int[np.ndarray, " m"]]
    position: Int[np.ndarray, " d"]


def frozen(key: RandomKey, sampler: Recipe, position: Position) -> Frozen:
    """The recipe at a position, with auxiliary variables where their energy is least.

    Args:
        key: Random key.
        sampler: The recipe.
        position: The position.
    """
    drawn, unravel = ravel_pytree(sampler.point(key, position))
    numbers = jax.tree.map(np.asarray, unravel(jnp.arange(drawn.size).astype(drawn.dtype)))

    def numbers_of(tree: PyTree) -> Int[np.ndarray, " m"]:
        return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)]).astype(int)

    def energy(v: Float[Array, " n"]) -> Float[Array, ""]:
        return jnp.asarray(sampler.auxiliary_energy(unravel(v)), v.dtype)

    inside = numbers_of(numbers["position"] if sampler.augmentation else numbers)
    others = np.setdiff1d(np.arange(drawn.size), inside)
    flat, (slope, curvature) = np.array(drawn), _slope_and_curvature(energy, drawn)
    # One step of Newton's method, with which most energies, being squares, are at their least.
    flat[others] -= np.linalg.pinv(curvature[np.ix_(others, others)]) @ slope[others]
    z = unravel(jnp.asarray(flat))

    def matrix(apply: Callable[[PyTree], PyTree]) -> Float[np.ndarray, "n n"]:
        columns = jax.vmap(lambda v: ravel_pytree(apply(unravel(v)))[0])(
            jnp.eye(flat.size, dtype=drawn.dtype)
        )
        return np.asarray(columns, np.float64).T

    rows: tuple = (WHOLE,)
    if sampler.discretisation == "semi-implicit":
        rows = row_names(Coefficients(sampler.diffusion, sampler.curl), z, strict=True)
    return Frozen(
        matrix(sampler.diffusion(z).matvec),
        matrix(sampler.curl(z).matvec),
        _slope_and_curvature(energy, jnp.asarray(flat))[1],
        [numbers_of(part(numbers, row)) for row in rows],
        inside,
    )


def _slope_and_curvature(
    energy: Callable[[Array], Array], at: Float[Array, " n"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n n"]]:
    return np.asarray(jax.grad(energy)(at), np.float64), np.asarray(jax.hessian(energy)(at), np.float64)
