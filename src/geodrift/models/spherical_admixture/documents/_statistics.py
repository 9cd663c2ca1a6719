r"""The sums over documents that the gradient of the topics needs.

Given mixtures theta_d, the gradient of the log joint density, Eq. (9) of Liu et al. 2016, with respect to
topic k is (`docs/explanation/spherical-admixture.md`)

.. math:: \kappa \big( \textstyle\sum_d v_d w_{dk} - \sum_j \beta_j M_{jk} \big) + \text{prior}, \quad
    w_d = \frac{\theta_d}{|\beta\theta_d|}, \quad M = \sum_d \frac{v_d'\beta\theta_d}{|\beta\theta_d|^3}
    \theta_d\theta_d'

so two sums suffice: the weighted documents P = sum_d v_d w_d' [V, K], and M [K, K], whose eigenvalues times
kappa are nearly the curvatures of the log density.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift.kernels._vectors import add


class SufficientStatistics(NamedTuple):
    """The sums over documents that the gradient of the topics needs, or an estimate; of NumPy or of JAX."""

    weighted_documents: Float[Any, "V K"]  # P
    curvature: Float[Any, "K K"]  # M
    noise_variance: Float[Any, " K"]  # of a tangent entry of the gradient; 0: all documents count


def topic_projections(rows: sp.csr_matrix, topics: Float[np.ndarray, "K V"]) -> Float[np.ndarray, "S K"]:
    """Inner products beta v of each document with each topic; ``rows`` are unit vectors [S, V]."""
    by_word = np.ascontiguousarray(topics.T, dtype=np.float64)
    return _topic_projections(rows.indptr, rows.indices, rows.data, by_word)


def add_weighted_documents(
    rows: sp.csr_matrix, weights: Float[np.ndarray, "S K"], total: Float[np.ndarray, "V K"]
) -> None:
    """Add sum_s v_s weights_s' to ``total``; ``rows`` are [S, V]."""
    _add_weighted_documents(rows.indptr, rows.indices, rows.data, weights, total)


def gram_matrix(topics: Float[np.ndarray, "K V"]) -> Float[np.ndarray, "K K"]:
    """Inner products beta beta' of the topics, float64."""
    return (topics @ topics.T).astype(np.float64)


def document_weights(
    mixtures: Float[np.ndarray, "*S K"],
    projections: Float[np.ndarray, "*#S K"],
    gram: Float[np.ndarray, "K K"],
) -> tuple[Float[np.ndarray, "*S"], Float[np.ndarray, "*S"]]:
    """The factors with which documents enter the two sums, from their mixtures.

    Args:
        mixtures: theta.
        projections: beta v of each document.
        gram: beta beta'.

    Returns:
        1 / |beta theta|, the factor of v theta' in P, and v'beta theta / |beta theta|^3, the factor of theta
        theta' in M.
    """
    inverse_norms = 1.0 / np.sqrt(((mixtures @ gram) * mixtures).sum(axis=-1))
    return inverse_norms, (projections * mixtures).sum(axis=-1) * inverse_norms**3


@numba.njit(cache=True, nogil=True)
def _topic_projections(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, topics_by_word: np.ndarray
) -> np.ndarray:
    """Beta v of each CSR row, [S, K]; ``topics_by_word`` is beta' [V, K]."""
    out = np.zeros((indptr.shape[0] - 1, topics_by_word.shape[1]))
    for s in range(out.shape[0]):
        for at in range(indptr[s], indptr[s + 1]):
            add(data[at], topics_by_word[indices[at]], out[s])
    return out


@numba.njit(cache=True, nogil=True)
def _add_weighted_documents(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, weights: np.ndarray, total: np.ndarray
) -> None:
    """Add sum_s v_s weights_s' of CSR rows v_s to ``total`` [V, K]."""
    for s in range(indptr.shape[0] - 1):
        for at in range(indptr[s], indptr[s + 1]):
            add(data[at], weights[s], total[indices[at]])
