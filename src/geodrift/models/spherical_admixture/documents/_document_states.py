"""The variables of each document that are part of the chain's state, and the sums over all documents."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from geodrift.models.spherical_admixture.documents._documents import DocumentSource
from geodrift.models.spherical_admixture.documents._mixture_sampler import initial_step_size
from geodrift.models.spherical_admixture.documents._statistics import (
    add_weighted_documents,
    document_weights,
    topic_projections,
)


class DocumentStates(NamedTuple):
    """Mixtures and what is kept with them; the arrays are changed in place.

    The sums are float64, the rest is float32. On a device other than a CPU all are JAX arrays of float32, and
    no array is changed: see `_kept_mixtures_in_jax`.
    """

    mixtures: Float[Any, "D K"]  # theta
    step_sizes: Float[Any, " D"]  # leapfrog step of each document's transition
    weighted_documents: Float[Any, "V K"]  # P, see `SufficientStatistics`
    curvature: Float[Any, "K K"]  # M
    inverse_norms: Float[Any, " D"]  # 1 / |beta theta| when the mixture was last renewed
    curvature_weights: Float[Any, " D"]  # v'beta theta / |beta theta|^3 when it was last renewed
    noise_variance: Float[Any, " K"]  # of the estimate from minibatches alone, averaged over steps
    shear_scale: Float[Any, ""]  # standard deviation of the shear moves' epsilon


def on_host(states: DocumentStates) -> DocumentStates:
    """The states as compiled host code changes them, wherever they have been; copies only where need be."""
    wide = {"weighted_documents", "curvature", "noise_variance", "shear_scale"}
    types = {name: np.float64 if name in wide else np.float32 for name in DocumentStates._fields}
    return DocumentStates(
        **{name: np.require(getattr(states, name), kind, ["C", "W"]) for name, kind in types.items()}
    )


def sizes_and_spread(mixtures: Float[Any, "D K"]) -> tuple[Float[Any, " K"], Float[Any, ""]]:
    """Mean of each topic over documents, and the standard deviation, its mean over topics; single precision.

    Sums are of double precision on the host, where numbers are added one after the other.
    """
    if not isinstance(mixtures, np.ndarray):
        return mixtures.mean(axis=0), mixtures.std(axis=0).mean()
    sizes = mixtures.mean(axis=0, dtype=np.float64)
    squares = np.einsum("dk,dk->k", mixtures, mixtures, dtype=np.float64) / len(mixtures)
    spread = np.sqrt(np.maximum(squares - sizes**2, 0.0)).mean()
    return sizes.astype(np.float32), np.float32(spread)


def initial_states(
    source: DocumentSource, topics: Float[np.ndarray, "K V"], concentration: float, doc_topic_prior: float
) -> DocumentStates:
    """States with every mixture at the centre of the simplex; two passes over the corpus.

    Args:
        source: The documents.
        topics: beta.
        concentration: kappa.
        doc_topic_prior: alpha, each component's.
    """
    num_topics, num_words = topics.shape
    num_documents = source.num_documents
    step_size = initial_step_size(concentration, doc_topic_prior, num_topics)
    centre = np.full(num_topics, 1.0 / num_topics)
    states = DocumentStates(
        mixtures=np.full((num_documents, num_topics), 1.0 / num_topics, dtype=np.float32),
        step_sizes=np.full(num_documents, step_size, dtype=np.float32),
        weighted_documents=np.zeros((num_words, num_topics)),
        curvature=np.zeros((num_topics, num_topics)),
        inverse_norms=np.zeros(num_documents, dtype=np.float32),
        curvature_weights=np.zeros(num_documents, dtype=np.float32),
        noise_variance=np.zeros(num_topics),
        shear_scale=np.array(1.0 / np.sqrt(num_documents * doc_topic_prior)),
    )
    gram = topics @ topics.T
    for documents, rows in source.batches():
        projections = topic_projections(rows, topics)
        inverse_norms, weights = document_weights(
            np.broadcast_to(centre, projections.shape), projections, gram
        )
        states.inverse_norms[documents], states.curvature_weights[documents] = inverse_norms, weights
    recompute_sums(states, source)
    return states


def recompute_sums(states: DocumentStates, source: DocumentSource) -> None:
    """Compute the two sums from all documents, in place; one pass over the corpus."""
    weighted_documents = np.zeros_like(states.weighted_documents)
    curvature = np.zeros_like(states.curvature)
    for documents, rows in source.batches():
        mixtures = states.mixtures[documents].astype(np.float64)
        weights = mixtures * states.inverse_norms[documents, None].astype(np.float64)
        add_weighted_documents(rows, weights, weighted_documents)
        curvature += (mixtures * states.curvature_weights[documents, None].astype(np.float64)).T @ mixtures
    states.weighted_documents[...], states.curvature[...] = weighted_documents, curvature
