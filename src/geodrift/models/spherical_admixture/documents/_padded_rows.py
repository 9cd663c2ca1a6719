r"""Sparse rows laid out for devices other than CPUs, and the two sums over their entries.

A document is a row of L words and values, L the power of two that holds the longest of the minibatch. So

* projections c = beta v, [S, K], gather the words' rows of beta' and add them up: 2 S L K operations; 4 S L K
  bytes are read, which of frequent words come from the device's cache;
* the sum over documents P = sum_s v_s w_s' is a product of dense blocks, [V, B] x [B, K]: 2 S V K operations,
  and for a block 4 B V bytes to write, as many to read, and 8 V K for the sum. B depends on V alone: a block
  has at most `BLOCK_BYTES`, and stays in the device's cache.

The second does V / L times as many operations as there are. To add entry after entry to the words' rows would
need as many atomic additions, in an order that differs from run to run, and so would the bits; to sort the
entries by word at each step takes the host longer than the product takes the device.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from jaxtyping import Array, Float, Int

from geodrift.models.spherical_admixture.documents._mixtures_in_jax import product

SHORTEST = 16  # entries: rows are padded to this or to a power of two
BLOCK_BYTES = 2**24


class PaddedRows(NamedTuple):
    """Unit vectors of documents; a place that holds no entry has the word V and the value 0."""

    words: Int[Any, "S L"]
    values: Float[Any, "S L"]


def longest(lengths: Int[np.ndarray, " S"]) -> int:
    """L, the places of a row of a minibatch whose documents have so many entries."""
    return 1 << (max(SHORTEST, int(lengths.max(initial=0))) - 1).bit_length()


def padded_rows(rows: sp.csr_matrix, size: int) -> PaddedRows:
    """Rows of the host, [S, V], followed by empty ones up to ``size``."""
    lengths = np.diff(rows.indptr)
    length = longest(lengths)
    inside = np.arange(length) < lengths[:, None]
    words = np.full((size, length), rows.shape[1], np.int32)
    values = np.zeros((size, length), np.float32)
    words[: len(lengths)][inside], values[: len(lengths)][inside] = rows.indices, rows.data
    return PaddedRows(words, values)


def topic_projections(rows: PaddedRows, topics: Float[Array, "K V"]) -> Float[Array, "S K"]:
    """Inner products beta v of each document with each topic."""
    of_words = topics.T.at[rows.words].get(mode="fill", fill_value=0.0)
    return (rows.values[:, :, None] * of_words).sum(axis=1)


def with_weighted_documents(
    total: Float[Array, "V K"], rows: PaddedRows, weights: Float[Array, "S K"]
) -> Float[Array, "V K"]:
    """The total plus sum_s v_s weights_s'."""
    size = min(len(weights), max(8, BLOCK_BYTES // (4 * len(total))))
    missing = -len(weights) % size
    words = jnp.pad(rows.words, ((0, missing), (0, 0)), constant_values=len(total))
    blocks = (words, *(jnp.pad(x, ((0, missing), (0, 0))) for x in (rows.values, weights)))

    def add(total: Float[Array, "V K"], block: tuple) -> tuple[Float[Array, "V K"], None]:
        words, values, weights = block
        dense = jnp.zeros((size, len(total)), jnp.float32)
        dense = dense.at[jnp.arange(size)[:, None], words].add(values, mode="drop")
        return total + product(dense.T, weights), None

    blocks = tuple(x.reshape(-1, size, x.shape[1]) for x in blocks)
    return jax.lax.scan(add, total, blocks)[0]
