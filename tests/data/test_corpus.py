"""The corpus directory: round trips, rows and their cost, damage."""

import json
import shutil

import numpy as np
import pytest
import scipy.sparse as sp
from damaged_corpora import edit_manifest

from geodrift.data import Corpus, InputError, VectorSource, _shards, damage_of, describe
from geodrift.data._shards import Shard


@pytest.fixture
def counts():
    rng = np.random.default_rng(0)
    dense = rng.poisson(0.3, size=(57, 11))
    dense[5] = 0
    dense[20:23] = 0
    return sp.csr_matrix(dense)


@pytest.fixture
def words():
    return ["zeta", "alpha", "école", "b c", "d\x0ce", "x", "y", "z", "w", "v", "u"]


@pytest.fixture
def corpus_path(counts, words, tmp_path, monkeypatch):
    # Small shards, so that rows cross their borders and one shard is empty.
    monkeypatch.setattr(_shards, "_MAX_DOCUMENTS", 3)
    Corpus.from_matrix(counts, words, tmp_path / "corpus")
    return tmp_path / "corpus"


def test_directory_gives_back_what_was_written(corpus_path, counts, words):
    corpus = Corpus.open(corpus_path)
    assert corpus.vocabulary == words
    assert corpus.matrix().dtype == np.int32
    assert np.array_equal(corpus.matrix().toarray(), counts.toarray())
    assert np.array_equal(corpus.document_frequencies, (counts.toarray() > 0).sum(0))
    assert (corpus.num_documents, corpus.num_words, corpus.num_nonzeros) == (57, 11, counts.nnz)
    assert corpus.num_empty_documents == int((counts.toarray().sum(1) == 0).sum())
    corpus.verify()


def test_saved_corpus_has_the_checksum_of_the_one_written_directly(corpus_path, counts, words, tmp_path):
    saved = Corpus.from_matrix(counts, words).save(tmp_path / "saved")
    assert saved.checksum == Corpus.open(corpus_path).checksum
    assert np.array_equal(saved.matrix().toarray(), counts.toarray())


@pytest.mark.parametrize("indices", [[0], [56, 0, 3, 3, 21, 2], [], np.arange(56, -1, -1), [21, 22]])
def test_rows_come_in_the_order_asked_for(corpus_path, counts, words, indices):
    expected = counts.toarray()[np.asarray(indices, dtype=int)]
    for corpus in (Corpus.open(corpus_path), Corpus.from_matrix(counts, words)):
        assert np.array_equal(corpus.rows(indices).toarray(), expected)


@pytest.mark.parametrize("index", [-1, 57])
def test_rows_outside_are_refused(corpus_path, index):
    with pytest.raises(IndexError, match="0 to 56"):
        Corpus.open(corpus_path).rows([index])


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("indices", [np.arange(57) == 3, [True, False], [1.9], np.array([2.0])])
def test_what_is_no_number_of_a_document_is_refused(corpus_path, indices):
    """A mask gave the documents 0 and 1, as often as it had entries."""
    corpus = Corpus.open(corpus_path)
    for read in (corpus.rows, corpus.identities, corpus.split(3, 0)[0].rows):
        with pytest.raises(ValueError, match=r"indices must be the whole numbers .* numpy\.flatnonzero"):
            read(indices)


def test_documents_of_a_view_and_identities_have_the_limits_of_rows(corpus_path):
    corpus = Corpus.open(corpus_path)
    view, _ = corpus.split(7, 0)
    assert view.rows([]).shape == (0, corpus.num_words)
    for read, index, most in ((view.rows, -1, 49), (view.rows, 50, 49), (corpus.identities, 57, 56)):
        with pytest.raises(IndexError, match=f"documents are 0 to {most}, got {index}"):
            read([index])


def test_rows_read_only_the_shards_and_counts_asked_for(corpus_path, monkeypatch):
    """Cost is that of the rows: no other shard is opened and no other count is touched."""
    corpus = Corpus.open(corpus_path)
    opened = []
    real_open = Shard._open
    monkeypatch.setattr(Shard, "_open", lambda self: opened.append(self._info.name) or real_open(self))
    corpus.rows([0, 1, 56])
    assert opened == [corpus.manifest["shards"][0]["name"], corpus.manifest["shards"][-1]["name"]]


