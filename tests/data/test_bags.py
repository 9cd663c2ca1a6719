"""Bags of words of other programs: what was written comes back, and a line that cannot be right is named."""

import bz2
import gzip
import warnings

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from geodrift.data import Corpus, InputError, counts_format, read_counts_file, read_vocabulary

WORDS = ["zeta", "alpha", "école", "b c", "x"]
HEADER = ["3", "2", "2"]  # of UCI
MM = "%%MatrixMarket matrix coordinate integer general"
OPENERS = {"": open, ".gz": gzip.open, ".bz2": bz2.open}


@pytest.fixture
def counts():
    dense = np.random.default_rng(4).poisson(0.7, size=(40, 5))
    dense[[0, 7, 8, 39]] = 0
    dense[3, 2] = 123456
    return dense


def write_uci(path, dense, header=None):
    documents, words = np.nonzero(dense)
    lines = [*(header or (*dense.shape, len(words)))]
    lines += [f"{d + 1} {w + 1} {dense[d, w]}" for d, w in zip(documents, words, strict=True)]
    save(path, lines)


def write_lda_c(path, dense):
    rows = [[(w, n) for w, n in enumerate(row) if n] for row in dense]
    save(path, [" ".join([str(len(row)), *(f"{w}:{n}" for w, n in row)]) for row in rows])


def write_gensim(path, dense):
    """As `MmCorpus.serialize` does: rows are documents, numbered from 1."""
    entries = [f"{d + 1} {w + 1} {n}" for (d, w), n in np.ndenumerate(dense) if n]
    save(
        path,
        [MM.replace("integer", "real"), f"{dense.shape[0]} {dense.shape[1]} {len(entries)}", *entries],
    )


def save(path, lines, end="\n"):
    with OPENERS.get(path.suffix, open)(path, "wb") as stream:
        stream.write(end.join(map(str, lines)).encode() + end.encode())


WRITERS = {"docword.a.txt": write_uci, "a.ldac": write_lda_c, "a.mm": write_gensim}


@pytest.fixture(params=list(WRITERS))
def kind(request):
    return request.param


@pytest.mark.parametrize("ending", list(OPENERS))
@pytest.mark.parametrize("on_disk", [False, True])
def test_counts_come_back(tmp_path, counts, kind, ending, on_disk):
    path = tmp_path / (kind + ending)
    WRITERS[kind](path, counts)
    (tmp_path / "words.txt").write_text("\n".join(WORDS))
    corpus = read_counts_file(path, tmp_path / "words.txt", tmp_path / "out" if on_disk else None)
    assert np.array_equal(corpus.matrix().toarray(), counts)
    assert corpus.matrix().dtype == np.int32
    assert corpus.vocabulary == WORDS
    assert np.array_equal(corpus.document_frequencies, (counts > 0).sum(axis=0))
    assert (corpus.path is not None) == on_disk
    corpus.verify()


@pytest.mark.parametrize("size", [7, 64, 1000])
def test_the_borders_of_blocks_change_nothing(tmp_path, counts, kind, size, monkeypatch):
    monkeypatch.setattr("geodrift.data._number_lines._BLOCK", size)
    monkeypatch.setattr("geodrift.data._constructors._NONZEROS_A_SHARD", 20)
    WRITERS[kind](tmp_path / kind, counts)
    corpus = read_counts_file(tmp_path / kind, out=tmp_path / "out")
    assert np.array_equal(corpus.matrix().toarray(), counts)
    assert corpus.num_empty_documents == 4
    assert corpus.vocabulary == [f"word{i}" for i in range(5)]


def test_blank_lines_at_the_end_carriage_returns_and_repeated_words_are_read(tmp_path):
    save(tmp_path / "docword.a.txt", [3, 2, 4, "1 1 2", "1 1 3", "3  2\t1", "3 1 0", "", " ", ""], end="\r\n")
    assert read_counts_file(tmp_path / "docword.a.txt").matrix().toarray().tolist() == [
        [5, 0],
        [0, 0],
        [0, 1],
    ]
    save(tmp_path / "a.ldac", ["2 0:1 1:2", "0", "2 1:3 1:4", "", ""])
    assert read_counts_file(tmp_path / "a.ldac").matrix().toarray().tolist() == [[1, 2], [0, 0], [0, 7]]


