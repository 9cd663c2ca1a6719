"""Ids and fields of documents: what is kept of each kind of source, and that it comes back."""

import datetime
import decimal
import json

import numpy as np
import pytest
import scipy.sparse as sp

from geodrift.data import (
    Corpus,
    Document,
    InputError,
    TextOptions,
    _document_writer,
    build_corpus,
    damage_of,
    find_sources,
    prune_columns,
)
from geodrift.data._corpus import describe

OPTIONS = TextOptions(min_df=1, max_df=1.0, stop_words="none")
RECORDS = [
    {"text": "one two", "id": "a-1", "title": "The =first", "year": 1999, "tags": ["x"], "score": 0.5},
    {"text": "two three", "id": 7, "title": None, "year": 2001, "open": True},
    {"text": "three", "title": "x" * 2000, "day": "2020-01-02"},
]


def told(corpus):
    return list(corpus.documents)


@pytest.fixture
def jsonl(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(record) + "\n\n" for record in RECORDS))
    return path


def test_records_keep_their_ids_numbers_dates_and_the_beginning_of_text(jsonl):
    corpus = build_corpus(find_sources([jsonl]), OPTIONS)
    assert told(corpus) == [
        Document("a-1", {"title": "The =first", "year": 1999, "score": 0.5}),
        Document("7", {"year": 2001, "open": True}),
        Document("in.jsonl:5", {"title": "x" * 999 + "…", "day": "2020-01-02"}),
    ]
    assert corpus.fields == ["title", "year", "score", "open", "day"]
    assert corpus.documents.column("year") == [1999, 2001, None]
    with pytest.raises(InputError, match=r"no field 'month'.*title, year"):
        corpus.documents.column("month")


def test_ids_and_fields_can_be_named(jsonl):
    named = find_sources([jsonl], id_field="title", fields=["year"])
    with pytest.raises(InputError, match=r"document 3: no id in field 'title'.*--id-field"):
        build_corpus(named, OPTIONS)
    assert told(build_corpus(find_sources([jsonl], fields=[]), OPTIONS))[0] == Document("a-1", {})
    year = told(build_corpus(find_sources([jsonl], fields=["year"]), OPTIONS))
    assert year == [
        Document("a-1", {"year": 1999}),
        Document("7", {"year": 2001}),
        Document("in.jsonl:5", {}),
    ]


def test_whole_numbers_are_ids_however_they_are_stored(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    texts, large = ["one", "two", "one"], 12345678901234567890123
    columns = {
        "float": pa.array([1001.0, 1002.0, float("nan")]),
        "decimal": pa.array([decimal.Decimal(large + i) for i in range(3)], pa.decimal128(38, 0)),
        "places": pa.array([decimal.Decimal("7.00")] * 3, pa.decimal128(10, 2)),
        "half": pa.array([decimal.Decimal("7.50")] * 3, pa.decimal128(10, 2)),
    }
    pq.write_table(pa.table(columns | {"id": columns["float"], "text": texts}), tmp_path / "a.parquet")

    def ids(field):
        found = told(build_corpus(find_sources([tmp_path / "a.parquet"], id_field=field), OPTIONS))
        return [document.id for document in found]

    assert ids(None) == ["1001", "1002", "a.parquet:3"]
    assert ids("decimal") == [str(large + i) for i in range(3)]
    assert ids("places") == ["7"] * 3
    with pytest.raises(
        InputError, match=r"document 1: field 'half' holds 7.50 \(Decimal\), and an id is text"
    ):
        ids("half")
    with pytest.raises(InputError, match=r"document 3: no id in field 'float'"):
        ids("float")


def test_ids_and_columns_in_memory_are_as_pandas_has_them():
    class Columns(list):
        """As a DataFrame with a name twice."""

        def __getitem__(self, name):
            return [1, 2, 3]

    counts = np.ones((3, 2), int)
    corpus = Corpus.from_matrix(counts, ["a", "b"], ids=np.array([1001.0, np.nan, 3.5]))
    assert [document.id for document in told(corpus)] == ["1001", "1", "3.5"]
    with pytest.raises(InputError, match="two fields 'year': give each column a name of its own"):
        Corpus.from_matrix(counts, ["a", "b"], fields=Columns(["year", "year"]))


@pytest.mark.parametrize("workers", [1, 2])
def test_values_that_are_no_ids_are_counted(tmp_path, workers):
    values = [1001.0, 1.5, True, None, "", ["a"], "b"]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"id": v, "text": "one"}) + "\n" for v in values))
    corpus = build_corpus(find_sources([tmp_path / "a.jsonl"]), OPTIONS, tmp_path / "c", workers=workers)
    assert [document.id for document in told(corpus)] == ["1001", *(f"a.jsonl:{i}" for i in range(2, 7)), "b"]
    assert "dropped: 3 values of 'id' that are neither text nor whole numbers" in list(describe(corpus))


