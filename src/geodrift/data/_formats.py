"""Files of counts, whose format is told by their names."""

from pathlib import Path

from geodrift._errors import InputError
from geodrift.data._corpus import Corpus
from geodrift.data._sparse_archives import read_counts
from geodrift.data._vocabulary import read_vocabulary

_COMPRESSED = (".gz", ".bz2")
_ARRAYS = (".npz", ".npy")
_BAGS = {".ldac": "lda-c", ".lda-c": "lda-c", ".mm": "matrix-market", ".mtx": "matrix-market"}


def counts_format(path: str | Path) -> str | None:
    """The format of a file of counts by its name, or None for any other file, which is text.

    Returns:
        "uci" (`docword.*`), "lda-c" (`.ldac`, `.lda-c`) or "matrix-market" (`.mm`, `.mtx`), each also with
        .gz or .bz2 at the end; "arrays" for `.npz` of `scipy.sparse.save_npz` and `.npy` of `numpy.save`;
        None.
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
    """Make a corpus from a file of counts, in the format that its name tells.

    Args:
        path: See `counts_format`.
        vocabulary: File of words; see ``vocabulary`` of the format's ``Corpus.from_...``, also for None.
        out: Where to write a corpus directory. In memory when not given.
        signed: Allow negative values (embeddings) in arrays.

    Raises:
        InputError: The name is that of no such format, or the file is wrong; see the format's
            ``Corpus.from_...``.
    """
    form = counts_format(path)
    if form is None:
        raise InputError(
            f"{path} has not the name of a file of counts: .npz, .npy, docword.*, .ldac, .mm, .mtx"
        )
    try:
        if form == "uci":
            return Corpus.from_uci(path, vocabulary, out)
        if form == "lda-c":
            return Corpus.from_lda_c(path, vocabulary, out)
        if form == "matrix-market":
            return Corpus.from_matrix_market(path, vocabulary, out)
        words = None if vocabulary is None else read_vocabulary(Path(vocabulary))
        return Corpus.from_matrix(read_counts(path), words, out, signed=signed, made={"from": "counts"})
    except InputError as error:
        # What is checked of a matrix, whoever made it, does not name a file.
        if str(path) in str(error):
            raise
        raise InputError(f"{path}: {error}") from None
