"""Estimates the bias of a step size h from two runs, at h and at h/2, with Monte Carlo errors."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from geodrift._types import Position, RandomKey
from geodrift._whole import is_whole, whole
from geodrift.driver import Draws, sample
from geodrift.recipe import Recipe
from geodrift.samplers._in_coordinates import InCoordinates
from geodrift.schedules import Automatic, Schedule

_FAMILY_ERROR = 0.01


class StepHalving(NamedTuple):
    """Means of some functions at the step sizes h and h/2. Arrays have one entry for each function."""

    at_full: Float[np.ndarray, " function"]
    """Means at h."""
    at_half: Float[np.ndarray, " function"]
    """Means at h/2."""
    difference: Float[np.ndarray, " function"]
    """Mean at h less mean at h/2."""
    error: Float[np.ndarray, " function"]
    """Standard error of the difference, from the spread of the chains."""
    significant: np.ndarray
    """Whether a difference is more than noise, at a family-wise error of 1% over all functions."""
    bias: Float[np.ndarray, " function"]
    """Estimated bias at h: the difference divided by ``1 - 2^-order``, if the bias is of that order."""
    bias_error: Float[np.ndarray, " function"]
    """Standard error of ``bias``."""

    @property
    def biased(self) -> bool:
        """Whether any difference is more than noise."""
        return bool(np.any(self.significant))


class Halved(Schedule):
    """Half the step size of another schedule at half the count: the same time in twice the steps.

    Args:
        schedule: The other schedule.
    """

    schedule: Schedule

    def __call__(self, count: Int[Array, "..."] | int) -> Float[Array, "..."]:
        """The step size at ``count``."""
        return self.schedule(count // 2) / 2

    def collects(self, count: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        """Whether the other schedule stores the draw after the step of which this is a half."""
        return self.schedule.collects(count // 2)


def step_halving(
    key: RandomKey,
    sampler: Any,
    data: PyTree = None,
    *,
    num_draws: int,
    num_warmup: int = 0,
    num_chains: int = 16,
    thin: int = 1,
    functions: Callable[[Position], PyTree] | None = None,
    order: int = 2,
    **options: Any,
) -> StepHalving:
    """Run at the sampler's step size h and at h/2, for the same time, and compare means.

    A significant difference means that the means at h are wrong by about ``bias``. Without one the bias may
    still be as large as its error: look at ``bias_error``.

    Args:
        key: Random key. The two runs are independent.
        sampler: With a step size that is a number or a schedule.
        data: As for `geodrift.sample`.
        num_draws: Draws of each chain; at h/2 each has twice the steps.
        num_warmup: Steps at h before the first draw; twice as many at h/2. Give enough: what remains of the
            influence of the start is taken for a bias.
        num_chains: Chains of each run, 4 or more; better 16 or more, as the errors are estimated from the
            chains' spread.
        thin: Steps at h from draw to draw.
        functions: A function of one position that gives the values to average, an array or a pytree of them.
            None: each coordinate, and its squared deviation from the mean of the run at h/2.
        order: p, the order of the sampler's bias in h: 2 for the samplers with friction, 1 for SGLD and where
            gradient noise is ignored.
        options: Further arguments of `geodrift.sample`: ``batch_size``, ``initial``.

    Returns:
        The comparison.

    Raises:
        ValueError: An argument is outside its range.
    """
    if not is_whole(num_chains, 4):
        raise ValueError(f"num_chains = {num_chains!r}: must be 4 or more, as the error is their spread")
    order = whole("order", order)
    if not isinstance(getattr(sampler, "step_size", None), Schedule):
        raise ValueError(f"sampler = {type(sampler).__name__}: has no step size to halve")
    if isinstance(sampler.step_size, Automatic):
        raise ValueError(
            "step_size = None: there is no number yet to halve; give one, or the sampler"
            " geodrift.tuning.tune(...).apply(sampler), or draws.tuned.apply(sampler) of a run"
        )
    key_full, key_half = jax.random.split(key)
    halved = _with_step_size(sampler, Halved(sampler.step_size))
    runs = {"num_draws": num_draws, "num_chains": num_chains, **options}
    full = sample(key_full, sampler, data, num_warmup=num_warmup, thin=thin, **runs)
    half = sample(key_half, halved, data, num_warmup=2 * num_warmup, thin=2 * thin, **runs)
    return _compare(_chain_means(full, functions, half), _chain_means(half, functions, half), order)


def _with_step_size(sampler: Any, step_size: Schedule) -> Any:
    if isinstance(sampler, InCoordinates):
        return dataclasses.replace(sampler, moving=_with_step_size(sampler.moving, step_size))
    if isinstance(sampler, Recipe):
        return sampler.with_step_size(step_size)
    return dataclasses.replace(sampler, step_size=step_size)


def _chain_means(
    draws: Draws, functions: Callable[[Position], PyTree] | None, reference: Draws
) -> Float[np.ndarray, "chain function"]:
    """The mean of every function over each chain."""
    if functions is None:
        x, r = _flat(draws.position), _flat(reference.position)
        centre = r.mean(axis=(0, 1))
        # One fixed centre for both runs, so that the chains are independent of each other.
        return np.concatenate([x, (x - centre) ** 2], axis=-1).mean(axis=1)
    return _flat(_values(functions, draws.position)).mean(axis=1)


@eqx.filter_jit
def _values(functions: Callable[[Position], PyTree], positions: Position) -> PyTree:
    return jax.vmap(lambda chain: jax.lax.map(functions, chain, batch_size=64))(positions)


def _flat(tree: PyTree) -> Float[np.ndarray, "chain draw function"]:
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]
    return np.concatenate([leaf.reshape(*leaf.shape[:2], -1) for leaf in leaves], axis=-1).astype(float)


def _compare(
    full: Float[np.ndarray, "chain function"], half: Float[np.ndarray, "chain function"], order: int
) -> StepHalving:
    """Welch's t test for each function."""
    # Imported here: scipy.stats takes half a second to load.
    from scipy import stats

    number = len(full)
    variances = np.stack([full.var(axis=0, ddof=1), half.var(axis=0, ddof=1)]) / number
    error = np.sqrt(variances.sum(axis=0))
    difference = full.mean(axis=0) - half.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        degrees = (number - 1) * variances.sum(axis=0) ** 2 / (variances**2).sum(axis=0)
        bound = stats.t.ppf(1 - _FAMILY_ERROR / (2 * difference.size), degrees)
        # A function that is constant along all chains has no error and no bias.
        significant = (np.abs(difference) > bound * error) & (error > 0)
    factor = 1 / (1 - 2.0**-order)
    return StepHalving(
        full.mean(axis=0),
        half.mean(axis=0),
        difference,
        error,
        significant,
        factor * difference,
        factor * error,
    )
