"""From any start in R^n of many dimensions to where the posterior's mass is, or on to its mode.

Where `_climb` takes Newton steps, these are limited-memory quasi-Newton steps (L-BFGS), in coordinates of
which each has a scale of its own, made anew after some steps.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift._types import RandomKey
from geodrift.estimators._affine import Affine, Layout
from geodrift.estimators._low_rank import LowRank
from geodrift.tuning._climb import NotFiniteError, raise_unless_finite
from geodrift.tuning._curvature_factor import SIGNS, curvature_scales

CLIMBS, ROUNDS = 3, 40  # of quasi-Newton steps with new scales, and steps of each
WORTH = 0.5  # nats for each dimension and step: a draw of Hamiltonian Monte Carlo gains as much


class Reached(NamedTuple):
    """Where quasi-Newton steps ended, and what they cost.

    Attributes:
        position: Its numbers, [d].
        scales: Of each number there.
        log_density: There, up to a constant.
        passes: Gradients of the density; a product of its Hessian counts as two.
    """

    position: Float[np.ndarray, " d"]
    scales: Float[np.ndarray, " d"]
    log_density: float
    passes: int


def reach_all(
    key: RandomKey, density: Any, layout: Layout, starts: Float[np.ndarray, "start d"], worth: float = WORTH
) -> list[Reached]:
    """`reach` from each start at which the density is finite.

    Raises:
        ValueError: It is finite at none of them, or flat.
    """
    reached = []
    for start in starts:
        try:
            reached.append(reach(key, density, layout, start, worth))
        except NotFiniteError as error:
            reason = error
    if not reached:
        raise reason
    return reached


def reach(
    key: RandomKey, density: Any, layout: Layout, start: Float[np.ndarray, " d"], worth: float = WORTH
) -> Reached:
    """Quasi-Newton steps toward the mass, as long as they gain something.

    Args:
        key: Random key, of the signs.
        density: Its ``value`` is the log density of a position.
        layout: The position's.
        start: Its numbers.
        worth: Nats for each dimension that a step has to gain; as it is, as many as a draw would.

    Raises:
        NotFiniteError: The log density or its gradient is not finite at the start.
        ValueError: There is no curvature.
    """
    from scipy.optimize import minimize  # here, as it takes a while to load

    position, passes = start, 0
    for number in range(CLIMBS):
        key_here, unscaled = jax.random.fold_in(key, number), LowRank.of_scales(np.ones(layout.size))
        scales = curvature_scales(key_here, density, Affine.of(position, unscaled, layout))
        affine = Affine.of(position, LowRank.of_scales(scales), layout)
        objective = _Objective(density, affine)
        before = objective(np.zeros(layout.size))[0]
        enough = worth * layout.size
        found = minimize(
            objective,
            np.zeros(layout.size),
            jac=True,
            method="L-BFGS-B",
            callback=_stop_when_slow(before, enough),
            options={"maxiter": ROUNDS, "maxcor": 20},
        )
        passes += objective.passes + 2 * SIGNS
        position = position + scales * found.x
        if not before - found.fun > enough:
            break
    return Reached(position, scales, -float(found.fun), passes)


class _Objective:
    """Minus the log density of coordinates, for an optimiser in float64."""

    def __init__(self, density: Any, affine: Affine) -> None:
        self.density, self.affine, self.passes = density, affine, 0
        value, gradient = _value_and_gradient(density, affine, jnp.zeros_like(affine.centre))
        raise_unless_finite(float(value), np.asarray(gradient))

    def __call__(self, y: Float[np.ndarray, " d"]) -> tuple[float, Float[np.ndarray, " d"]]:
        """Its value and its gradient; without a density a value from which a search turns back."""
        self.passes += 1
        found = _value_and_gradient(self.density, self.affine, jnp.asarray(y, self.affine.centre.dtype))
        value, gradient = float(found[0]), np.asarray(found[1], np.float64)
        if not (math.isfinite(value) and np.isfinite(gradient).all()):
            return 1e30, np.zeros_like(gradient)
        return -value, -gradient


def _stop_when_slow(before: float, enough: float) -> Callable[[Any], None]:
    """Ends a minimisation whose last five steps gained less than ``enough`` each."""
    values = [before]

    def after_step(intermediate_result: Any) -> None:
        values.append(intermediate_result.fun)
        if len(values) > 5 and values[-6] - values[-1] < 5 * enough:
            raise StopIteration

    return after_step


@eqx.filter_jit
def _value_and_gradient(density: Any, affine: Affine, y: Float[Array, " d"]) -> tuple[Array, Array]:
    return jax.value_and_grad(lambda y: density.value(affine(y)))(y)
