"""A minibatch gradient with its noise reduced by the full gradient at a nearby centre."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from geodrift import _tree
from geodrift._types import (
    Batch,
    Count,
    LogDensity,
    LogLikelihood,
    NoiseVariance,
    Position,
    RandomKey,
    Tangent,
)
from geodrift.estimators._base import Estimator
from geodrift.estimators._noise import (
    Fisher,
    as_noise_variance,
    check_given_variance,
    check_interval,
    fisher_variance,
    initial_variance,
    per_datum_gradients,
    refreshed,
)
from geodrift.manifolds import Euclidean, Manifold, Product


class ControlVariateState(NamedTuple):
    """What `ControlVariate` keeps between steps."""

    centre: Position
    full_gradient: Tangent  # of the log likelihood of all data, at the centre
    variance: PyTree | None  # last Fisher estimate; None when none is made
    count: Count  # batches seen


class ControlVariatePrepared(NamedTuple):
    """What `ControlVariate` hands to the inner step."""

    batch: Batch
    centre: Position
    anchor: Tangent  # full gradient less the scaled batch gradient, both at the centre
    variance: NoiseVariance


class ControlVariate(Estimator):
    r"""Likelihood gradient at a centre, plus the scaled batch gradient of the differences from it.

    .. math:: \nabla \log p_0(x) + \sum_n g_n(c) + \frac{N}{B} \sum_b [g_b(x) - g_b(c)]

    Unbiased for any centre; its noise vanishes as x approaches c. Baker et al. (2019); with a refreshed
    centre it is SVRG-LD, Dubey et al. (2016).

    Args:
        log_likelihood: ``log_likelihood(position, batch) -> [batch]``, one value for each datum.
        log_prior: ``log_prior(position) -> scalar``.
        data: All the data, a pytree of arrays with leading axis N: read for the full gradient at a centre.
        centre: c. None takes the position at the start of the chain.
        refresh_every: Batches after which the centre moves to the current position, which costs a pass over
            the data; None keeps it.
        noise_variance: As for `Minibatch`, of the differences.
        refresh_variance_every: Batches between two Fisher estimates. Must be 1 with ``refresh_every``: the
            noise grows with the distance from the centre, and an older estimate is of another centre.
        replacement: Whether batches are drawn with replacement.
        chunk_size: Data in one piece of the pass over the data; bounds its memory.

    Raises:
        ValueError: An argument is outside its range.
    """

    log_likelihood: LogLikelihood = eqx.field(static=True)
    log_prior: LogDensity = eqx.field(static=True)
    data: PyTree
    centre: Position | None
    refresh_every: int | None = eqx.field(static=True)
    variance: Fisher | NoiseVariance
    refresh_variance_every: int = eqx.field(static=True)
    replacement: bool = eqx.field(static=True)
    chunk_size: int = eqx.field(static=True)
    manifold: Manifold

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
            check_interval("refresh_every", refresh_every)
        check_interval("refresh_variance_every", refresh_variance_every)
        if refresh_every is not None and refresh_variance_every != 1:
            raise ValueError(
                f"refresh_variance_every = {refresh_variance_every} with refresh_every = {refresh_every}:"
                " must be 1, since the noise variance changes when the centre moves"
            )
        check_interval("chunk_size", chunk_size)
        self.log_likelihood, self.log_prior = log_likelihood, log_prior
        self.data = jax.tree.map(jnp.asarray, data)
        self.centre = None if centre is None else jax.tree.map(jnp.asarray, centre)
        self.refresh_every, self.refresh_variance_every = refresh_every, refresh_variance_every
        self.variance = as_noise_variance(noise_variance)
        self.replacement, self.chunk_size = bool(replacement), chunk_size
        self.manifold = Product(Euclidean()) if manifold is None else manifold

    @property
    def data_size(self) -> int:
        """N."""
        return jax.tree.leaves(self.data)[0].shape[0]

    def init(self, key: RandomKey, position: Position) -> ControlVariateState:
        """The full gradient at the first centre: one pass over the data."""
        del key
        centre = position if self.centre is None else self.centre
        check_given_variance(self.variance, position)
        variance = initial_variance(self.variance, position) if isinstance(self.variance, Fisher) else None
        return ControlVariateState(centre, self._full_gradient(centre), variance, jnp.zeros((), jnp.int32))

    def prepare(
        self, key: RandomKey, state: ControlVariateState, position: Position, batch: Batch
    ) -> tuple[ControlVariatePrepared, ControlVariateState]:
        """Batch gradients at the centre, which first moves when that is due."""
        del key
        centre, full_gradient = state.centre, state.full_gradient
        if self.refresh_every is not None:
            due = (state.count > 0) & (state.count % self.refresh_every == 0)
            centre, full_gradient = jax.lax.cond(
                due, lambda: (position, self._full_gradient(position)), lambda: (centre, full_gradient)
            )
        variance = self.variance
        if isinstance(variance, Fisher):
            variance = refreshed(
                state.count,
                self.refresh_variance_every,
                lambda: self._estimate(position, centre, batch),
                state.variance,
            )
        anchor = _tree.sub(full_gradient, self._batch_gradient(centre, batch))
        kept = variance if isinstance(self.variance, Fisher) else None
        state = ControlVariateState(centre, full_gradient, kept, state.count + 1)
        return ControlVariatePrepared(batch, centre, anchor, variance), state

    def gradient(self, position: Position, prepared: ControlVariatePrepared) -> Tangent:
        """The scaled batch gradient plus the anchor."""
        likelihood = _tree.add(self._batch_gradient(position, prepared.batch), prepared.anchor)
        return _tree.add(jax.grad(self.log_prior)(position), likelihood)

    def noise_variance(self, position: Position, prepared: ControlVariatePrepared) -> NoiseVariance:
        """The V given or last estimated."""
        del position
        return prepared.variance

    def on(self, manifold: Manifold) -> "ControlVariate":
        """The same estimator, with its Fisher estimates in this manifold's tangent spaces."""
        return self._with(manifold, self.variance, self.replacement)

    def on_all_data(self) -> "ControlVariate":
        """The same estimator for batches drawn without replacement, without a given V: no noise."""
        # A Fisher estimate without replacement is 0 by itself, and the kept state stays of one form.
        variance = self.variance if isinstance(self.variance, Fisher) else None
        return self._with(self.manifold, variance, replacement=False)

    def _with(
        self, manifold: Manifold, variance: Fisher | NoiseVariance, replacement: bool
    ) -> "ControlVariate":
        return ControlVariate(
            self.log_likelihood,
            self.log_prior,
            self.data,
            self.centre,
            self.refresh_every,
            variance,
            self.refresh_variance_every,
            replacement,
            self.chunk_size,
            manifold,
        )

    def _batch_gradient(self, position: Position, batch: Batch) -> Tangent:
        scale = self.data_size / jax.tree.leaves(batch)[0].shape[0]
        return jax.grad(lambda p: scale * jnp.sum(self.log_likelihood(p, batch)))(position)

    def _full_gradient(self, position: Position) -> Tangent:
        size, chunk = self.data_size, min(self.chunk_size, self.data_size)

        def gradient(rows: Batch) -> Tangent:
            return jax.grad(lambda p: jnp.sum(self.log_likelihood(p, rows)))(position)

        def chunk_gradient(i: Count, total: Tangent) -> Tangent:
            rows = jax.tree.map(lambda a: jax.lax.dynamic_slice_in_dim(a, i * chunk, chunk), self.data)
            return _tree.add(total, gradient(rows))

        total = jax.lax.fori_loop(0, size // chunk, chunk_gradient, jax.tree.map(jnp.zeros_like, position))
        if size % chunk:
            total = _tree.add(total, gradient(jax.tree.map(lambda a: a[size - size % chunk :], self.data)))
        return total

    def _estimate(self, position: Position, centre: Position, batch: Batch) -> PyTree:
        differences = _tree.sub(
            per_datum_gradients(self.log_likelihood, position, batch),
            per_datum_gradients(self.log_likelihood, centre, batch),
        )
        return fisher_variance(
            self.variance, self.manifold, position, differences, self.data_size, self.replacement
        )
