"""Unit rows of documents for devices other than CPUs: kept there where they fit, else sent with each step."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int

from geodrift.models.clusters._device import fits, on_all
from geodrift.models.spherical_admixture.documents._documents import DocumentSource
from geodrift.models.spherical_admixture.documents._padded_rows import PaddedRows, longest, padded_rows

MOST_ENTRIES = 2**31 - 1  # places are 32-bit numbers on a device
AT_ONCE = 2**22  # entries that are sent at once


class DeviceRows:
    """Rows of a minibatch on the devices.

    All entries, 8 bytes each, are kept on each device if half of its memory holds them. Then 8 bytes a
    document travel for a step; else 8 for each place of a row.

    Args:
        source: The documents.
        mesh: The devices; None where there is one.
    """

    def __init__(self, source: DocumentSource, mesh: Mesh | None) -> None:
        self.source, mesh = source, mesh or Mesh(np.array(jax.local_devices()), ("documents",))
        self.starts = np.append(0, np.cumsum(source.lengths))
        number = int(self.starts[-1])
        self.kept: tuple[Array, Array] | None = None
        if number <= MOST_ENTRIES and fits(8 * number, mesh):
            self.kept = _sent(source, number, mesh)

    def padded(self, documents: Int[np.ndarray, " S"], size: int) -> PaddedRows:
        """Rows of these documents, followed by empty ones up to ``size``."""
        if self.kept is None:
            return padded_rows(self.source.rows(documents), size)
        lengths, begins = np.zeros(size, np.int32), np.zeros(size, np.int32)
        lengths[: len(documents)] = self.source.lengths[documents]
        begins[: len(documents)] = self.starts[documents]
        return _gathered(longest(lengths), self.source.num_words, *self.kept, begins, lengths)


def _sent(source: DocumentSource, number: int, mesh: Mesh) -> tuple[Array, Array]:
    """Words and values of all entries on each device, part after part: the host never holds them all."""
    size = min(AT_ONCE, max(number, 1))
    room = -(-number // size) * size
    kept = on_all((jnp.zeros(room, jnp.int32), jnp.zeros(room, jnp.float32)), mesh)
    words, values = np.zeros(0, np.int32), np.zeros(0, np.float32)
    begin = 0
    for documents, rows in source.batches():
        words = np.append(words, rows.indices.astype(np.int32))
        values = np.append(values, rows.data.astype(np.float32))
        while len(words) >= size or (len(words) and documents[-1] == source.num_documents - 1):
            part = (np.resize(words[:size], size), np.resize(values[:size], size))  # beyond the end: anything
            kept = _written(kept, on_all(part, mesh), np.int32(begin))
            words, values, begin = words[size:], values[size:], begin + size
    return kept


@partial(jax.jit, donate_argnums=0)
def _written(
    kept: tuple[Int[Array, " n"], Float[Array, " n"]],
    part: tuple[Int[Array, " m"], Float[Array, " m"]],
    begin: Int[Array, ""],
) -> tuple[Int[Array, " n"], Float[Array, " n"]]:
    return jax.tree.map(lambda x, y: jax.lax.dynamic_update_slice(x, y, (begin,)), kept, part)


@partial(jax.jit, static_argnums=(0, 1))
def _gathered(
    longest: int,
    num_words: int,
    words: Int[Array, " n"],
    values: Float[Array, " n"],
    begins: Int[Array, " S"],
    lengths: Int[Array, " S"],
) -> PaddedRows:
    number = jnp.arange(longest, dtype=jnp.int32)
    inside = number < lengths[:, None]
    places = jnp.where(inside, begins[:, None] + number, 0)
    return PaddedRows(jnp.where(inside, words[places], num_words), jnp.where(inside, values[places], 0.0))
