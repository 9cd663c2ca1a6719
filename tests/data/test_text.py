"""From text to counts, against scikit-learn's CountVectorizer."""

import ast
import bz2
import gzip
import json
import os
import signal
import sys
import threading
import time
import unicodedata

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from geodrift.data import (
    Corpus,
    InputError,
    TextOptions,
    build_corpus,
    count_words,
    demo_corpus,
    describe,
    find_sources,
    parse_frequency,
    prune_columns,
)
from geodrift.data._demo import _statements

# What words are by default in text without combining marks, and what they were in all text before.
LATIN_WORD = r"(?u)\b[^\W\d_]\w+\b"

TEXTS = [
    "The sphere has a constant curvature, and the geodesic is a great circle.",
    "A geodesic on the sphere; the circle again. Don't stop at 42 circles!",
    "Der Kreis: une école à côté - sphere SPHERE Sphere x1 snake_case",
    "the and of a",
    "curvature curvature geodesic école",
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "texts" / "deep").mkdir(parents=True)
    for number, text in enumerate(TEXTS):
        place = tmp_path / "texts" / ("deep" if number >= 3 else ".") / f"{number}.txt"
        place.write_text(text, encoding="utf-8")
    (tmp_path / "texts" / ".hidden").write_text("hidden hidden")
    return tmp_path / "texts"


def dense_by_word(corpus):
    return {
        word: column.tolist()
        for word, column in zip(corpus.vocabulary, corpus.matrix().toarray().T, strict=True)
    }


@pytest.mark.parametrize("ngrams", [1, 2])
@pytest.mark.parametrize(("min_df", "max_df"), [(1, 1.0), (2, 1.0), (2, 0.5), (0.3, 3), (1, 2)])
@pytest.mark.parametrize("stop_words", ["none", "english"])
def test_counts_are_those_of_count_vectorizer(folder, ngrams, min_df, max_df, stop_words):
    options = TextOptions(min_df=min_df, max_df=max_df, ngrams=ngrams, stop_words=stop_words)
    corpus = build_corpus(find_sources([folder]), options)
    reference = CountVectorizer(
        min_df=min_df,
        max_df=max_df,
        ngram_range=(1, ngrams),
        stop_words=None if stop_words == "none" else stop_words,
        token_pattern=LATIN_WORD,
    )
    # The walk is by full path: 0, 1, 2, then the deeper folder.
    expected = reference.fit_transform(TEXTS)
    assert corpus.vocabulary == reference.get_feature_names_out().tolist()
    assert np.array_equal(corpus.matrix().toarray(), expected.toarray())


@pytest.mark.usefixtures("unchecked_types")
def test_a_number_of_numpy_is_no_proportion():
    """Of ten documents two times ten would be asked for."""
    options = TextOptions(min_df=np.int64(2), max_df=np.float32(0.5), max_words=np.int32(9))
    assert options.limits(10) == (2, 5)
    assert json.loads(json.dumps(options.to_dict())) == TextOptions(2, 0.5, 9).to_dict()
    with pytest.raises(InputError, match="max_df as a proportion"):
        TextOptions(max_df=np.float32(1.5))


def test_every_form_of_input_gives_the_same_corpus(folder, tmp_path):
    options = TextOptions(min_df=1, max_df=1.0)
    records = [json.dumps({"id": i, "body": text}) for i, text in enumerate(TEXTS)]
    (tmp_path / "a.jsonl").write_text("\n".join(records) + "\n\n", encoding="utf-8")
    quoted = "".join(f'{i},"{text}"\n' for i, text in enumerate(TEXTS))
    (tmp_path / "a.csv").write_text("\ufeffid,body\n" + quoted, encoding="utf-8")
    files = [folder / f"{i}.txt" for i in range(3)] + [folder / "deep" / f"{i}.txt" for i in (3, 4)]
    reference = dense_by_word(build_corpus(find_sources([folder]), options))
    for inputs in ([tmp_path / "a.jsonl"], [tmp_path / "a.csv"], files):
        corpus = build_corpus(find_sources(inputs, text_field="body"), options)
        assert dense_by_word(corpus) == reference


@pytest.mark.slow
def test_directory_built_by_a_pool_equals_the_one_in_memory(folder, tmp_path):
    options = TextOptions(min_df=1, max_df=1.0)
    sources = find_sources([folder, folder / "0.txt"])
    built = build_corpus(sources, options, tmp_path / "out", workers=2)
    in_memory = build_corpus(sources, options)
    assert built.vocabulary == in_memory.vocabulary
    assert np.array_equal(built.matrix().toarray(), in_memory.matrix().toarray())
    assert np.array_equal(built.document_frequencies, in_memory.document_frequencies)
    assert built.manifest["dropped"] == in_memory.manifest["dropped"]
    built.verify()


