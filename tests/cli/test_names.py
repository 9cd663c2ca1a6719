"""Names that topics are given: kept in the run, shown beside the number, found again when a run goes on."""

import csv
import json

import numpy as np
import pytest
from command import assert_one_line

import geodrift
from geodrift import InputError, models
from geodrift.files import write_sealed
from report.hostile_texts import TEXTS

NAME = 'sea & "sun" <b>, \u202eand more'


@pytest.fixture
def run(geodrift_cli, inputs, tmp_path):
    path = tmp_path / "run"
    typed = [
        "--vocab",
        inputs / "vocab.txt",
        "--run",
        path,
        "--topics=3",
        "--steps=60",
        "--chains=2",
        "--draws=8",
    ]
    assert geodrift_cli("fit", "lda", inputs / "train.npz", *typed)[0] == 0
    return path


def test_a_name_is_shown_wherever_topics_are(geodrift_cli, run, tmp_path):
    assert geodrift_cli("rename", run)[1] == f"no topic of {run} has a name\n"
    status, out, _ = geodrift_cli("rename", run, 1, NAME)
    assert status == 0
    shown = NAME.replace("\u202e", "\\u202e")
    assert out == f"topic 1: {shown}\n"
    assert json.loads(geodrift_cli("rename", run, "--json")[1]) == {"names": {"1": NAME}}
    assert f'topic 1 "{shown}", ' in geodrift_cli("topics", run)[1]
    told = json.loads(geodrift_cli("topics", run, "--json")[1])["topics"]
    assert [part["name"] for part in told] == [None, NAME, None]
    assert f'topic 1 "{shown}": ' in geodrift_cli("documents", run)[1]
    geodrift_cli("export", run, "--out", tmp_path / "e.npz")
    assert np.load(tmp_path / "e.npz")["names"].tolist() == ["", NAME, ""]
    for form in ([], ["--long"]):
        out = tmp_path / f"w{len(form)}.csv"
        assert geodrift_cli("transform", run, "--out", out, "--intervals", *form)[0] == 0
        with out.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        if form:
            assert {row["name"] for row in rows if row["topic"] == "1"} == {NAME}
        else:
            assert [name for name in rows[0] if name.endswith(NAME)] == [
                f"topic_1{end} {NAME}" for end in ("", "_low", "_high")
            ]
    page = models.report(run, documents=20).html()
    assert "sea &amp; &quot;sun&quot; &lt;b&gt;" in page
    assert "\u202e" not in page
    assert geodrift_cli("rename", run, 1, "--forget")[0] == 0
    assert geodrift_cli("topics", run)[1].count('"') == 0


def test_names_stay_with_their_topics_when_a_run_goes_on(geodrift_cli, run):
    for number in range(3):
        geodrift_cli("rename", run, number, f"name {number}")
    before = json.loads(geodrift_cli("topics", run, "--json")[1])["topics"]
    geodrift_cli("resume", run, "--steps", 40)
    after = json.loads(geodrift_cli("topics", run, "--json")[1])["topics"]

    def by_name(parts):
        return {part["name"]: {entry["word"] for entry in part["words"][:8]} for part in parts}

    words = by_name(after)
    assert set(words) == {"name 0", "name 1", "name 2"}
    assert all(len(words[name] & known) >= 7 for name, known in by_name(before).items())


def test_a_name_goes_with_the_words_and_not_with_the_number(run):
    """Numbers that another number of draws has put in another order."""
    opened = geodrift.load(run)
    models.rename(opened, 0, "first")
    told = json.loads((run / "names.json").read_text())
    told["names"][0] |= {"number": 2, "draws": 3}
    write_sealed(run / "names.json", told, overwrite=True)
    answers = models.model_of(opened).answers()
    assert answers.names(opened) == {0: "first"}
    told["names"][0]["words"] = [[word, 1e-3] for word in range(30)]
    write_sealed(run / "names.json", told, overwrite=True)
    assert answers.names(opened) == {}


def test_what_is_no_name_is_one_line(geodrift_cli, run):
    for typed in ([7, "x"], [0, " "], [0, "a\nb"], [0, "x" * 81]):
        assert_one_line(*geodrift_cli("rename", run, *typed))
    assert geodrift_cli("rename", run, 1)[0] == 2
    assert geodrift_cli("rename", run, 1, "x", "--forget")[0] == 2
    assert not (run / "names.json").exists()


def test_hostile_names_are_text(geodrift_cli, run):
    lines = [text.strip()[:80] for text in TEXTS if len(text.strip().splitlines()) == 1]
    halves = [name for name in lines if any("\ud800" <= letter <= "\udfff" for letter in name)]
    for name in halves:
        with pytest.raises(InputError, match="a name must be"):
            models.rename(run, 0, name)
    names = [name for name in lines if name not in halves]
    assert halves
    assert len(names) > 40
    for start in range(0, len(names), 15):  # each is read again as it was given; a few of them are shown
        for number, name in enumerate(names[start : start + 3]):
            assert models.rename(run, number, name)[number] == name
        out = geodrift_cli("topics", run, "--top", 2)[1]
        assert not set("\x1b\x00\u202e\u2066") & set(out)
    page = models.report(run, documents=0).html()
    assert page.count("<script") == 2
    assert not set("\x1b\x00\u202e\u2066") & set(page)


def test_damaged_names_are_told_and_set_aside(geodrift_cli, run):
    geodrift_cli("rename", run, 0, "x")
    file = run / "names.json"
    file.write_text(file.read_text().replace('"x"', '"y"'))
    assert_one_line(*geodrift_cli("topics", run))
    status, out, _ = geodrift_cli("verify", run)
    assert (status, "names.json" in out) == (1, True)
    geodrift_cli("verify", run, "--repair")
    assert (run / "damaged" / "names.json").exists()
    assert geodrift_cli("topics", run)[0] == 0
    assert geodrift_cli("verify", run)[0] == 0
    write_sealed(file, {"run": "another", "names": []}, overwrite=True)
    assert_one_line(*geodrift_cli("topics", run))
    for wrong in (
        {"names": [{"number": 0}]},
        {"names": ["x"]},
        {"names": [{"number": 0, "name": 3, "draws": 1, "words": []}]},
    ):
        write_sealed(file, {"run": geodrift.load(run).config["id"]} | wrong, overwrite=True)
        with pytest.raises(InputError, match="does not hold names"):
            models.model_of(geodrift.load(run)).answers().names(geodrift.load(run))
