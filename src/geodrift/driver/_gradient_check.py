r"""Draws against the gradients of their target: what no diagnostic of the draws alone can see.

For a vector field F on a closed manifold, tangent to it and not growing too fast, draws have the target's law
p only if :math:`E[F \cdot \nabla \log p + \mathrm{div} F] = 0` (Stein's identity). With P the projection to
the tangent space, m the mean and a unit vector a,

* :math:`F = P a` tells the shift of the mean along a;
* :math:`F = (a \cdot (x - m)) P a` tells the error of the variance along a: on R^n, of a normal law,
  :math:`-E[F \cdot \nabla \log p]` is the draws' variance over the target's.

On manifolds with edges the fields vanish there (`_edged_part`), of angles they are periodic (`_angles_part`).

Gradients of minibatches serve as well as exact ones, if their batches are not those that moved the chain.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from geodrift._convergence import ess
from geodrift._types import Position, RandomKey
from geodrift.driver._angles_part import AnglesPart
from geodrift.driver._closed_part import ClosedPart
from geodrift.driver._edged_part import EdgedPart
from geodrift.driver._position_part import Known, PositionPart, Terms
from geodrift.driver._source import Source
from geodrift.driver._target_gradient import TargetGradient, target_gradient

MOST_DIMENSIONS = 128
LEAST_GRADIENTS, MOST_GRADIENTS = 256, 4096
SHARE = 8  # of the run's own gradients, one in so many
MOST_OFF = 0.1  # of a variance, or of a standard deviation, beyond
ERRORS = 3.0  # Monte Carlo standard errors


class GradientCheck(NamedTuple):
    """The draws' law against the gradients of the target, along the directions in which it is least right.

    Attributes:
        variance: Of the draws over the target's; exact of a normal law.
        variance_error: Its Monte Carlo standard error.
        variance_along: The direction, by the number of the position that is most of it.
        shift: Of the draws' mean, in standard deviations.
        shift_error: Its Monte Carlo standard error.
        shift_along: As ``variance_along``.
    """

    variance: float
    variance_error: float
    variance_along: str
    shift: float
    shift_error: float
    shift_along: str

    @property
    def warnings(self) -> list[str]:
        """What speaks against the draws, and what to do; empty where nothing does."""
        told = []
        remedy = "a smaller step_size, a larger batch, or step_size=None where a step was given"
        narrow = "more steps where R-hat says that chains have not met, or " if self.variance < 1 else ""
        if abs(self.variance - 1) > MOST_OFF + ERRORS * self.variance_error:
            told.append(f"{self._told_variance}; take {narrow}{remedy}")
        if abs(self.shift) > MOST_OFF + ERRORS * self.shift_error:
            told.append(
                f"by the target's gradients at the draws, their mean along {self.shift_along} is"
                f" {abs(self.shift):.2f} standard deviations off, with an error of {self.shift_error:.2f};"
                f" take {remedy}"
            )
        return told

    @property
    def _told_variance(self) -> str:
        if self.variance > 0:
            return (
                f"by the target's gradients at the draws, their variance along {self.variance_along} is"
                f" {self.variance:.2f} times the target's, with an error of {self.variance_error:.2f}"
            )
        # No variance is negative: gradients at draws of the target point to their mean, on average.
        return (
            f"the target's gradients at the draws contradict where they lie along {self.variance_along}: the"
            " draws have not the target's law (an identity that is 0 for draws of it is"
            f" {self.variance - 1:.2f}, with an error of {self.variance_error:.2f})"
        )

    def __str__(self) -> str:
        return (
            f"variances by the gradients at worst {self.variance:.2f} \u00b1"
            f" {self.variance_error:.2f} times the target's"
        )


def gradient_check(
    key: RandomKey, sampler: Any, source: Source, position: Position, steps: int
) -> GradientCheck | None:
    """The check.

    Args:
        key: Random key.
        sampler: Of the run, of positions and not of coordinates.
        source: Of the run's batches.
        position: The draws, leading axes [chain, draw].
        steps: Gradients that the run took for each draw; the check takes an eighth as many.

    Returns:
        None where the target's gradients are not to be had, or no part of the position is on a manifold whose
        identities are known.
    """
    kinds = ClosedPart, EdgedPart, AnglesPart
    parts = [part for kind in kinds if (part := kind.of(sampler.manifold, position)).size]
    if not 0 < sum(part.size for part in parts) <= MOST_DIMENSIONS:
        return None
    flat = [np.asarray(jax.vmap(jax.vmap(part.flat))(position), np.float64) for part in parts]
    chains, draws = flat[0].shape[:2]
    middle = draws // 2
    off = sum(((each - each[:, :middle].mean(axis=(0, 1))) ** 2).sum(axis=2) for each in flat)
    nearest = np.unravel_index(np.argmin(off), (chains, draws))
    near = jax.tree.map(lambda x: jnp.asarray(x[nearest]), position)
    target = target_gradient(key, getattr(sampler, "estimator", None), source, near)
    if target is None:
        return None
    taken = chains * draws * steps
    number = min(max(taken // SHARE, LEAST_GRADIENTS), taken // 2, MOST_GRADIENTS) // chains
    take = np.unique(np.linspace(middle, draws - 1, max(number, 4)).astype(int))
    late = jax.tree.map(lambda x: jnp.asarray(np.asarray(x)[:, take]), position)
    # Directions come from the first half and are looked along in the second: along one that was chosen for
    # its variance, that of the same draws is too large.
    early = [each[:, :middle].reshape(-1, each.shape[2]) for each in flat]
    numbers = [part.numbers(each) for part, each in zip(parts, early, strict=True)]
    found = [
        part.measured(terms, known, each[:, take], part.names(late))
        for part, terms, known, each in zip(
            parts, _terms(key, target, parts, numbers, late), numbers, flat, strict=True
        )
    ]
    names = [name for each in found for name in each.names]
    variance = _least_right(np.concatenate([each.excess for each in found], axis=2), names)
    shift = _least_right(np.concatenate([each.shift for each in found], axis=2), names)
    if variance is None or shift is None:
        return None
    excess, error, along = variance
    return GradientCheck(1 + excess, error, along, *shift)


def _least_right(
    terms: Float[np.ndarray, "chain draw direction"], names: list[str]
) -> tuple[float, float, str] | None:
    """The mean that is farthest from 0 for its error, the error, and the name of its direction."""
    if terms.size == 0 or not np.isfinite(terms).all():
        return None
    mean = terms.mean(axis=(0, 1))
    error = terms.std(axis=(0, 1)) / np.sqrt(np.maximum(ess(terms, "mean"), 1.0))
    worst = int(np.argmax(np.abs(mean) - ERRORS * error))
    return float(mean[worst]), float(error[worst]), names[worst]


def _terms(
    key: RandomKey,
    target: TargetGradient,
    parts: Sequence[PositionPart],
    numbers: list[Known],
    draws: Position,
) -> list[Terms]:
    """What each part's `terms` are at each draw, of one gradient there."""
    dtype = jax.tree.leaves(draws)[0].dtype
    by_draw = jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), draws)
    cast = jax.tree.map(lambda each: jnp.asarray(each, dtype), numbers)
    found = _compiled_terms(key, target, parts, cast, by_draw)
    return jax.tree.map(lambda a: np.swapaxes(np.asarray(a, np.float64), 0, 1), found)


@eqx.filter_jit
def _compiled_terms(
    key: RandomKey,
    target: TargetGradient,
    parts: Sequence[PositionPart],
    numbers: list[Known],
    by_draw: Position,
) -> list[tuple[Float[Array, "draw chain k"], ...]]:
    def of_draw(key: RandomKey, position: Position) -> list[tuple[Float[Array, " k"], ...]]:
        gradient = target(key, position)
        return [part.terms(position, gradient, known) for part, known in zip(parts, numbers, strict=True)]

    def of_chains(inputs: tuple[RandomKey, Position]) -> list[tuple[Float[Array, "chain k"], ...]]:
        key, positions = inputs
        keys = jax.random.split(key, jax.tree.leaves(positions)[0].shape[0])
        return jax.vmap(of_draw)(keys, positions)

    keys = jax.random.split(key, jax.tree.leaves(by_draw)[0].shape[0])
    return jax.lax.map(of_chains, (keys, by_draw))