def test_files_and_folders_name_their_documents(tmp_path):
    (tmp_path / "all" / "sea").mkdir(parents=True)
    (tmp_path / "all" / "sea" / "b.txt").write_text("one two")
    (tmp_path / "all" / "a.txt").write_text("two")
    (tmp_path / "all" / "c.csv").write_text("text,group\nthree,red\n")
    corpus = build_corpus(find_sources([tmp_path / "all"]), OPTIONS)
    assert told(corpus) == [
        Document("a.txt", {}),
        Document("c.csv:1", {"file": "c.csv", "group": "red"}),
        Document("sea/b.txt", {"folder": "sea"}),
    ]
    several = build_corpus(find_sources([tmp_path / "all", tmp_path / "all" / "sea"]), OPTIONS)
    ids = [document.id for document in told(several)]
    assert ids == ["all/a.txt", "all/c.csv:1", "all/sea/b.txt", "sea/b.txt"]


def test_a_field_of_csv_that_is_na_is_missing(tmp_path):
    """As R's write.csv has it; ids and texts are what they are, and other formats can say null."""
    (tmp_path / "r.csv").write_text('"id","year","body"\n"NA",NA,"NA"\n"b",2019,"one"\n"c","NA","one"\n')
    documents = told(build_corpus(find_sources([tmp_path / "r.csv"], text_field="body"), OPTIONS))
    assert documents == [Document("NA", {}), Document("b", {"year": "2019"}), Document("c", {})]
    (tmp_path / "r.jsonl").write_text('{"text": "one", "place": "NA"}\n')
    assert told(build_corpus(find_sources([tmp_path / "r.jsonl"]), OPTIONS))[0].fields == {"place": "NA"}


def test_a_number_of_csv_that_is_nan_is_missing(tmp_path):
    (tmp_path / "p.csv").write_text("id,x,text\na,nan,one\nb,NaN,one\nc,Nan,one\nd,1.5,one\n")
    documents = told(build_corpus(find_sources([tmp_path / "p.csv"]), OPTIONS))
    assert [document.fields for document in documents] == [{}, {}, {"x": "Nan"}, {"x": "1.5"}]


def test_columns_of_one_name_are_all_kept(tmp_path):
    """Not the last of them alone, with nothing said."""
    (tmp_path / "twice.csv").write_text("score,text,score,score.1,score,,\n1,one,2,3,4,,x\n")
    documents = told(build_corpus(find_sources([tmp_path / "twice.csv"]), OPTIONS))
    assert documents[0].fields == {"score": "1", "score.2": "2", "score.1": "3", "score.3": "4", "": "x"}


@pytest.mark.parametrize(
    ("name", "content", "told_so"),
    [
        ("a.csv", "id;text;x\n1;one;2\n", "commas between them"),
        ("b.csv", '"id";"text"\n"1";"one"\n', "commas between them"),
        ("c.csv", "id\ttext\n1\tone\n", "commas between them"),
        ("d.tsv", "id\ttext\n1\tone\n", "records are many"),
    ],
)
def test_tables_with_other_separators_are_told_what_to_do(tmp_path, name, content, told_so):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=told_so):
        build_corpus(find_sources([tmp_path / name]), TextOptions())


