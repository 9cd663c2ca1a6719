"""Whether the steps of a pilot make energy: where the log density is steep at a wall, too long ones do.

A step that is too long there ends at once: what it gains carries the pilot so far away that all looks calm
where it ends, as on the positive numbers with log p = 3 log x, whose gradient is 3 / x.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from geodrift import _tree
from geodrift._types import Position, Tangent
from geodrift.integrators import Phase
from geodrift.manifolds import Manifold, Torus, leaf_manifolds

_HEAT, _HEAT_A_DIMENSION = 20.0, 4.0  # that friction and noise may add to the least energy so far
_ERROR = 0.5  # of the energies seen so far: the integrator's error moves to and fro with them


class Energy(NamedTuple):
    """Of a pilot's steps so far.

    Attributes:
        potential: -log p less that of the start, by the trapezoidal rule.
        least: The least sum of kinetic and potential energy.
        seen: The largest kinetic energy, and how far the potential energy has fallen.
        made: Whether more was gained than heat can be.
    """

    potential: Float[Array, ""]
    least: Float[Array, ""]
    seen: Float[Array, "2"]
    made: Bool[Array, ""]

    @classmethod
    def of(cls, manifold: Manifold, start: Phase) -> "Energy":
        """At the start."""
        kinetic = _kinetic(manifold, start)
        none = jnp.zeros_like(kinetic)
        return cls(none, kinetic, jnp.stack([kinetic, none]), jnp.zeros((), bool))

    def after(
        self, manifold: Manifold, before: Phase, after: Phase, gradients: tuple[Tangent, Tangent]
    ) -> "Energy":
        """After one more step.

        Args:
            manifold: Where the steps are.
            before: The phase before the step.
            after: After it.
            gradients: Of log p, before and after.
        """
        moved = _displacement(manifold, before.position, after.position)
        along = jax.tree.map(lambda g, x: 0.5 * jnp.sum(g * x), _tree.add(*gradients), moved)
        work = jax.tree.reduce(jnp.add, along)
        potential, kinetic = self.potential - work, _kinetic(manifold, after)
        heat = _HEAT + _HEAT_A_DIMENSION * manifold.dim(_tree.shapes(after.position))
        gained = kinetic + potential - self.least
        return Energy(
            potential,
            jnp.minimum(self.least, kinetic + potential),
            jnp.maximum(self.seen, jnp.stack([kinetic, -potential])),
            self.made | ~(gained <= heat + _ERROR * jnp.sum(self.seen)),
        )


def _kinetic(manifold: Manifold, phase: Phase) -> Float[Array, ""]:
    return 0.5 * manifold.inner(phase.position, phase.velocity, phase.velocity)


def _displacement(manifold: Manifold, before: Position, after: Position) -> Position:
    """From one point to the other in ambient coordinates; angles go the short way round."""
    leaves, structure = jax.tree.flatten(_tree.sub(after, before))
    short = [
        jnp.remainder(leaf + jnp.pi, 2 * jnp.pi) - jnp.pi if isinstance(space, Torus) else leaf
        for space, leaf in zip(leaf_manifolds(manifold, before), leaves, strict=True)
    ]
    return jax.tree.unflatten(structure, short)
