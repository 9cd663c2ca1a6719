"""Which documents a report tells of, and their words."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from geodrift.data import VectorRows
from geodrift.kernels._streams import REPORT_DOCUMENTS
from geodrift.report import Documents

LEADING = 5  # documents of each component whose words are told
WORDS = 7  # of such a document


def chosen_documents(number: int, most: int, seed: int = 0) -> Int[np.ndarray, " D"]:
    """At most so many of the documents, drawn at random, in order."""
    if number <= most:
        return np.arange(number)
    return np.sort(REPORT_DOCUMENTS.generator(seed).choice(number, most, replace=False))


def weighed_documents(
    numbers: Int[np.ndarray, " D"],
    names: list[str],
    counts: VectorRows,
    weights: dict[str, Float[np.ndarray, "D K"]],
    vocabulary: Sequence[str] | None,
    of: int | None,
    others: Sequence[str] = (),
    texts: Sequence[str | None] = (),
) -> Documents:
    """Documents with the words of those that lead a component, where they have words.

    Args:
        numbers: Of the documents.
        names: What each is called.
        counts: Counts of each, [D, V], or vectors; dense ones have no words.
        weights: ``mean``, ``low`` and ``high`` from `Answers.transform`.
        vocabulary: V words, or None.
        of: Number of all documents, of which these are some; None where they are documents as given.
        others: See `Documents`.
        texts: Beginnings of the texts, of which those of leading documents are told.
    """
    found = Documents(numbers, names, weights["mean"], weights["low"], weights["high"], of, {}, others)
    if vocabulary is None or isinstance(counts, np.ndarray):
        return found
    counts = counts.copy()  # a word may stand twice in a row, and as a stored 0
    counts.sum_duplicates()
    counts.eliminate_zeros()
    found = found._replace(silent=frozenset(np.flatnonzero(np.diff(counts.indptr) == 0).tolist()))
    leading = sorted({at for k in range(found.mean.shape[1]) for at in found.leading(k, LEADING)})
    frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
    rare = np.log((1 + counts.shape[0]) / (1 + frequencies))
    for at in leading:
        start, end = counts.indptr[at], counts.indptr[at + 1]
        words = counts.indices[start:end]
        # Words of all documents weigh nothing, and are told by their counts.
        order = np.lexsort((-counts.data[start:end], -counts.data[start:end] * rare[words]))[:WORDS]
        found.words[at] = [vocabulary[word] for word in words[order]]
    return found._replace(texts={at: str(texts[at]) for at in leading if texts and texts[at]})
