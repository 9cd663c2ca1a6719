"""A sampler that moves in affine coordinates, and stores positions."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from geodrift._types import Batch, Count, Position, RandomKey, Shared
from geodrift.estimators._affine import Affine
from geodrift.estimators._leaf_scales import LeafScales
from geodrift.manifolds import Euclidean, Manifold
from geodrift.samplers._base import Sampler, StepInfo, check_position


class InCoordinatesState(NamedTuple):
    """State of `InCoordinates`."""

    position: Position
    moving: Any  # the moving sampler's state, whose position is the coordinates
    count: Shared[Count]  # steps taken


class InCoordinates(Sampler):
    """Moves another sampler in coordinates y of positions ``centre + factor y``, or in other units of leaves.

    The law of the positions is the target's: the Jacobian of such a map is constant. What a step reports,
    such as its gradient's norm, is that of the coordinates.

    Args:
        moving: The sampler in coordinates; its estimator has this map.
        affine: The map.
        manifold: Of the positions; R^n or products of it, but for units of leaves.
    """

    moving: Any
    affine: Affine | LeafScales
    manifold: Manifold

    @property
    def step_size(self) -> Any:
        """Of the moving sampler."""
        return self.moving.step_size

    @property
    def estimator(self) -> Any:
        """Of the moving sampler."""
        return self.moving.estimator

    @property
    def batch_axes(self) -> tuple[int, ...]:
        """Of the moving sampler."""
        return self.moving.batch_axes

    def init(self, key: RandomKey, position: Position) -> InCoordinatesState:
        """The state at a position."""
        position = check_position(self.manifold, position)
        moving = self.moving.init(key, self.affine.coordinates(position))
        return InCoordinatesState(position, moving, jnp.zeros((), jnp.int32))

    def step(
        self, key: RandomKey, state: InCoordinatesState, batch: Batch = None
    ) -> tuple[InCoordinatesState, StepInfo]:
        """One step of the moving sampler."""
        moving, info = self.moving.step(key, state.moving, batch)
        return InCoordinatesState(self.affine(moving.position), moving, state.count + 1), info

    def retarget(self, state: InCoordinatesState) -> InCoordinatesState:
        """The state for a changed target."""
        return state._replace(moving=self.moving.retarget(state.moving))

    def collects(self, count: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        """What the moving sampler says."""
        return self.moving.collects(count)

    def on_all_data(self) -> "InCoordinates":
        """The same for batches that are the whole data set."""
        return eqx.tree_at(lambda s: s.moving, self, self.moving.on_all_data())

    def run_warnings(self, state: InCoordinatesState) -> list[str]:
        """What the moving sampler says."""
        return self.moving.run_warnings(state.moving)


def moving_state(state: Any) -> Any:
    """The state whose position the sampler's estimator takes: of `InCoordinates` that in coordinates."""
    return state.moving if isinstance(state, InCoordinatesState) else state


def whitened(
    sampler: Any, affine: Affine, noise_variance: Float[Array, " d"] | None, **changes: Any
) -> InCoordinates:
    """The sampler in affine coordinates.

    Args:
        sampler: Of R^n or products of it, with an estimator.
        affine: The map.
        noise_variance: V of each coordinate; None: what the estimator says.
        changes: Other fields of the sampler, such as its step size.
    """
    estimator, flat = sampler.estimator.in_coordinates(affine), Euclidean(affine.layout.size)
    if noise_variance is not None:
        estimator = estimator._replace(variance=noise_variance)
    moving = dataclasses.replace(sampler, estimator=estimator, manifold=flat, **changes)
    return InCoordinates(moving, affine, sampler.manifold)
