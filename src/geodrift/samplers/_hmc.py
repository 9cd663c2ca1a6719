r"""Hamiltonian Monte Carlo on R^n; Duane et al. (1987).

In the recipe of Ma, Chen & Fox (2015), with :math:`z = (\theta, r)`: :math:`H = -\log p + r' M^{-1} r / 2`,
D = 0, :math:`Q = ((0, -I), (I, 0))`. The Metropolis test makes it exact.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from geodrift import _tree
from geodrift._errors import is_concrete
from geodrift._types import Batch, Position, RandomKey, Scalar, Tangent
from geodrift.manifolds import Euclidean, Product
from geodrift.samplers._base import StepInfo
from geodrift.samplers._gmc import GMC, GMCState
from geodrift.samplers._langevin import check_flat
from geodrift.schedules import check_positive


class HMC(GMC):
    """Leapfrog trajectories on R^n with a Metropolis test: `GMC` on flat space, with a mass.

    ``dx = M^-1 r dt, dr = grad log p dt``, with r drawn from N(0, M) at each step; Duane et al. (1987).

    Args:
        estimator: `Full`, because the Metropolis test needs the log density itself.
        manifold: Euclidean.
        step_size: h, the time of one leapfrog step in the equation above; in the position's unit with a mass
            of 1. A number or a `Schedule` of the count.
        num_steps: L, leapfrog steps of one trajectory.
        mass: M, a diagonal: a positive number, or a prefix of the position's tree whose leaves broadcast to
            the position's. With the inverse of the target's variances all coordinates have the same time
            scale. Its unit is that of time squared over the position squared.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: the target, exactly, at any step size.
    """

    mass: PyTree = eqx.field(converter=_tree.as_float_arrays, default=1.0)

    def __check_init__(self) -> None:
        check_flat("HMC", self.manifold)
        for leaf in jax.tree.leaves(self.mass):
            _check_diagonal(leaf)
            check_positive("mass", leaf)

    def init(self, key: RandomKey, position: Position) -> GMCState:
        """The state, with the log density and its gradient at the position.

        Raises:
            ValueError: The mass does not fit the position.
        """
        _tree.check_broadcasts("mass", self.mass, position)
        return super().init(key, position)

    def step(self, key: RandomKey, state: GMCState, batch: Batch = None) -> tuple[GMCState, StepInfo]:
        """One trajectory and its Metropolis test; ``batch`` is ignored."""
        with_mass = GMC(self.estimator, _FlatWithMass(Euclidean(), self.mass), self.step_size, self.num_steps)
        return with_mass.step(key, state, batch)


def _check_diagonal(mass: Array) -> None:
    if is_concrete(mass) and mass.ndim == 2 and mass.shape[0] == mass.shape[1] > 1 and (mass == 0).any():
        told = f"mass has shape {mass.shape} and zeros: give the diagonal alone, [n]"
        raise ValueError(f"{told}; for a full matrix take RMHMC with a ConstantDense metric")


class _FlatWithMass(Product):
    """R^n with the inner product ``u' M v`` of velocities, M diagonal."""

    mass: PyTree

    def inner(self, x: Position, u: Tangent, v: Tangent) -> Scalar:
        return super().inner(x, self._scale(jnp.multiply, x, u), v)

    def riemannian_gradient(self, x: Position, g: Tangent) -> Tangent:
        return self._scale(lambda m, gi: gi / m, x, g)

    def random_tangent(self, key: RandomKey, x: Position) -> Tangent:
        return self._scale(lambda m, z: z / jnp.sqrt(m), x, super().random_tangent(key, x))

    def _scale(self, scale: Callable[[Array, Array], Array], x: Position, u: Tangent) -> Tangent:
        leaves, structure = jax.tree.flatten(u)
        rows = zip(_tree.broadcast_prefix(self.mass, x), leaves, strict=True)
        return jax.tree.unflatten(structure, [scale(m.astype(leaf.dtype), leaf) for m, leaf in rows])
