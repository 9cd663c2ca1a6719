"""What a warm-up finds of a posterior on R^n, and the sampler that moves accordingly."""

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from geodrift.estimators._affine import Affine, Layout
from geodrift.estimators._low_rank import LowRank
from geodrift.samplers._in_coordinates import InCoordinates, whitened
from geodrift.schedules import Jittered

MOST_WIDEST = {"float32": 5e3, "float64": 1e7}  # beyond it rounding may be seen in the narrowest direction


class Adapted(eqx.Module):
    """What a warm-up found; ``str`` of it is one line."""

    sampler: str = eqx.field(static=True)
    """Name of the sampler's class."""
    step_size: float = eqx.field(static=True)
    """h in the coordinates, in which all directions have scale 1."""
    jitter: float = eqx.field(static=True)
    """Steps are spread over ``step_size (1 - jitter)`` to ``step_size (1 + jitter)``."""
    friction: float | None = eqx.field(static=True)
    """C, 1/time; None for a sampler that has none."""
    num_steps: int = eqx.field(static=True)
    """L."""
    warm_up: int = eqx.field(static=True)
    """Steps of warm-up that the run takes at least."""
    reason: str = eqx.field(static=True)
    """What was measured."""
    widest: float = eqx.field(static=True)
    """The largest standard deviation over the smallest, of any directions."""
    centre: Float[np.ndarray, " d"]
    """Of the coordinates."""
    factor: Float[np.ndarray, "d d"] | LowRank
    """Positions are ``centre + factor y``."""
    starts: Float[np.ndarray, "starts d"]
    """Positions within the mass: chain c starts at number c, and after the last begins the first again."""
    noise_variance: Float[np.ndarray, " d"] | None
    """V of the coordinates, mean over the posterior, in the place of estimates; None: the estimator's own."""

    layout: Layout = eqx.field(static=True)
    """Of a position."""
    batch_size: int | None = eqx.field(static=True, default=None)
    """B, where it was to be chosen."""
    gradients: int | None = eqx.field(static=True, default=None)
    """Of single data that the warm-up took before the run's chains; a product of a Hessian counts as two."""

    pole: str | None = eqx.field(static=True, default=None)
    """Where the density grows without bound, of one that has no mode; None: there is a mode."""

    def apply(self, sampler: Any) -> InCoordinates:
        """The sampler in these coordinates."""
        step_size = Jittered(jnp.asarray(self.step_size), self.jitter) if self.jitter else self.step_size
        friction = {} if self.friction is None else {"friction": self.friction}
        dtype = self.layout.dtypes[0]
        variance = None if self.noise_variance is None else jnp.asarray(self.noise_variance, dtype)
        steps = {"step_size": step_size, "num_steps": self.num_steps}
        return whitened(
            sampler, Affine.of(self.centre, self.factor, self.layout), variance, **steps, **friction
        )

    @property
    def warnings(self) -> list[str]:
        """What speaks against the numbers, and what to do; empty where nothing does."""
        dtype, found = self.layout.dtypes[0], []
        if self.pole is not None:
            found.append(
                f"the log density has no mode: it grows without bound toward {self.pole}, where the posterior"
                " is ever narrower, as that of a hierarchical model is where a scale goes to 0; the narrow"
                " part may be missing from the draws: write the model non-centred (x = mean + scale * z with"
                " a standard normal z)"
            )
        if self.widest <= MOST_WIDEST[dtype]:
            return found
        wider = "jax.config.update('jax_enable_x64', True)" if dtype == "float32" else "other units"
        return [
            *found,
            f"the widest direction is {self.widest:.2g} times the narrowest, and {dtype} is trusted up to"
            f" {MOST_WIDEST[dtype]:.0e}: use {wider}, or another parametrisation",
        ]

    def as_dict(self) -> dict[str, Any]:
        """The fields but the layout, for JSON; `from_dict` is the inverse."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del found["layout"]
        if isinstance(self.factor, LowRank):
            found["factor"] = {name: part.tolist() for name, part in vars(self.factor).items()}
        return {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in found.items()}

    @classmethod
    def from_dict(cls, told: dict[str, Any], layout: Layout) -> "Adapted":
        """The record of these fields."""
        arrays: dict[str, Any] = {name: np.array(v) if isinstance(v, list) else v for name, v in told.items()}
        if isinstance(told["factor"], dict):
            scales, directions, widths = (
                np.array(told["factor"][n]) for n in ("scales", "directions", "widths")
            )
            arrays["factor"] = LowRank(scales, directions.reshape(len(scales), -1), widths)
        return cls(**arrays, layout=layout)

    def __str__(self) -> str:
        friction = "" if self.friction is None else f", friction {self.friction:.3g}"
        batch = "" if self.batch_size is None else f", batch_size {self.batch_size}"
        return (
            f"{self.sampler}: step_size {self.step_size:.3g}{friction}{batch}, num_steps {self.num_steps} in"
            f" coordinates that make all scales 1 (the widest direction is {self.widest:.3g} times the"
            f" narrowest); {self.reason}"
        )
