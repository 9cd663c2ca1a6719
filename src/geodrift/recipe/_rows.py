"""Samplers of the literature from the recipe; Ma, Chen and Fox (2015), sections 3.1 and 3.2."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from geodrift._tree import as_float_arrays
from geodrift._types import Position
from geodrift._types import Scalar as Number
from geodrift.estimators import Estimator
from geodrift.recipe._augmentation import Momentum, Thermostat, size
from geodrift.recipe._blocks import Block, as_operator
from geodrift.recipe._dynamics import OperatorFunction, as_operator_function
from geodrift.recipe._low_rank import Outer
from geodrift.recipe._operators import Operator
from geodrift.recipe._recipe import Recipe

# Q of Hamilton's equations.
_CANONICAL = {"momentum": {"position": 1.0}, "position": {"momentum": -1.0}}

MetricFunction = Callable[[Position], Any]
"""From a position to an operator, or to a number or a mapping in its place, as for `Recipe`."""


def sgld(target: Estimator | Callable[[PyTree], Number], step_size: Any, diffusion: Any = 1.0) -> Recipe:
    r"""Langevin dynamics, :math:`d\theta = -D \nabla U dt + \sqrt{2D}\,dW`: H = U, Q = 0.

    Welling and Teh (2011).

    Args:
        target: As for `Recipe`.
        step_size: h, the time of a step, as for `Recipe`; a number or a `Schedule`.
        diffusion: D, a constant operator.
    """
    return Recipe(target, as_operator(diffusion), 0, step_size)


def sgrld(
    target: Estimator | Callable[[PyTree], Number], step_size: Any, inverse_metric: MetricFunction
) -> Recipe:
    r"""Riemannian Langevin dynamics: H = U, :math:`D = G^{-1}(\theta)`, Q = 0; Patterson and Teh (2013).

    Args:
        target: As for `Recipe`; the density is with respect to Lebesgue measure.
        step_size: h, the time of a step, as for `Recipe`; a number or a `Schedule`.
        inverse_metric: :math:`G^{-1}`, a function of the position.
    """
    return Recipe(target, inverse_metric, 0, step_size)


def hmc(target: Estimator | Callable[[PyTree], Number], step_size: Any, mass: PyTree = 1.0) -> Recipe:
    """Hamiltonian dynamics without noise: D = 0. Leaves the law invariant, but does not converge to it.

    Args:
        target: As for `Recipe`.
        step_size: h, the time of a step, as for `Recipe`; a number or a `Schedule`.
        mass: M, as for `Momentum`.
    """
    return Recipe(target, 0, _CANONICAL, step_size, [Momentum(mass)])


def sghmc(
    target: Estimator | Callable[[PyTree], Number],
    step_size: Any,
    friction: float | Float[Array, ""] = 1.0,
    mass: PyTree = 1.0,
) -> Recipe:
    """Hamiltonian dynamics with friction and noise: D = C on the momentum; Chen, Fox and Guestrin (2014).

    Args:
        target: As for `Recipe`.
        step_size: h, the time of a step, as for `Recipe`; a number or a `Schedule`.
        friction: C: a number, or an operator on the momentum; the momentum decays at the rate ``C M^-1``.
        mass: M, as for `Momentum`.
    """
    return Recipe(target, {"momentum": {"momentum": friction}}, _CANONICAL, step_size, [Momentum(mass)])


class _ThermostatCurl(eqx.Module):
    """Q of `sgnht`; its Gamma is -1 for the thermostat and 0 for the rest."""

    def __call__(self, z: dict[str, PyTree]) -> Operator:
        scale = size(z["momentum"])
        column = jax.tree.map(lambda r: r[..., None] / scale, z["momentum"])
        coupling = Outer(column, jnp.ones(1))
        negative = Outer(-jnp.ones(1), column, elementwise=True)
        momentum = {"position": 1.0, "thermostat": coupling}
        return Block(
            {"momentum": momentum, "position": {"momentum": -1.0}, "thermostat": {"momentum": negative}}
        )


def sgnht(
    target: Estimator | Callable[[PyTree], Number], step_size: Any, friction: float | Float[Array, ""] = 1.0
) -> Recipe:
    """The Nosé-Hoover thermostat: a friction that is a variable itself, of mean A; Ding et al. (2014).

    Args:
        target: As for `Recipe`. The estimator need not state its noise variance: the thermostat adapts to it.
        step_size: h, the time of a step, as for `Recipe`; a number or a `Schedule`.
        friction: A, 1/time.
    """
    augmentation = [Momentum(), Thermostat(as_float_arrays(friction))]
    return Recipe(target, {"momentum": {"momentum": friction}}, _ThermostatCurl(), step_size, augmentation)


class _MetricDiffusion(eqx.Module):
    """D of `sgrhmc`."""

    inverse_metric: OperatorFunction = eqx.field(converter=as_operator_function)

    def __call__(self, z: dict[str, PyTree]) -> Operator:
        return Block({"momentum": {"momentum": self.inverse_metric(z["position"])}})


class _MetricCurl(eqx.Module):
    """Q of `sgrhmc`."""

    inverse_root: OperatorFunction = eqx.field(converter=as_operator_function)

    def __call__(self, z: dict[str, PyTree]) -> Operator:
        root = self.inverse_root(z["position"])
        return Block({"momentum": {"position": root}, "position": {"momentum": -root.transpose()}})


def sgrhmc(
    target: Estimator | Callable[[PyTree], Number],
    step_size: Any,
    inverse_metric: MetricFunction,
    inverse_root: MetricFunction,
) -> Recipe:
    r"""Riemannian dynamics with momentum: :math:`D = G^{-1}` on the momentum, :math:`Q = \pm G^{-1/2}`.

    Ma, Chen and Fox (2015), section 3.2 and Algorithm 1 (their eq. 30 has two signs wrong).

    Args:
        target: As for `Recipe`; the density is with respect to Lebesgue measure.
        step_size: h, the time of a step, as for `Recipe`; a number or a `Schedule`.
        inverse_metric: :math:`G^{-1}`, a function of the position.
        inverse_root: :math:`G^{-1/2}`, a function of the position. Any smooth function is valid; one whose
            square is not :math:`G^{-1}` preconditions the motion differently from the friction.
    """
    return Recipe(
        target, _MetricDiffusion(inverse_metric), _MetricCurl(inverse_root), step_size, [Momentum()]
    )
