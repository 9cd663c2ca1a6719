"""Which documents are those that a run was fitted to: by their words, whoever gives them in whatever form.

A corpus of the same text has another checksum where it was made in another way, and a part of it has none.
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Int

from geodrift._errors import InputError
from geodrift.data import Corpus, CorpusView
from geodrift.driver import Run
from geodrift.models.kit._content_hashes import content_hashes

_BLOCK = 50_000  # documents in memory at a time


def fitted_among(run: Run, rows: sp.csr_matrix) -> Bool[np.ndarray, " D"] | None:
    """Which documents have the words of one that a run was fitted to, each as often.

    Documents of few words may have those of another by chance; one without words is none that was fitted. The
    corpus is read once, in blocks, and of it those documents alone are hashed whose words have the sum of one
    of ``rows``: a hash takes four millionths of a second.

    Args:
        run: The run.
        rows: Counts, [D, V].

    Returns:
        For each document whether it has; None where the corpus is gone or damaged.
    """
    try:
        corpus = Corpus.open(run.path / run.config["corpus"]["path"], checked=False)
    except InputError:
        return None
    rows = _canonical(rows)
    if corpus.num_words != rows.shape[1]:
        return np.zeros(rows.shape[0], bool)
    held_out = run.config["held_out"]
    training = corpus.split(held_out, run.config["seed"])[0] if held_out else corpus
    has_words = np.diff(rows.indptr) > 0
    hashes = np.unique(_hashes_like(training, rows))
    fitted = _are_in(hashes, content_hashes(rows)) & has_words
    corpus.let_go()
    if rows.shape[0] == corpus.num_documents and not mostly(fitted, has_words):
        numbers = training.documents if isinstance(training, CorpusView) else np.arange(corpus.num_documents)
        alike = np.zeros(len(fitted), bool)
        alike[numbers] = _alike_in_place(corpus, rows, numbers)
        fitted = alike if mostly(alike, has_words) else fitted
    return fitted


def times_among(run: Run, rows: sp.csr_matrix) -> Int[np.ndarray, " D"]:
    """How many documents that a run was fitted to have the words of each of ``rows``, each as often.

    Args:
        run: The run.
        rows: Counts, [D, V], in canonical form.

    Returns:
        The numbers; 0 where the corpus is gone or damaged.
    """
    if not rows.shape[0]:  # without reading the corpus
        return np.zeros(0, np.int64)
    try:
        corpus = Corpus.open(run.path / run.config["corpus"]["path"], checked=False)
    except InputError:
        return np.zeros(rows.shape[0], np.int64)
    held_out = run.config["held_out"]
    training = corpus.split(held_out, run.config["seed"])[0] if held_out else corpus
    ordered, hashes = np.sort(_hashes_like(training, rows)), content_hashes(rows)
    corpus.let_go()
    return np.searchsorted(ordered, hashes, "right") - np.searchsorted(ordered, hashes, "left")


def _hashes_like(training: Corpus | CorpusView, rows: sp.csr_matrix) -> Int[np.ndarray, " n"]:
    """Hashes of the documents whose words have the sum of one of ``rows``, in canonical form."""
    sums = np.unique(_sums(rows))

    def known(numbers: Int[np.ndarray, " n"]) -> Int[np.ndarray, " known"]:
        there = training.rows(numbers)
        return content_hashes(there[_are_in(sums, _sums(there))])

    return _in_blocks(training.num_documents, known)


def mostly(fitted: Bool[np.ndarray, " D"], has_words: Bool[np.ndarray, " D"]) -> bool:
    """Whether documents are a run's own: most of those that have words."""
    return bool(2 * fitted.sum() > has_words.sum())


def _alike_in_place(
    corpus: Corpus, rows: sp.csr_matrix, numbers: Int[np.ndarray, " n"]
) -> Bool[np.ndarray, " n"]:
    """Which documents are those of the corpus at their places, but for words that none of them has.

    They may have been counted without these words. Of documents in any order that would say nothing: those of
    few words would be like many.
    """
    words = np.unique(rows.indices)

    def alike(places: Int[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        given, there = rows[numbers[places]][:, words], corpus.rows(numbers[places])[:, words]
        return (content_hashes(given) == content_hashes(there)) & (given.getnnz(axis=1) > 0)

    found = _in_blocks(len(numbers), alike)
    corpus.let_go()
    return found


def _in_blocks(number: int, of_places: Callable[[Int[np.ndarray, " n"]], np.ndarray]) -> np.ndarray:
    """What a function tells of the places 0 to ``number`` - 1."""
    begins = range(0, max(number, 1), _BLOCK)
    return np.concatenate([of_places(np.arange(begin, min(begin + _BLOCK, number))) for begin in begins])


def _canonical(rows: sp.csr_matrix) -> sp.csr_matrix:
    """Every word of a document once, and none that it does not have; rows that are so are not copied."""
    rows = sp.csr_matrix(rows)
    if not rows.has_canonical_format or not rows.data.all():
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows


def _sums(rows: sp.csr_matrix) -> Int[np.ndarray, " D"]:
    """A number of each document that few others have: of its words' numbers, the sum of the squares."""
    squares = (rows.indices.astype(np.int64) + 1) ** 2
    sums = np.append(0, np.cumsum(squares))
    return sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]


def _are_in(ordered: Int[np.ndarray, " n"], numbers: Int[np.ndarray, " D"]) -> Bool[np.ndarray, " D"]:
    """Which numbers are among some in order; `numpy.isin` would order these anew for each block."""
    if not len(ordered):
        return np.zeros(len(numbers), bool)
    places = np.minimum(np.searchsorted(ordered, numbers), len(ordered) - 1)
    return ordered[places] == numbers