def test_rows_of_one_shard_touch_only_their_counts():
    class Counting(np.ndarray):
        touched = 0

        def __getitem__(self, key):
            found = super().__getitem__(key)
            Counting.touched += np.size(found)
            return found

    documents, length = 20_000, 4
    indptr = (np.arange(documents + 1) * length).view(Counting)
    columns = np.tile(np.arange(length, dtype=np.int32), documents).view(Counting)
    data = np.ones(documents * length, dtype=np.int32).view(Counting)
    shard = Shard(_shards.ShardInfo("memory", documents, documents * length), arrays=(indptr, columns, data))
    shard.gather(np.array([3, 17_000, 5]))
    assert Counting.touched < 100


def test_many_shards_do_not_hold_many_files_open(corpus_path, counts, monkeypatch):
    monkeypatch.setattr("geodrift.data._stored_corpus._MAX_OPEN_SHARDS", 4)
    corpus = Corpus.open(corpus_path)
    for _ in range(2):
        assert np.array_equal(corpus.rows(np.arange(57)).toarray(), counts.toarray())
    assert sum(shard.is_open for shard in corpus._shards) <= 4


def forgotten(name):
    """An attribute that another thread takes away after each look at it."""

    def put(shard, value):
        vars(shard)[name] = value

    return property(lambda shard: vars(shard).pop(name, None), put)


class ClosedAtOnce(Shard):
    _arrays, _rows = forgotten("_arrays"), forgotten("_rows")


def test_an_open_shard_that_another_thread_closes_is_read(corpus_path, counts, monkeypatch):
    """As that of a chain beside others."""
    monkeypatch.setattr(_shards, "_FEW", 0)
    corpus = Corpus.open(corpus_path)
    for kind in (Shard, ClosedAtOnce):
        for shard in corpus._shards:
            shard.__class__ = kind
        assert np.array_equal(corpus.rows(np.arange(57)).toarray(), counts.toarray())


def test_files_that_were_let_go_are_opened_again(corpus_path, counts):
    corpus = Corpus.open(corpus_path)
    for _ in range(2):
        assert np.array_equal(corpus.rows(np.arange(57)).toarray(), counts.toarray())
        assert any(shard.is_open for shard in corpus._shards)
        corpus.let_go()
        assert not any(shard.is_open for shard in corpus._shards)


def test_large_counts_and_fractions_survive(tmp_path):
    for values in ([[1.5, 0], [0, 2.25]], [[2**30, 0], [0, 1]]):
        corpus = Corpus.from_matrix(np.array(values), ["a", "b"]).save(tmp_path / f"c{values[0][0]}")
        assert np.array_equal(corpus.matrix().toarray(), values)


@pytest.mark.parametrize(
    ("matrix", "vocabulary", "message"),
    [
        ([[1.0, np.nan]], ["a", "b"], "word 1 in document 0 is not a finite number"),
        ([[1.0, np.inf]], ["a", "b"], "not a finite number"),
        ([[1, 0], [0, -2]], ["a", "b"], "word 1 in document 1 is negative: -2"),
        ([[1, 0], [0, 2]], ["a", "b", "c"], "vocabulary has 3 words but the counts have 2 columns"),
        ([[1, 0], [0, 2]], ["a", "b\nc"], "line break"),
        ([[0, 0], [0, 0]], ["a", "b"], "all zero"),
        (np.zeros((0, 2)), ["a", "b"], "no documents"),
        (np.zeros((2, 0)), [], "no words"),
    ],
)
def test_counts_that_cannot_be_right_are_refused_and_nothing_is_written(
    matrix, vocabulary, message, tmp_path
):
    with pytest.raises(InputError, match=message) as error:
        Corpus.from_matrix(np.asarray(matrix), vocabulary, tmp_path / "out")
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_embeddings_may_be_negative():
    corpus = Corpus.from_matrix(np.array([[0.6, -0.8]]), signed=True)
    assert np.allclose(corpus.matrix().toarray(), [[0.6, -0.8]])


