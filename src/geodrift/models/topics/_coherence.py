r"""Coherence of topics: whether their top words occur in the same documents of a reference corpus.

With D(w) documents that hold w, D(w, w') that hold both, and D in all:

* NPMI, of Bouma (2009) as Roder, Both and Hinneburg (2015) take it for topics, with whole documents as
  windows: the mean over pairs of top words of
  :math:`\log\frac{p(w, w')}{p(w)\,p(w')} / (-\log p(w, w'))`, p being shares of D. From -1, words that never
  meet, over 0, independent ones, to 1, words that are never apart.
* u_mass, of Mimno et al. (2011), eq. 1: the mean over pairs of
  :math:`\log\frac{D(w_m, w_l) + 1}{D(w_l)}`, of which :math:`w_l` has the higher weight in the topic. (They
  take the sum; a mean does not depend on the number of words.)

A pair is left out where its score is not defined: for NPMI where either word is in no document, for u_mass
where :math:`w_l` is. A topic with no pair left has NaN.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int


class Cooccurrence(NamedTuple):
    """In how many documents words occur, and meet."""

    words: np.ndarray  # increasing, [W]
    joint: sp.csr_matrix  # D(w, w'), [W, W], with D(w) on the diagonal
    num_documents: int  # D, those with at least one word of the vocabulary


def cooccurrence(counts: sp.csr_matrix, words: Int[np.ndarray, " n"]) -> Cooccurrence:
    """Document counts of the given words and of their pairs.

    Args:
        counts: Of the reference documents, [D, V]; what is above 0 counts as present.
        words: In any order, repeated or not.

    Raises:
        ValueError: No document has a word.
    """
    rows, words = sp.csr_matrix(counts), np.unique(words)
    present = sp.csr_matrix((rows.data > 0, rows.indices, rows.indptr), shape=rows.shape)
    present.eliminate_zeros()
    num_documents = int((np.diff(present.indptr) > 0).sum())
    if num_documents == 0:
        raise ValueError("no reference document has a word of the vocabulary: there is nothing to count")
    columns = present[:, words].astype(np.int32)
    return Cooccurrence(words, sp.csr_matrix(columns.T @ columns), num_documents)


class _Pairs(NamedTuple):
    """Counts of each topic's pairs of words, of which the first has the higher weight, [K, P] each."""

    joint: np.ndarray
    first: np.ndarray
    second: np.ndarray


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
        reference: Of these words, and possibly others.
    """
    joint, first, second = _pairs(words, reference)
    together = joint / reference.num_documents
    with np.errstate(divide="ignore", invalid="ignore"):
        pmi = np.log(joint * reference.num_documents / (first * second))
        score = pmi / -np.log(together)
    score = np.where(joint == 0, -1.0, np.where(together == 1.0, 1.0, score))
    return _mean(np.where((first > 0) & (second > 0), score, np.nan))


def u_mass(words: Int[np.ndarray, "K top"], reference: Cooccurrence) -> Float[np.ndarray, " K"]:
    """Mean u_mass of each topic's pairs of top words, which stand in falling order of weight.

    Args:
        words: Top words of each topic, at least two.
        reference: Of these words, and possibly others.
    """
    joint, first, _ = _pairs(words, reference)
    with np.errstate(divide="ignore"):
        score = np.log((joint + 1.0) / first)
    return _mean(np.where(first > 0, score, np.nan))


def _mean(scores: Float[np.ndarray, "K P"]) -> Float[np.ndarray, " K"]:
    defined = ~np.isnan(scores)
    number = defined.sum(axis=1)
    total = np.where(defined, scores, 0.0).sum(axis=1)
    return np.divide(total, number, out=np.full(len(scores), np.nan), where=number > 0)
