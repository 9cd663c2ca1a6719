r"""Clusters of rows of counts given word probabilities and weights, as compiled programs, for devices.

The word probabilities that the collapsed sampler integrates out are drawn given all assignments,

    theta_k ~ Dirichlet(a_0 + N_k),    p(z_i = k)  propto  w_k / xi_k 1(xi_k > u_i) prod_c theta_kc^x_ic,

and then the rows of a step are independent of each other (xi and u: `models.clusters._weights_of_all`). Rows
of about one length run side by side, `ENTRIES` of their entries at a time.

For V words, C columns (clusters and some that no row is in) and n entries of the step's rows: V C gammas,
2 n C multiplications and additions, and 4 n C bytes of logs of theta, of rows of C numbers that lie together,
to which padding to powers of two adds up to as many again; counts change by two additions of whole numbers an
entry, in any order.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from geodrift.models.clusters._drawn_columns import drawn_columns
from geodrift.processes._gamma import log_gamma

ENTRIES = 16  # of a row that are read at once


class Entries(NamedTuple):
    """Rows one after the other: words and counts, [n] each."""

    words: Int[Array, " n"]
    counts: Int[Array, " n"]


class Batch(NamedTuple):
    """Rows of a step, [lane, block, row].

    Attributes:
        begins: Their first entries.
        lengths: Their entries.
        numbers: Their names for random numbers; below 0: there is no row.
        columns: The columns that they are in.
        levels: Log u.
    """

    begins: Int[Array, "L T B"]
    lengths: Int[Array, "L T B"]
    numbers: Int[Array, "L T B"]
    columns: Int[Array, "L T B"]
    levels: Float[Array, "L T B"]


class Columns(NamedTuple):
    """What rows choose from, [C].

    Attributes:
        labels: Number of each cluster; M, where there are counts of M, where there is none.
        heights: Log of w / xi; minus infinity where there is no cluster.
        caps: Log xi.
    """

    labels: Int[Array, " C"]
    heights: Float[Array, " C"]
    caps: Float[Array, " C"]


@jax.jit
def log_words(
    key: Key[Array, ""], table: Int[Array, "V M"], columns: Columns, prior: Float[Array, ""]
) -> Float[Array, "V C"]:
    """A draw of log theta of each column, less the largest of each word: rows' scores keep their digits.

    Args:
        key: Of clusters, by numbers below 0.
        table: N.
        columns: See there.
        prior: a_0.
    """
    counts = table.at[:, columns.labels].get(mode="fill", fill_value=0)
    keys = jax.vmap(partial(jax.random.fold_in, key))(-1 - columns.labels)
    logs = jax.vmap(log_gamma, (0, 1), 1)(keys, prior + counts.astype(jnp.float32))
    logs -= jax.nn.logsumexp(logs, axis=0)
    there = columns.heights > -jnp.inf
    return jnp.where(there, logs - jnp.max(jnp.where(there, logs, -jnp.inf), axis=1, keepdims=True), 0.0)


@partial(jax.jit, static_argnames="longest")
def drawn(
    key: Key[Array, ""],
    logs: Float[Array, "V C"],
    columns: Columns,
    entries: Entries,
    batch: Batch,
    longest: int,
) -> Int[Array, "L T B"]:
    """The columns of rows that have at most ``longest`` entries, a multiple of `ENTRIES`."""

    def block(_: None, some: Batch) -> tuple[None, Int[Array, " B"]]:
        def add_words(i: Int[Array, ""], scores: Float[Array, "B C"]) -> Float[Array, "B C"]:
            words, counts, _ = _entries_at(entries, some, i * ENTRIES + jnp.arange(ENTRIES))
            return scores + jnp.sum(logs[words] * counts[..., None], axis=1)

        start = jnp.broadcast_to(columns.heights, (len(some.begins), logs.shape[1]))
        scores = jax.lax.fori_loop(0, longest // ENTRIES, add_words, start)
        return None, drawn_columns(key, scores, columns.caps >= some.levels[:, None], some.numbers)

    found = jax.vmap(lambda lane: jax.lax.scan(block, None, lane)[1])(batch)
    return jnp.where(batch.numbers >= 0, found, batch.columns)


@partial(jax.jit, static_argnames="longest", donate_argnums=0)
def moved(
    table: Int[Array, "V M"],
    labels: Int[Array, " C"],
    entries: Entries,
    batch: Batch,
    after: Int[Array, "L T B"],
    longest: int,
) -> Int[Array, "V M"]:
    """N after rows have left their columns for others."""

    def block(table: Int[Array, "V M"], part: tuple) -> tuple[Int[Array, "V M"], None]:
        some, new = part
        words, counts, inside = _entries_at(entries, some, jnp.arange(longest))
        counts = jnp.where(inside & (some.columns != new)[:, None], counts, 0).astype(table.dtype)
        for of_rows, sign in ((some.columns, -1), (new, 1)):
            table = table.at[words, labels[of_rows][:, None]].add(sign * counts, mode="drop")
        return table, None

    flat = jax.tree.map(lambda values: values.reshape(-1, values.shape[-1]), (batch, after))
    return jax.lax.scan(block, table, flat)[0]


def _entries_at(
    entries: Entries, some: Batch, places: Int[Array, " E"]
) -> tuple[Int[Array, "B E"], Int[Array, "B E"], Bool[Array, "B E"]]:
    """Words and counts at the same places of all rows, and which there are; counts are 0 elsewhere."""
    inside = places < some.lengths[:, None]
    at = jnp.where(inside, some.begins[:, None] + places, 0)
    return entries.words[at], jnp.where(inside, entries.counts[at], 0), inside
