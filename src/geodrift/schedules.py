"""Step sizes as functions of the step count, never of the clock."""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from geodrift._errors import is_concrete
from geodrift._tree import as_float_arrays
from geodrift._whole import as_whole, is_whole

_GOLDEN = 0.6180339887498949  # the golden ratio less 1


class Schedule(eqx.Module):
    """A step size that may change with the number of steps taken."""

    @abc.abstractmethod
    def __call__(self, count: Int[Array, "..."] | int) -> Float[Array, "..."]:
        """Step size, in diffusion time, of step number ``count`` (from 0)."""

    def collects(self, count: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        """Whether a draw may be stored after step number ``count``; called by the driver, on the host.

        True for every step, unless the schedule says otherwise.
        """
        return np.ones(np.shape(count), bool)


class Constant(Schedule):
    """The same step size at every step.

    Args:
        value: The step size, a time; positive.

    Raises:
        ValueError: ``value`` is not positive.
    """

    value: Float[Array, ""] = eqx.field(converter=as_float_arrays)

    def __check_init__(self) -> None:
        check_positive("step_size", self.value)

    def __call__(self, count: Int[Array, "..."] | int) -> Float[Array, "..."]:
        """The value."""
        del count
        return self.value


class PolynomialDecay(Schedule):
    r"""Step size :math:`a (b + n)^{-c}` at count n.

    Welling & Teh (2011), after eq. 2, whose gamma is c.

    Args:
        a: Scale; positive. The first step size, a time, is :math:`a b^{-c}`.
        b: Offset, in steps; positive.
        c: Power; 0 or more. The bias of an average vanishes for c in (0, 1].

    Raises:
        ValueError: An argument is outside its range.
    """

    a: Float[Array, ""] = eqx.field(converter=as_float_arrays)
    b: Float[Array, ""] = eqx.field(converter=as_float_arrays, default=1.0)
    c: Float[Array, ""] = eqx.field(converter=as_float_arrays, default=1.0 / 3.0)

    def __check_init__(self) -> None:
        check_positive("a", self.a)
        check_positive("b", self.b)
        if is_concrete(self.c) and not jnp.all(self.c >= 0):
            raise ValueError(f"c = {self.c}: the power must be 0 or more")

    def __call__(self, count: Int[Array, "..."] | int) -> Float[Array, "..."]:
        """The step size at ``count``."""
        return self.a * (self.b + count) ** -self.c


class WarmUp(Schedule):
    """Geometric decay from ``start`` to ``end`` over ``num_steps`` steps, then ``end`` for ever.

    Args:
        start: Step size at count 0, a time.
        end: Step size from count ``num_steps`` on, a time.
        num_steps: Number of steps that the decay takes; positive.

    Raises:
        ValueError: An argument is not positive.
    """

    start: Float[Array, ""] = eqx.field(converter=as_float_arrays)
    end: Float[Array, ""] = eqx.field(converter=as_float_arrays)
    num_steps: Float[Array, ""] = eqx.field(converter=as_float_arrays)

    def __check_init__(self) -> None:
        for name in ("start", "end", "num_steps"):
            check_positive(name, getattr(self, name))

    def __call__(self, count: Int[Array, "..."] | int) -> Float[Array, "..."]:
        """The step size at ``count``."""
        remaining = 1.0 - jnp.minimum(count / self.num_steps, 1.0)
        return self.end * (self.start / self.end) ** remaining


class Jittered(Schedule):
    """Steps spread evenly over ``value (1 - share)`` to ``value (1 + share)``.

    They follow the golden ratio: any few of them in a row are spread over the range. Trajectories of
    Hamiltonian Monte Carlo then return to where they began at some steps alone, and not at every one (Neal
    2011, section 3.2); the law is exact, as a step size does not depend on the position.

    Args:
        value: The mean step size, a time; positive.
        share: At least 0, below 1.

    Raises:
        ValueError: An argument is outside its range.
    """

    value: Float[Array, ""] = eqx.field(converter=as_float_arrays)
    share: float = eqx.field(static=True)

    def __check_init__(self) -> None:
        check_positive("step_size", self.value)
        if not 0 <= self.share < 1:
            raise ValueError(f"share = {self.share}: must be at least 0 and below 1")

    def __call__(self, count: Int[Array, "..."] | int) -> Float[Array, "..."]:
        """The step size at ``count``."""
        # Of the count's last bits alone, which float32 holds.
        place = (jnp.asarray(count) % 4096 * _GOLDEN) % 1.0
        return (self.value * (1 + self.share * (2 * place - 1))).astype(self.value.dtype)


class Automatic(Schedule):
    """The schedule of ``step_size=None``: it has no values, and `geodrift.sample` replaces it by a number."""

    def __call__(self, count: Int[Array, "..."] | int) -> Float[Array, "..."]:
        """Not available: the step size has not been chosen yet.

        Raises:
            ValueError: Always.
        """
        raise ValueError(
            "step_size = None: geodrift.sample chooses it; for the bare kernel give a number, or the sampler"
            " geodrift.tuning.tune(...).apply(sampler)"
        )


class Cyclical(Schedule):
    r"""Cosine cycles from a large step size down to almost 0, to go from mode to mode; Zhang et al. (2020).

    .. math:: h_n = \frac{h_0}{2} (\cos(\pi r_n) + 1), \quad r_n = \frac{n \bmod K}{K}

    (theirs, with n = k - 1). Draws are stored after steps with :math:`r_n \ge \beta` alone, the sampling
    stage. In the exploration stage before it the chain is the same, with noise of the usual temperature 1;
    their Algorithm 1 has no noise there, which makes the weight of a mode that of its basin of attraction.

    The draws are not those of a small step throughout: within a mode the law follows the small steps, but
    the modes' *weights* stay as they were when the steps became too small to cross, with the bias of those.
    Longer cycles shrink it. With a sampler that has a Metropolis test every step leaves the law as it is,
    and there is no bias at all.

    Args:
        step_size: :math:`h_0`, time: the first and largest step size of a cycle.
        cycle_length: K, steps in a cycle.
        exploration_fraction: :math:`\beta`, the share of a cycle before its sampling stage; 0 or more, and
            less than 1.

    Raises:
        ValueError: An argument is outside its range, or no step of a cycle is in its sampling stage.
    """

    step_size: Float[Array, ""] = eqx.field(converter=as_float_arrays)
    cycle_length: int = eqx.field(static=True, converter=as_whole)
    exploration_fraction: float = eqx.field(static=True)

    def __check_init__(self) -> None:
        check_positive("step_size", self.step_size)
        if not is_whole(self.cycle_length, 2):
            raise ValueError(
                f"cycle_length = {self.cycle_length!r}: must be a whole number of steps, 2 or more"
            )
        if not 0 <= self.exploration_fraction < 1:
            raise ValueError(
                f"exploration_fraction = {self.exploration_fraction!r}: must be 0 or more and less than 1"
            )
        if not self.collects(np.asarray(self.cycle_length - 1)):
            raise ValueError(
                f"exploration_fraction = {self.exploration_fraction!r}: leaves no step of a cycle of"
                f" {self.cycle_length} to the sampling stage: give a smaller one, or a larger cycle_length"
            )

    def __call__(self, count: Int[Array, "..."] | int) -> Float[Array, "..."]:
        """The step size at ``count``."""
        # By the sine of what is left: near the end 1 and the cosine cancel, in float32 to a step of 0.
        left = jnp.asarray(self.cycle_length - count % self.cycle_length, self.step_size.dtype)
        return self.step_size * jnp.sin(jnp.pi / 2 * (left / self.cycle_length)) ** 2

    def collects(self, count: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        """Whether step number ``count`` is in a sampling stage."""
        return np.asarray(count % self.cycle_length / self.cycle_length >= self.exploration_fraction)


def as_schedule(step_size: Any) -> Schedule:
    """A schedule itself, the constant schedule of a number, or `Automatic` for None."""
    if step_size is None:
        return Automatic()
    if isinstance(step_size, str):
        raise ValueError(f"step_size = {step_size!r}: give a number, a schedule, or None, which finds one")
    if isinstance(step_size, Schedule):
        return step_size
    if callable(step_size) or np.ndim(step_size) != 0:
        raise ValueError(
            f"step_size = {step_size!r}: give one number, None, which finds one, or a schedule; a function of"
            " your own goes into a subclass of geodrift.schedules.Schedule"
        )
    return Constant(step_size)


def check_positive(name: str, value: Array) -> None:
    """Raise ValueError when ``value`` is concrete and an entry is not positive and finite."""
    # On the host: within jit even the comparison of two constants has no value.
    if is_concrete(value) and not np.all((np.asarray(value) > 0) & np.isfinite(value)):
        raise ValueError(f"{name} = {value}: must be positive and finite")
