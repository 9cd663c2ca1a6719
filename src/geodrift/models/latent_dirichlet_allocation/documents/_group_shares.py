r"""The mean shares of topics in a group of documents, by composition of posterior draws.

A prior that all documents share pulls each mixture to its own mean: of a document of n tokens, and A the sum
of alpha, by A / (A + n). What is averaged over the documents of a group is pulled as far, and the difference
of two groups comes out too small. So the documents of a group have a prior of their own, which is drawn too:

.. math:: \theta_d \sim \mathrm{Dirichlet}(\alpha_g), \quad \alpha_{gk} \sim \mathrm{Gamma}(1, 1).

A group is seldom a Dirichlet: where half of its documents are of one topic and half of another, the mean of
the Dirichlet that is most like them is far from theirs. So the prior only pulls the single mixtures, and the
group's mean share is theirs, with the weights of the Bayesian bootstrap (Rubin 1981), as if the group had one
document more, of its prior:

.. math:: m_g = \sum_d w_d\, \theta_d + w_0\, \theta_0, \quad
    \theta_0 \sim \mathrm{Dirichlet}(\alpha_g), \quad w \sim \mathrm{Dirichlet}(1, \ldots, 1).

The weights are the uncertainty of there being so many documents and no more; they ask nothing of the form of
the mixtures' distribution. Under each draw of the topics, assignments and alpha_g are drawn in turn
(`draw_document_prior`), then theta and w; the draws of m_g of all draws of the topics together are those of
the composition (Treier and Jackman 2008; Roberts et al. 2014, section 3.3). The topics are those of the run,
whose own prior does not know the groups.
"""

import numpy as np
import scipy.sparse as sp
from jaxtyping import ArrayLike, Float, Int

from geodrift.kernels._stream_kinds import Family
from geodrift.kernels._streams import LDA_EFFECT_ASSIGNMENTS, LDA_EFFECT_MIXTURES, LDA_EFFECT_PRIORS
from geodrift.models.kit._counts import checked_counts
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._document_prior import draw_document_prior
from geodrift.models.latent_dirichlet_allocation.documents._mixtures import draw_dirichlets
from geodrift.models.latent_dirichlet_allocation.evaluation._fold_in import (
    DocumentSampler,
    checked_prior,
    checked_topics,
)

FIRST_SWEEPS = 60  # before the first draw that is kept
BURN_IN = 15  # sweeps under each later draw of the topics, from the state under the one before
DRAWS_PER_TOPIC_DRAW, SWEEPS_A_DRAW = 10, 2


def group_shares(
    counts: sp.csr_matrix,
    topics: Float[np.ndarray, "N K V"],
    doc_topic_prior: ArrayLike,
    *,
    group: int = 0,
    seed: int = 0,
) -> Float[np.ndarray, "M K"]:
    """Draws of the mean shares m_g of the topics in the documents of one group, and in others like them.

    Args:
        counts: Whole numbers, [D, V], of the group's documents; those without a token say nothing.
        topics: Aligned draws; rows sum to 1.
        doc_topic_prior: alpha to start from: one number, K numbers, or [N, K].
        group: Number of the group, which with the seed names its random streams.
        seed: Seed of the assignments and of the priors.

    Returns:
        `DRAWS_PER_TOPIC_DRAW` draws for each draw of the topics, one after the other.

    Raises:
        ValueError: Shapes disagree, or no document has a token.
    """
    counts = checked_counts(counts)
    counts = counts[np.diff(counts.indptr) > 0]
    if not counts.shape[0]:
        raise ValueError("no document of the group has a word that the topics know")
    topics = checked_topics(topics, counts.shape[1])
    num_draws, num_topics = topics.shape[:2]
    prior = checked_prior(doc_topic_prior, num_draws, num_topics)[0]
    # By their places: documents with the same words are two of them.
    items = (np.int64(group) << 40) + np.arange(counts.shape[0] + 1)  # the last is of no document
    sampler = DocumentSampler(counts, num_topics, items[:-1], LDA_EFFECT_ASSIGNMENTS, seed)
    shares = np.empty((num_draws, DRAWS_PER_TOPIC_DRAW, num_topics))
    for number, draw in enumerate(topics):
        rng, step = LDA_EFFECT_PRIORS.generator(seed, number, group), 0
        sampler.set_topics(draw, prior)
        sweeps = BURN_IN if number else FIRST_SWEEPS
        for kept in range(-1, DRAWS_PER_TOPIC_DRAW):
            for _ in range(sweeps if kept < 0 else SWEEPS_A_DRAW):
                sampler.set_prior(prior)
                counts_now = sampler.sweep(number, step)
                prior = draw_document_prior(prior, sampler.bounds, sampler.assignments, False, rng)
                # Float32 is what the sweeps calculate with.
                prior, step = np.maximum(prior, np.finfo(np.float32).tiny), step + 1
            if kept >= 0:
                family = LDA_EFFECT_MIXTURES.family(seed, number, kept)
                shares[number, kept] = _mean_share(counts_now, prior, items, family, rng)
    return shares.reshape(-1, num_topics)


def _mean_share(
    counts: Int[np.ndarray, "D K"],
    prior: Float[np.ndarray, " K"],
    items: Int[np.ndarray, " documents"],
    streams: Family,
    rng: np.random.Generator,
) -> Float[np.ndarray, " K"]:
    """A draw of m_g given the documents' assignments and alpha_g."""
    with_one_more = np.vstack([counts, np.zeros((1, len(prior)), counts.dtype)])
    mixtures = np.empty(with_one_more.shape, np.float32)
    draw_dirichlets(mixtures.size, with_one_more, prior.astype(np.float32), items, streams.word, mixtures)
    weights = rng.standard_exponential(len(mixtures))
    return weights @ mixtures / weights.sum()
