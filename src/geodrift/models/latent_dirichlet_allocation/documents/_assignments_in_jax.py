"""Exact draws of topic assignments given the topics as one compiled program, for devices other than CPUs.

Patterson and Teh (2013), eq. 11, with normalised topics. Documents of about one length run side by side,
their tokens one after another; every draw sums over all topics, which such devices do fast.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt

from geodrift.kernels._stream_kinds import Family
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch

SHORTEST = 16  # tokens: documents are padded to this or to a power of two
MOST_NUMBERS = 2**26  # documents times topics that run side by side


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
    padded = jnp.asarray(_padded(topics, _power_of_two(len(topics))))
    padded_lengths = _powers_of_two(lengths)
    for length in np.unique(padded_lengths):
        rows = np.flatnonzero((padded_lengths == length) & (lengths > 0))
        most = max(1, MOST_NUMBERS // topics.shape[1])
        for block in np.array_split(rows, -(-len(rows) // most) or 1):
            if not len(block):
                continue
            inside = np.arange(length) < lengths[block, None]
            at = np.where(inside, begins[block, None] + np.arange(length), 0)
            places = np.where(inside, starts[block, None] + np.arange(length), 0)
            size = _power_of_two(len(block))
            drawn = _sweeps(
                key,
                _padded(batch.documents[block], size),
                _padded(tokens[at], size),
                _padded(inside, size),
                _padded(assignments[places].astype(np.int32), size),
                padded,
                doc_topic_prior,
                sweeps,
                first,
            )
            assignments[places[inside]] = np.asarray(drawn)[: len(block)][inside]


@partial(jax.jit, static_argnames=("sweeps", "first"))
def _sweeps(
    key: Key[Array, ""],
    documents: Int[Array, " B"],
    tokens: Int[Array, "B L"],
    inside: Bool[Array, "B L"],
    assignments: Int[Array, "B L"],
    topics: Float[Array, "W K"],
    doc_topic_prior: Float[Array, " K"],
    sweeps: int,
    first: bool,
) -> Int[Array, "B L"]:
    """New assignments; places that are not ``inside`` their document keep what they hold."""
    num_topics, length = topics.shape[1], tokens.shape[1]
    one_hot = partial(jax.nn.one_hot, num_classes=num_topics, dtype=topics.dtype)
    uniform = partial(jax.random.uniform, shape=(length,), dtype=topics.dtype)
    keys = jax.vmap(lambda document: jax.random.fold_in(key, document))(documents)
    numbers = jnp.zeros((len(tokens), num_topics), topics.dtype)  # n_dk
    if not first:
        rows = jnp.arange(len(tokens))[:, None]
        numbers = numbers.at[rows, assignments].add(inside.astype(topics.dtype))

    def sweep(number: Int[Array, ""], state: tuple) -> tuple:
        uniforms = jax.vmap(lambda k: uniform(jax.random.fold_in(k, number)))(keys)
        counted = jnp.logical_not(first) | (number > 0)

        def token(i: Int[Array, ""], state: tuple) -> tuple:
            numbers, assignments = state
            here, old = inside[:, i], assignments[:, i]
            numbers -= one_hot(old) * (here & counted)[:, None]
            sums = jnp.cumsum((doc_topic_prior + numbers) * topics[tokens[:, i]], axis=1)
            at = uniforms[:, i, None] * sums[:, -1:]
            new = jnp.minimum(jnp.sum(sums <= at, axis=1), num_topics - 1)
            numbers += one_hot(new) * here[:, None]
            return numbers, assignments.at[:, i].set(jnp.where(here, new, old).astype(old.dtype))

        return jax.lax.fori_loop(0, length, token, state)

    return jax.lax.fori_loop(0, sweeps, sweep, (numbers, assignments))[1]


def _powers_of_two(lengths: Int[np.ndarray, " B"]) -> Int[np.ndarray, " B"]:
    """The least power of two from `SHORTEST` on that holds each length."""
    return 2 ** np.ceil(np.log2(np.maximum(lengths, SHORTEST))).astype(np.int64)


def _power_of_two(length: int) -> int:
    return int(_powers_of_two(np.array([length]))[0])


def _padded(rows: np.ndarray, size: int) -> np.ndarray:
    """The rows followed by zeros up to ``size`` rows, so that few shapes have to be compiled."""
    return np.concatenate([rows, np.zeros((size - len(rows), *rows.shape[1:]), rows.dtype)])