def test_uci_finds_its_vocabulary_beside_it(tmp_path, counts):
    write_uci(tmp_path / "docword.kos.txt.gz", counts)
    (tmp_path / "vocab.kos.txt").write_text("\n".join(WORDS), encoding="utf-8")
    assert Corpus.from_uci(tmp_path / "docword.kos.txt.gz").vocabulary == WORDS
    assert Corpus.from_uci(tmp_path / "docword.kos.txt.gz", list("abcde")).vocabulary == list("abcde")


def test_words_that_never_occur_are_columns(tmp_path, counts):
    """LDA-C and gensim write no word beyond the last that occurs."""
    for name, write, read in (
        ("a.ldac", write_lda_c, Corpus.from_lda_c),
        ("a.mm", write_gensim, Corpus.from_matrix_market),
    ):
        write(tmp_path / name, counts)
        corpus = read(tmp_path / name, [*WORDS, "never"])
        assert np.array_equal(corpus.matrix().toarray(), np.pad(counts, ((0, 0), (0, 1))))


def test_matrix_market_as_scipy_writes_it(tmp_path, counts):
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.coo_matrix(counts))
    assert np.array_equal(read_counts_file(tmp_path / "a.mtx").matrix().toarray(), counts)
    scipy.io.mmwrite(tmp_path / "dense.mtx", counts)
    assert np.array_equal(read_counts_file(tmp_path / "dense.mtx").matrix().toarray(), counts)


def test_dense_arrays_are_counts(tmp_path, counts):
    np.save(tmp_path / "a.npy", counts)
    assert np.array_equal(read_counts_file(tmp_path / "a.npy").matrix().toarray(), counts)


@pytest.mark.parametrize("dictionary", [WORDS, dict(enumerate(WORDS))])
def test_gensim_lists_come_back(counts, tmp_path, dictionary, monkeypatch):
    monkeypatch.setattr("geodrift.data._bags._DOCUMENTS_A_BLOCK", 7)
    bags = [[(w, int(n)) for w, n in enumerate(row) if n] for row in counts]
    for path in (None, tmp_path / "out"):
        corpus = Corpus.from_gensim(iter(bags), dictionary, path)
        assert np.array_equal(corpus.matrix().toarray(), counts)
        assert corpus.vocabulary == WORDS
    weights = Corpus.from_gensim([[(0, 0.5), (1, 2.25)]], ["a", "b"])
    assert weights.matrix().toarray().tolist() == [[0.5, 2.25]]


def test_blocks_of_whole_numbers_and_of_weights_come_back(tmp_path, monkeypatch):
    """Fractions of a block that stood beside one of whole numbers were cut off on the disk."""
    monkeypatch.setattr("geodrift.data._bags._DOCUMENTS_A_BLOCK", 2)
    bags = [[(0, 1), (1, 2)], [(1, 3)], [(0, 0.75), (2, 0.5)], [(2, 1.625)]]
    expected = [[1, 2, 0], [0, 3, 0], [0.75, 0, 0.5], [0, 0, 1.625]]
    in_memory = Corpus.from_gensim(bags, WORDS[:3])
    written = Corpus.from_gensim(bags, WORDS[:3], tmp_path / "written")
    for corpus in (in_memory, written, in_memory.save(tmp_path / "saved"), written.save(tmp_path / "again")):
        assert corpus.matrix().toarray().tolist() == expected
        corpus.verify()


