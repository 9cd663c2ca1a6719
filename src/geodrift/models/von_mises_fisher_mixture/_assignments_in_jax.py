r"""Assignments of rows given directions and weights, as one compiled program, for devices other than CPUs.

The directions that the collapsed sampler integrates out are drawn given all assignments,

    mu_k ~ vMF(kappa_k R_k + r_0),
    p(z_i = k)  propto  w_k / xi_k 1(xi_k > u_i) c(kappa_k) exp(kappa_k mu_k'x_i),

and then the rows of a step are independent of each other (xi and u: `models.clusters._weights_of_all`). These
are two draws of conditional laws, so the assignments keep the posterior that `_assignment_kernel` has.

For S rows of d numbers and C columns (clusters, some that no row is in, the background): 2 S C d
multiplications and additions for the products and as many for the sums of the rows that moved, S C
exponentials, one uniform number a row, C d normal ones. Each row is read twice, 8 S d bytes, scores and
what came of them in between: 12 S C. Products have all digits of float32 (a device may be told to round its
factors to ten bits, which kappa would multiply). Sums are float64, to which blocks add what float32 holds of
them in a fixed order.
"""

from functools import partial, reduce
from operator import add
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from geodrift.distributions import sample
from geodrift.models.clusters._drawn_columns import drawn_columns

_EVERY_DIGIT = jax.lax.Precision.HIGHEST


class Columns(NamedTuple):
    """What rows choose from, [C].

    Attributes:
        labels: Number of each cluster; M, where there are sums of M, of a column that has no sum.
        counts: Rows.
        kappa: Concentrations; 0 of what is uniform.
        heights: Log of w / xi times c(kappa), but for a constant; minus infinity where there is no cluster.
        caps: Log xi.
    """

    labels: Int[Array, " C"]
    counts: Int[Array, " C"]
    kappa: Float[Array, " C"]
    heights: Float[Array, " C"]
    caps: Float[Array, " C"]


class Batch(NamedTuple):
    """The rows of a step, [lane, block, row].

    Attributes:
        places: Where they stand among the rows that are given.
        numbers: Their names for random numbers; below 0: there is no row.
        columns: The columns that they are in.
        levels: Log u.
    """

    places: Int[Array, "L T B"]
    numbers: Int[Array, "L T B"]
    columns: Int[Array, "L T B"]
    levels: Float[Array, "L T B"]


class Redrawn(NamedTuple):
    """What a step leaves.

    Attributes:
        columns: Of the rows.
        sums: R of all clusters, on the device.
        counts: Of the columns.
        squares: |R|^2 of the columns.
        along: R'r_0 of the columns.
    """

    columns: Int[Array, "L T B"]
    sums: Float[Array, "M d"]
    counts: Int[Array, " C"]
    squares: Float[Array, " C"]
    along: Float[Array, " C"]


@jax.jit
def redrawn(
    x: Float[Array, "N d"],
    batch: Batch,
    key: Key[Array, ""],
    sums: Float[Array, "M d"],
    r0: Float[Array, " d"],
    columns: Columns,
) -> Redrawn:
    """Draw directions given the sums, then the columns of the rows given directions.

    Args:
        x: Rows, float32.
        batch: See there.
        key: Of rows, by their numbers from 0, and of directions, by numbers below 0.
        sums: R, float64.
        r0: Of the directions' prior, float64.
        columns: See there.
    """
    of_columns = sums.at[columns.labels].get(mode="fill", fill_value=0.0)
    directions = _directions(key, columns, of_columns, r0)
    lane = partial(_lane, key, x, columns, columns.kappa[:, None] * directions)
    found, gains, more = jax.vmap(lane)(batch)
    counts = columns.counts + jnp.sum(more, axis=0)
    # Lane after lane, wherever they lie; a cluster that has lost its last row has a sum of no rounding.
    of_columns = jnp.where(counts[:, None] > 0, of_columns + reduce(add, list(gains)), 0.0)
    squares, along = jnp.sum(of_columns**2, axis=1), of_columns @ r0
    return Redrawn(
        found, sums.at[columns.labels].set(of_columns, mode="drop"), counts.astype(jnp.int32), squares, along
    )


def _directions(
    key: Key[Array, ""], columns: Columns, sums: Float[Array, "C d"], r0: Float[Array, " d"]
) -> Float[Array, "C d"]:
    """A draw of each direction, float32."""
    resultants = columns.kappa.astype(sums.dtype)[:, None] * sums + r0
    lengths = jnp.linalg.norm(resultants, axis=1)
    first = jnp.zeros_like(resultants).at[:, 0].set(1.0)
    directed = lengths[:, None] > 0
    means = jnp.where(directed, resultants / jnp.where(directed, lengths[:, None], 1.0), first)
    keys = jax.vmap(partial(jax.random.fold_in, key))(-1 - columns.labels)
    return jax.vmap(sample)(keys, means.astype(jnp.float32), lengths.astype(jnp.float32))


def _lane(
    key: Key[Array, ""],
    x: Float[Array, "N d"],
    columns: Columns,
    scaled: Float[Array, "C d"],
    batch: Batch,
) -> tuple[Int[Array, "T B"], Float[Array, "C d"], Int[Array, " C"]]:
    """Blocks one after the other: the rows' columns, and what sums and counts gain."""

    def block(gained: tuple, some: Batch) -> tuple:
        rows = x[some.places]
        scores = columns.heights + jnp.matmul(rows, scaled.T, precision=_EVERY_DIGIT)
        chosen = drawn_columns(key, scores, columns.caps >= some.levels[:, None], some.numbers)
        there = some.numbers >= 0
        chosen = jnp.where(there, chosen, some.columns)
        one_hot = partial(jax.nn.one_hot, num_classes=len(scaled), dtype=rows.dtype)
        moves = one_hot(chosen) - one_hot(some.columns)
        gains = jnp.matmul(moves.T, rows, precision=_EVERY_DIGIT)
        more = jnp.sum(moves.astype(jnp.int32), axis=0, dtype=jnp.int32)
        return (gained[0] + gains.astype(gained[0].dtype), gained[1] + more), chosen

    nothing = jnp.zeros(scaled.shape, jnp.float64), jnp.zeros(len(scaled), jnp.int32)
    gained, chosen = jax.lax.scan(block, nothing, batch)
    return chosen, *gained
