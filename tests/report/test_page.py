"""The page as text: escaping, what it may ask for, its size, and the numbers in its tables."""

import base64
import dataclasses
import gzip
import html
import html.parser
import json
import re

import numpy as np
import pytest

from geodrift import InputError
from geodrift.report import _text
from geodrift.report._prevalence_figure import _plain
from geodrift.report._scale import tick_text
from geodrift.report._tables import tables
from report.hostile_texts import TEXTS
from report.synthetic import synthetic

ALLOWED = {"http-equiv", "content"}


class Elements(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.attributes, self.open = [], [], []

    def handle_starttag(self, name, attributes):
        self.seen.append(name)
        self.attributes += attributes
        if name not in ("meta", "input", "br", "link"):
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.seen.append(name)
        self.attributes += attributes

    def handle_endtag(self, name):
        assert self.open.pop() == name


def elements(text):
    parser = Elements()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


def data(text):
    packed = re.search(r'<script type="application/octet-stream" id="data">([A-Za-z0-9+/=]*)</script>', text)
    return json.loads(gzip.decompress(base64.b64decode(packed[1])))


@pytest.fixture(scope="module")
def hostile():
    return synthetic(8, TEXTS, len(TEXTS), TEXTS, title=TEXTS[2], texts=TEXTS, groups=TEXTS[:40]).html()


def test_hostile_texts_make_no_element_and_no_attribute(hostile):
    assert len(TEXTS) >= 60
    plain = elements(synthetic(8, texts=["a", "b"], groups=["a", "b"]).html())
    found = elements(hostile)
    assert set(found.seen) == set(plain.seen) | {"bdi"}
    assert {name for name, _ in found.attributes} == {name for name, _ in plain.attributes}
    assert not [name for name, _ in found.attributes if name.startswith("on") or name in ("style", "src")]
    assert found.seen.count("script") == 2
    links = {value for name, value in found.attributes if name == "href"}
    assert all(link.startswith("#") for link in links)


def test_nothing_steers_the_order_of_letters(hostile):
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", hostile
    )
    hostile.encode("utf-8")
    assert len(hostile) < 900_000  # one of the words has ten million letters


def test_the_page_may_ask_for_nothing():
    text = synthetic().html()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    told = html.unescape(policy[1])
    assert "default-src 'none'" in told
    assert "unsafe" not in told
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"\b(fetch|XMLHttpRequest|import\(|WebSocket|@import|url\()", text)


# One with all that a corpus tells is small in CI.
@pytest.mark.parametrize(
    "title_length", [pytest.param(0, marks=pytest.mark.slow), pytest.param(80, marks=pytest.mark.slow)]
)
def test_a_large_report_is_small(title_length):
    words = [f"{'abcdefgh'[i % 8]}word{i:04d}" for i in range(1500)]
    rng = np.random.default_rng(0)
    letters = rng.integers(97, 123, (10_000, title_length), dtype=np.uint8)
    names = (
        [f"document {i}" for i in range(10_000)]
        if not title_length
        else [bytes(row).decode() for row in letters]
    )
    size = len(synthetic(100, words, 10_000, names).html().encode())
    # Random letters cannot be compressed; titles can.
    assert size <= (1_100_000 if not title_length else 2_000_000)


@pytest.mark.slow
def test_a_large_report_with_all_that_a_corpus_tells_is_small():
    """Titles of eight words, ids, dates, groups, the beginnings of 500 texts, shares over eight years."""
    words = [f"{'abcdefgh'[i % 8]}word{i:04d}" for i in range(1500)]
    rng, number, years = np.random.default_rng(0), 10_000, [str(year) for year in range(2010, 2018)]
    titles = [" ".join(row) for row in rng.choice(words, (number, 8))]
    report = synthetic(100, words, number, titles, groups=years)
    fields = {"date": [f"{2010 + i % 8}-0{1 + i % 9}-01" for i in range(number)], "group": years * 1250}
    leading = {at for k in range(100) for at in report.documents.leading(k, 5)}
    told = report.documents._replace(
        ids=[f"doc-{i:06d}" for i in range(number)],
        fields=fields,
        texts={at: " ".join(rng.choice(words, 100)) for at in leading},
    )
    size = len(dataclasses.replace(report, documents=told, prevalence=report.prevalence[:1]).html().encode())
    assert size <= 2_000_000


