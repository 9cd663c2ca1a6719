"""A minibatch gradient with its noise reduced by a table of every datum's last gradient."""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from geodrift import _tree
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
from geodrift.estimators._batch_rows import batch_length, data_length
from geodrift.estimators._likelihood import LikelihoodEstimator, Rows
from geodrift.estimators._noise import Fisher, as_noise_variance, check_given_variance
from geodrift.manifolds import Euclidean, Manifold, Product


class SAGAState(NamedTuple):
    """State of `SAGA`."""

    table: PyTree  # each datum's last gradient: [N, *leaf]
    total: Tangent  # the sum of the table
    count: Shared[Count]  # batches seen


class SAGAPrepared(NamedTuple):
    """What `SAGA.prepare` returns for the inner step."""

    batch: Rows
    anchor: Tangent  # total less the scaled sum of the batch's entries
    variance: NoiseVariance


class SAGA(LikelihoodEstimator):
    r"""Scaled batch gradient less the batch's entries in a table of gradients, plus the table's sum.

    .. math:: \nabla \log p_0(x) + \sum_n g_n(\alpha_n) + \frac{N}{B} \sum_b [g_b(x) - g_b(\alpha_b)]

    where :math:`\alpha_n` is the position at which datum n was last seen. Unbiased for any table; Dubey et
    al. (2016), Algorithm 1 (SAGA-LD). The table starts with a pass over the data. A step costs 2B gradients
    of one datum.

    The table has N gradients for each chain: N times the bytes of a position. Its sum is updated by adding
    differences; the rounding error grows as the square root of the number of steps and stays far below the
    gradient's noise.

    Args:
        log_likelihood: ``log_likelihood(position, batch) -> [batch]``, one value for each datum.
        log_prior: ``log_prior(position) -> scalar``.
        data: All the data, a pytree of arrays with leading axis N.
        noise_variance: V, as for `Minibatch`; a Fisher estimate is that of the differences, made at every
            batch at no extra cost.
        replacement: Whether batches are drawn with replacement.
        chunk_size: Data in one piece of the pass over the data; bounds its memory.
        max_table_bytes: Largest size of the table of one chain.
        manifold: Where the tangent spaces of a Fisher estimate are; samplers set it with `on`.

    Raises:
        ValueError: An argument is outside its range; in `init`, the table would be too large.

    Its batches are `Rows`, which carry the row numbers of their data. `geodrift.sample` makes them; in a loop
    of your own give ``step`` the batch ``Rows(index, batch)``.
    """

    data: PyTree
    chunk_size: int = eqx.field(static=True)
    max_table_bytes: int = eqx.field(static=True)

    takes_rows: ClassVar[bool] = True

    def __init__(
        self,
        log_likelihood: LogLikelihood,
        log_prior: LogDensity,
        data: PyTree,
        noise_variance: str | Fisher | NoiseVariance = None,
        replacement: bool = True,
        chunk_size: int = 1024,
        max_table_bytes: int = 2**30,
        manifold: Manifold | None = None,
    ) -> None:
        self.log_likelihood, self.log_prior = log_likelihood, log_prior
        self.data = jax.tree.map(jnp.asarray, data)
        self.data_size = data_length(self.data)
        self.variance = as_noise_variance(noise_variance)
        self.replacement = bool(replacement)
        self.chunk_size = whole("chunk_size", chunk_size)
        self.max_table_bytes = whole("max_table_bytes", max_table_bytes)
        self.manifold = Product(Euclidean()) if manifold is None else manifold

    def table_bytes(self, position: Position) -> int:
        """Bytes of the table of one chain whose position has these shapes and dtypes."""
        return self.data_size * sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(position))

    def log_likelihoods(self, position: Position, batch: Batch) -> Float[Array, " batch"]:
        """The log likelihood of each datum of a batch, with or without the numbers of its rows."""
        return super().log_likelihoods(position, batch.data if isinstance(batch, Rows) else batch)

    def init(self, key: RandomKey, position: Position) -> SAGAState:
        """The state with the table of the gradients at the start: one pass over the data."""
        del key
        check_given_variance(self.variance, position, self.manifold)
        needed = self.table_bytes(position)
        if needed > self.max_table_bytes:
            raise ValueError(
                f"SAGA's table of {self.data_size} gradients takes {needed:,} bytes for each chain, more than"
                f" max_table_bytes = {self.max_table_bytes:,}: take SVRG or ControlVariate, which keep one"
                " gradient, or raise max_table_bytes"
            )

        def one(datum: PyTree) -> Tangent:
            rows = jax.tree.map(lambda a: a[None], datum)
            return jax.tree.map(lambda g: g[0], self.per_datum_gradients(position, rows))

        table = jax.lax.map(one, self.data, batch_size=min(self.chunk_size, self.data_size))
        total = jax.tree.map(lambda g: jnp.sum(g, axis=0), table)
        return SAGAState(table, total, jnp.zeros((), jnp.int32))

    def prepare(
        self, key: RandomKey, state: SAGAState, position: Position, batch: Batch
    ) -> tuple[SAGAPrepared, SAGAState]:
        """The anchor from the batch's old entries, and the table with its new ones.

        Raises:
            ValueError: The batch is not `Rows`.
        """
        del key
        if not isinstance(batch, Rows):
            raise ValueError(
                "SAGA needs to know which data a batch holds: give geodrift.sample the data, and in a loop of"
                " your own estimators.Rows(index, batch)"
            )
        new = self.per_datum_gradients(position, batch.data)
        old = jax.tree.map(lambda table: table[batch.index], state.table)
        changes = _tree.sub(new, old)
        scale = self.data_size / batch_length(batch.data)
        anchor = jax.tree.map(lambda t, g: t - scale * jnp.sum(g, axis=0), state.total, old)
        variance = self._fisher(position, changes) if isinstance(self.variance, Fisher) else self.variance
        counted = first_occurrences(batch.index) if self.replacement else jnp.ones(batch.index.shape, bool)
        state = SAGAState(
            table=jax.tree.map(lambda table, g: table.at[batch.index].set(g), state.table, new),
            total=jax.tree.map(
                lambda t, change: t + jnp.tensordot(counted.astype(t.dtype), change, 1), state.total, changes
            ),
            count=state.count + 1,
        )
        return SAGAPrepared(batch, anchor, variance), state

    def gradient(self, position: Position, prepared: SAGAPrepared) -> Tangent:
        """The prior's gradient, the scaled batch gradient and the anchor, summed."""
        likelihood = _tree.add(self._scaled_gradient(position, prepared.batch.data), prepared.anchor)
        return _tree.add(jax.grad(self.log_prior_at)(position), likelihood)

    def noisy_terms(self, position: Position, state: SAGAState, batch: Rows) -> PyTree:
        """Each datum's gradient at the position less its entry in the table: leaves ``[batch, *leaf]``."""
        old = jax.tree.map(lambda table: table[batch.index], state.table)
        return _tree.sub(self.per_datum_gradients(position, batch.data), old)


def first_occurrences(index: Int[Array, " batch"]) -> Bool[Array, " batch"]:
    """Whether each entry is the first of its value: a datum that is twice in a batch changes the sum once."""
    order = jnp.argsort(index, stable=True)
    ordered = index[order]
    is_new = jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])
    return jnp.zeros(index.shape, bool).at[order].set(is_new)