MARKED = {
    "german": (unicodedata.normalize("NFD", "Größere Häuser"), ["größere", "häuser"]),
    "hindi": ("सत्यमेव जयते।", ["सत्यमेव", "जयते"]),
    "tamil": ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
    "thai": ("ที่ นี่", ["ที่", "นี่"]),
    "arabic": ("كِتَابٌ جَدِيدٌ", ["كِتَابٌ", "جَدِيدٌ"]),
    "turkish": ("İstanbul", ["i\u0307stanbul"]),
    "digits": ("2\u0301nd x\u0301 3rd \u0301ab", ["x\u0301"]),
}


@pytest.mark.parametrize("language", MARKED)
def test_combining_marks_are_parts_of_words(language):
    text, words = MARKED[language]
    assert TextOptions(stop_words="none").analyzer()(text) == words


def test_every_mark_is_seen_and_found():
    # A wrong range, or a mark of a new Unicode, would be lost without a word.
    split = TextOptions(stop_words="none").analyzer()
    marks = [mark for code in range(sys.maxunicode + 1) if unicodedata.category(mark := chr(code))[0] == "M"]
    lost = {mark for mark in marks if split(f"q{mark}q") != [unicodedata.normalize("NFC", f"q{mark}q")]}
    assert lost == {chr(code) for code in range(0xFE00, 0xFE10)}  # how symbols are drawn


def test_words_of_text_without_marks_are_what_they_were():
    # Signs in colour have a mark, which is none of a word: neither here nor before.
    symbols = "\u2139\ufe0f ❤\ufe0flove 1\ufe0f\u20e3"
    text = " ".join([*TEXTS, f"people\u2019s \u201cnaïve\u201d café \u2013 {symbols} Ωμέγα Привет x² 日本語"])
    before = CountVectorizer(token_pattern=LATIN_WORD, stop_words="english").build_analyzer()
    assert TextOptions().analyzer()(text) == before(text)


def test_stop_words_and_given_words_are_in_normal_form(tmp_path):
    decomposed = unicodedata.normalize("NFD", "größere")
    assert TextOptions(stop_words=(decomposed,)).analyzer()("größere Häuser") == ["häuser"]
    (tmp_path / "a.txt").write_text(f"größere {decomposed}", encoding="utf-8")
    sources = find_sources([tmp_path / "a.txt"])
    told = "1 of the 2 words of the vocabulary is in no document, such as 'kleine'"
    with pytest.warns(UserWarning, match=told):
        corpus = build_corpus(sources, TextOptions(), vocabulary=[decomposed, "kleine"])
    assert corpus.matrix().toarray().tolist() == [[2, 0]]


def test_a_pattern_of_ones_own_sees_text_in_normal_form_alone():
    options = TextOptions(stop_words="none", token_pattern=r"\w+")
    assert options.analyzer()(unicodedata.normalize("NFD", "größere") + " की 42") == ["größere", "क", "42"]


def test_options_of_an_earlier_corpus_split_new_documents_as_its_own():
    text = unicodedata.normalize("NFD", "Größere Häuser") + " सत्यमेव"
    stored = TextOptions(token_pattern=LATIN_WORD).to_dict()
    del stored["normal_form"]
    before = CountVectorizer(token_pattern=LATIN_WORD).build_analyzer()
    assert TextOptions.from_dict(stored).analyzer()(text) == before(text)
    options = TextOptions(min_df=1, stop_words=("the",))
    assert TextOptions.from_dict(json.loads(json.dumps(options.to_dict()))) == options


def test_blocks_do_not_change_the_counts(folder, monkeypatch):
    options = TextOptions(min_df=1, max_df=1.0)
    whole = build_corpus(find_sources([folder]), options).matrix().toarray()
    monkeypatch.setattr("geodrift.data._raw_counts._DOCUMENTS_A_BLOCK", 2)
    assert np.array_equal(build_corpus(find_sources([folder]), options).matrix().toarray(), whole)


def test_documents_without_words_stay_as_rows_and_are_reported(folder):
    corpus = build_corpus(find_sources([folder]), TextOptions(min_df=2, max_df=1.0))
    assert corpus.num_documents == 5
    assert corpus.matrix()[3].nnz == 0
    assert corpus.num_empty_documents == 1
    assert any("1 document is empty" in line for line in describe(corpus))


