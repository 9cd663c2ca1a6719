r"""Held-out perplexity of topics by document completion: Wallach, Murray, Salakhutdinov and Mimno (2009).

Every document's tokens are split into observed ones, from which its mixture is inferred with the topics
fixed, and held-out ones, which are scored. With N topic draws :math:`\phi^{(n)}` and M sweeps after the
burn-in,

.. math:: p(w \mid d) = \frac1N \sum_n \sum_k \hat\theta^{(n)}_{dk} \phi^{(n)}_{kw}, \qquad
    \hat\theta^{(n)}_{dk} = \frac1M \sum_m \frac{n^{(m)}_{dk} + \alpha_k}{n_d + \sum_j \alpha_j}, \qquad
    \mathrm{perplexity} = \exp\Big(-\frac{1}{H} \sum_{d, w} \log p(w \mid d)\Big)

over all H held-out tokens w of all documents d.
"""

import dataclasses
from collections.abc import Callable

import numba
import numpy as np
import scipy.sparse as sp
from jaxtyping import ArrayLike, Float, Int

from geodrift.kernels._streams import LDA_COMPLETION_ASSIGNMENTS
from geodrift.kernels._threads import start_threads
from geodrift.models.kit._counts import checked_counts
from geodrift.models.latent_dirichlet_allocation.evaluation._fold_in import (
    DocumentSampler,
    checked_prior,
    checked_topics,
)
from geodrift.models.latent_dirichlet_allocation.evaluation._token_split import Split, split_to_score
from geodrift.models.topics._json_numbers import json_number

_DOCUMENTS_AT_ONCE = 8192


