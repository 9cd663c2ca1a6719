"""Expected counts of a minibatch given the topics, estimated by Gibbs sweeps over its documents."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, UInt

from geodrift.kernels._stream_kinds import Family
from geodrift.models.latent_dirichlet_allocation.documents._assignment_kernel import add_counts
from geodrift.models.latent_dirichlet_allocation.documents._gibbs_sweeps import gibbs_sweeps
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch


def expected_counts(
    batch: Minibatch,
    assignments: UInt[np.ndarray, " n"],
    topics: Float[np.ndarray, "W K"],
    doc_topic_prior: Float[np.ndarray, " K"],
    *,
    sweeps: int,
    averaged: int,
    first: bool,
    streams: Callable[[int], Family],
) -> Float[np.ndarray, "W K"]:
    """Sweep over a minibatch, in place, and average the counts of the last sweeps.

    Args:
        batch: The minibatch.
        assignments: z of its tokens, one document after the other, in the order of the entries.
        topics: pi of its words, float32.
        doc_topic_prior: alpha, float32.
        sweeps: Number of sweeps over each document.
        averaged: Number of sweeps, the last ones, whose counts are averaged.
        first: Whether there are no assignments yet.
        streams: Gives the random streams of the i-th averaged sweep, from 0; the sweeps before belong to 0.

    Returns:
        n_wk, summed over documents and averaged over sweeps, [W, K] float32.
    """
    ends = np.add.accumulate(batch.counts, dtype=np.int64)
    starts = np.append(0, ends)[batch.indptr[:-1]]
    counts = np.zeros(topics.shape, np.float32)
    for number in range(averaged):
        gibbs_sweeps(
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
