"""The kernels of a collapsed Gibbs chain are compiled before its steps are timed."""

import numpy as np
from jaxtyping import Float, Int, UInt

from geodrift.kernels._stream_kinds import Family
from geodrift.models.latent_dirichlet_allocation._topics import draw_topics
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._sweeps import collapsed_gibbs_sweeps
from geodrift.models.latent_dirichlet_allocation.documents import _assignment_kernel as kernel
from geodrift.models.latent_dirichlet_allocation.documents._gibbs_sweeps import gibbs_sweeps
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import Minibatch


def compile_kernels(
    nothing: Minibatch,
    bounds: Int[np.ndarray, " bound"],
    assignments: UInt[np.ndarray, " n"],
    word_topic: Int[np.ndarray, "V Kp"],
    in_parts: Float[np.ndarray, "P Kp"],
    masses: Float[np.ndarray, "P K"],
    doc_topic_prior: Float[np.ndarray, " K"],
) -> None:
    """Go through a step of no documents; what it is given stays as it is.

    Args:
        nothing: A minibatch without documents.
        bounds: See `collapsed_gibbs_sweeps`, as for all below.
        assignments: z.
        word_topic: N_kw.
        in_parts: N_kb.
        masses: rho.
        doc_topic_prior: alpha.
    """
    number, starts, streams = len(doc_topic_prior), nothing.documents, Family(0, 0, 0)
    topics = np.zeros((0, number), np.float32)
    gibbs_sweeps(nothing, starts, assignments, topics, doc_topic_prior, sweeps=1, first=True, streams=streams)
    kernel.add_counts(nothing.words, nothing.counts, kernel.gather(starts, starts, assignments), word_topic)
    given = (word_topic, in_parts, masses, doc_topic_prior)
    collapsed_gibbs_sweeps(nothing, starts, bounds, assignments, *given, 1.0, sweeps=1, streams=streams)
    counts = np.ascontiguousarray(word_topic[:, :number]), in_parts.sum(axis=0)[:number]
    draw_topics(*counts, nothing.vocabulary, 1.0, streams)
