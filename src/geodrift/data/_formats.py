"""Files of counts, told apart by their names."""

from pathlib import Path

from geodrift._errors import InputError
from geodrift.data._corpus import Corpus
from geodrift.data._counts import read_counts
from geodrift.data._vocabulary import read_vocabulary

_COMPRESSED = (".gz", ".bz2")
_ARRAYS = (".npz", ".npy")
_BAGS = {".ldac": "lda-c", ".lda-c": "lda-c", ".mm": "matrix-market", ".mtx": "matrix-market"}


def counts_format(path: str | Path) -> str | None:
    """The format of a file of counts by its name: None for any other, which is text.

    "uci" (`docword.*`), "lda-c" (`.ldac`, `.lda-c`) and "matrix-market" (`.mm`, `.mtx`), which may end in
    .gz or .bz2 besides; "arrays": `.npz` of `scipy.sparse.save_npz` or `.npy` of `numpy.save`.
    """
    name = Path(path).name.lower()
    if name.endswith(_ARRAYS):
        return "arrays"
    if name.endswith(_COMPRESSED):
        name = name.rpartition(".")[0]
    return "uci" if name.startswith("docword.") else _BAGS.get(Path(name).suffix)


def read_counts_file(
    path: str | Path,
    vocabulary: str | Path | None = None,
    out: str | Path | None = None,
    *,
    signed: bool = False,
) -> Corpus:
    """A corpus of a file of counts in the format that its name says.

    Args:
        path: See `counts_format`.
        vocabulary: File of words; what it may be and what None means is said by the ``Corpus.from_...`` of
            the format.
        out: Where to write a corpus directory. In memory when not given.
        signed: Allow negative values (embeddings) in arrays.

    Raises:
        InputError: The name is of no such format, or what the format's reader raises.
    """
    form = counts_format(path)
    if form == "uci":
        return Corpus.from_uci(path, vocabulary, out)
    if form == "lda-c":
        return Corpus.from_lda_c(path, vocabulary, out)
    if form == "matrix-market":
        return Corpus.from_matrix_market(path, vocabulary, out)
    if form is None:
        raise InputError(
            f"{path} has not the name of a file of counts: .npz, .npy, docword.*, .ldac, .mm, .mtx"
        )
    words = None if vocabulary is None else read_vocabulary(Path(vocabulary))
    return Corpus.from_matrix(read_counts(Path(path)), words, out, signed=signed, made={"from": "counts"})
