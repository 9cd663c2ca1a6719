"""What a person reads of findings: what sizes are of, and that lines keep within their width."""

import dataclasses

import numpy as np
import pytest
from rich.cells import cell_len

from geodrift.data import Corpus
from geodrift.models import models
from geodrift.models.clusters._law_of_number import law_of_number, numbers_text
from geodrift.models.kit._document_tables import leading_text
from geodrift.models.kit._effect_tables import effect_text
from geodrift.models.kit._groups import groups_of
from geodrift.models.kit._tables import component_tables, paragraphs
from geodrift.models.kit._verdict import Verdict
from geodrift.models.kit._verdict import _told as quantity_told
from geodrift.report._text import of_sizes
from report.synthetic import synthetic


def part(place, found, chains=4):
    """A component as `component_words` tells it."""
    word = {"word": f"w{place}", "weight": 0.25, "low": 0.2, "high": 0.3, "p_top10": 1.0}
    known = {"size": 0.5, "size_low": 0.4, "size_high": 0.6} if found == chains else {}
    alone = {"size": 0.6, "size_low": None, "size_high": None}
    about = {"topic": place, "found": found, "chains": chains, "shared": found == chains, "words": [word]}
    return about | alone | known


def test_sizes_are_of_what_each_model_counts():
    told = {name: model.sizes_of for name, model in models().items()}
    assert told == {"lda": "words", "hdp": "words", "sam": "documents", "dpm": "rows", "vmf": "rows"}
    text = component_tables([part(0, 4)], "topic", "words")
    assert text.startswith("topic 0, 50.0% [40.0%, 60.0%] of the words, found by 4 of 4 chains\n")


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("columns", [80, 120])
def test_long_words_are_cut_to_the_width_of_the_terminal(monkeypatch, columns, signed):
    monkeypatch.setenv("COLUMNS", str(columns))
    long = part(0, 4)
    long["words"] = [{**long["words"][0], "word": word} for word in ("x" * 300, "y" * 30)]
    if signed:
        long["negative_words"] = long["words"]
    lines = component_tables([long], "topic", "words").splitlines()
    assert max(map(len, lines[1:])) == columns - (0 if signed else 2)
    assert "  " + "x" * (columns - 45) + "…  " in lines[2]
    assert "y" * 30 + "  " in lines[3]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("columns", [40, 50, 56])
def test_a_narrow_terminal_breaks_no_row_of_a_table(monkeypatch, columns, signed):
    monkeypatch.setenv("COLUMNS", str(columns))
    told = part(0, 4)
    told["words"] = [{**told["words"][0], "word": word} for word in ("internationalisation", "short")]
    if signed:
        told["negative_words"] = told["words"]
    lines = component_tables([told], "topic", "words").splitlines()
    assert max(map(len, lines)) <= columns
    assert sum("0.2000, " in line for line in lines) == (4 if signed else 2)
    assert any("P(top 10)" in line for line in lines) == (columns == 56)


