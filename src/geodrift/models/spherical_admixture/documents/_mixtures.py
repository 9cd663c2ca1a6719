"""Mixtures of documents that were not fitted, with intervals."""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float

from geodrift.kernels._streams import SAM_TRANSFORM_MIXTURES
from geodrift.models.kit._content_hashes import content_hashes
from geodrift.models.kit._found_draws import ends_over, mean_over
from geodrift.models.spherical_admixture._settings import Settings, filled
from geodrift.models.spherical_admixture.documents._mixture_sampler import MixtureSampler, initial_step_size
from geodrift.models.spherical_admixture.documents._statistics import topic_projections

ADAPTING_TRANSITIONS = 60  # of each mixture, given the first draw of the topics
DRAWS_PER_TOPIC_DRAW = 10  # kept mixtures, after as many that are not kept


def document_mixtures(
    rows: sp.csr_matrix,
    topics: Float[np.ndarray, "N K V"],
    settings: Settings,
    *,
    found: Bool[np.ndarray, "N K"] | None = None,
    seed: int = 0,
) -> dict[str, Float[np.ndarray, "D K"]]:
    """Posterior mean and 90% interval of documents' mixtures, over draws of topics and of mixtures.

    Args:
        rows: As for `mixture_draws`, and what follows.
        topics: Aligned draws.
        settings: Resolved settings.
        found: Whether a draw says anything of each topic; None: of all. A topic's numbers are those of the
            draws that do.
        seed: Seed of the draws of mixtures.

    Returns:
        ``{"mean", "low", "high"}``.
    """
    draws = np.moveaxis(mixture_draws(rows, topics, settings, seed=seed), 1, 0)
    found = np.ones(topics.shape[:2], bool) if found is None else found
    of_draws = np.repeat(found, len(draws) // len(topics), axis=0)
    low, high = ends_over(draws, of_draws)
    return {"mean": mean_over(draws, of_draws), "low": low, "high": high}


def mixture_draws(
    rows: sp.csr_matrix, topics: Float[np.ndarray, "N K V"], settings: Settings, *, seed: int = 0
) -> Float[np.ndarray, "D M K"]:
    """Draws of documents' mixtures under draws of the topics.

    Args:
        rows: Unit vectors of documents, [D, V]; a row without an entry has the prior's mixture.
        topics: Aligned draws.
        settings: Resolved settings.
        seed: Seed of the draws.
    """
    rows = sp.csr_matrix(rows)
    num_documents, num_topics = rows.shape[0], topics.shape[1]
    concentration = filled(settings.document_concentration)
    sampler = MixtureSampler(
        concentration=concentration,
        prior=np.full(num_topics, settings.doc_topic_prior),
        num_leapfrog=settings.mixture_leapfrog_steps,
        burn_in=0,
        num_draws=ADAPTING_TRANSITIONS,
        use=SAM_TRANSFORM_MIXTURES,
        seed=seed,
        chain=0,
    )
    start = np.full((num_documents, num_topics), 1.0 / num_topics)
    step_size = initial_step_size(concentration, settings.doc_topic_prior, num_topics)
    steps = np.full(num_documents, step_size)
    documents, draws = content_hashes(rows), []
    for n, draw in enumerate(topics):
        by_word = np.ascontiguousarray(draw.T, dtype=np.float64)
        projections, gram = topic_projections(rows, draw), by_word.T @ by_word
        if n == 0:
            sampler.draw(start, steps, projections, gram, documents, 0, 0.1)
            sampler = sampler._replace(burn_in=DRAWS_PER_TOPIC_DRAW, num_draws=DRAWS_PER_TOPIC_DRAW)
        new, _ = sampler.draw(start, steps, projections, gram, documents, n + 1, 0.0)
        draws.append(new)
    return np.concatenate(draws, axis=1)
