"""Exact draws of topic assignments given the topics as one compiled program, for devices other than CPUs.

Documents of about one length run side by side; see `_sweeps_in_jax`. What a minibatch needs goes to the
device and comes back. Where assignments are kept on the device, `on_device` calls the same sweeps.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, UInt

from geodrift.kernels._stream_kinds import Family
from geodrift.models.latent_dirichlet_allocation.documents._draw_in_jax import pad_topics
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch
from geodrift.models.latent_dirichlet_allocation.documents._sweeps_in_jax import redrawn

SHORTEST = 16  # tokens: documents are padded to this or to a power of two
MOST_NUMBERS = 2**26  # documents times topics that run side by side

_sweeps = jax.jit(redrawn, static_argnames=("sweeps", "first"))


def gibbs_sweeps(
    batch: Minibatch,
    starts: Int[np.ndarray, " S"],
    assignments: UInt[np.ndarray, " n"],
    topics: Float[np.ndarray, "W K"],
    doc_topic_prior: Float[np.ndarray, " K"],
    *,
    sweeps: int,
    first: bool,
    streams: Family,
    tables: Float[np.ndarray, "W K"] | None = None,
) -> None:
    """Sweep over the tokens of a minibatch; see `_assignment_kernel.gibbs_sweeps`."""
    del tables  # no draw looks anything up
    tokens = np.repeat(batch.words, batch.counts)
    ends = np.append(0, np.cumsum(batch.counts, dtype=np.int64))[batch.indptr]
    begins, lengths = ends[:-1], np.diff(ends)
    key = streams.key
    padded = jnp.asarray(_padded(pad_topics(topics), int(powers_of_two(len(topics)))))
    prior = jnp.asarray(pad_topics(doc_topic_prior))
    padded_lengths = powers_of_two(lengths)
    for length in np.unique(padded_lengths):
        rows = np.flatnonzero((padded_lengths == length) & (lengths > 0))
        most = max(1, MOST_NUMBERS // topics.shape[1])
        for block in np.array_split(rows, -(-len(rows) // most) or 1):
            if not len(block):
                continue
            inside = np.arange(length) < lengths[block, None]
            at = np.where(inside, begins[block, None] + np.arange(length), 0)
            places = np.where(inside, starts[block, None] + np.arange(length), 0)
            size = int(powers_of_two(len(block)))
            drawn = _sweeps(
                key,
                _padded(batch.documents[block], size),
                _padded(tokens[at], size),
                _padded(lengths[block].astype(np.int32), size),
                _padded(assignments[places].astype(np.int32), size),
                padded,
                prior,
                sweeps,
                first,
            )
            assignments[places[inside]] = np.asarray(drawn)[: len(block)][inside]


def powers_of_two(lengths: Int[np.ndarray, "*n"] | int) -> Int[np.ndarray, "*n"]:
    """The least power of two from `SHORTEST` on that holds each length."""
    return 2 ** np.ceil(np.log2(np.maximum(lengths, SHORTEST))).astype(np.int64)


def _padded(rows: np.ndarray, size: int) -> np.ndarray:
    """The rows followed by zeros up to ``size`` rows, so that few shapes have to be compiled."""
    return np.concatenate([rows, np.zeros((size - len(rows), *rows.shape[1:]), rows.dtype)])
