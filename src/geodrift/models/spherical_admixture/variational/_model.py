"""Data and hyperparameters of the spherical admixture model, checked."""

from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

Vectors: TypeAlias = sp.spmatrix | sp.sparray | Float[np.ndarray, "D V"]


class Hyperparameters(NamedTuple):
    """Hyperparameters of the spherical admixture model; the symbols are those of Liu et al. 2016."""

    corpus_mean_concentration: float  # kappa_0, of the prior of the corpus mean
    topic_concentration: float  # sigma, of the prior of the topics (xi in the original programs)
    document_concentration: float  # kappa, of the documents (kappa1 in the original programs)
    doc_topic_prior: float | Float[np.ndarray, " K"]  # alpha, one number or K numbers


class AdmixtureModel(NamedTuple):
    """Documents and hyperparameters, which a fit leaves as they are."""

    vectors: sp.csr_matrix  # v_d, unit rows or empty rows, [D, V]
    mean_direction: Float[np.ndarray, " V"]  # m
    corpus_mean_concentration: float  # kappa_0
    topic_concentration: float  # sigma
    document_concentration: float  # kappa
    doc_topic_prior: Float[np.ndarray, " K"]  # alpha

    @property
    def num_documents(self) -> int:
        """D, empty rows included."""
        return self.vectors.indptr.size - 1

    @property
    def dim(self) -> int:
        """V, the number of words."""
        return self.mean_direction.size


def build_model(vectors: Vectors, n_topics: int, hyperparameters: Hyperparameters) -> AdmixtureModel:
    """Check data and hyperparameters, and compute m, the direction of the sum of the documents.

    Args:
        vectors: Documents of unit norm in rows, [D, V], sparse or dense. Empty rows carry no information.
        n_topics: K, at least 2 and at most D.
        hyperparameters: See `Hyperparameters`.

    Raises:
        ValueError: A value is not positive and finite, a shape is wrong, a row is neither of unit norm (to
            1e-4) nor empty, or the documents sum to zero.
    """
    vectors = sp.csr_matrix(vectors, dtype=np.float64)
    num_documents = vectors.indptr.size - 1
    if n_topics != int(n_topics) or not 2 <= n_topics <= num_documents:
        raise ValueError(
            f"n_topics must be a whole number from 2 to the {num_documents} documents, got {n_topics}"
        )
    concentrations = hyperparameters._asdict()
    doc_topic_prior = concentrations.pop("doc_topic_prior")
    for name, value in concentrations.items():
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be positive and finite, got {value}")
    prior = np.asarray(doc_topic_prior, dtype=np.float64)
    prior = np.full(n_topics, float(prior)) if prior.ndim == 0 else prior
    if prior.shape != (n_topics,) or not np.all(np.isfinite(prior) & (prior > 0)):
        raise ValueError(
            f"doc_topic_prior must be one or {n_topics} positive numbers, got {doc_topic_prior!r}"
        )
    norms = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
    wrong = np.flatnonzero(~((np.abs(norms - 1) < 1e-4) | (norms == 0)))
    if wrong.size:
        raise ValueError(f"vectors must have rows of unit norm: row {wrong[0]} has {norms[wrong[0]]:.6g}")
    total = np.asarray(vectors.sum(axis=0)).ravel()
    length = np.linalg.norm(total)
    if not length > 1e-12:
        raise ValueError("vectors sum to zero: they have no mean direction")
    return AdmixtureModel(
        vectors,
        total / length,
        **{name: float(value) for name, value in concentrations.items()},
        doc_topic_prior=prior,
    )