def test_what_was_dropped_adds_up(folder):
    everything = build_corpus(find_sources([folder]), TextOptions(min_df=1, max_df=1.0)).num_words
    corpus = build_corpus(find_sources([folder]), TextOptions(min_df=2, max_df=2, max_words=1))
    assert corpus.num_words + sum(corpus.manifest["dropped"].values()) == everything
    assert all(corpus.manifest["dropped"].values())


def test_stop_words_match_the_pieces_the_pattern_makes(folder):
    options = TextOptions(min_df=1, max_df=1.0, stop_words=("Don't", "Sphere"))
    words = build_corpus(find_sources([folder]), options).vocabulary
    assert "sphere" not in words
    assert "don" not in words
    assert "the" in words


def test_a_given_vocabulary_is_counted_in_its_own_order(folder):
    words = ["sphere", "absent", "circle"]
    counts = count_words(find_sources([folder]), TextOptions(stop_words="none"), words).toarray()
    assert counts.tolist() == [[1, 0, 1], [1, 0, 1], [3, 0, 0], [0, 0, 0], [0, 0, 0]]


def test_counts_are_pruned_only_when_asked():
    matrix = np.array([[1, 1, 0, 4], [1, 0, 0, 4], [1, 1, 0, 4]])
    corpus = Corpus.from_matrix(matrix, ["every", "two", "never", "often"])
    assert corpus.vocabulary == ["every", "two", "never", "often"]
    pruned = prune_columns(corpus, TextOptions(min_df=2, max_df=2))
    assert pruned.vocabulary == ["two"]
    assert pruned.matrix().toarray().tolist() == [[1], [0], [1]]
    assert pruned.manifest["dropped"] == {"words outside 2 to 2 documents": 3}
    frequent = prune_columns(corpus, TextOptions(min_df=1, max_df=1.0, max_words=2))
    reasons = {"words outside 1 to 3 documents": 1, "words beyond the 2 most frequent": 1}
    assert (frequent.vocabulary, frequent.manifest["dropped"]) == (["every", "often"], reasons)
    with pytest.raises(InputError, match="no words are left"):
        prune_columns(corpus, TextOptions(min_df=4))


