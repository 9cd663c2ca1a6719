"""The exact gradient of a log density."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geodrift._types import Batch, LogDensity, Position, RandomKey, Scalar, Tangent
from geodrift.estimators._affine import Affine
from geodrift.estimators._base import Estimator
from geodrift.estimators._functions import called, check_function, one_number
from geodrift.estimators._leaf_scales import LeafScales


def _with_jax_arrays(function: LogDensity) -> LogDensity:
    """The function; if it is a pytree of arrays, of those that a compiled program takes as arguments."""
    return jax.tree.map(lambda x: jnp.asarray(x) if isinstance(x, np.ndarray) else x, function)


class Full(Estimator):
    """The gradient of a log density that needs no minibatch.

    Args:
        log_density: ``log_density(position)``: log of the unnormalised density with respect to the
            manifold's own measure. Samplers are compiled once for each function. Where the same function is
            wanted of other numbers, give ``jax.tree_util.Partial(function, *arrays)`` or an Equinox module
            that is called: its arrays are arguments of the compiled program and not a part of it.
        affine: Coordinates in which positions are given here, of R^n; None: positions are what
            ``log_density`` takes.
    """

    takes_data: ClassVar[bool] = False

    log_density: LogDensity = eqx.field(converter=_with_jax_arrays)
    affine: Affine | LeafScales | None = eqx.field(default=None, kw_only=True)

    def __check_init__(self) -> None:
        check_function("log_density", self.log_density)

    def init(self, key: RandomKey, position: Position) -> tuple[()]:
        """The empty state."""
        del key, position
        return ()

    def prepare(
        self, key: RandomKey, state: tuple[()], position: Position, batch: Batch
    ) -> tuple[tuple[()], tuple[()]]:
        """Nothing; ``batch`` is ignored."""
        del key, position, batch
        return (), state

    def gradient(self, position: Position, prepared: tuple[()]) -> Tangent:
        """The exact gradient."""
        del prepared
        return jax.grad(self.value)(position)

    def value_and_gradient(self, position: Position) -> tuple[Scalar, Tangent]:
        """The log density, and its gradient in ambient coordinates."""
        return jax.value_and_grad(self.value)(position)

    def in_coordinates(self, affine: Affine | LeafScales) -> "Full":
        """The same log density as a function of coordinates."""
        return Full(self.log_density, affine=affine)

    def value(self, position: Position) -> Scalar:
        """The log density.

        Raises:
            ValueError: ``log_density`` does not return one number.
        """
        given = position if self.affine is None else self.affine(position)
        return one_number("log_density", called("log_density", self.log_density, given))

    def noise_variance(self, position: Position, prepared: tuple[()]) -> None:
        """None: the gradient has no noise."""
        del position, prepared