@dataclasses.dataclass(frozen=True)
class CompletionScore:
    """What `completion_perplexity` returns.

    Attributes:
        perplexity: Infinite where a held-out token has probability 0.
        log_likelihood_per_token: Minus the logarithm of the perplexity, nats.
        standard_error: Standard error of that logarithm over documents: how far another sample of documents
            might move it. Two models scored on the same tokens differ by less than this suggests: compare
            them document by document. NaN where the perplexity is infinite.
        held_out_tokens: H.
        observed_tokens: Number of observed tokens of the documents that are scored.
        impossible_tokens: Number of held-out tokens of probability 0.
        documents: D.
        documents_scored: Number of documents with two tokens or more.
        documents_empty: Number of documents without a token.
        documents_of_one_token: Number of documents with one token, which cannot be split.
        draws: N.
        document_log_likelihood: Log likelihood of each document's held-out tokens, [D]; 0 without any.
        document_held_out_tokens: Number of each document's held-out tokens, [D].
    """

    perplexity: float
    log_likelihood_per_token: float
    standard_error: float
    held_out_tokens: int
    observed_tokens: int
    impossible_tokens: int
    documents: int
    documents_scored: int
    documents_empty: int
    documents_of_one_token: int
    draws: int
    document_log_likelihood: Float[np.ndarray, " D"] = dataclasses.field(repr=False)
    document_held_out_tokens: Int[np.ndarray, " D"] = dataclasses.field(repr=False)

    def to_dict(self) -> dict:
        """The numbers, for JSON, without those of each document; None for what is infinite or NaN."""
        return {
            field.name: json_number(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if not field.name.startswith("document_")
        }


def completion_perplexity(
    counts: sp.csr_matrix,
    topics: Float[np.ndarray, "*N K V"],
    doc_topic_prior: Float[ArrayLike, "*K"],
    *,
    held_out: float = 0.1,
    seed: int = 0,
    sweeps: int = 50,
    burn_in: int = 25,
) -> CompletionScore:
    r"""Perplexity of held-out tokens given the rest of their documents.

    The probability of a token is averaged over topic draws before its logarithm is taken. Documents of
    fewer than two tokens are left out and counted. Each draw's mixtures are sampled from scratch, by
    ``sweeps`` sweeps after an initial one.

    Args:
        counts: Whole numbers, [D, V].
        topics: One set of topics [K, V], or draws [N, K, V]; rows sum to 1 and need not be aligned.
        doc_topic_prior: alpha, each component's: one number, K numbers, or [N, K], one row a draw.
        held_out: Share of each document's tokens that is scored.
        seed: Seed of the split and of the sampling.
        sweeps: M + ``burn_in``, sweeps of the sampler over each document.
        burn_in: Sweeps that are dropped, the first ones.

    Raises:
        ValueError: Shapes disagree, a value is outside what its line allows, or no document has two tokens.
    """
    if not (int(sweeps) == sweeps and int(burn_in) == burn_in and 0 <= burn_in < sweeps):
        raise ValueError(
            f"burn_in must be a whole number from 0 and below sweeps, got {burn_in!r} of {sweeps!r}"
        )
    counts = checked_counts(counts)
    topics = checked_topics(topics, counts.shape[1])
    prior = checked_prior(doc_topic_prior, *topics.shape[:2])
    split = split_to_score(counts, held_out, seed)
    probabilities = held_out_probabilities(split, topics, prior, (int(seed), int(sweeps), int(burn_in)))
    return score_of(counts, split, probabilities, len(topics))


def held_out_probabilities(
    split: Split,
    topics: Float[np.ndarray, "N K V"],
    prior: Float[np.ndarray, "N K"],
    plan: tuple[int, int, int],
    first_draw: int = 0,
    add: Callable[..., None] | None = None,
) -> Float[np.ndarray, " nnz"]:
    """The probability of each entry of the held-out counts given the rest of its document, over some draws.

    Args:
        split: Of the documents' tokens.
        topics: Draws of the topics.
        prior: alpha under each draw.
        plan: Seed, sweeps, and those of them that are dropped.
        first_draw: Number of the first draw, which with the seed names random streams.
        add: Adds the probabilities of a part of the documents, as `_add_probabilities`; None: that.
    """
    add = add or _add_probabilities
    number, total = split.observed.shape[0], np.zeros(split.held_out.nnz)
    for start in range(0, number, _DOCUMENTS_AT_ONCE):
        documents = slice(start, min(start + _DOCUMENTS_AT_ONCE, number))
        entries = slice(split.held_out.indptr[documents.start], split.held_out.indptr[documents.stop])
        part = Split(split.observed[documents], split.held_out[documents])
        add(part, topics, prior, (start, first_draw), plan, total[entries])
    return total / len(topics)


def _add_probabilities(
    split: Split,
    topics: Float[np.ndarray, "N K V"],
    prior: Float[np.ndarray, "N K"],
    first: tuple[int, int],
    plan: tuple[int, int, int],
    out: Float[np.ndarray, " nnz"],
) -> None:
    """Add each held-out entry's probability under each draw; ``first`` numbers a document and a draw."""
    seed, sweeps, burn_in = plan
    names = first[0] + np.arange(split.observed.shape[0])
    for number, stored in enumerate(topics):
        draw, place = stored / stored.sum(axis=1, keepdims=True, dtype=np.float64), first[1] + number
        mixtures = fold_in(split.observed, draw, prior[number], names, seed, sweeps, burn_in, place)
        add_known(split.held_out, mixtures, draw, out)


def add_known(
    held_out: sp.csr_matrix,
    mixtures: Float[np.ndarray, "D K"],
    topics: Float[np.ndarray, "K V"],
    out: Float[np.ndarray, " nnz"],
) -> None:
    """Add the probability of each held-out entry under mixtures of topics."""
    start_threads()
    _mix(held_out.indptr, held_out.indices, mixtures, np.ascontiguousarray(topics.T), out)


def fold_in(
    observed: sp.csr_matrix,
    topics: Float[np.ndarray, "K V"],
    prior: Float[np.ndarray, " K"],
    names: Int[np.ndarray, " D"],
    seed: int,
    sweeps: int,
    burn_in: int,
    draw: int = 0,
) -> Float[np.ndarray, "D K"]:
    """Posterior mean of each document's mixture given its tokens and one set of topics."""
    sampler = DocumentSampler(observed, len(topics), names, LDA_COMPLETION_ASSIGNMENTS, seed)
    sampler.set_topics(topics, prior)
    sampler.sweep(draw, 0, 1 + burn_in)
    total = np.zeros((observed.shape[0], len(topics)))
    for step in range(1, sweeps - burn_in + 1):
        total += sampler.sweep(draw, step)
    return sampler.mean_mixtures(total / (sweeps - burn_in))


@numba.njit(cache=True, parallel=True)
def _mix(
    indptr: np.ndarray, indices: np.ndarray, mixtures: np.ndarray, topics: np.ndarray, out: np.ndarray
) -> None:
    """Add sum_k theta_dk phi_kw for every entry (d, w); ``topics`` is [V, K]."""
    for row in numba.prange(indptr.shape[0] - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            total = 0.0
            for topic in range(mixtures.shape[1]):
                total += mixtures[row, topic] * topics[indices[entry], topic]
            out[entry] += total


def score_of(
    counts: sp.csr_matrix, split: Split, probabilities: Float[np.ndarray, " nnz"], num_draws: int
) -> CompletionScore:
    """The score from the probabilities of `held_out_probabilities`, averaged over draws."""
    tokens, rows = split.held_out.data, np.repeat(np.arange(counts.shape[0]), np.diff(split.held_out.indptr))
    with np.errstate(divide="ignore"):
        terms = tokens * np.log(probabilities)
    by_document = np.bincount(rows, weights=terms, minlength=counts.shape[0])
    held = np.bincount(rows, weights=tokens, minlength=counts.shape[0]).astype(np.int64)
    mean, scored = float(terms.sum() / tokens.sum()), held > 0
    error = float("nan")
    if np.isfinite(mean):
        # Of a ratio of two sums over documents, by the usual linearisation.
        deviations = by_document[scored] - mean * held[scored]
        number = int(scored.sum())
        error = float(np.sqrt((deviations**2).sum() * number / max(number - 1, 1)) / held.sum())
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    return CompletionScore(
        perplexity=float(np.exp(-mean)),
        log_likelihood_per_token=mean,
        standard_error=error,
        held_out_tokens=int(held.sum()),
        observed_tokens=int(lengths[scored].sum() - held.sum()),
        impossible_tokens=int(tokens[probabilities <= 0.0].sum()),
        documents=counts.shape[0],
        documents_scored=int(scored.sum()),
        documents_empty=int((lengths == 0).sum()),
        documents_of_one_token=int((lengths == 1).sum()),
        draws=num_draws,
        document_log_likelihood=by_document,
        document_held_out_tokens=held,
    )