def test_options_survive_json():
    options = TextOptions(min_df=3, max_df=0.2, stop_words=("a", "b"), ngrams=2, max_words=7)
    assert TextOptions.from_dict(json.loads(json.dumps(options.to_dict()))) == options


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "is empty"),
        ("a.txt", b"\xff\xfe bad \xff", "not utf-8 text"),
        ("a.txt", b"PK\x00\x01", "binary"),
        ("a.txt", b"1 2 3 , . !", "no words are left"),
        ("a.jsonl", b"\n", "no documents"),
        ("a.jsonl", b'{"text": "fine"}\n{"text": "cut', "a.jsonl, line 2: not JSON"),
        ("a.jsonl", b'{"body": "fine"}', r"no field 'text' \(fields: body\)"),
        ("a.jsonl", b'{"text": 3}', "holds int, not text"),
        ("a.csv", b"id,body\n1,fine\n", "no field 'text'"),
        ("a.csv", b"text\n", "no documents"),
    ],
)
def test_files_that_cannot_be_used_get_one_line_and_nothing_is_written(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        build_corpus(find_sources([tmp_path / name]), TextOptions(min_df=1, max_df=1.0), tmp_path / "out")
    assert "\n" not in str(error.value)
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.usefixtures("unchecked_types")
def test_paths_stand_in_a_list_and_sources_are_of_paths(folder):
    for path in (str(folder), folder):
        with pytest.raises(InputError, match=r"inputs = .*must be a list of paths: \["):
            find_sources(path)
    for sources in (str(folder), [str(folder)], [folder]):
        with pytest.raises(InputError, match=r"must be what find_sources\(\[path, \.\.\.\]\) returns"):
            build_corpus(sources, TextOptions())


def test_inputs_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        find_sources([tmp_path / "nowhere.txt"])
    with pytest.raises(InputError, match="holds no files"):
        find_sources([tmp_path])


@pytest.mark.parametrize(
    "values",
    [{"min_df": 0}, {"max_df": 1.5}, {"ngrams": 0}, {"stop_words": "klingon"}, {"max_words": 0}],
)
def test_settings_are_checked_at_construction(values):
    with pytest.raises(InputError, match=next(iter(values))):
        TextOptions(**values)


def test_bad_pattern_is_one_line():
    with pytest.raises(InputError, match="cannot be used"):
        TextOptions(token_pattern="(").analyzer()


def test_frequencies_as_typed():
    assert parse_frequency("1", "--min-df") == 1
    assert isinstance(parse_frequency("1", "--min-df"), int)
    assert isinstance(parse_frequency("1.0", "--max-df"), float)
    with pytest.raises(InputError, match="--max-df"):
        parse_frequency("many", "--max-df")


@pytest.mark.slow
def test_demo_corpus_is_about_python(monkeypatch):
    monkeypatch.setattr("geodrift.data._demo._PACKAGES", ("scipy",))
    monkeypatch.setattr("geodrift.data._demo._FILES_OF", 8)
    corpus = demo_corpus(max_documents=600)
    assert corpus.num_documents == 600
    assert {"file", "integer", "sparse"} <= set(corpus.vocabulary)
    assert not {"param", "returns", "none", "true", "int", "the", "ndarray"} & set(corpus.vocabulary)
    assert np.median(np.diff(corpus.matrix().indptr)) >= 5
    assert (demo_corpus(max_documents=600, workers=2).matrix() != corpus.matrix()).nnz == 0


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", "ohne Ziel".encode("utf-16"), "begins as utf-16 text does: give --encoding utf-16"),
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0\0", "holds what no text does: leave it out"),
        ("a.jsonl.gz", gzip.compress(b"{}", mtime=0), "it is compressed: decompress it first$"),
        ("a.csv.bz2", bz2.compress(b"text"), "it is compressed: decompress it first$"),
        ("a.txt", "Stra\xdfe".encode("latin-1"), "give its --encoding$"),
        ("a.jsonl", b"[1, 2]\n", "line 1: not a JSON object with a field 'text', but a list"),
        ("a.jsonl", b'{"body": "a"}\n', "line 1: no field 'text' .fields: body."),
    ],
)
def test_what_is_not_text_is_told_for_what_it_is(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        build_corpus(find_sources([tmp_path / name]), TextOptions(min_df=1, max_df=1.0))


def test_definitions_are_found_wherever_they_may_stand():
    inner = "def f(): pass"
    blocks = [
        "if a:\n {}\nelif b:\n {}\nelse:\n {}",
        "for a in b:\n {}\nelse:\n {}",
        "while a:\n {}",
        "with a:\n {}",
        "try:\n {}\nexcept A:\n {}\nelse:\n {}\nfinally:\n {}",
        "try:\n {}\nexcept* A:\n {}",
        "match a:\n case 1:\n  {}\n case _:\n  {}",
        "class A:\n {}",
        "async def g():\n {}",
    ]
    source = "\n".join(block.format(*[inner] * block.count("{}")) for block in blocks)
    source += "\nif a:\n" + "\n".join(" " + line for line in source.splitlines())
    tree = ast.parse(source)
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    definitions = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    assert [node for node in _statements(tree) if isinstance(node, kinds)] == definitions
    assert len(definitions) > 36


def write_parquet(path, columns, **options):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path, **options)