def test_tables_of_the_page_are_the_tables_of_pandas():
    report = synthetic()
    told, frames = data(report.html())["tables"], report.frames()
    assert set(told) == set(frames)
    for name, table in told.items():
        if name != "documents":
            width = len(table["columns"])
            rows = [row + [None] * (width - len(row)) for row in table["rows"]]
            assert rows == report_rows(report, name)
    documents = frames["documents"]
    for row, packed in zip(documents.itertuples(index=False), told["documents"]["rows"], strict=True):
        assert packed[0] == row.document
        assert packed[3] == row.topic_1
        assert packed[4] / 1000 == row.mean_1


def test_groups_and_fields_are_tables():
    report = synthetic(4, documents=9, texts=["one", "two", "three"], groups=["a", "b", "c"])
    frames = report.frames()
    fields = frames["document_fields"]
    assert list(fields.columns) == ["document", "id", "one", "date"]
    assert fields["id"].tolist() == ["one", "two", "three"] * 3
    for number, told in enumerate(report.prevalence):
        frame = frames[f"groups_{number + 1}"]
        assert frame.shape == (12, 11)
        expected = [group["mean"] for effect in told.effects for group in effect["groups"]]
        assert frame["mean"].tolist() == [_text.significant(share) for share in expected]
        assert frame["difference_mean"].isna().sum() == 4
    assert frames["topics"]["name"].tolist() == [report.parts[k]["name"] for k in report.by_size()]


def test_columns_of_a_table_have_names_of_their_own_and_cells_are_plain():
    """A field `mean` made two columns of that name, and words in a list as many cells more than the head."""
    report = synthetic(3, documents=4, texts=["one"], groups=["a", "b"])
    documents = report.documents._replace(fields={"id": list("abcd"), "field_id": list("efgh")})
    of_groups = [report.prevalence[0]._replace(field="mean"), report.prevalence[1]._replace(field="topic")]
    report = dataclasses.replace(report, documents=documents, prevalence=of_groups)
    frames = report.frames()
    assert list(frames["document_fields"].columns) == ["document", "id", "field_id", "field_field_id"]
    assert list(frames["groups_1"].columns)[:4] == ["topic", "field_mean", "documents", "mean"]
    assert list(frames["groups_2"].columns)[:2] == ["topic", "field_topic"]
    checks = [
        {"topic": k, "observed": 0.1, "expected": 0.1, "ratio": 1.0, "p_value": 0.5, "words": ["a", "b,c"]}
        for k in range(3)
    ]
    table = next(
        table for table in tables(dataclasses.replace(report, checks=checks)) if table.name == "checks"
    )
    assert {row[-1] for row in table.rows} == {"a b,c"}
    plain = (str, int, float, bool, type(None))
    assert all(isinstance(value, plain) for table in tables(report) for row in table.rows for value in row)


def test_a_held_out_score_on_the_way_is_told_as_one_state_s():
    report = synthetic(3)
    history = [{"step": 10, "chain": 0, "name": "held_out_perplexity", "value": 100.0}]
    assert "of one state of one chain" in dataclasses.replace(report, history=history).html()
    assert "of one state of one chain" not in dataclasses.replace(report, history=[]).html()


def report_rows(report, name):

    return json.loads(json.dumps(next(table.rows for table in tables(report) if table.name == name)))


def test_words_have_the_numbers_of_the_answers():
    report = synthetic()
    frame = report.frames()["words"]
    for place, part in enumerate(report.parts):
        own = frame[frame["topic"] == place]
        for name in ("weight", "low", "high", "p_top10"):
            assert own[name].tolist() == [_text.significant(entry[name]) for entry in part["words"]]


