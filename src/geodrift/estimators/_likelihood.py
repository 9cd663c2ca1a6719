"""The base of the estimators for a log prior plus a sum of log likelihoods."""

import abc
import dataclasses
from typing import Any, ClassVar, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from geodrift._types import Batch, LogDensity, LogLikelihood, NoiseVariance, Position, Scalar, Tangent
from geodrift.estimators._affine import Affine
from geodrift.estimators._base import Estimator
from geodrift.estimators._batch_rows import batch_length
from geodrift.estimators._functions import called, check_function, one_number
from geodrift.estimators._leaf_scales import LeafScales
from geodrift.estimators._noise import Fisher, fisher_variance
from geodrift.manifolds import Manifold

_Kind = TypeVar("_Kind", bound="LikelihoodEstimator")


class Rows(NamedTuple):
    """A batch with the indices of its data, for estimators that store something for each datum."""

    index: Int[Array, " batch"]  # row numbers in the whole data set
    data: Batch  # these rows


class LikelihoodEstimator(Estimator):
    """An estimator made of ``log_likelihood(position, batch) -> [batch]`` and a log prior."""

    log_likelihood: LogLikelihood = eqx.field(static=True)
    log_prior: LogDensity = eqx.field(static=True)
    variance: Fisher | NoiseVariance
    replacement: bool = eqx.field(static=True)
    manifold: Manifold
    data_size: int = eqx.field(static=True)
    # Positions are coordinates of these; set by `in_coordinates`.
    affine: Affine | LeafScales | None = eqx.field(default=None, kw_only=True)

    takes_rows: ClassVar[bool] = False
    """Whether batches must be `Rows`; `geodrift.sample` makes them from plain data."""

    def __check_init__(self) -> None:
        check_function("log_likelihood", self.log_likelihood)
        check_function("log_prior", self.log_prior)

    @abc.abstractmethod
    def noisy_terms(self, position: Position, state: Any, batch: Batch) -> PyTree:
        """One vector for each datum, whose scaled sum over the batch has all of the gradient's noise.

        Args:
            position: Where.
            state: The estimator's state.
            batch: The minibatch.

        Returns:
            A pytree like the position, leaves ``[batch, *leaf]``.
        """

    def on(self: _Kind, manifold: Manifold) -> _Kind:
        """The same estimator, with Fisher estimates in this manifold's tangent spaces."""
        return self._replace(manifold=manifold)

    def on_all_data(self: _Kind) -> _Kind:
        """The same estimator for batches that are the whole data set, whose gradients have no noise."""
        # A Fisher estimate without replacement is then 0; making it leaves the state's structure as it is.
        variance = self.variance if isinstance(self.variance, Fisher) else None
        return self._replace(variance=variance, replacement=False)

    def noise_variance(self, position: Position, prepared: Any) -> NoiseVariance:
        """V as given or last estimated."""
        del position
        return prepared.variance

    def log_likelihoods(self, position: Position, batch: Batch) -> Float[Array, " batch"]:
        """The log likelihood of each datum of a batch.

        Raises:
            ValueError: The batch's arrays differ in length, or ``log_likelihood`` does not return one value
                for each datum.
        """
        size = batch_length(batch)
        values = called("log_likelihood", self.log_likelihood, self._position(position), batch)
        if jnp.shape(values) != (size,):
            raise ValueError(
                f"log_likelihood returned shape {jnp.shape(values)} for a batch of {size}: return one value"
                f" for each datum, shape ({size},), without summing them; the estimator sums and scales"
            )
        return values

    def log_prior_at(self, position: Position) -> Scalar:
        """The log prior.

        Raises:
            ValueError: ``log_prior`` does not return one number.
        """
        return one_number("log_prior", called("log_prior", self.log_prior, self._position(position)))

    def in_coordinates(self: _Kind, affine: Affine | LeafScales) -> _Kind:
        """The same target for coordinates of R^n.

        Raises:
            ValueError: V was given as numbers, which are those of positions.
        """
        if self.variance is not None and not isinstance(self.variance, Fisher):
            raise ValueError(
                "step_size = None: noise_variance is given as numbers, which belong to positions and not to"
                ' the coordinates that are found; give "scalar-fisher" or None, or a step size'
            )
        return self._replace(affine=affine)

    def _position(self, position: Position) -> Position:
        return position if self.affine is None else self.affine(position)

    def _scaled_gradient(self, position: Position, batch: Batch) -> Tangent:
        """N/B times the gradient of the batch's log likelihood."""
        scale = self.data_size / batch_length(batch)
        return jax.grad(lambda p: scale * jnp.sum(self.log_likelihoods(p, batch)))(position)

    def per_datum_gradients(self, position: Position, batch: Batch) -> PyTree:
        """The gradient of each datum's log likelihood: leaves ``[batch, *leaf]``."""

        def one(datum: Batch) -> Position:
            rows = jax.tree.map(lambda a: a[None], datum)
            return jax.grad(lambda p: self.log_likelihoods(p, rows)[0])(position)

        batch_length(batch)  # says so where there is none
        return jax.vmap(one)(batch)

    def _fisher(self, position: Position, terms: PyTree) -> PyTree:
        """V estimated from the batch's `noisy_terms`."""
        return fisher_variance(
            self.variance, self.manifold, position, terms, self.data_size, self.replacement
        )

    def _replace(self: _Kind, **changes: Any) -> _Kind:
        """A copy with these fields changed, made without the constructor, whose arguments are others."""
        new = object.__new__(type(self))
        for field in dataclasses.fields(self):
            value = changes.get(field.name, getattr(self, field.name))
            object.__setattr__(new, field.name, value)
        return new