@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary", "string_view"])
def test_parquet_gives_the_corpus_of_its_column(folder, tmp_path, kind, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    monkeypatch.setattr("geodrift.data._parquet._ROWS", 2)
    options = TextOptions(min_df=1, max_df=1.0)
    types = {"dictionary": pa.dictionary(pa.int32(), pa.string())}
    texts = pa.array([*TEXTS, None], types[kind] if kind in types else getattr(pa, kind)())
    write_parquet(tmp_path / "a.parquet", {"id": range(6), "body": texts}, row_group_size=3)
    corpus = build_corpus(find_sources([tmp_path / "a.parquet"], text_field="body"), options)
    expected = build_corpus(find_sources([folder]), options)
    assert corpus.vocabulary == expected.vocabulary
    assert np.array_equal(corpus.matrix().toarray()[:5], expected.matrix().toarray())
    assert corpus.matrix()[5].nnz == 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"body": ["a"]}, r"no column 'text' \(columns: body\); name it with --text-field"),
        ({"text": [1, 2]}, "column 'text' holds int64, not text"),
        ({"text": [["a"]]}, "holds list<"),
    ],
)
def test_parquet_columns_that_are_no_text(tmp_path, columns, message):
    write_parquet(tmp_path / "a.parquet", columns)
    with pytest.raises(InputError, match=message):
        build_corpus(find_sources([tmp_path / "a.parquet"]), TextOptions(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_parquet_files_that_are_damaged(tmp_path):
    path = tmp_path / "a.parquet"
    write_parquet(path, {"text": ["some words"] * 1000})
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"PAR1", b"not parquet at all"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"a\.parquet is not a Parquet file that can be read") as error:
            build_corpus(find_sources([path]), TextOptions())
        assert "\n" not in str(error.value)


def test_without_pyarrow_the_message_says_what_to_install(tmp_path, monkeypatch):
    import sys

    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'geodrift\[parquet\]'"):
        build_corpus(find_sources([tmp_path / "a.parquet"]), TextOptions())


def test_files_of_records_in_a_directory_are_read_as_their_names_say(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, text in enumerate(TEXTS[:2]):
        (folder / f"{number}.jsonl").write_text(
            json.dumps({"text": text}) + "\n" + json.dumps({"text": text})
        )
    (folder / "2.txt").write_text(TEXTS[2], encoding="utf-8")
    write_parquet(folder / "3.parquet", {"text": TEXTS[3:]})
    kinds = [source.kind for source in find_sources([folder])]
    assert kinds == ["jsonl", "jsonl", "text", "parquet"]
    corpus = build_corpus(find_sources([folder]), TextOptions(min_df=1, max_df=1.0, stop_words="none"))
    order = [TEXTS[i] for i in (0, 0, 1, 1, 2, 3, 4)]
    expected = CountVectorizer(token_pattern=LATIN_WORD).fit_transform(order)
    assert np.array_equal(corpus.matrix().toarray(), expected.toarray())


def test_a_pattern_that_takes_too_long_is_stopped_and_the_timer_is_put_back(monkeypatch):
    monkeypatch.setattr("geodrift.data._token_pattern._SECONDS", 0.2)
    before = signal.getsignal(signal.SIGALRM)
    analyze = TextOptions(token_pattern="(a|aa)+$", stop_words="none").analyzer()
    assert analyze("aaa") == ["a"]
    start = time.monotonic()
    with pytest.raises(InputError, match="took more than 0 s on one text, which begins 'aaaa"):
        analyze("a" * 100 + "!")
    assert time.monotonic() - start < 3
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_other_threads_have_no_limit_but_work():
    found = []
    analyze = TextOptions(token_pattern=r"\w+", stop_words="none").analyzer()
    thread = threading.Thread(target=lambda: found.extend(analyze("Two words")))
    thread.start()
    thread.join()
    assert found == ["two", "words"]


def test_a_quote_that_is_never_closed_names_the_line_where_it_opens(tmp_path):
    (tmp_path / "a.csv").write_text('id,text\n1,fine\n2,"open\n3,more\n4,last\n')
    with pytest.raises(InputError, match=r"a\.csv, line 3: not CSV \(a quote is opened and not closed\)"):
        build_corpus(find_sources([tmp_path / "a.csv"]), TextOptions(min_df=1))


def test_nothing_but_regular_files_is_read_and_none_is_waited_for(folder):
    os.mkfifo(folder / "pipe.txt")
    with pytest.raises(InputError, match=r"pipe\.txt is a pipe, and only regular files are read"):
        build_corpus(find_sources([folder]), TextOptions(min_df=1))


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"stop_words": None}, 'stop_words must be "english", "none" or words, such as .* got None'),
        ({"extra_stop_words": "the"}, "extra_stop_words must be words, such as .* got 'the'"),
        ({"extra_stop_words": (1,)}, r"extra_stop_words must be words, such as .* got \(1,\)"),
        ({"min_df": "2"}, "min_df must be a count like 5 or a proportion like 0.5, got '2'"),
        ({"max_df": None}, "max_df must be a count like 5 or a proportion like 0.5, got None"),
        ({"max_words": 2.5}, "max_words must be a whole number of at least 1, got 2.5"),
        ({"ngrams": 1.5}, "ngrams must be 1 to 10, got 1.5"),
    ],
)
def test_options_of_other_types_are_refused_when_they_are_made(values, message):
    """ "the" dropped the words t, h and e; others failed when all text had been counted, or not at all."""
    with pytest.raises(InputError, match=message):
        TextOptions(**values)


@pytest.mark.usefixtures("unchecked_types")
def test_stop_words_may_be_of_any_collection():
    given = [["the", "of"], {"of", "the"}, frozenset(["the", "of"]), np.array(["the", "of"])]
    for words in given:
        options = TextOptions(stop_words=words, extra_stop_words=words)
        assert options.analyzer()("the house of cards") == ["house", "cards"]
        assert TextOptions.from_dict(json.loads(json.dumps(options.to_dict()))) == options
