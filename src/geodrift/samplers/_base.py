"""The protocol of a sampler, and the information that every step returns."""

import abc
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from geodrift._errors import Result, is_concrete
from geodrift._types import Batch, Position, RandomKey
from geodrift.manifolds import Embedded, Manifold, Product, leaf_manifolds
from geodrift.schedules import as_schedule


class StepInfo(NamedTuple):
    """Diagnostics of one step, the same for every sampler."""

    result: Int[Array, ""]  # a `Result` code
    residual: Float[Array, ""]  # `Manifold.residual` of the new position; 0 on the manifold
    kinetic_temperature: Float[Array, ""]  # v.v over the manifold's dimension, as the positions have it
    gradient_norm: Float[Array, ""]  # norm of the last gradient's tangent part
    acceptance: Float[Array, ""]  # probability of the Metropolis test; NaN where there is none


class Sampler(eqx.Module):
    """A Markov kernel that leaves a law on a manifold invariant, exactly or as the step size goes to 0.

    Every sampler has a ``manifold``, as a field or as a property. The state is a `NamedTuple` with the fields
    ``position`` and ``count``, the number of steps taken. Fields that all chains share, ``count`` among them,
    are annotated `Shared`.
    """

    runs_on_host: ClassVar[bool] = False
    """Whether ``step`` is Python that cannot be compiled; `geodrift.sample` then refuses the sampler."""

    accepts_steps: ClassVar[bool] = True
    """Whether ``StepInfo.acceptance`` is that of a step, which a smaller ``step_size`` raises."""

    if TYPE_CHECKING:
        # For the type checker alone: a real property would be taken for the default of a subclass's field.
        @property
        def manifold(self) -> Manifold: ...

    @abc.abstractmethod
    def init(self, key: RandomKey, position: Position) -> Any:
        """The state before the first step.

        Args:
            key: Random key.
            position: A point of the manifold.

        Raises:
            ValueError: The position is not on the manifold.
        """

    @abc.abstractmethod
    def step(self, key: RandomKey, state: Any, batch: Batch = None) -> tuple[Any, StepInfo]:
        """One step of the Markov chain.

        Args:
            key: Random key of this step.
            state: From `init` or the previous step.
            batch: Data with leading axis ``[batch]``, or ``[L, batch]`` where each of L inner steps has its
                own minibatch: the axes in front of ``[batch]`` are `batch_axes`. None when the estimator
                needs no data.

        Returns:
            The new state, and the step's `StepInfo`.
        """

    def check_start(self, positions: Position) -> None:
        """Check the chains' starting positions; the driver calls it before it compiles anything.

        Args:
            positions: Leaves with a leading axis ``[chain]``.

        Raises:
            ValueError: The sampler cannot start at one of them.
        """
        check_position(self.manifold, positions, batched=True)

    # Hash and equality by identity: `jax.jit` hashes a bound method that it compiles; arrays have no hash.
    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    @property
    def batch_axes(self) -> tuple[int, ...]:
        """The sizes of the axes that `step` expects in front of ``[batch]``."""
        return ()

    def retarget(self, state: Any) -> Any:
        """The state for a changed target: recomputes the log density and gradient that the state stores."""
        return state

    def collects(self, count: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        """Whether the draw after step number ``count`` may be stored: what the step size's schedule says."""
        return as_schedule(getattr(self, "step_size", 1.0)).collects(count)

    def on_all_data(self) -> "Sampler":
        """The same sampler for batches that are the whole data set, whose gradients have no noise."""
        return self

    def run_warnings(self, state: Any) -> list[str]:
        """What this sampler alone knows to speak against a run, and what to do; mostly nothing.

        Args:
            state: After the run, with a leading axis ``[chain]`` but for what chains share.
        """
        del state
        return []


def check_position(manifold: Manifold, position: Position, batched: bool = False) -> Position:
    """The position with floating-point arrays as leaves.

    Args:
        manifold: Where it must be.
        position: A point, or points with a leading axis when ``batched``.
        batched: Whether there is a leading axis.

    Raises:
        ValueError: The position is concrete and not on the manifold, or a pytree where the manifold is that
            of one array.
    """
    if not isinstance(manifold, Product) and not jax.tree_util.all_leaves([position]):
        raise ValueError(
            f"position is a {type(position).__name__}: {type(manifold).__name__} is the space of one array;"
            " give geodrift.manifolds.Product with a manifold for each leaf"
        )
    position = jax.tree.map(lambda x: jnp.asarray(x, jnp.result_type(x, float)), position)
    for space, leaf in zip(leaf_manifolds(manifold, position), jax.tree.leaves(position), strict=True):
        if isinstance(space, Embedded):
            space.check_shape(leaf[0] if batched else leaf)
    residual = jnp.max(jax.vmap(manifold.residual)(position)) if batched else manifold.residual(position)
    if is_concrete(residual) and any(jnp.isnan(x).any() for x in jax.tree.leaves(position)):
        raise ValueError("position has entries that are NaN: give numbers, a point of the manifold")
    if is_concrete(residual) and not residual <= _tolerance(position):
        raise ValueError(f"position is off the manifold by {residual:.3g}: give manifold.project(position)")
    return position


def result_code(
    manifold: Manifold, position: Position, numbers: Float[Array, ""], negative: Bool[Array, ""]
) -> tuple[Int[Array, ""], Float[Array, ""]]:
    """The `Result` code of a step, and the residual of its position.

    Args:
        manifold: Where the position should be.
        position: After the step.
        numbers: A number that is finite only if all quantities of the step are, such as their sum.
        negative: Whether a noise variance was negative.
    """
    residual = manifold.residual(position)
    code = jnp.where(negative, Result.NEGATIVE_NOISE_VARIANCE, Result.OK)
    code = jnp.where(residual > _tolerance(position), Result.LEFT_MANIFOLD, code)
    code = jnp.where(jnp.isfinite(numbers + residual), code, Result.NON_FINITE)
    return code.astype(jnp.int32), residual


def _tolerance(position: Position) -> float:
    """The residual up to which a position counts as on the manifold, in its least precise dtype."""
    return 10 * max(float(jnp.finfo(x.dtype).eps) for x in jax.tree.leaves(position)) ** 0.5
