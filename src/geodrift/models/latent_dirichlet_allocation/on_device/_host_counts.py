"""Counts of words and topics that came from a device, in the form in which a host chain keeps them."""

import numpy as np
from jaxtyping import Int

from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._counts import (
    CountLists,
    CountTable,
    TopicCounts,
    empty_counts,
)
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import TokenSource


def host_counts(
    source: TokenSource, table: Int[np.ndarray, "V K"], bounds: Int[np.ndarray, " bound"]
) -> TopicCounts:
    """The counts N_kw as a table, or as lists of many topics.

    Args:
        source: The corpus.
        table: N_kw, int32.
        bounds: Words at which the parts of the vocabulary begin, and V.
    """
    num_topics = table.shape[1]
    counts = empty_counts(source, num_topics, bounds)
    if isinstance(counts, CountTable):
        counts.word_topic[:, :num_topics] = table
        counts.in_parts[:, :num_topics] = np.add.reduceat(table, bounds[:-1], axis=0)
    elif isinstance(counts, CountLists):
        words, topics = np.nonzero(table)
        numbers = table[words, topics]
        tokens = np.repeat(topics.astype(np.uint16), numbers)
        counts.rows.add(words, numbers, tokens, counts.in_parts, bounds)
    return counts
