"""The record of what a pilot chose."""

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from geodrift._tree import as_float_arrays
from geodrift.estimators._leaf_scales import LeafScales
from geodrift.recipe import Recipe
from geodrift.samplers._in_coordinates import InCoordinates
from geodrift.schedules import Jittered, WarmUp
from geodrift.tuning._windows import JITTER


class Tuned(eqx.Module):
    """The step size and friction that a pilot chose, and why; ``str`` of it is one line."""

    sampler: str = eqx.field(static=True)
    """Name of the sampler's class."""
    step_size: float = eqx.field(static=True)
    """h, time."""
    start_step_size: float = eqx.field(static=True)
    """Step size at count 0; it changes geometrically to ``step_size``."""
    start_steps: int = eqx.field(static=True)
    """Steps of that change; 0 where both are equal."""
    friction: float | None = eqx.field(static=True)
    """C, 1/time; None for a first-order sampler."""
    relaxation: float = eqx.field(static=True)
    """Relaxation time, in inner steps, of the direction of the least curvature."""
    curvature: float = eqx.field(static=True)
    """Largest curvature of -log p."""
    noise_variance: float = eqx.field(static=True)
    """Variance of the minibatch gradient's noise, the mean over the tangent space."""
    reason: str = eqx.field(static=True)
    """What limited the step size."""
    num_steps: int | None = eqx.field(static=True, default=None)
    """L of a sampler with a Metropolis test; None: the sampler's own."""
    batch_size: int | None = eqx.field(static=True, default=None)
    """B, where it was to be chosen."""
    starts: Float[np.ndarray, "starts d"] | None = None
    """Positions within the mass, of a sampler with a Metropolis test or a thermostat, or of a recipe: chain c
    starts at number c, and after the last begins the first again. None: chains start where they are told
    to."""

    units: tuple[float, ...] | None = eqx.field(static=True, default=None)
    """Units of a product's leaves in which the step size is meant; None: each leaf's own."""

    def apply(self, sampler: Any) -> Any:
        """The sampler with these numbers."""
        step: Any = self.step_size
        if self.start_steps:
            step = WarmUp(*as_float_arrays((self.start_step_size, self.step_size, self.start_steps)))
        if self.num_steps is not None:
            step = Jittered(jnp.asarray(self.step_size), JITTER)
        if isinstance(sampler, Recipe):
            return sampler.with_step_size(step)
        chosen = {"friction": self.friction, "num_steps": self.num_steps}
        chosen = {name: value for name, value in chosen.items() if value is not None}
        if self.units is None:
            return dataclasses.replace(sampler, step_size=step, **chosen)
        scales = LeafScales(as_float_arrays(self.units))
        chosen["estimator"] = sampler.estimator.in_coordinates(scales)
        moving = dataclasses.replace(sampler, step_size=step, **chosen)
        return InCoordinates(moving, scales, sampler.manifold)

    def as_dict(self) -> dict[str, Any]:
        """The fields, for JSON; `from_dict` is the inverse."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        lists = {
            "starts": None if self.starts is None else self.starts.tolist(),
            "units": None if self.units is None else list(self.units),
        }
        return found | lists

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> "Tuned":
        """The record of these fields."""
        starts, units = told.get("starts"), told.get("units")
        arrays = {"starts": None if starts is None else np.array(starts)}
        return cls(**told | arrays | {"units": None if units is None else tuple(units)})

    def __str__(self) -> str:
        friction = "" if self.friction is None else f", friction {self.friction:.3g}"
        if self.num_steps is not None:
            friction = f", num_steps {self.num_steps}"
        if self.batch_size is not None:
            friction += f", batch_size {self.batch_size}"
        if self.units is not None:
            friction += f" in units of {', '.join(f'{unit:.3g}' for unit in self.units)} for the leaves"
        return (
            f"{self.sampler}: step_size {self.step_size:.3g}{friction}; {self.reason}; the widest direction"
            f" is forgotten in about {self.relaxation:.0f} inner steps"
        )