@pytest.mark.parametrize("columns", [40, 80])
def test_a_long_id_keeps_its_end_within_the_line(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    paths = ["/home/" + "folder/" * 20 + f"{i:05d}.txt" for i in range(2)] + ["/" + "密" * 50 + "00002.txt"]
    mean = {"mean": 0.5, "low": 0.4, "high": 0.6, "title": None}
    text = leading_text([part(0, 4) | {"documents": [mean | {"id": path} for path in paths]}], "topic")
    assert all(cell_len(line) <= columns for line in text.splitlines())
    assert [f"{i:05d}.txt" in text for i in range(3)] == [True] * 3
    short = leading_text([part(0, 4) | {"documents": [mean | {"id": "two words"}]}], "topic")
    assert "  two words" in short


def test_sizes_that_need_not_sum_to_one_say_so():
    assert of_sizes([part(0, 4), part(1, 4)], "topic") == ""
    assert of_sizes([part(0, 4), part(1, 2)], "topic").endswith("so the sizes need not sum to 100%.")
    assert of_sizes([{"found": 1, "chains": 4}], "topic") == ""


@pytest.mark.parametrize("sizes_of", ["words", "documents"])
def test_a_report_says_what_its_sizes_are_of(sizes_of):
    report = dataclasses.replace(synthetic(3), sizes_of=sizes_of)
    report.parts[0] |= {"found": 1}
    page = report.html()
    assert f"by their size, which is a share of the {sizes_of}, with 90% intervals" in page
    assert "sizes need not sum to 100%" in page
    assert f"] of the {sizes_of}" in page


def effect(reference, others):
    """An effect as `effects` tells it, of a field whose first group is the reference."""
    mean = {"mean": 0.25, "low": 0.12, "high": 0.43, "documents": 10_000}
    groups = [mean | {"group": reference, "difference": None}]
    groups += [mean | {"group": other, "difference": mean} for other in others]
    return {"topic": 0, "words": ["orbit"] * 20, "reference": reference, "groups": groups, "trend": mean}


@pytest.mark.parametrize("columns", [40, 65, 80, 120])
def test_lines_keep_within_the_terminal_and_lose_no_word(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    title = "A rather long title that goes on for longer than a line"
    entry = {"mean": 0.5, "low": 0.4, "high": 0.6, "id": "document-00119", "title": title}
    documents = leading_text([part(0, 4) | {"words": ["orbit"] * 20, "documents": [entry]}], "topic")
    spans = ["2018-01-18 to 2018-12-19", "2019-01-18 to 2019-12-19 and still some more of it"]
    effects = effect_text([effect(spans[0], spans[1:])], "topic", "date", dates=True)
    law = law_of_number(np.array([[30, 31, 33]]), "number_of_topics", 0.01, "token")
    apart = np.arange(4.0)[:, None] + np.random.default_rng(0).normal(size=(4, 25))
    verdict = Verdict("topic", [], 4, 0.9, 0.0, [], {"number_of_topics": quantity_told(apart)})
    number = paragraphs(numbers_text([law | {"of": "any token"}, law], "topic", verdict))
    assert "of chains that differ in it (below)." in " ".join(number.split())
    for text in (documents, effects, number):
        assert max(map(len, text.splitlines())) <= columns
    assert title in " ".join(documents.split())
    assert f"less that of {spans[0]}." in " ".join(effects.split())
    assert "change a year: +0.25" in " ".join(effects.split())
    assert "…" not in effects
    if columns == 120:
        assert f"  {spans[0]} " in effects


@pytest.mark.parametrize("word", ["비밀번호를", "密码", "cafe\u0301", "word"])
def test_wide_letters_and_marks_take_the_columns_of_a_terminal(monkeypatch, word):
    monkeypatch.setenv("COLUMNS", "80")
    words = [part(0, 4)["words"][0] | {"word": w} for w in (word, "other", word * 12)]
    text = component_tables([part(0, 4) | {"words": words, "apart": [{"word": word}] * 30}], "topic", "words")
    assert all(cell_len(line) <= 80 for line in text.splitlines())
    header, *rows = text.splitlines()[1:5]
    assert {cell_len(row[: row.index("0.2500")]) for row in rows} == {
        cell_len(header[: header.index("weight")])
    }
    assert text.count(word) >= 31  # no word is lost
    rows = [
        row for row in effect_text([effect(word, ["other"])], "topic", "by").splitlines() if "0.250" in row
    ]
    assert len(rows) == 3  # two groups and the slope
    assert len({cell_len(row[: row.index("0.250")]) for row in rows[:2]}) == 1


def test_text_that_goes_to_no_terminal_has_80_columns(monkeypatch):
    monkeypatch.delenv("COLUMNS")
    monkeypatch.setattr("sys.__stdout__", None)
    lines = paragraphs("word " * 60).splitlines()
    assert 75 < max(map(len, lines)) <= 80


def test_a_trend_is_of_years_where_all_values_are_dates():
    assert groups_of(["2018-01-18", "2019-01-18"], "when").dates
    assert not groups_of(["2018", "2019"], "when").dates
    assert not groups_of([1.5, 2.5], "size").dates
    assert not groups_of(["a", "b"], "group").dates
    assert "change for each unit of size: +0.25" in effect_text([effect("1", ["2"])], "topic", "size")


def test_a_small_slope_has_digits():
    small = {"mean": 1.2345e-07, "low": -2.3e-09, "high": 2.5e-07}
    text = effect_text([effect("1", ["2"]) | {"trend": small}], "topic", "size")
    assert "change for each unit of size: +1.23e-07 [-2.30e-09, +2.50e-07]" in " ".join(text.split())


def test_one_document_is_one():
    assert "1 document, 3 words" in repr(Corpus.from_matrix(np.ones((1, 3))))
    assert "2 documents, 3 words" in repr(Corpus.from_matrix(np.ones((2, 3))))