def test_existing_target_is_left_alone(counts, words, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="exists already"):
        Corpus.from_matrix(counts, words, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_failure_half_way_leaves_nothing(counts, words, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("geodrift.data._constructors.finish_directory", full)
    with pytest.raises(OSError, match="No space"):
        Corpus.from_matrix(counts, words, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_damage_is_named(corpus_path, tmp_path):
    def damaged(change):
        copy = tmp_path / f"copy{len(list(tmp_path.iterdir()))}"
        shutil.copytree(corpus_path, copy)
        change(copy)
        return copy

    def edit(path, **changes):
        manifest = json.loads((path / "manifest.json").read_text())
        (path / "manifest.json").write_text(json.dumps(manifest | changes))

    name = "shard-00001-indices.npy"
    cases = {
        "has no manifest.json": lambda p: (p / "manifest.json").unlink(),
        f"{name} is missing": lambda p: (p / name).unlink(),
        "was cut off": lambda p: (p / name).write_bytes((p / name).read_bytes()[:-2]),
        "not valid JSON": lambda p: (p / "manifest.json").write_text('{"format'),
        "format 99, newer": lambda p: edit(p, format_version=99),
        "of something else": lambda p: edit(p, format="other"),
    }
    for message, change in cases.items():
        with pytest.raises(InputError, match=message):
            Corpus.open(damaged(change))
    with pytest.raises(InputError, match="does not exist"):
        Corpus.open(tmp_path / "nowhere")


def test_verify_finds_one_changed_byte(corpus_path):
    file = corpus_path / "shard-00000-data.npy"
    content = bytearray(file.read_bytes())
    content[-4] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"shard-00000-data\.npy is not as it was written"):
        Corpus.open(corpus_path)
    with pytest.raises(InputError, match="its other 58 files are as they were written"):
        Corpus.open(corpus_path, checked=False).verify()


def test_split_is_a_partition_and_a_function_of_the_seed(counts, words):
    corpus = Corpus.from_matrix(counts, words)
    view, aside = corpus.split(10, seed=3)
    again, aside_again = corpus.split(10, seed=3)
    other, _ = corpus.split(10, seed=4)
    assert np.array_equal(view.documents, again.documents)
    assert (aside != aside_again).nnz == 0
    assert not np.array_equal(view.documents, other.documents)
    assert view.num_documents == 47
    dense = counts.toarray()
    assert np.array_equal(view.matrix().toarray().sum(0) + aside.toarray().sum(0), dense.sum(0))
    assert np.array_equal(view.document_frequencies, (view.matrix().toarray() > 0).sum(0))
    assert np.array_equal(view.rows([4, 0]).toarray(), dense[view.documents[[4, 0]]])
    assert aside.toarray().sum(1).min() > 0


def test_split_holds_out_as_many_documents_with_words_as_asked_for(tmp_path):
    dense = np.zeros((12, 3), dtype=int)
    dense[[1, 4, 7, 10], [0, 1, 2, 0]] = 1
    Corpus.from_matrix(dense, path=tmp_path / "corpus")
    for corpus in (Corpus.from_matrix(dense), Corpus.open(tmp_path / "corpus")):
        for seed in range(5):
            view, aside = corpus.split(3, seed)
            assert aside.shape == (3, 3)
            assert (view.num_documents, view.matrix().nnz) == (9, 1)
        with pytest.raises(InputError, match="between 1 and 3"):
            corpus.split(4, 0)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize("held_out", [1.5, True, "2"])
def test_split_takes_whole_numbers_of_rows(held_out, tmp_path):
    np.save(tmp_path / "vectors.npy", np.eye(4, dtype=np.float32))
    vectors = VectorSource.open(tmp_path / "vectors.npy")
    for source in (Corpus.from_matrix(np.eye(4, dtype=int)), vectors):
        with pytest.raises(ValueError, match=r"held_out = .*must be a whole number"):
            source.split(held_out, 0)


def flip(file, place=-4):
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


def test_all_damage_is_listed(corpus_path):
    assert damage_of(corpus_path) == []
    flip(corpus_path / "shard-00002-data.npy")
    flip(corpus_path / "vocabulary.txt")
    (corpus_path / "shard-00001-indices.npy").unlink()
    (corpus_path / "shard-00003-indptr.npy").write_bytes(b"")
    found = {damage.file.name: damage.what for damage in damage_of(corpus_path)}
    assert found == {
        "shard-00001-indices.npy": "is missing",
        "shard-00003-indptr.npy": "was cut off (it has 0 bytes, 160 were written)",
        "shard-00002-data.npy": "is not as it was written (checksum differs)",
        "vocabulary.txt": "is not as it was written (checksum differs)",
    }
    with pytest.raises(InputError, match=r"and 3 more; its other 55 files .*build it anew"):
        Corpus.open(corpus_path)
    flip(corpus_path / "manifest.json", 300)
    (damage,) = damage_of(corpus_path)
    assert damage.file == corpus_path / "manifest.json"


def test_structure_is_checked_where_checksums_agree(corpus_path):
    def write(name, values):
        np.save(corpus_path / name, values)
        edit_manifest(corpus_path, {}, signed=True)

    name = "shard-00000-indices.npy"
    indices = np.load(corpus_path / name)
    write(name, np.append(indices[:-1], 11).astype(np.int32))
    assert [str(damage) for damage in damage_of(corpus_path)] == [
        f"{corpus_path / name} has an index of 11: its 11 columns are numbered from 0"
    ]
    write(name, indices)
    assert damage_of(corpus_path) == []
    write("document-frequencies.npy", np.zeros(11, np.int64))
    assert "other document frequencies" in damage_of(corpus_path)[0].what


def test_an_unchecked_corpus_checks_the_structure_of_what_it_reads(corpus_path, counts):
    """Wrong counts go unseen then, but nothing points outside of the arrays."""
    corpus = Corpus.open(corpus_path, checked=False)
    assert np.array_equal(corpus.matrix().toarray(), counts.toarray())
    indices, indptr = corpus_path / "shard-00000-indices.npy", corpus_path / "shard-00001-indptr.npy"
    flip(indices, -1)
    flip(indptr, -3)
    corpus = Corpus.open(corpus_path, checked=False)
    for documents, name in (([2], indices.name), ([3], indptr.name)):
        with pytest.raises(InputError, match=name):
            corpus.rows(documents)
    assert corpus.rows([6]).shape == (1, 11)


def test_corpora_of_format_1_are_read(corpus_path, counts):
    manifest = json.loads((corpus_path / "manifest.json").read_text())
    del manifest["digest"]
    (corpus_path / "manifest.json").write_text(json.dumps(manifest | {"format_version": 1}))
    assert np.array_equal(Corpus.open(corpus_path).matrix().toarray(), counts.toarray())


def test_embeddings_are_not_told_as_tokens():
    told = next(describe(Corpus.from_matrix(np.array([[0.5, -1.25], [1.0, 3.5]]), signed=True)))
    assert told == "2 documents, 2 columns, 4 values"
    assert next(describe(Corpus.from_matrix(np.eye(2, dtype=int)))).endswith("2 words, 2 counts, 2 tokens")
    # Of more than 32 bits.
    told = next(describe(Corpus.from_matrix(np.array([[3_000_000_000, 1]]))))
    assert told == "1 document, 2 words, 2 counts, 3,000,000,001 tokens"


def test_values_of_any_block_tell_whether_a_corpus_holds_counts(monkeypatch, tmp_path):
    """Weights behind a block of whole numbers that add up to a whole number were told as tokens."""
    monkeypatch.setattr("geodrift.data._constructors._NONZEROS_A_SHARD", 1)
    monkeypatch.setattr("geodrift.data._bags._DOCUMENTS_A_BLOCK", 2)
    bags = [[(0, 1), (1, 2)]] * 2 + [[(0, 0.5), (1, 0.5)]] * 2
    for path in (None, tmp_path / "corpus"):
        told = next(describe(Corpus.from_gensim(bags, ["a", "b"], path)))
        assert told == "4 documents, 2 columns, 8 values"


def test_values_that_are_zero_in_single_precision_are_not_stored():
    corpus = Corpus.from_matrix(np.array([[1e-50, 2.5], [1e-50, 0.0]]))
    assert (corpus.num_nonzeros, corpus.num_empty_documents) == (1, 1)
    assert corpus.document_frequencies.tolist() == [0, 1]
    with pytest.raises(InputError, match="all zero"):
        Corpus.from_matrix(np.array([[1e-50]]))