def test_parquet_keeps_plain_columns(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    day = datetime.datetime(2020, 3, 1, 12)
    table = {"body": ["one two", "two"], "id": ["p", "q"], "day": [day, None], "x": [1.5, float("nan")]}
    table["price"] = pa.array([decimal.Decimal("1.50"), None])
    pq.write_table(pa.table(table | {"nested": [[1], [2]], "raw": [b"1", b"2"]}), tmp_path / "a.parquet")
    corpus = build_corpus(find_sources([tmp_path / "a.parquet"], text_field="body"), OPTIONS)
    assert told(corpus) == [
        Document("p", {"day": "2020-03-01T12:00:00", "x": 1.5, "price": 1.5}),
        Document("q", {}),
    ]


# With two processes `test_ingestion` has the bytes of one in CI.
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_directory_gives_back_what_was_said(tmp_path, workers, monkeypatch):
    monkeypatch.setattr(_document_writer, "_MAX_DOCUMENTS", 3)
    for part in range(3):
        lines = [{"text": f"one w{i}", "id": f"{part}-{i}", "née": "\ud800 ü\n"} for i in range(4)]
        (tmp_path / f"{part}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    inputs = find_sources(sorted(tmp_path.glob("*.jsonl")))
    memory = build_corpus(inputs, OPTIONS)
    corpus = build_corpus(inputs, OPTIONS, tmp_path / "c", workers=workers)
    for opened in (corpus, Corpus.open(tmp_path / "c"), memory.save(tmp_path / "saved")):
        assert told(opened) == told(memory)
        assert opened.fields == memory.fields == ["file", "née"]
        assert opened.identities([11, 0, 5]) == [told(memory)[i] for i in (11, 0, 5)]
        assert len(opened.documents) == 12
    with pytest.raises(IndexError, match=r"0 to 11, got 12"):
        corpus.documents.rows([12])
    pruned = prune_columns(corpus, TextOptions(min_df=2, max_df=1.0))
    assert told(pruned) == told(memory)


def test_a_matrix_takes_ids_and_fields(tmp_path):
    counts = sp.csr_matrix(np.eye(3, dtype=int))
    days = np.array(["2020-01-01", "NaT", "2020-01-03"], "datetime64[D]")
    fields = {"group": np.array(["a", "b", "a"]), "n": np.array([1, 2, 3]), "day": days}
    corpus = Corpus.from_matrix(counts, path=tmp_path / "c", ids=[10, 11, 12], fields=fields)
    assert told(corpus) == [
        Document("10", {"group": "a", "n": 1, "day": "2020-01-01"}),
        Document("11", {"group": "b", "n": 2}),
        Document("12", {"group": "a", "n": 3, "day": "2020-01-03"}),
    ]
    pandas = pytest.importorskip("pandas")
    frame = Corpus.from_matrix(counts, fields=pandas.DataFrame({"group": ["a", None, "c"]}))
    assert told(frame) == [Document("0", {"group": "a"}), Document("1", {}), Document("2", {"group": "c"})]
    with pytest.raises(InputError, match=r"field 'group' has 2 values, the documents are 3"):
        Corpus.from_matrix(counts, fields={"group": ["a", "b"]})


def test_a_matrix_keeps_times_decimals_and_periods_and_refuses_what_it_cannot_keep():
    pandas = pytest.importorskip("pandas")
    counts = sp.csr_matrix(np.eye(2, dtype=int))
    kept = {
        "nano": (
            np.array(["2000-01-01T10:00:00.123456789", "NaT"], "datetime64[ns]"),
            "2000-01-01T10:00:00.123456",
        ),
        "far": (np.array(["20000-01-01", "NaT"], "datetime64[D]"), "20000-01-01"),
        "price": ([decimal.Decimal("1.50"), decimal.Decimal("NaN")], 1.5),
        "number": ([decimal.Decimal(10**17 + 1), None], 10**17 + 1),
        "month": (pandas.PeriodIndex(["2019-06", None], freq="M"), "2019-06"),
        "whole": (pandas.array([7, None], "Int64"), 7),
    }
    corpus = Corpus.from_matrix(counts, fields={name: values for name, (values, _) in kept.items()})
    assert told(corpus)[0].fields == {name: value for name, (_, value) in kept.items()}
    assert told(corpus)[1].fields == {}
    for values in (np.array([1, 2], "timedelta64[ns]"), [["a"], ["b"]], [None, b"x"]):
        with pytest.raises(InputError, match=r"field 'x', document [01]: a value of type \w+ cannot be kept"):
            Corpus.from_matrix(counts, fields={"x": values})


def test_a_corpus_of_plain_counts_says_nothing_and_old_ones_are_read(tmp_path):
    corpus = Corpus.from_matrix(np.eye(3, dtype=int), path=tmp_path / "c")
    assert corpus.documents is None
    assert corpus.fields == []
    assert corpus.identities([2]) == [Document("2", {})]
    manifest = json.loads((tmp_path / "c" / "manifest.json").read_text())
    for name in ("digest", "document_parts", "fields"):
        del manifest[name]
    (tmp_path / "c" / "manifest.json").write_text(json.dumps(manifest | {"format_version": 1}))
    assert Corpus.open(tmp_path / "c").documents is None


def test_damage_is_told(jsonl, tmp_path):
    build_corpus(find_sources([jsonl]), OPTIONS, tmp_path / "c")
    (lines,) = (tmp_path / "c").glob("*documents.jsonl")
    whole = lines.read_bytes()
    lines.write_bytes(whole.replace(b"a-1", b"a-2"))
    assert [damage.file for damage in damage_of(tmp_path / "c")] == [lines]
    with pytest.raises(InputError, match=r"is damaged: .*documents.jsonl"):
        Corpus.open(tmp_path / "c")
    unchecked = Corpus.open(tmp_path / "c", checked=False)
    lines.write_bytes(whole.replace(b"[", b"{"))
    with pytest.raises(InputError, match=r"line 1: is not"):
        unchecked.documents.rows([0])


def test_a_thousand_fields_are_too_many(tmp_path):
    record = {"text": "one"} | {f"f{i}": i for i in range(1001)}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    with pytest.raises(InputError, match=r"more than 1,000 fields: .*--fields"):
        build_corpus(find_sources([tmp_path / "a.jsonl"]), OPTIONS)


def test_limits_that_leave_nothing_are_told_in_whole_documents(tmp_path):
    (tmp_path / "a.csv").write_text("text\none\none two\nthree\n")
    with pytest.raises(
        InputError, match=r"none can be in 2 or more .* and in 1 or fewer .* of the 3 documents"
    ):
        build_corpus(find_sources([tmp_path / "a.csv"]), TextOptions())