def test_a_dictionary_that_gensim_saved_as_text(tmp_path):
    """`save_as_text`: the number of documents, then number, word and frequency in the order of words."""
    lines = ["40", "1\talpha\t3", "3\tb c\t1", "2\técole\t2", "0\tzeta\t9"]
    (tmp_path / "d.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert read_vocabulary(tmp_path / "d.txt") == ["zeta", "alpha", "école", "b c"]
    (tmp_path / "d.txt").write_text("\n".join(lines[1:]), encoding="utf-8")
    assert read_vocabulary(tmp_path / "d.txt") == ["zeta", "alpha", "école", "b c"]
    (tmp_path / "plain.txt").write_text("40\n1 alpha 3\nx\n")
    assert read_vocabulary(tmp_path / "plain.txt") == ["40", "1 alpha 3", "x"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["4", "1\ta\t3", "1\tb\t1"], r"line 3: number 1 stands twice \('a', 'b'\)"),
        (["4", "0\ta\t3", "2\tb\t1"], r"has 2 words but none of number 1.*compactify"),
    ],
)
def test_dictionaries_that_cannot_be_right(tmp_path, lines, message):
    (tmp_path / "d.txt").write_text("\n".join(lines))
    with pytest.raises(InputError, match=message):
        read_vocabulary(tmp_path / "d.txt")
    with pytest.raises(InputError, match="none of number 1"):
        Corpus.from_gensim([[(0, 1)]], {0: "a", 2: "b"})


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("docword.a.txt", [], "is empty"),
        ("docword.a.txt", ["3", "2"], "line 3 should be the number of counts that are not zero, got ''"),
        ("docword.a.txt", ["three", "2", "2"], "line 1 should be the number of documents, got 'three'"),
        ("docword.a.txt", ["0", "2", "0"], "0 documents"),
        ("docword.a.txt", [*HEADER, "1 1 1"], "cut off or changed: it has 1 lines of counts, its header"),
        ("docword.a.txt", [*HEADER, "1 1 1", "1 2 1", "2 2 1"], "has 3 lines of counts, its header says 2"),
        ("docword.a.txt", [*HEADER, "1 1 1", "2 1"], "line 5: should be 'document word count': '2 1'"),
        ("docword.a.txt", [*HEADER, "1 1 1", "2 1:1"], "line 5: should be"),
        ("docword.a.txt", [*HEADER, "1 0 1", "2 1 1"], "line 4: words are 1 to 2 by the header: '1 0 1'"),
        ("docword.a.txt", [*HEADER, "1 1 1", "2 3 1"], "line 5: words are 1 to 2"),
        ("docword.a.txt", [*HEADER, "1 1 1", "4 2 1"], "line 5: documents are 1 to 3"),
        ("docword.a.txt", [*HEADER, "2 1 1", "1 2 1"], "line 5: documents must come in order"),
        ("docword.a.txt", [*HEADER, "1 1 1", "2 2 -4"], "line 5 holds a negative number: '2 2 -4'"),
        ("docword.a.txt", [*HEADER, "1 1 1.5", "2 2 4"], "line 4 holds something other than whole numbers"),
        ("docword.a.txt", [*HEADER, "1 1 1", "2 2 9999999999"], "line 5: a count is above"),
        ("docword.a.txt", [*HEADER, "1 1 1", "2 2 " + "9" * 30], "line 5 holds a number beyond 64 bits"),
        ("docword.a.txt", ["3", "2", "1", "1 1 0"], "all zero"),
        ("a.ldac", [], "is empty"),
        ("a.ldac", ["2 0:1 1:1", "2 0:1"], "line 2: was cut off: it should be 'N word:count ...'"),
        ("a.ldac", ["1 0:1", "1 0:1 1:2"], "line 2: should be"),
        ("a.ldac", ["1 0:1", "1:0 1"], "line 2: should be"),
        ("a.ldac", ["1 0:1", "", "1 0:1"], "line 2: is blank"),
        ("a.ldac", ["1 0:1", "1 0:-1"], "line 2 holds a negative number"),
        ("a.ldac", ["1 0:1", "1 a:1"], "line 2 holds something other than whole numbers: '1 a:1'"),
        ("a.ldac", ["0", "0"], "no words"),
        ("a.mm", [], "is empty"),
        ("a.mm", ["1 2 3"], "not a Matrix Market file"),
        ("a.mm", [MM, "2 2 3", "1 1 1", "2 1 1"], "cut off or changed: it has 2 entries, its header says 3"),
        ("a.mm", [MM, "2 2 2", "1 1 1", "2 3 1"], "line 4: columns are 1 to 2 by the header: '2 3 1'"),
        ("a.mm", [MM, "2 2 2", "1 1 1", "2 0 1"], "line 4: columns are 1 to 2"),
        ("a.mm", [MM, "2 2 2", "1 1 1", "2 x 1"], "line 4: holds something other than numbers: '2 x 1'"),
        ("a.mm", [MM, "2 2 2", "1 1 1", "2 2 -1"], "word 1 in document 1 is negative"),
        ("a.mm", [MM.replace("integer", "real"), "2 2 2", "1 1 1", "2 2 nan"], "not a finite number"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_right_get_one_line_and_nothing_is_written(tmp_path, name, lines, message):
    path = tmp_path / name
    if lines:
        save(path, lines)
    else:
        path.write_bytes(b"")
    for out in (None, tmp_path / "out"):
        with pytest.raises(InputError, match=message) as error:
            read_counts_file(path, out=out)
        assert "\n" not in str(error.value)
        assert name in str(error.value) or "all zero" in message or "no words" in message
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_words_beyond_the_vocabulary_are_refused(tmp_path, counts, kind):
    WRITERS[kind](tmp_path / kind, counts)
    (tmp_path / "short.txt").write_text("a\nb\nc\nd\n")
    with pytest.raises(InputError, match=r"vocabulary has 4"):
        read_counts_file(tmp_path / kind, tmp_path / "short.txt")
    (tmp_path / "long.txt").write_text("\n".join("abcdefg"))
    if kind == "docword.a.txt":
        with pytest.raises(InputError, match="has 5 words but the vocabulary has 7"):
            read_counts_file(tmp_path / kind, tmp_path / "long.txt")


def test_a_compressed_file_that_was_cut_off(tmp_path, counts, kind):
    for ending in (".gz", ".bz2"):
        path = tmp_path / (kind + ending)
        WRITERS[kind](path, np.vstack([counts] * 50))
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises(InputError, match="cut off"):
            read_counts_file(path)
        path.write_bytes(b"not compressed")
        with pytest.raises(InputError, match="damaged"):
            read_counts_file(path)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("bags", "message"),
    [
        ([], "no documents"),
        ([[]], "all zero"),
        ([[(0, 1)], [(5, 1)]], r"document 1: words are 0 to 4: \(5, 1\)"),
        ([[(0, 1)], [(-1, 1)]], r"document 1: words are 0 to 4"),
        ([[(0, 1)], [(0, -1)]], r"document 1: a count is negative"),
        ([[(0, float("nan"))]], "document 0: a count must be finite"),
        ([[("a", 1)]], "document 0: a word must be a whole number"),
        ([[(0.5, 1)]], "document 0: a word must be a whole number"),
        ([[(0, 1)], [3]], "document 1 is not a list of"),
        ([[(0, 1)], None], "document 1 is not a list of"),
        ([[(0, "many")]], "counts must be numbers"),
    ],
)
def test_lists_that_cannot_be_right(tmp_path, bags, message):
    with pytest.raises(InputError, match=message):
        Corpus.from_gensim(bags, WORDS, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "is empty"), (b"\x93NUMPY", "cut off"), (b"text", "numpy.save"), (np.ones(3), "1 dimensions")],
)
def test_dense_arrays_that_cannot_be_read(tmp_path, content, message):
    path = tmp_path / "a.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content)
    with pytest.raises(InputError, match=message):
        read_counts_file(path)


def test_no_pickle_is_loaded(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="never unpickled"):
        read_counts_file(tmp_path / "a.npy")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("docword.kos.txt", "uci"), ("a/docword.nytimes.txt.gz", "uci"), ("ap.ldac.gz", "lda-c"),
        ("x.lda-c", "lda-c"), ("wiki_bow.mm", "matrix-market"), ("a.MTX.bz2", "matrix-market"),
        ("a.npz", "arrays"), ("a.npy", "arrays"), ("a.txt", None), ("mm", None), ("a.txt.gz", None),
        ("a.parquet", None),
    ],
)  # fmt: skip
def test_formats_by_name(name, form):
    assert counts_format(name) == form


def test_no_warning_reaches_the_reader(tmp_path, counts, kind):
    WRITERS[kind](tmp_path / kind, counts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_counts_file(tmp_path / kind)
