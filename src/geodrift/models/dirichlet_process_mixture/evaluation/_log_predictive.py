r"""Log density of rows under a draw.

.. math:: p(x) = \sum_k w_k \prod_c \theta_{kc}^{x_c} + w_{new} \frac{\Gamma(V a_0)}{\Gamma(V a_0 + n)}
    \prod_c \frac{\Gamma(a_0 + x_c)}{\Gamma(a_0)}

The last term is the expectation over all clusters that have no rows. The multinomial coefficient is left out,
as in Baker et al. (2018), figure 3b.
"""

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from scipy.special import gammaln


def log_of_new(rows: sp.csr_matrix, prior: float) -> Float[np.ndarray, " D"]:
    """Log density of each row in a cluster of its own, the cluster integrated out.

    Args:
        rows: Counts, [D, V].
        prior: a_0.
    """
    of_words = rows.astype(np.float64)
    of_words.data = gammaln(prior + of_words.data) - gammaln(prior)
    whole = prior * rows.shape[1]
    lengths = np.asarray(rows.sum(axis=1), np.float64).ravel()
    return np.asarray(of_words.sum(axis=1)).ravel() + gammaln(whole) - gammaln(whole + lengths)


def log_joint_with_clusters(
    rows: sp.csr_matrix,
    clusters: Float[np.ndarray, "K V"],
    weights: Float[np.ndarray, " K"],
    new_weight: float,
    of_new: Float[np.ndarray, " D"],
) -> Float[np.ndarray, "D K1"]:
    """Log density of each row and its cluster; the last column is a cluster that has no rows.

    Args:
        rows: Counts, [D, V].
        clusters: Probabilities, above 0.
        weights: Of the clusters; 0 where a draw has no such cluster.
        new_weight: Of all clusters without rows.
        of_new: From `log_of_new`.
    """
    logs = np.full((rows.shape[0], len(weights) + 1), -np.inf)
    some = weights > 0
    in_clusters = rows.astype(np.float64) @ np.log(clusters[some].astype(np.float64)).T
    logs[:, :-1][:, some] = in_clusters + np.log(weights[some])
    if new_weight > 0:
        logs[:, -1] = np.log(new_weight) + of_new
    return logs


def log_predictive(
    rows: sp.csr_matrix,
    clusters: Float[np.ndarray, "K V"],
    weights: Float[np.ndarray, " K"],
    new_weight: float,
    prior: float,
) -> Float[np.ndarray, " D"]:
    """Log density of rows under one draw, without their multinomial coefficients.

    Args:
        rows: Counts, [D, V].
        clusters: Probabilities of words, above 0.
        weights: Of the clusters.
        new_weight: Of all other clusters.
        prior: a_0.
    """
    logs = log_joint_with_clusters(rows, clusters, weights, new_weight, log_of_new(rows, prior))
    return np.logaddexp.reduce(logs, axis=1)


def under_draws(
    rows: sp.csr_matrix, draws: Mapping[str, np.ndarray], prior: float
) -> Float[np.ndarray, "N D"]:
    """`log_predictive` under each draw.

    Args:
        rows: Counts, [D, V].
        draws: ``clusters``, ``cluster_weights`` and ``new_weight``, [draw, ...]; NaN where a draw has no such
            cluster.
        prior: a_0.
    """
    weights = np.nan_to_num(draws["cluster_weights"])
    each = zip(draws["clusters"], weights, draws["new_weight"], strict=True)
    return np.stack([log_predictive(rows, theta, w, float(new), prior) for theta, w, new in each])


def averaged(logs: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " D"]:
    """Logarithm of the mean over draws of what `under_draws` has the logarithms of."""
    return np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))
