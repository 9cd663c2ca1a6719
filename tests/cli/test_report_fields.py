"""Reports of corpora that say who their documents are: titles, beginnings of texts, groups and times."""

import json

import numpy as np
import pytest
from command import WORDS, assert_one_line

import geodrift
from geodrift import models
from geodrift.models.kit import corpus_of
from geodrift.models.kit._effects import effects
from geodrift.models.kit._groups import groups_of


def texts(number):
    rng = np.random.default_rng(0)
    for i in range(number):
        group = i % 3
        told = " ".join(rng.choice(WORDS[10 * group : 10 * group + 10], 12))
        yield {
            "text": told,
            "id": f"d{i}",
            "title": f"Title {i}",
            "year": 2000 + i % 4,
            "place": "abc"[group],
        }


@pytest.fixture
def run(geodrift_cli, tmp_path):
    source, path = tmp_path / "in.jsonl", tmp_path / "run"
    source.write_text("".join(json.dumps(record) + "\n" for record in texts(60)))
    typed = ["--topics=3", "--steps=60", "--chains=2", "--min-df=1", "--fields", "title,year,place,text"]
    assert geodrift_cli("fit", "lda", source, "--run", path, *typed)[0] == 0
    return path


@pytest.mark.slow
def test_a_report_tells_titles_texts_and_times(geodrift_cli, run):
    records = list(texts(60))
    report = models.report(run)
    told = report.documents
    assert told.names == [record["title"] for record in records]
    assert told.ids == [record["id"] for record in records]
    assert list(told.fields) == ["year", "place"]
    assert told.fields["year"] == [record["year"] for record in records]
    leading = {place for k in range(3) for place in told.leading(k, 5)}
    assert told.texts == {place: records[place]["text"] for place in leading}
    (over_time,) = report.prevalence
    assert over_time.field == "year"
    opened = geodrift.load(run)
    corpus = corpus_of(opened)
    groups = groups_of(corpus.documents.column("year"), "year")
    assert over_time.effects == effects(opened, models.model_of(opened), corpus, groups).parts
    assert over_time.centres.tolist() == [2000, 2001, 2002, 2003]
    page = report.html()
    assert "Groups and time" in page
    assert records[min(leading)]["text"][:40] in page

    status, out, _ = geodrift_cli("report", run, "--by", "place", "--by", "year", "--title", "place")
    assert (status, out) == (0, f"{run}/report.html\n")
    assert "By place" in (run / "report.html").read_text()
    assert "geodrift report RUN" not in (run / "report.html").read_text()
    assert geodrift_cli("report", run, "--by", "none")[0] == 0
    assert "Groups and time" not in (run / "report.html").read_text()
    for wrong in (["--by", "month"], ["--title", "month"], ["--text", "month"], ["--by", "title"]):
        status, out, err = geodrift_cli("report", run, *wrong)
        assert_one_line(status, out, err)


def test_texts_are_kept_where_their_field_is_named(geodrift_cli, tmp_path):
    (tmp_path / "in").mkdir()
    for i, record in enumerate(texts(12)):
        (tmp_path / "in" / f"{i}.txt").write_text(record["text"] * 40)
    source = tmp_path / "in.csv"
    source.write_text("id,body\n" + "".join(f"{r['id']},{r['text']}\n" for r in texts(12)))
    for name, given, options in (
        ("folder", tmp_path / "in", ["--fields", "text"]),
        ("csv", source, ["--fields", "body", "--text-field", "body"]),
    ):
        out = tmp_path / name
        assert geodrift_cli("corpus", given, "--out", out, "--min-df=1", *options)[0] == 0
        documents = geodrift.data.Corpus.open(out).documents
        (field,) = documents.fields
        beginnings = documents.column(field)
        assert all(0 < len(text) <= 1000 for text in beginnings)
        assert beginnings[0].startswith(next(texts(1))["text"])
    assert geodrift_cli("corpus", source, "--out", tmp_path / "c", "--min-df=1", "--text-field=body")[0] == 0
    assert geodrift.data.Corpus.open(tmp_path / "c").documents.fields == []


def test_a_report_says_which_documents_it_lists_where_some_were_set_aside(geodrift_cli, tmp_path):
    source, path = tmp_path / "in.jsonl", tmp_path / "run"
    source.write_text("".join(json.dumps(record) + "\n" for record in texts(30)))
    fit = ["--topics=3", "--steps=20", "--min-df=1", "--held-out=4"]
    assert geodrift_cli("fit", "lda", source, "--run", path, *fit)[0] == 0
    report = models.report(path, documents=100)
    assert len(report.documents.names) == 26
    assert report.notes[-1] == (
        "The lists of documents are of the 26 that were fitted; groups, and geodrift documents, are of all"
        " 30, with those set aside."
    )


def test_groups_of_a_report_are_those_of_effect_whatever_documents_it_lists(geodrift_cli, tmp_path):
    source, path = tmp_path / "in.jsonl", tmp_path / "run"
    records = [*texts(31), {"text": "nowhere", "id": "x", "year": 2000, "place": "b"}]
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    fit = ["--topics=3", "--steps=20", "--min-df=2", "--chains=2"]
    assert geodrift_cli("fit", "lda", source, "--run", path, *fit)[0] == 0
    status, out, said = geodrift_cli("effect", path, "--by", "place", "--json")
    assert status == 0
    told = json.loads(out)
    assert told["documents"] == {"all": 32, "looked_at": 32, "without_field": 0, "without_words": 1}
    assert [group["documents"] for group in told["effects"][0]["groups"]] == [11, 10, 10]
    note = "1 of the documents looked at have no word that the run knows: left out"
    assert f"note: {note}" in said
    report = models.report(path, documents=9, by=["place"])
    (prevalence,) = report.prevalence
    assert json.loads(json.dumps(prevalence.effects)) == told["effects"]
    assert prevalence.notes == [note]
    page = report.html()
    assert note in page
    assert "11 documents</title>" in page
    status, out, said = geodrift_cli("effect", path, "--by", "place", "--json", "--most=20")
    told = json.loads(out)
    assert sum(group["documents"] for group in told["effects"][0]["groups"]) <= 20
    assert "note: 20 of 32 documents were looked at, chosen at random" in said


def test_a_report_names_the_other_fields_that_make_groups(geodrift_cli, tmp_path):
    source, path = tmp_path / "in.jsonl", tmp_path / "run"
    more = ({"section": of["place"], "Date": of["year"], "class": "all"} for of in texts(30))  # one class
    records = (record | others for record, others in zip(texts(30), more, strict=True))
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert geodrift_cli("fit", "lda", source, "--run", path, "--topics=3", "--steps=20", "--min-df=1")[0] == 0
    report = models.report(path, documents=20)
    assert [told.field for told in report.prevalence] == ["Date"]
    assert report.notes[-1] == (
        "Groups are told by Date alone; for all of them:"
        " geodrift report RUN --by Date --by year --by section."
    )
    assert models.report(path, documents=20, by=["year"]).notes == report.notes[:-1]
