"""The sampler that the recipe makes of H, D and Q; Ma, Chen and Fox (2015), eqs. 3 and 9."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from geodrift import _tree
from geodrift._errors import Result, is_concrete
from geodrift._types import Batch, Count, NoiseVariance, Position, RandomKey, Shared
from geodrift._types import Scalar as Number
from geodrift.estimators import Estimator, Full
from geodrift.manifolds import Euclidean, Manifold, Product
from geodrift.recipe._augmentation import Augmentation, Momentum, size
from geodrift.recipe._dynamics import Coefficients, OperatorFunction, as_operator_function
from geodrift.recipe._parts import WHOLE
from geodrift.recipe._properties import Defects, defects, sentences
from geodrift.recipe._step import Dynamics, move
from geodrift.samplers._base import Sampler, StepInfo, check_position, result_code
from geodrift.schedules import Schedule, as_schedule

_DISCRETISATIONS = ("semi-implicit", "euler")


class RecipeState(NamedTuple):
    """State of `Recipe`."""

    position: Position
    auxiliary: dict[str, PyTree]  # the auxiliary variables, by name
    estimator: Any  # the estimator's kept state
    count: Shared[Count]  # steps taken


@dataclasses.dataclass(frozen=True)
class _Negative:
    """A log density from a negative log density; two are equal if their functions are the same."""

    function: Callable[[PyTree], Number]

    def __call__(self, position: Position) -> Number:
        return -self.function(position)


class Recipe(Sampler):
    r"""Any continuous Markov process with a given stationary density, from H, D and Q.

    .. math:: dz = [-(D + Q) \nabla H + \Gamma]\,dt + \sqrt{2D}\,dW, \quad
        \Gamma_i = \sum_j \partial_j (D_{ij} + Q_{ij})

    in Itô's sense, with D(z) symmetric positive semidefinite and Q(z) skew, leaves :math:`\exp(-H(z))`
    invariant; Ma, Chen and Fox (2015), eq. 3. :math:`\Gamma` is computed by automatic differentiation. All of
    z persists from step to step: a momentum is drawn once, in `init`.

    Args:
        target: The negative log density: a function of z, H itself, or of the position alone where there are
            augmentations. Or an `Estimator`, which gives the gradient of the log density from minibatches.
        diffusion: D: an operator, or a function of z that returns one. A number stands for `Scalar`, a
            mapping ``{row: {column: ...}}`` for `Block`.
        curl: Q, likewise.
        step_size: h, the time of a step: :math:`h D` is in the unit of z squared. A number or a `Schedule` of
            the count; None: `geodrift.sample` takes the largest at which variances are right.
        augmentation: Auxiliary variables. Without any, z is the position; otherwise z is a dict of
            ``"position"`` and the variables by name.
        discretisation: ``"semi-implicit"`` moves one part of z after the other, in the order of z's tree (a
            dict's is that of its sorted keys), each with the new values of those before it. ``"euler"``
            moves all parts with the old values, which is less exact and less stable. They are the same where
            neither D nor Q is a `Block`.

    Raises:
        ValueError: An argument is outside its range. From `init` and `geodrift.sample`: an operator does not
            fit z, D is not symmetric positive semidefinite, Q is not skew.

    The variance V that the estimator states is subtracted from the injected noise, which is then
    :math:`N(0, h (2D - h B))` with :math:`B = (D + Q) V (D + Q)^T`, eq. 9. A step reports a negative variance
    as ``Result.NEGATIVE_NOISE_VARIANCE``, one of D itself as ``NOT_SEMIDEFINITE``, and ``NOT_SKEW`` where Q
    is a `Dense` function of z that is not skew there.

    Invariant law: exp(-H) as h -> 0.

    Example:
        >>> def curl(z):
        ...     return {"r": {"x": 1.0}, "x": {"r": -1.0}}
        >>> sampler = Recipe(hamiltonian, {"r": {"r": 1.0}}, curl, step_size=0.1)
        >>> state = sampler.init(key, {"r": jnp.zeros(3), "x": jnp.zeros(3)})
        >>> state, info = sampler.step(key, state)
    """

    estimator: Estimator
    diffusion: OperatorFunction
    curl: OperatorFunction
    step_size: Schedule
    augmentation: tuple[Augmentation, ...]
    discretisation: str = eqx.field(static=True)

    def __init__(
        self,
        target: Estimator | Callable[[PyTree], Number],
        diffusion: Any,
        curl: Any,
        step_size: Any,
        augmentation: Sequence[Augmentation] = (),
        discretisation: str = "semi-implicit",
    ) -> None:
        if not isinstance(target, Estimator) and not callable(target):
            raise ValueError(f"target = {target!r}: must be a negative log density or an estimator")
        if discretisation not in _DISCRETISATIONS:
            raise ValueError(
                f"discretisation = {discretisation!r}: must be one of {', '.join(_DISCRETISATIONS)}"
            )
        names = [a.name for a in augmentation]
        if len({*names, "position"}) != len(names) + 1:
            raise ValueError(
                f"augmentation has the names {names}: each needs its own, and none is 'position'"
            )
        self.estimator = target if isinstance(target, Estimator) else Full(_Negative(target))
        self.diffusion, self.curl = as_operator_function(diffusion), as_operator_function(curl)
        self.step_size = as_schedule(step_size)
        self.augmentation, self.discretisation = tuple(augmentation), discretisation

    @property
    def manifold(self) -> Manifold:
        """Euclidean space of any structure and shapes."""
        return Product(Euclidean())

    def on_all_data(self) -> "Recipe":
        """The same sampler for batches that are the whole data set, whose gradients have no noise."""
        return eqx.tree_at(lambda sampler: sampler.estimator, self, self.estimator.on_all_data())

    def with_step_size(self, step_size: Any) -> "Recipe":
        """The same sampler with another step size."""
        return eqx.tree_at(lambda sampler: sampler.step_size, self, as_schedule(step_size))

    def point(self, key: RandomKey, position: Position) -> PyTree:
        """The point z of a position, with auxiliary variables drawn given it."""
        return self._point(position, self._draw_auxiliary(key, position))

    def auxiliary_energy(self, z: PyTree) -> Number | int:
        """What auxiliary variables add to H; 0 where there are none."""
        return sum(a.energy(z) for a in self.augmentation)

    def hamiltonian(self, z: PyTree) -> Number:
        """H(z), the negative log of the stationary density.

        Raises:
            ValueError: The target is an estimator that has no density.
        """
        if not isinstance(self.estimator, Full):
            raise ValueError(f"{type(self.estimator).__name__} gives gradients alone: give Full or H itself")
        return self.auxiliary_energy(z) - self.estimator.value(self._position(z))

    def init(self, key: RandomKey, position: Position) -> RecipeState:
        """The state before the first step, with auxiliary variables drawn given the position."""
        position = check_position(self.manifold, position)
        key_auxiliary, key_estimator = jax.random.split(key)
        auxiliary = self._draw_auxiliary(key_auxiliary, position)
        found = self._defects(self._point(position, auxiliary))
        if all(is_concrete(defect) for defect in found):
            _raise(found)
        estimator_state = self.estimator.init(key_estimator, position)
        return RecipeState(position, auxiliary, estimator_state, jnp.zeros((), jnp.int32))

    def check_start(self, positions: Position) -> None:
        """Raise ValueError where D or Q does not fit the positions, leaves ``[chain, ...]``, or is wrong."""
        super().check_start(positions)
        keys = jax.random.split(jax.random.key(0), jax.tree.leaves(positions)[0].shape[0])
        auxiliary = jax.vmap(self._draw_auxiliary)(keys, positions)
        _raise(jax.vmap(lambda x, a: self._defects(self._point(x, a)))(positions, auxiliary))

    def step(self, key: RandomKey, state: RecipeState, batch: Batch = None) -> tuple[RecipeState, StepInfo]:
        """Move each part of z once, with one gradient of the target."""
        key_prepare, key_noise = jax.random.split(key)
        prepared, estimator_state = self.estimator.prepare(
            key_prepare, state.estimator, state.position, batch
        )
        dynamics = Dynamics(
            coefficients=Coefficients(self.diffusion, self.curl),
            gradient=lambda z, columns: self._gradient(z, columns, prepared),
            variance=lambda z: self._variance(z, prepared),
            noisy_part="position" if self.augmentation else WHOLE,
        )
        start = self._point(state.position, state.auxiliary)
        semi_implicit = self.discretisation == "semi-implicit"
        z, used, told = move(key_noise, self.step_size(state.count), dynamics, start, semi_implicit)
        auxiliary = {a.name: z[a.name] for a in self.augmentation}
        state = RecipeState(self._position(z), auxiliary, estimator_state, state.count + 1)
        return state, self._info(state, used, told)

    def _position(self, z: PyTree) -> Position:
        return z["position"] if self.augmentation else z

    def _point(self, x: Position, auxiliary: dict[str, PyTree]) -> PyTree:
        return {"position": x, **auxiliary} if self.augmentation else x

    def _draw_auxiliary(self, key: RandomKey, position: Position) -> dict[str, PyTree]:
        return {a.name: a.draw(jax.random.fold_in(key, i), position) for i, a in enumerate(self.augmentation)}

    def _gradient(self, z: PyTree, columns: set, prepared: Any) -> PyTree:
        """The gradient of H; the target's gradient is computed only if ``columns`` names the position."""
        gradient = jax.tree.map(jnp.zeros_like, z)
        if self.augmentation:
            gradient = jax.grad(self.auxiliary_energy)(z)
        if not self.augmentation or columns & {"position", WHOLE}:
            of_target = self.estimator.gradient(self._position(z), prepared)
            if not self.augmentation:
                return jax.tree.map(jnp.negative, of_target)
            gradient["position"] = _tree.sub(gradient["position"], of_target)
        return gradient

    def _variance(self, z: PyTree, prepared: Any) -> NoiseVariance:
        """V over all of z: 0 for the auxiliary variables, whose gradient has no noise."""
        variance = self.estimator.noise_variance(self._position(z), prepared)
        if variance is None or not self.augmentation:
            return variance
        return {**{a.name: jnp.zeros(()) for a in self.augmentation}, "position": variance}

    def _defects(self, z: PyTree) -> Defects:
        operators = self.diffusion(z), self.curl(z)
        for name, operator in zip("DQ", operators, strict=True):
            operator.check_fits(z, z, name)
        return defects(*operators, z)

    def _info(self, state: RecipeState, used: dict[Any, PyTree], told: Array) -> StepInfo:
        dtype = jnp.result_type(*jax.tree.leaves(state.position))
        temperature = jnp.full((), jnp.nan, dtype)
        for a in self.augmentation:
            if isinstance(a, Momentum):
                temperature = 2 * a.energy(state.auxiliary) / size(state.auxiliary[a.name])
        norm = jnp.sqrt(sum((jnp.sum(g * g) for g in jax.tree.leaves(used)), jnp.zeros((), dtype)))
        auxiliary = sum(jnp.sum(leaf) for leaf in jax.tree.leaves(state.auxiliary))
        code, residual = result_code(self.manifold, state.position, norm + auxiliary, told > Result.OK)
        # What is wrong with D or Q is the cause of whatever else is.
        code = jnp.where(told > Result.NEGATIVE_NOISE_VARIANCE, told, code)
        return StepInfo(
            result=code,
            residual=residual,
            kinetic_temperature=temperature.astype(dtype),
            gradient_norm=norm.astype(dtype),
            acceptance=jnp.full((), jnp.nan, dtype),
        )


def _raise(found: Defects) -> None:
    """Raise ValueError where D is not symmetric positive semidefinite or Q not skew."""
    if wrong := sentences(found):
        raise ValueError("; ".join(wrong))
