"""Geodesic stochastic gradient Nosé-Hoover thermostats; Liu, Zhu & Song (2016), eq. 6, Algorithm 2."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from scipy.special import chdtrc

from geodrift._tree import as_float_arrays, shapes
from geodrift._types import Batch, Count, Position, RandomKey, Shared, Tangent
from geodrift._whole import as_whole
from geodrift.estimators import Estimator
from geodrift.integrators import Phase
from geodrift.manifolds import Euclidean, Manifold, leaf_manifolds
from geodrift.samplers._base import StepInfo
from geodrift.samplers._kinetic import KineticSampler
from geodrift.schedules import Schedule, as_schedule

_THERMOSTATS = ("global", "leaf", "coordinate")

# Thermostats of chains at rest scatter more than this once in so many runs; and by less than this share of
# their mean they change no temperature by more.
_UNLIKELY, _LEAST_SHARE = 1e-5, 0.02


class GSGNHTState(NamedTuple):
    """State of `GSGNHT`."""

    position: Position
    velocity: Tangent
    thermostat: PyTree[Float[Array, "..."]]  # xi: a scalar, or a tree of scalars or arrays like the position
    estimator: Any  # the estimator's kept state
    count: Shared[Count]  # steps taken


class GSGNHT(KineticSampler):
    r"""Langevin dynamics on a manifold whose damping adapts to gradient noise of unknown, isotropic variance.

    .. math:: dx = v\,dt, \quad dv = \nabla \log p\,dt - \xi v\,dt + \sqrt{2C}\,dW, \quad
        d\xi = (|v|^2 / m - 1)\,dt

    Liu, Zhu & Song (2016), eq. 6 and Algorithm 2, with m the manifold's dimension. :math:`\xi` settles at
    C + h V / 2, for gradient noise of variance V, and fluctuates by :math:`1/\sqrt m`. Its relaxation time
    is the larger of C and 1/C, up to a factor of order 1: discard several of them. Noise that is not
    isotropic is not corrected, and a kinetic temperature of 1 does not show that it was.

    Args:
        estimator: Gradient of the log density of all the data. The noise variance that it states is
            subtracted from the injected noise; the thermostat corrects for the rest.
        manifold: Where the positions are.
        step_size: h (the paper's epsilon), the time of an inner step in the equation above; in the
            position's unit, as velocities have variance 1. A number or a `Schedule` of the count.
        friction: C, 1/time; a number. The thermostat :math:`\xi` starts at C.
        num_steps: L, inner steps in one draw.
        thermostat: ``"global"``: one for the whole position; ``"leaf"``: one for each leaf, each with its own
            dimension; ``"coordinate"``: one for each coordinate, where the manifold is Euclidean.
        composition: ``"BAOAB"``, ``"ABOBA"``, ``"OBABO"`` or ``"liu"``, the paper's own. The thermostat
            holds the temperature of the velocity in the drifts at 1. In BAOAB that temperature, in
            which the drift after O counts a little more than the one after the kick, is 1 when the positions
            have the right law, gradient noise or not; in ABOBA it is then above 1 by a term in h squared, so
            that the thermostat makes the positions too cold.
        reuse_batch: Use one batch for all L inner steps; the law is then biased, as for `SGGMC`.

    Raises:
        ValueError: An argument is outside its range.

    Invariant law: the target as h -> 0, if the noise that is not subtracted is isotropic.
    """

    estimator: Estimator
    manifold: Manifold
    step_size: Schedule = eqx.field(converter=as_schedule)
    friction: Float[Array, ""] = eqx.field(converter=as_float_arrays, default=1.0)
    num_steps: int = eqx.field(static=True, default=1, converter=as_whole)
    thermostat: str = eqx.field(static=True, default="global")
    composition: str = eqx.field(static=True, default="BAOAB")
    reuse_batch: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        if self.thermostat not in _THERMOSTATS:
            raise ValueError(f"thermostat = {self.thermostat!r}: must be one of {', '.join(_THERMOSTATS)}")
        if self.friction.ndim:
            raise ValueError(
                f"friction has shape {self.friction.shape}: under a thermostat it must be a number"
            )

    def init(self, key: RandomKey, position: Position) -> GSGNHTState:
        """The state before the first step, with a velocity drawn at temperature 1 and the thermostat at C.

        Raises:
            ValueError: The position is not on the manifold, or has a leaf that is not flat under a thermostat
                for each coordinate.
        """
        position, velocity, estimator_state = self._start(key, position)
        thermostat = self.friction
        if self.thermostat == "leaf":
            thermostat = jax.tree.map(lambda x: self.friction.astype(x.dtype), position)
        elif self.thermostat == "coordinate":
            if not all(isinstance(m, Euclidean) for m in leaf_manifolds(self.manifold, position)):
                raise ValueError(
                    "thermostat = 'coordinate': the coordinates of a curved manifold are not independent;"
                    " give 'global' or 'leaf'"
                )
            thermostat = jax.tree.map(lambda x: jnp.full_like(x, self.friction), position)
        return GSGNHTState(position, velocity, thermostat, estimator_state, jnp.zeros((), jnp.int32))

    def step(self, key: RandomKey, state: GSGNHTState, batch: Batch = None) -> tuple[GSGNHTState, StepInfo]:
        """L inner steps of the composition."""
        phase = Phase(state.position, state.velocity, state.thermostat)
        phase, estimator_state, info = self._move(key, state.count, phase, state.estimator, batch)
        return GSGNHTState(*phase, estimator_state, state.count + 1), info

    def run_warnings(self, state: GSGNHTState) -> list[str]:
        """Whether the chains' thermostats ended further apart than those of chains at rest.

        These are independent, of variance 1/m around a mean that they share.
        """
        told = jax.tree.leaves(state.thermostat)
        dims = self._thermostat_dims(jax.tree.map(lambda x: x[0], state.position))
        if any(_are_apart(np.asarray(xi, np.float64), m) for xi, m in zip(told, dims, strict=True)):
            ends = np.concatenate([np.ravel(xi) for xi in told])
            forgotten = max(float(self.friction), 1 / float(self.friction))
            draw = float(self.step_size(state.count)) * self.num_steps
            return [
                f"the thermostats of the chains ended at {ends.min():.4g} to {ends.max():.4g}, further apart"
                " than at rest: some still give back the energy of a far start, and their chains are too"
                f" cold; they forget it in about {forgotten / draw:,.0f} draws: take a num_warmup of several"
                " times that, or start near the mode (find_mode, or step_size=None)"
            ]
        return []

    def _thermostat_dims(self, position: Position) -> list[int]:
        """The number of directions in which each leaf of the thermostat, or each of its numbers, holds 1."""
        if self.thermostat == "global":
            return [self.manifold.dim(shapes(position))]
        leaves = jax.tree.leaves(position)
        if self.thermostat == "coordinate":
            return [1] * len(leaves)
        return [m.dim(x.shape) for m, x in zip(leaf_manifolds(self.manifold, position), leaves, strict=True)]


def _are_apart(thermostat: Float[np.ndarray, "chain ..."], dim: int) -> bool:
    """Whether thermostats scatter between chains by more than their variance of 1 / dim."""
    chains = len(thermostat)
    if chains < 2 or not np.isfinite(thermostat).all():
        return False
    from_mean = thermostat - thermostat.mean(axis=0)
    unlikely = chdtrc((chains - 1) * thermostat[0].size, dim * np.sum(from_mean**2)) < _UNLIKELY
    return bool(unlikely and np.any(np.abs(from_mean) > _LEAST_SHARE * np.abs(thermostat.mean(axis=0))))
