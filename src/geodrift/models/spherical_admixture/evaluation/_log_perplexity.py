"""Held-out log-perplexity of topics."""

from typing import Literal, overload

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from scipy.special import logsumexp

from geodrift.data import as_csr
from geodrift.distributions import host_log_normaliser
from geodrift.kernels._streams import SAM_SCORE_MIXTURES


@overload
def log_perplexity(
    rows: sp.csr_matrix,
    topics: Float[np.ndarray, "N K V"],
    document_concentration: float,
    doc_topic_prior: float,
    *,
    theta_draws: int = 200,
    seed: int = 0,
    per_document: Literal[False] = False,
) -> float: ...


@overload
def log_perplexity(
    rows: sp.csr_matrix,
    topics: Float[np.ndarray, "N K V"],
    document_concentration: float,
    doc_topic_prior: float,
    *,
    theta_draws: int = 200,
    seed: int = 0,
    per_document: Literal[True],
) -> Float[np.ndarray, " D"]: ...


def log_perplexity(
    rows: sp.csr_matrix,
    topics: Float[np.ndarray, "N K V"],
    document_concentration: float,
    doc_topic_prior: float,
    *,
    theta_draws: int = 200,
    seed: int = 0,
    per_document: bool = False,
) -> float | Float[np.ndarray, " D"]:
    r"""Minus the mean log likelihood of held-out documents, with the mixtures integrated out.

    The integral is an average over draws of mixtures from their prior (Liu et al. 2016, section 5.3):

    .. math:: -\frac1D \sum_d \log \frac1{NJ} \sum_{n,j} \mathrm{vMF}(v_d \mid \beta_n\theta_j /
    |\beta_n\theta_j|, \kappa), \quad \theta_j \sim \mathrm{Dir}(\alpha)

    The same J mixtures serve every document and topic draw. The value depends strongly on N and J, as each
    average is dominated by its largest term: compare only at equal N and J.

    Args:
        rows: Unit vectors of documents, [D, V]; rows without an entry are left out.
        topics: N draws of K topics, each of unit length.
        document_concentration: kappa.
        doc_topic_prior: alpha, for each component.
        theta_draws: J.
        seed: Seed of the mixtures.
        per_document: Return the value of each document instead of the mean.

    Returns:
        The mean over documents, in nats, or each document's value.

    Raises:
        ValueError: Shapes disagree, a value is not finite, or no document has a word.
    """
    rows = as_csr(rows, "rows")
    rows = rows[np.diff(rows.indptr) > 0]
    if topics.ndim != 3 or topics.shape[2] != rows.shape[1]:
        raise ValueError(
            f"topics must be [draw, topic, word] with {rows.shape[1]} words, got shape {topics.shape}"
        )
    if rows.shape[0] == 0:
        raise ValueError("no document has a word of the vocabulary, so there is nothing to score")
    if not (np.isfinite(rows.data).all() and np.isfinite(topics).all()):
        raise ValueError("documents and topics must be finite")
    mixtures = SAM_SCORE_MIXTURES.generator(seed).dirichlet(
        np.full(topics.shape[1], doc_topic_prior), size=theta_draws
    )
    total = np.full(rows.shape[0], -np.inf)
    for draw in topics:
        beta = draw.astype(np.float64)
        norms = np.sqrt(np.einsum("jk,kl,jl->j", mixtures, beta @ beta.T, mixtures, optimize=True))
        terms = (rows @ beta.T) @ (mixtures / norms[:, None]).T * document_concentration
        total = np.logaddexp(total, logsumexp(terms, axis=1))
    constant = float(host_log_normaliser(rows.shape[1], document_concentration)) - np.log(
        theta_draws * topics.shape[0]
    )
    values = -(total + constant)
    return values if per_document else float(values.mean())
