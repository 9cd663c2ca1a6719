"""The kernels of a collapsed Gibbs chain are compiled before its steps are timed."""

import numpy as np
from jaxtyping import Float, UInt

from geodrift.kernels._stream_kinds import Family
from geodrift.models.latent_dirichlet_allocation._topics import draw_topics
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._counts import TopicCounts
from geodrift.models.latent_dirichlet_allocation.documents import _assignment_kernel as kernel
from geodrift.models.latent_dirichlet_allocation.documents._gibbs_sweeps import gibbs_sweeps
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch


def compile_kernels(
    nothing: Minibatch,
    assignments: UInt[np.ndarray, " n"],
    counts: TopicCounts,
    masses: Float[np.ndarray, "P K"],
    doc_topic_prior: Float[np.ndarray, " K"],
) -> None:
    """Go through a step of no documents; what it is given stays as it is.

    Args:
        nothing: A minibatch without documents.
        assignments: See `collapsed_gibbs_sweeps`, as for all below: z.
        counts: N_kw.
        masses: rho.
        doc_topic_prior: alpha.
    """
    number, starts, streams = len(doc_topic_prior), nothing.documents, Family(0, 0, 0)
    topics = np.zeros((0, number), np.float32)
    gibbs_sweeps(nothing, starts, assignments, topics, doc_topic_prior, sweeps=1, first=True, streams=streams)
    counts.add(nothing, kernel.gather(starts, starts, assignments))
    counts.sweep(nothing, starts, assignments, masses, doc_topic_prior, 1.0, sweeps=1, streams=streams)
    totals = counts.in_parts.sum(axis=0)[:number]
    draw_topics(counts.table(nothing.vocabulary), totals, nothing.vocabulary, 1.0, streams)
