"""Where the posterior of data has its mass on R^n, for runs that take minibatches of them.

A climb sees some rows, then more; the mode of these is some standard deviations from that of all. Steps with
the gradient of all data, in coordinates of the curvature of the part, lead on from there. Where the part's
density has no mode, windows of Hamiltonian Monte Carlo tell its scales instead.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift._types import Position, RandomKey
from geodrift.estimators import Full
from geodrift.estimators._affine import Affine, Layout
from geodrift.estimators._batch_rows import batch_length
from geodrift.estimators._likelihood import LikelihoodEstimator
from geodrift.tuning._climb import Climbed, climb
from geodrift.tuning._pilot_data import PilotData
from geodrift.tuning._scales import Scales, climbs, scales_from
from geodrift.tuning._whole_density import WholeDensity

FEW, FEW_OF_A_NUMBER = 512, 8  # rows that a climb sees first at least, and for each dimension
PART, OF_A_NUMBER = 2048, 16  # the same of its last steps, and of the curvature
MOST_STEPS, NEAR = 30, 0.01  # to a mode; the squared gradient there, for each dimension
LENGTHS = (1.0, 0.5, 0.25, 0.125)  # of a step that are tried
STARTS = 64  # for the run's chains


def scales_by_parts(
    key: RandomKey, estimator: LikelihoodEstimator, data: PilotData, starts: Position
) -> Scales:
    """From data whose gradients a run takes from minibatches.

    Args:
        key: Random key.
        estimator: The log prior and the log likelihood.
        data: All of it.
        starts: As for `scales_by_windows`.

    Raises:
        ValueError: The log density is finite at no start, or flat.
    """
    layout = Layout.of(jax.tree.map(lambda x: x[0], starts))
    whole = WholeDensity(estimator, jax.tree.map(jnp.asarray, data.data), 1.0)
    part = part_of(key, whole, data, max(PART, OF_A_NUMBER * layout.size))
    few = part_of(key, part, data, max(FEW, FEW_OF_A_NUMBER * layout.size))
    found = climbs(few, layout, starts)
    best, gradients = found.best, rows_of(few) * found.passes
    if part is not few and best.arrived:
        near = _Search(part, best, layout)
        best = climb(part, layout, near.position, factor=best.factor)
        found = found._replace(climbed=[best])
        gradients += near.gradients + rows_of(part) * best.passes
    elif part is not few:
        # Rows that are too few may have no mode where more have one.
        found = climbs(part, layout, starts)
        best, gradients = found.best, gradients + rows_of(part) * found.passes
    if best.pole is not None:
        # No mode to go on to, and one curvature tells little of a mass that is that of no normal law.
        scales = scales_from(key, Full(part.value), layout, found._replace(best=best))
        return scales._replace(step_size=None, gradients=gradients + rows_of(part) * scales.passes)
    search = _Search(whole, best, layout)
    if search.position is not best.position:
        best = climb(part, layout, search.position, most=0, factor=best.factor)
        gradients += rows_of(part) * best.passes
    normals = np.asarray(jax.random.normal(key, (STARTS, layout.size)), np.float64)
    return Scales(
        Affine.of(best.position, best.factor, layout),
        best.position,
        best.factor,
        best.position + normals @ best.factor.T,
        gradients=gradients + search.gradients,
    )


class _Search:
    """Quasi-Newton steps (BFGS) to a mode, in coordinates in which the curvature is about 1."""

    def __init__(self, density: WholeDensity, start: Climbed, layout: Layout) -> None:
        self.density, self.factor, self.layout = density, start.factor, layout
        self.position, self.gradients = start.position, 0
        inverse = np.eye(layout.size)  # of the Hessian of -log p
        value, gradient = self._at(self.position)
        for _ in range(MOST_STEPS):
            if gradient @ inverse @ gradient <= NEAR * layout.size:
                break
            step = inverse @ gradient
            for length in LENGTHS:
                moved = self.position + length * self.factor @ step
                new_value, new_gradient = self._at(moved)
                if new_value > value and np.isfinite(new_gradient).all():
                    break
            else:
                break
            inverse = _updated(inverse, length * step, gradient - new_gradient)
            self.position, value, gradient = moved, new_value, new_gradient

    def _at(self, position: Float[np.ndarray, " d"]) -> tuple[float, Float[np.ndarray, " d"]]:
        """The log density, and its gradient in coordinates."""
        self.gradients += rows_of(self.density)
        value, gradient = _value_and_gradient(self.density, Affine.of(position, self.factor, self.layout))
        return float(value), np.asarray(gradient, np.float64)


def _updated(
    inverse: Float[np.ndarray, "d d"], step: Float[np.ndarray, " d"], change: Float[np.ndarray, " d"]
) -> Float[np.ndarray, "d d"]:
    """The inverse Hessian after a step that changed the gradient; Nocedal & Wright (2006), eq. 6.17."""
    along = step @ change
    if along <= 0:
        return inverse  # not concave along the step
    product = inverse @ change
    scale = (1 + change @ product / along) / along
    return (
        inverse + scale * np.outer(step, step) - (np.outer(product, step) + np.outer(step, product)) / along
    )


def part_of(key: RandomKey, density: WholeDensity, data: PilotData, size: int) -> WholeDensity:
    """Random rows, if they are less than half of those of the density; else the density."""
    if rows_of(density) <= 2 * size:
        return density
    rows = jax.tree.map(lambda a: a[0], data.rows(key, 1, size))
    return WholeDensity(density.estimator, rows, data.size / size)


def rows_of(density: WholeDensity) -> int:
    """How many rows a density sees."""
    return batch_length(density.rows)


@eqx.filter_jit
def _value_and_gradient(density: WholeDensity, affine: Affine) -> tuple[Array, Array]:
    return jax.value_and_grad(lambda y: density.value(affine(y)))(jnp.zeros_like(affine.centre))
