"""Expected counts of a minibatch given the topics: a mean over sweeps of its documents' assignments."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from geodrift.kernels._streams import Family
from geodrift.models.latent_dirichlet_allocation.documents._assignment_kernel import add_counts
from geodrift.models.latent_dirichlet_allocation.documents._document_sampler import redraw
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch


def expected_counts(
    batch: Minibatch,
    assignments: Int[np.ndarray, " n"],
    topics: Float[np.ndarray, "W K"],
    doc_topic_prior: Float[np.ndarray, " K"],
    *,
    sweeps: int,
    averaged: int,
    first: bool,
    streams: Callable[[int], Family],
) -> Float[np.ndarray, "W K"]:
    """Sweeps over a minibatch, in place, and the counts of the last of them.

    Args:
        batch: The minibatch.
        assignments: z of its tokens, end to end in the order of the entries.
        topics: pi of its words, float32.
        doc_topic_prior: alpha, float32.
        sweeps: Sweeps over each document.
        averaged: How many of them, the last, are counted.
        first: Whether there are no assignments yet.
        streams: Random streams of the sweeps up to counted sweep 0, 1, ..., ``averaged`` - 1.

    Returns:
        Means of n_wk over the counted sweeps and sums over documents, [W, K] float32.
    """
    ends = np.add.accumulate(batch.counts, dtype=np.int64)
    starts = np.append(0, ends)[batch.indptr[:-1]]
    counts = np.zeros(topics.shape, np.float32)
    for number in range(averaged):
        redraw(
            batch,
            starts,
            assignments,
            topics,
            doc_topic_prior,
            sweeps=1 if number else sweeps - averaged + 1,
            first=first and number == 0,
            streams=streams(number),
        )
        add_counts(batch.words, batch.counts, assignments, counts)
    counts /= np.float32(averaged)
    return counts
