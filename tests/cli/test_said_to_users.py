"""What the command line says where a user's input means something else than was thought."""

import json
import sys

import pytest
from command import WORDS
from test_documents import texts

from geodrift import cli


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run of records whose text is in the field "body", and its corpus."""
    folder = tmp_path_factory.mktemp("said")
    records = [{"body": record.pop("text")} | record for record in texts(60, 0)]
    (folder / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    typed = ["corpus", str(folder / "in.jsonl"), "--out", str(folder / "corpus"), "--text-field=body"]
    fit = ["fit", "lda", str(folder / "corpus"), "--run", str(folder / "run"), "--topics=3", "--steps=60"]
    for arguments in ([*typed, "--min-df=1"], [*fit, "--chains=2", "--seed=1"]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["geodrift", *arguments])
            with pytest.raises(SystemExit) as stop:
                cli.main()
            assert not stop.value.code
    return folder


@pytest.mark.parametrize("command", ["evaluate", "transform", "compare"])
def test_the_field_of_the_text_is_that_of_the_run(geodrift_cli, made, tmp_path, command):
    new = tmp_path / "new.jsonl"
    for field, option in (("body", ()), ("text", ("--text-field", "text"))):
        record = {field: " ".join(WORDS[:12])}
        new.write_text((json.dumps(record) + "\n") * 4)
        typed = {
            "evaluate": ("evaluate", made / "run", new),
            "transform": ("transform", made / "run", new, "--out", tmp_path / f"{field}.csv"),
            "compare": ("compare", made / "run", made / "run", "--documents", new),
        }
        status, _, said = geodrift_cli(*typed[command], *option)
        assert status == 0, said
    (tmp_path / "text.csv").unlink(missing_ok=True)
    status, _, said = geodrift_cli(*typed[command])
    assert status == 1
    assert "no field 'body' (fields: text)" in said


def test_the_score_of_the_fitted_documents_is_no_held_out_score(geodrift_cli, made, tmp_path):
    status, _, said = geodrift_cli("evaluate", made / "run", made / "corpus")
    assert status == 0
    assert "note: 60 of the 60 documents were fitted by" in said
    assert "the score is better than that of others" in said
    # The text itself, and a corpus of it that was made in another way.
    options = ("--out", tmp_path / "other", "--text-field=body", "--fields=title", "--min-df=15")
    assert geodrift_cli("corpus", made / "in.jsonl", *options)[0] == 0
    for same in (made / "in.jsonl", tmp_path / "other"):
        assert "60 of the 60 documents were fitted" in geodrift_cli("evaluate", made / "run", same)[2]
    for number in (60, 1):  # as many others, and fewer
        new = "".join(json.dumps({"body": record["text"]}) + "\n" for record in texts(number, 1))
        (tmp_path / "new.jsonl").write_text(new)
        status, _, said = geodrift_cli("evaluate", made / "run", tmp_path / "new.jsonl")
        assert status == 0
        assert "fitted" not in said


@pytest.fixture
def some_of(made, tmp_path):
    """A file of the first documents that the run was fitted to, and of new ones."""

    def write(own, new):
        lines = (made / "in.jsonl").read_text().splitlines()[:own]
        lines += [json.dumps({"body": record["text"]}) for record in texts(new, 1)]
        (tmp_path / "some.jsonl").write_text("\n".join(lines) + "\n")
        return tmp_path / "some.jsonl"

    return write


def test_a_part_of_the_fitted_documents_is_told_as_such(geodrift_cli, made, some_of):
    said = geodrift_cli("evaluate", made / "run", some_of(20, 0))[2]
    assert "note: 20 of the 20 documents were fitted" in said
    said = geodrift_cli("evaluate", made / "run", some_of(20, 30))[2]
    assert "20 of the 50 documents have the words of documents" in said
    assert "score is better" not in said


def test_fitted_documents_are_no_held_out_documents_of_a_comparison(geodrift_cli, made, some_of):
    typed = ["compare", made / "run", made / "run", "--documents"]
    for documents, number in ((made / "in.jsonl", 60), (made / "corpus", 60), (some_of(20, 15), 20)):
        told = json.loads(geodrift_cli(*typed, documents, "--json")[1])
        assert (told["scores"], told["fitted_documents"]) == (None, number)
    said = " ".join(geodrift_cli(*typed, some_of(20, 0))[1].split())
    assert "No held-out scores: 20 of the 20 documents were fitted by one of the runs" in said
    assert "better" not in said
    some = some_of(20, 30)
    told = json.loads(geodrift_cli(*typed, some, "--json")[1])
    assert (told["scores"]["documents"], told["fitted_documents"]) == (30, 20)
    said = " ".join(geodrift_cli(*typed, some)[1].split())
    assert "20 more have the words of documents that a run was fitted to, and are left out." in said


def test_a_run_lies_in_no_corpus(geodrift_cli, made):
    place = made / "corpus" / "runs" / "a"
    status, _, said = geodrift_cli("fit", "lda", made / "corpus", "--run", place, "--topics=3", "--steps=20")
    assert status == 2
    assert "lies in the corpus" in said
    assert not place.parent.exists()


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("--min-df=0",), "--min-df as a number of documents must be at least 1, got 0"),
        (("--max-words=0",), "--max-words must be a whole number of at least 1, got 0"),
        (("--ngrams=0",), "--ngrams must be 1 to 10, got 0"),
        (("--out", ""), "is no name for what is to be made: give one"),
    ],
)
def test_options_about_text_are_named_as_typed(geodrift_cli, made, tmp_path, typed, told):
    out = () if "--out" in typed else ("--out", tmp_path / "corpus")
    status, _, said = geodrift_cli("corpus", made / "in.jsonl", "--text-field=body", *out, *typed)
    assert status
    assert told in said
    assert not (tmp_path / "corpus").exists()


@pytest.mark.parametrize("seconds", ["inf", "nan", "1e300", "0"])
def test_seconds_are_bounded(geodrift_cli, made, tmp_path, seconds):
    typed = ("fit", "lda", made / "corpus", "--run", tmp_path / "run", "--seconds", seconds)
    status, _, said = geodrift_cli(*typed)
    assert status == 2
    assert "--seconds must be positive and at most 100,000,000, got" in said


def test_a_field_of_one_value_makes_one_group(geodrift_cli, tmp_path):
    records = [record | {"one": "same"} for record in texts(60, 0)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    options = ("--topics=3", "--steps=40", "--chains=2", "--min-df=1")
    assert geodrift_cli("fit", "lda", tmp_path / "in.jsonl", "--run", tmp_path / "run", *options)[0] == 0
    status, _, said = geodrift_cli("effect", tmp_path / "run", "--by", "one")
    assert status == 1
    assert "field 'one' makes one group ('same'); 2 to 50 can be compared" in said


def test_draws_of_some_of_the_documents_alone_are_told(geodrift_cli, made, tmp_path):
    """Of 60 documents, two a step, 45 are those of the start, and a pass over all takes thirty steps."""
    fit = ("fit", "lda", made / "corpus", "--topics=3", "--chains=1", "--batch-size=2")
    status, _, said = geodrift_cli(*fit, "--run", tmp_path / "few", "--steps=12")
    assert status == 0
    assert (
        "warning: 1 of 1 chains: draws were stored before all of the 60 documents had joined: 15 of" in said
    )
    assert "had joined" not in geodrift_cli(*fit, "--run", tmp_path / "more", "--steps=200")[2]
