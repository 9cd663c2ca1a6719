"""Topics to start a chain from: a non-negative factorisation of documents.

A chain that starts from uniform assignments soon has two themes in one topic and one theme in two, and keeps
them: no single move leads from the one to the other. A factorisation W H of the documents' weighted rows sees
all documents at once, and its rows H are near the themes. Each chain factorises documents of its own.

Of many words those that weigh most are factorised, which an iteration's cost grows with; the others follow
from W by a few multiplicative updates (Lee & Seung 2001) from columns of H that are all the same.
"""

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float
from threadpoolctl import threadpool_limits

MOST_TOPICS = 200  # an iteration costs K^2 (D + V): more topics than these start as copies of them
MOST_WORDS, UPDATES = 60_000, 5
MOST_ITERATIONS, LEAST_ITERATIONS, WORK = 30, 5, 1500  # iterations are ``WORK`` over the number of topics


def factorised_topics(rows: sp.csr_matrix, num_topics: int, seed: int) -> Float[np.ndarray, "K V"]:
    """H of the non-negative factorisation of some rows, each row of it of sum 1, the largest in W first.

    Args:
        rows: Weights of words in documents, [D, V], not negative.
        num_topics: K.
        seed: Of the random numbers that take the place of zeros in the first H.

    Returns:
        Float64; a row of which nothing was found is the mean of the documents.
    """
    # Imported here: it takes half a second to load.
    from sklearn.decomposition import NMF

    leading = _leading(rows)
    factorised = rows if leading.all() else rows[:, leading]
    number = min(num_topics, MOST_TOPICS, *factorised.shape)
    iterations = max(LEAST_ITERATIONS, min(MOST_ITERATIONS, WORK // number))
    # Singular vectors of few rows may be undefined.
    init = "nndsvdar" if min(factorised.shape) >= 4 * number else "random"
    # With a tolerance of 0 it says nothing of iterations that end early.
    model = NMF(number, init=init, tol=0, max_iter=iterations, random_state=seed)
    # Sums of several threads would depend on their number.
    with threadpool_limits(1), np.errstate(invalid="ignore"):
        weights = model.fit_transform(factorised.astype(np.float32))
    found = model.components_
    if not leading.all():
        found = np.empty((number, rows.shape[1]), np.float32)
        found[:, leading] = model.components_
        found[:, ~leading] = _updated(weights, rows[:, ~leading].astype(np.float32))
    sizes = weights.sum(axis=0, dtype=np.float64)
    found = np.nan_to_num(np.maximum(found.astype(np.float64), 0.0))
    found = found[np.argsort(-sizes * found.sum(axis=1), kind="stable")]
    mean = np.asarray(rows.mean(axis=0), np.float64).ravel()
    found[found.sum(axis=1) <= 0] = mean if mean.any() else 1.0
    found /= found.sum(axis=1, keepdims=True)
    return found[np.arange(num_topics) % number]


def _leading(rows: sp.csr_matrix) -> Bool[np.ndarray, " V"]:
    """Which words are factorised: all, or those that weigh most over all documents."""
    words = rows.shape[1]
    leading = np.ones(words, bool)
    if words > MOST_WORDS:
        sums = np.asarray(rows.sum(axis=0)).ravel()
        leading[np.argsort(-sums, kind="stable")[MOST_WORDS:]] = False
    return leading


def _updated(weights: Float[np.ndarray, "D K"], rows: sp.csr_matrix) -> Float[np.ndarray, "K W"]:
    """H of further words, given W: multiplicative updates of a matrix of ones."""
    square, products = weights.T @ weights, (rows.T @ weights).T
    found = np.ones_like(products)
    for _ in range(UPDATES):
        found *= products / np.maximum(square @ found, np.finfo(np.float32).tiny)
    return found
