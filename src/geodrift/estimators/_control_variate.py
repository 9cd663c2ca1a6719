"""A minibatch gradient with a control variate: the full gradient at a nearby centre."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from geodrift import _tree
from geodrift._tree import as_float_arrays
from geodrift._types import (
    Batch,
    Count,
    LogDensity,
    LogLikelihood,
    NoiseVariance,
    Position,
    RandomKey,
    Shared,
    Tangent,
)
from geodrift._whole import whole
from geodrift.estimators._affine import Affine
from geodrift.estimators._batch_rows import data_length
from geodrift.estimators._leaf_scales import LeafScales
from geodrift.estimators._likelihood import LikelihoodEstimator
from geodrift.estimators._noise import (
    Fisher,
    as_noise_variance,
    check_given_variance,
    initial_variance,
    refreshed,
)
from geodrift.manifolds import Euclidean, Manifold, Product


class ControlVariateState(NamedTuple):
    """State of `ControlVariate`."""

    centre: Position
    full_gradient: Tangent  # of the log likelihood of all data, at the centre
    variance: PyTree | None  # last Fisher estimate; None when it is not stored
    count: Shared[Count]  # batches seen


class ControlVariatePrepared(NamedTuple):
    """What `ControlVariate.prepare` computes of a minibatch."""

    batch: Batch
    centre: Position
    anchor: Tangent  # full gradient less the scaled batch gradient, both at the centre
    variance: NoiseVariance


class ControlVariate(LikelihoodEstimator):
    r"""Likelihood gradient at a centre, plus the scaled batch gradient of the differences from it.

    .. math:: \nabla \log p_0(x) + \sum_n g_n(c) + \frac{N}{B} \sum_b [g_b(x) - g_b(c)]

    Unbiased for any centre; its noise vanishes as x approaches c. Baker et al. (2019); with a refreshed
    centre it is SVRG-LD, Dubey et al. (2016): see `SVRG`.

    Args:
        log_likelihood: ``log_likelihood(position, batch) -> [batch]``, one value for each datum.
        log_prior: ``log_prior(position) -> scalar``.
        data: All the data, a pytree of arrays with leading axis N: read for the full gradient at a centre.
        centre: c, of the position's form and shapes. None takes the position at the start of the chain.
        refresh_every: Batches after which the centre moves to the current position, which costs a pass over
            the data; None keeps it.
        noise_variance: V, as for `Minibatch`; a Fisher estimate is that of the differences.
        refresh_variance_every: Batches between two Fisher estimates. Must be 1 with ``refresh_every``,
            because the noise grows with the distance from the centre and an older estimate belongs to
            another centre; V is then estimated at each inner step, at the position of its gradient.
        replacement: Whether batches are drawn with replacement.
        chunk_size: Data in one piece of a pass over the data; bounds its memory.
        manifold: Where the tangent spaces of a Fisher estimate are; samplers set it with `on`.

    Raises:
        ValueError: An argument is outside its range; in `init`, the centre has not the position's shape.
    """

    data: PyTree
    centre: Position | None
    refresh_every: int | None = eqx.field(static=True)
    refresh_variance_every: int = eqx.field(static=True)
    chunk_size: int = eqx.field(static=True)

    def __init__(
        self,
        log_likelihood: LogLikelihood,
        log_prior: LogDensity,
        data: PyTree,
        centre: Position | None = None,
        refresh_every: int | None = None,
        noise_variance: str | Fisher | NoiseVariance = None,
        refresh_variance_every: int = 1,
        replacement: bool = True,
        chunk_size: int = 1024,
        manifold: Manifold | None = None,
    ) -> None:
        if refresh_every is not None:
            refresh_every = whole("refresh_every", refresh_every)
        refresh_variance_every = whole("refresh_variance_every", refresh_variance_every)
        if refresh_every is not None and refresh_variance_every != 1:
            raise ValueError(
                f"refresh_variance_every = {refresh_variance_every} with refresh_every = {refresh_every}:"
                " must be 1, since the noise variance changes when the centre moves"
            )
        self.log_likelihood, self.log_prior = log_likelihood, log_prior
        self.data = jax.tree.map(jnp.asarray, data)
        self.data_size = data_length(self.data)
        self.centre = None if centre is None else as_float_arrays(centre)
        self.refresh_every, self.refresh_variance_every = refresh_every, refresh_variance_every
        self.variance = as_noise_variance(noise_variance)
        self.replacement, self.chunk_size = bool(replacement), whole("chunk_size", chunk_size)
        self.manifold = Product(Euclidean()) if manifold is None else manifold

    def init(self, key: RandomKey, position: Position) -> ControlVariateState:
        """The state with the full gradient at the first centre: one pass over the data."""
        del key
        centre = position if self.centre is None else _like(self.centre, position)
        check_given_variance(self.variance, position, self.manifold)
        variance = initial_variance(self.variance, position) if self._stores_variance else None
        return ControlVariateState(centre, self._full_gradient(centre), variance, jnp.zeros((), jnp.int32))

    def prepare(
        self, key: RandomKey, state: ControlVariateState, position: Position, batch: Batch
    ) -> tuple[ControlVariatePrepared, ControlVariateState]:
        """The full and the batch gradient at the centre, which first moves if a refreshment is due."""
        del key
        centre, full_gradient = state.centre, state.full_gradient
        if self.refresh_every is not None:
            due = (state.count > 0) & (state.count % self.refresh_every == 0)
            centre, full_gradient = jax.lax.cond(
                due, lambda: (position, self._full_gradient(position)), lambda: (centre, full_gradient)
            )
        stored = state.variance
        if self._stores_variance:
            stored = refreshed(
                state.count,
                self.refresh_variance_every,
                lambda: self._fisher(position, self.noisy_terms(position, state, batch)),
                stored,
            )
        variance = stored if isinstance(self.variance, Fisher) else self.variance
        anchor = _tree.sub(full_gradient, self._scaled_gradient(centre, batch))
        state = ControlVariateState(centre, full_gradient, stored, state.count + 1)
        return ControlVariatePrepared(batch, centre, anchor, variance), state

    def gradient(self, position: Position, prepared: ControlVariatePrepared) -> Tangent:
        """The prior's gradient, the scaled batch gradient and the anchor, summed."""
        likelihood = _tree.add(self._scaled_gradient(position, prepared.batch), prepared.anchor)
        return _tree.add(jax.grad(self.log_prior_at)(position), likelihood)

    def noise_variance(self, position: Position, prepared: ControlVariatePrepared) -> NoiseVariance:
        """V as given or last estimated; with a moving centre, estimated at this position."""
        if isinstance(self.variance, Fisher) and not self._stores_variance:
            # Not in `prepare`: there the centre may just have moved to the position, where the noise is 0,
            # while the gradient is taken a drift away.
            return self._fisher(position, self.noisy_terms(position, prepared, prepared.batch))
        return prepared.variance

    def noisy_terms(
        self, position: Position, state: ControlVariateState | ControlVariatePrepared, batch: Batch
    ) -> PyTree:
        """Each datum's gradient at the position less that at the centre: leaves ``[batch, *leaf]``."""
        here, there = (self.per_datum_gradients(x, batch) for x in (position, state.centre))
        return _tree.sub(here, there)

    def in_coordinates(self, affine: Affine | LeafScales) -> "ControlVariate":
        """The same for coordinates; of R^n without a centre, that of the coordinates."""
        if self.centre is not None:
            centre = affine.coordinates(self.centre)
        else:
            centre = jnp.zeros_like(affine.centre) if isinstance(affine, Affine) else None
        return super().in_coordinates(affine)._replace(centre=centre)

    @property
    def _stores_variance(self) -> bool:
        return isinstance(self.variance, Fisher) and self.refresh_every is None

    # Compiled, and once: outside of a compiled function each call of the loop below would compile it anew.
    @eqx.filter_jit
    def _full_gradient(self, position: Position) -> Tangent:
        """Gradient of the log likelihood of all data, in chunks."""
        size, chunk = self.data_size, min(self.chunk_size, self.data_size)

        def gradient(rows: Batch) -> Tangent:
            return jax.grad(lambda p: jnp.sum(self.log_likelihoods(p, rows)))(position)

        def add_chunk(i: Count, total: Tangent) -> Tangent:
            rows = jax.tree.map(lambda a: jax.lax.dynamic_slice_in_dim(a, i * chunk, chunk), self.data)
            return _tree.add(total, gradient(rows))

        total = jax.lax.fori_loop(0, size // chunk, add_chunk, jax.tree.map(jnp.zeros_like, position))
        if size % chunk:
            total = _tree.add(total, gradient(jax.tree.map(lambda a: a[size - size % chunk :], self.data)))
        return total


def _like(centre: Position, position: Position) -> Position:
    """The centre; ValueError unless it has the form and the shapes of the position."""
    # A centre that is only broadcast has the sum of all numbers' gradients as each number's own.
    forms = [(jax.tree.structure(x), [leaf.shape for leaf in jax.tree.leaves(x)]) for x in (centre, position)]
    if forms[0] != forms[1]:
        raise ValueError(
            f"centre has shape {_tree.shapes(centre)}: must be that of the position,"
            f" {_tree.shapes(position)}; give one position, such as find_mode returns, or None"
        )
    return centre
