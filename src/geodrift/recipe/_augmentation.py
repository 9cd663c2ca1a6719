"""Auxiliary variables that the recipe adds to a position: their energy and their conditional law."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from geodrift._tree import as_float_arrays, broadcast_prefix
from geodrift._types import Position, RandomKey, Scalar
from geodrift.recipe._parts import white
from geodrift.schedules import check_positive


class Augmentation(eqx.Module):
    """An auxiliary variable: a part of z beside the position.

    Given the position, its density is proportional to ``exp(-energy)``.
    """

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of the variable: its key in z."""

    @abc.abstractmethod
    def energy(self, z: dict[str, PyTree]) -> Scalar:
        """Its term of H; the integral of ``exp(-energy)`` over it must not depend on the position."""

    @abc.abstractmethod
    def draw(self, key: RandomKey, position: Position) -> PyTree:
        """A draw from its law given the position."""


class Momentum(Augmentation):
    """The variable ``"momentum"``, r: a pytree like the position, with the energy ``r^T M^-1 r / 2``.

    Args:
        mass: M: a number, or a prefix of the position's tree of arrays that broadcast to the leaf.

    Raises:
        ValueError: An entry of the mass is not positive.
    """

    mass: PyTree = eqx.field(converter=as_float_arrays, default=1.0)

    def __check_init__(self) -> None:
        for leaf in jax.tree.leaves(self.mass):
            check_positive("mass", leaf)

    @property
    def name(self) -> str:
        """``"momentum"``."""
        return "momentum"

    def energy(self, z: dict[str, PyTree]) -> Scalar:
        """The kinetic energy."""
        leaves = jax.tree.leaves(z["momentum"])
        masses = broadcast_prefix(self.mass, z["momentum"])
        energies = [jnp.sum(r * r / m) / 2 for r, m in zip(leaves, masses, strict=True)]
        return jnp.sum(jnp.stack(energies))

    def draw(self, key: RandomKey, position: Position) -> PyTree:
        """A draw from N(0, M)."""
        leaves, structure = jax.tree.flatten(white(key, position))
        masses = broadcast_prefix(self.mass, position)
        scaled = [(jnp.sqrt(m) * r).astype(r.dtype) for r, m in zip(leaves, masses, strict=True)]
        return jax.tree.unflatten(structure, scaled)


class Thermostat(Augmentation):
    r"""The variable ``"thermostat"``, :math:`\xi`: a number, with the energy :math:`(d/2) (\xi - A)^2`.

    d is the number of coordinates of the position. Ma, Chen and Fox (2015) print :math:`1/(2d)` for
    :math:`d/2`, which does not belong to the dynamics of SGNHT unless d = 1.

    Args:
        friction: A, 1/time, the mean of the thermostat.
    """

    friction: Float[Array, ""] = eqx.field(converter=as_float_arrays, default=1.0)

    @property
    def name(self) -> str:
        """``"thermostat"``."""
        return "thermostat"

    def energy(self, z: dict[str, PyTree]) -> Scalar:
        r""":math:`(d/2) (\xi - A)^2`."""
        return size(z["position"]) / 2 * (z["thermostat"] - self.friction) ** 2

    def draw(self, key: RandomKey, position: Position) -> Float[Array, ""]:
        """A draw from N(A, 1/d)."""
        dtype = jnp.result_type(*jax.tree.leaves(position))
        noise = jax.random.normal(key, (), dtype) / size(position) ** 0.5
        return (self.friction + noise).astype(dtype)


def size(tree: PyTree) -> int:
    """The number of entries of all leaves."""
    return sum(leaf.size for leaf in jax.tree.leaves(tree))
