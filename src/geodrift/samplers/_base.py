"""The protocol of a sampler, and the information that every step returns."""

import abc
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from geodrift import _tree
from geodrift._errors import Result, is_concrete
from geodrift._types import Batch, Position, RandomKey, Tangent
from geodrift.manifolds import Manifold
from geodrift.schedules import as_schedule


class StepInfo(NamedTuple):
    """What a step reports, the same for every sampler."""

    result: Int[Array, ""]  # a `Result` code
    residual: Float[Array, ""]  # the manifold's residual of the new position
    kinetic_temperature: Float[Array, ""]  # v.v over the manifold's dimension, at the end of the step
    gradient_norm: Float[Array, ""]  # of the last gradient, tangent part
    acceptance: Float[Array, ""]  # probability of the Metropolis test; NaN where there is none


class Sampler(eqx.Module):
    """A Markov kernel that leaves a law on a manifold invariant, exactly or as the step size goes to 0.

    The state is a `NamedTuple` with the fields ``position`` and ``count``, the number of steps taken. Fields
    that all chains share, ``count`` among them, are annotated `Shared`.
    """

    runs_on_host: ClassVar[bool] = False
    """Whether ``step`` is Python that cannot be compiled; `geodrift.sample` then refuses the sampler."""

    @abc.abstractmethod
    def init(self, key: RandomKey, position: Position) -> Any:
        """The state at a position.

        Raises:
            ValueError: The position is not on the manifold.
        """

    @abc.abstractmethod
    def step(self, key: RandomKey, state: Any, batch: Batch = None) -> tuple[Any, StepInfo]:
        """One draw.

        Args:
            key: Random key of this step.
            state: From `init` or the last step.
            batch: Data with leading axis ``[batch]``, or ``[L, batch]`` where each of L inner steps takes
                its own, as `batch_axes` says; None when the estimator needs none.
        """

    def check_start(self, positions: Position) -> None:
        """What the driver asks of the chains' starting positions, before anything is compiled.

        Args:
            positions: Leaves with a leading axis ``[chain]``.

        Raises:
            ValueError: One is not where the sampler can start.
        """
        check_position(self.manifold, positions, batched=True)  # type: ignore[attr-defined]

    # By identity, so that a bound step can be given to `jax.jit`, which hashes what it compiles; arrays have
    # no hash.
    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    @property
    def batch_axes(self) -> tuple[int, ...]:
        """The axes in front of ``[batch]`` that `step` expects."""
        return ()

    def retarget(self, state: Any) -> Any:
        """The state after the target changed under its position: what it keeps of the target, anew."""
        return state

    def collects(self, count: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        """Whether a draw may be stored after step number ``count``: as the step size's schedule says."""
        return as_schedule(getattr(self, "step_size", 1.0)).collects(count)

    def on_all_data(self) -> "Sampler":
        """The same sampler for batches that are all of the data."""
        return self


def check_position(manifold: Manifold, position: Position, batched: bool = False) -> Position:
    """The position as arrays, or positions with a leading axis when ``batched``.

    Raises:
        ValueError: It is concrete and not on the manifold.
    """
    position = jax.tree.map(lambda x: jnp.asarray(x, jnp.result_type(x, float)), position)
    residual = jnp.max(jax.vmap(manifold.residual)(position)) if batched else manifold.residual(position)
    if is_concrete(residual) and not residual <= _tolerance(position):
        raise ValueError(f"position is off the manifold by {residual:.3g}: give manifold.project(position)")
    return position


def result_code(
    manifold: Manifold, position: Position, numbers: Float[Array, ""], negative: Bool[Array, ""]
) -> tuple[Int[Array, ""], Float[Array, ""]]:
    """The `Result` of a step and the residual; ``numbers`` is any value that is finite when all went well."""
    residual = manifold.residual(position)
    code = jnp.where(negative, Result.NEGATIVE_NOISE_VARIANCE, Result.OK)
    code = jnp.where(residual > _tolerance(position), Result.LEFT_MANIFOLD, code)
    code = jnp.where(jnp.isfinite(numbers + residual), code, Result.NON_FINITE)
    return code.astype(jnp.int32), residual


def kinetic_temperature(manifold: Manifold, position: Position, velocity: Tangent) -> Float[Array, ""]:
    """``v.v`` over the manifold's dimension."""
    return manifold.inner(position, velocity, velocity) / manifold.dim(_tree.shapes(position))


def _tolerance(position: Position) -> float:
    return 10 * max(float(jnp.finfo(x.dtype).eps) for x in jax.tree.leaves(position)) ** 0.5