@pytest.mark.parametrize(
    ("mean", "low", "high", "told"),
    [
        ([0.7, 0.3], [0.6, 0.2], [0.8, 0.4], "certain"),
        ([0.5, 0.3, 0.2], [0.35, 0.1, 0.1], [0.7, 0.4, 0.3], "a tie"),
        ([0.4, 0.3, 0.3], [0.35, 0.1, 0.1], [0.5, 0.3, 0.34], "certain"),
        ([0.6, 0.4], [np.nan, 0.3], [np.nan, 0.5], "no interval"),
        ([0.45, 0.3], [0.4, np.nan], [0.5, np.nan], "no interval"),
        ([0.8, 0.2], [0.6, np.nan], [0.9, np.nan], "certain"),
        # One chain lacks the first component, and has the document in the second.
        ([0.76, 0.24, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], "a tie"),
        ([0.76, 0.24, 0.0], [0.9, 0.0, np.nan], [1.0, 0.8, np.nan], "a tie"),
    ],
)
def test_documents_are_certain_or_a_tie(mean, low, high, told):
    documents = synthetic().documents
    one = [np.array([values]) for values in (mean, low, high)]
    assert documents._replace(mean=one[0], low=one[1], high=one[2]).told(0) == told


def test_only_reports_are_replaced(tmp_path):
    report, path = synthetic(), tmp_path / "deep" / "report.html"
    report.save(path)
    first = path.read_bytes()
    report.save(path)
    assert path.read_bytes() == first
    path.write_text("<html>mine</html>")
    with pytest.raises(InputError, match="no report of geodrift"):
        report.save(path)
    assert path.read_text() == "<html>mine</html>"
    link = tmp_path / "link.html"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="exists already"):
        report.save(link)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["deep", "link.html"]


def test_numbers_as_a_reader_sees_them():
    assert [_text.percent(x) for x in (0.1234, 0.0004, 1.0)] == ["12.3%", "0.04%", "100.0%"]
    assert _text.number(None) == _text.number(float("nan")) == "–"  # noqa: RUF001
    assert _text.number(123456.7) == "123,457"
    assert [_text.number(x, 3) for x in (999.9, -999.9, 999.4, 0.0001)] == [
        "1,000",
        "-1,000",
        "999",
        "0.0001",
    ]
    assert _text.shown("e" + "\u0301" * 50) == "e" + "\u0301" * 3
    assert len(_text.shown("\x00" * 100)) <= 80


def test_shared_components_hold_for_another_run_only_where_the_chains_are_at_rest():
    report = synthetic(draws=6)
    assert "shared" in report.kinds
    holds, differ = "intervals hold for another run", "the chains differ in other numbers"
    for at_rest in (True, False):
        page = dataclasses.replace(report, verdict=report.verdict | {"at_rest": at_rest}, sentences=[]).html()
        assert (holds in page, differ in page) == (at_rest, not at_rest)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2020.5, "2,020.5"),
        (2000.0, "2,000"),
        (-1500.0, "\N{MINUS SIGN}1,500"),
        (3 * 0.1, "0.3"),
        (12_345_678.0, "12,345,678"),
        (1e-7, "1e\N{MINUS SIGN}07"),
    ],
)
def test_ticks_are_not_rounded(value, text):
    assert tick_text(value) == text


def test_years_on_an_axis_have_no_comma_and_are_not_rounded():
    assert [_plain(value) for value in (2020.5, 2021.0, 2021.5)] == ["2020.5", "2021", "2021.5"]


def test_the_table_of_scores_has_all_that_the_page_tells():
    score = {"value": 0.4, "mean": 0.4, "median": 0.5, "low": 0.25, "high": None, "topics": []}
    report = dataclasses.replace(synthetic(), scores={"perplexity": 9.5, "npmi": score}, scores_told="a")
    (table,) = (table for table in tables(report) if table.name == "scores")
    assert table.columns == ["score", "value", "median", "low", "high"]
    assert table.rows == [["perplexity", 9.5, None, None, None], ["npmi", 0.4, 0.5, 0.25, None]]


def test_one_component_is_told_in_the_singular():
    text = synthetic(1, chains=1).html()
    assert "1 topic by its size" in text
    assert "1 topics" not in text


def test_documents_that_were_given_are_not_said_to_be_fitted():
    report = synthetic()
    given = report.documents._replace(of=None)
    text = dataclasses.replace(report, documents=given).html()
    assert "40 documents given, with the posterior means" in text
    assert "that were fitted" not in text
