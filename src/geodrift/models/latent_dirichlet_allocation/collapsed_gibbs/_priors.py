"""The priors that are learnt, alpha and eta: when they are drawn, and from which random streams.

They are drawn once a pass over all documents, after its last minibatch, given the kept assignments of all:
that is a Gibbs sampler, whose scan does not depend on its state. A draw reads every assignment (alpha) and
every count of a word and a topic (eta) once, so a step costs as much on average however large the corpus is,
and nothing has to be kept up to date between the draws.
"""

import numpy as np
from jaxtyping import Float

from geodrift.kernels import _streams
from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._document_prior import draw_document_prior
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._word_prior import draw_word_prior


def draw_priors(
    settings: Settings,
    alpha: Float[np.ndarray, " K"],
    eta: float,
    of_documents: tuple[np.ndarray, np.ndarray],
    of_words: tuple[np.ndarray, np.ndarray, int],
    place: tuple[int, int, int],
) -> tuple[Float[np.ndarray, " K"], float]:
    """Alpha and eta after a draw of those that are learnt; given the assignments they are independent.

    Args:
        settings: Say which are learnt.
        alpha: Its present value.
        eta: Its present value.
        of_documents: The place at which each document's tokens begin, and the assignments.
        of_words: Every N_kw above 0, N_k, and V.
        place: Seed, chain and count of steps, which name the random streams.
    """
    if settings.learn_doc_topic_prior != "no":
        rng = _streams.LDA_GIBBS_DOCUMENT_PRIOR.generator(*place)
        alpha = draw_document_prior(alpha, *of_documents, settings.learn_doc_topic_prior == "symmetric", rng)
    if settings.learn_topic_word_prior != "no":
        eta = draw_word_prior(eta, *of_words, _streams.LDA_GIBBS_WORD_PRIOR.generator(*place))
    return alpha, eta
