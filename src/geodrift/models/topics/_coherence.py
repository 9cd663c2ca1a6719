r"""Coherence of topics: whether their top words occur in the same documents of a reference corpus.

With D(w) documents that hold w, D(w, w') that hold both, and D in all:

* NPMI, of Bouma (2009) as Roder, Both and Hinneburg (2015) take it for topics, with whole documents as
  windows: the mean over pairs of top words of :math:`\log\frac{p(w, w')}{p(w)\,p(w')} / (-\log p(w, w'))`,
  with p = D( ) / D. It is -1 for words that never occur together, 0 for independent words, and 1 for words
  that only occur together.
* u_mass, of Mimno et al. (2011), eq. 1: the mean over pairs of
  :math:`\log\frac{D(w_m, w_l) + 1}{D(w_l)}`, where :math:`w_l` has the higher weight in the topic. (They
  take the sum; the size of a mean does not grow with the number of words.)

A pair is left out where its score is not defined: for NPMI where either word is in no document, for u_mass
where :math:`w_l` is. A topic with no pair left has NaN.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int


class Cooccurrence(NamedTuple):
    """Numbers of reference documents that hold a word, or two words."""

    words: Int[np.ndarray, " W"]  # increasing
    joint: sp.csr_matrix  # D(w, w'), [W, W], with D(w) on the diagonal
    num_documents: int  # D, documents with at least one word of the vocabulary


def cooccurrence(counts: sp.csr_matrix, words: Int[np.ndarray, " n"]) -> Cooccurrence:
    """Count the documents that hold each of the given words, and each pair of them.

    Args:
        counts: Counts of the reference documents, [D, V]; a word is present where its count is above 0.
        words: Word numbers in any order, repeated or not.

    Raises:
        ValueError: No document has a word.
    """
    # A copy: what is left out below is taken out of the arrays in place.
    rows, words = sp.csr_matrix(counts, copy=True), np.unique(words)
    rows.sum_duplicates()
    present = sp.csr_matrix((rows.data > 0, rows.indices, rows.indptr), shape=rows.shape)
    present.eliminate_zeros()
    num_documents = int((np.diff(present.indptr) > 0).sum())
    if num_documents == 0:
        raise ValueError("no reference document has a word of the vocabulary: there is nothing to count")
    columns = present[:, words].astype(np.int32)
    return Cooccurrence(words, sp.csr_matrix(columns.T @ columns), num_documents)


class _Pairs(NamedTuple):
    """Document frequencies of the pairs of each topic's words; the first word has the higher weight."""

    joint: Float[np.ndarray, "K P"]
    first: Float[np.ndarray, "K P"]
    second: Float[np.ndarray, "K P"]


def _pairs(words: Int[np.ndarray, "K top"], reference: Cooccurrence) -> _Pairs:
    places = np.searchsorted(reference.words, words)
    alone = reference.joint.diagonal()
    one, two = np.triu_indices(words.shape[1], 1)
    first, second = places[:, one], places[:, two]
    joint = np.asarray(reference.joint[first.ravel(), second.ravel()]).reshape(first.shape)
    return _Pairs(joint.astype(float), alone[first].astype(float), alone[second].astype(float))


def npmi(words: Int[np.ndarray, "K top"], reference: Cooccurrence) -> Float[np.ndarray, " K"]:
    """Mean NPMI of each topic's pairs of top words.

    Args:
        words: Top words of each topic, at least two.
        reference: Document frequencies of these words, and possibly others.
    """
    joint, first, second = _pairs(words, reference)
    together = joint / reference.num_documents
    with np.errstate(divide="ignore", invalid="ignore"):
        pmi = np.log(joint * reference.num_documents / (first * second))
        score = pmi / -np.log(together)
    score = np.where(joint == 0, -1.0, np.where(together == 1.0, 1.0, score))
    return _mean(np.where((first > 0) & (second > 0), score, np.nan))


def u_mass(words: Int[np.ndarray, "K top"], reference: Cooccurrence) -> Float[np.ndarray, " K"]:
    """Mean u_mass of each topic's pairs of top words.

    Args:
        words: Top words of each topic, at least two, by decreasing weight.
        reference: Document frequencies of these words, and possibly others.
    """
    joint, first, _ = _pairs(words, reference)
    with np.errstate(divide="ignore"):
        score = np.log((joint + 1.0) / first)
    return _mean(np.where(first > 0, score, np.nan))


def _mean(scores: Float[np.ndarray, "K P"]) -> Float[np.ndarray, " K"]:
    """Mean over the pairs whose score is defined; NaN where none is."""
    defined = ~np.isnan(scores)
    number = defined.sum(axis=1)
    total = np.where(defined, scores, 0.0).sum(axis=1)
    return np.divide(total, number, out=np.full(len(scores), np.nan), where=number > 0)
