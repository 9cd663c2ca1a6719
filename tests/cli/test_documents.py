"""What documents are made of on the command line: tables with ids, and each topic's leading documents."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from command import WORDS, assert_one_line

import geodrift
from geodrift import cli
from geodrift._terminal import visible
from geodrift.cli import _files, _fitting, _making, _waiting
from geodrift.cli._starting import Start
from geodrift.cli._weight_files import Form, write_weights
from geodrift.data import Document, read_counts_file
from geodrift.driver import Length
from geodrift.models import kit, model_named, model_of
from geodrift.models.kit import corpus_of


def texts(number, seed):
    """Records of three groups, each with words of its own."""
    rng = np.random.default_rng(seed)
    for i in range(number):
        group = i % 3
        words = rng.choice(WORDS[10 * group : 10 * group + 10], 12)
        yield {"text": " ".join(words), "id": f"d{i}", "title": f"=Group\x1b {group}", "group": "abc"[group]}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of records, made by the command itself; five documents were set aside."""
    folder = tmp_path_factory.mktemp("documents")
    source, path = folder / "in.jsonl", folder / "run"
    source.write_text("".join(json.dumps(record) + "\n" for record in texts(60, 0)))
    options = ["--topics=3", "--steps=60", "--chains=2", "--seed=1", "--held-out=5", "--min-df=1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["geodrift", "fit", "lda", str(source), "--run", str(path), *options])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert not stop.value.code
    return path


def table(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_fitted_documents_need_not_be_given_again(geodrift_cli, run, tmp_path):
    assert geodrift_cli("transform", run, "--out", tmp_path / "w.csv")[0] == 0
    rows = table(tmp_path / "w.csv")
    assert list(rows[0]) == ["id", "title", "group", "topic_0", "topic_1", "topic_2"]
    assert [row["id"] for row in rows] == [f"d{i}" for i in range(60)]
    assert rows[4]["title"] == "=Group\x1b 1"
    weights = np.array([[float(row[f"topic_{k}"]) for k in range(3)] for row in rows])
    opened = geodrift.load(run)
    direct = model_of(opened).answers().transform(opened, corpus_of(opened).matrix(), seed=0)
    assert weights == pytest.approx(direct["mean"], rel=1e-5)
    # One topic a group.
    assert sorted(weights[:3].argmax(1)) == [0, 1, 2]
    assert (weights.argmax(1) == np.resize(weights[:3].argmax(1), 60)).all()


def test_a_corpus_that_was_moved_is_asked_for(geodrift_cli, run, tmp_path):
    place = corpus_of(geodrift.load(run)).path
    place.rename(tmp_path / "elsewhere")
    try:
        status, _, said = geodrift_cli("documents", run)
        assert status == 1
        assert "fitted to are no longer at" in said
        assert "put them back" in said
    finally:
        (tmp_path / "elsewhere").rename(place)


def in_blocks_of(monkeypatch, number):
    answers = "geodrift.models.latent_dirichlet_allocation._answers.LatentDirichletAnswers"
    monkeypatch.setattr(f"{answers}.documents_a_block", lambda self, run: number)


def test_means_are_the_same_bits_in_every_file_and_for_every_block(geodrift_cli, run, tmp_path, monkeypatch):
    """In one go and by chunks, with intervals and without, from text, from a corpus and to .npy."""
    new = tmp_path / "new.jsonl"
    new.write_text("".join(json.dumps(record) + "\n" for record in texts(20, 1)) + '{"text": "unknown"}\n')
    found = {}
    for block in (1000, 7, 1):
        in_blocks_of(monkeypatch, block)
        for name in ("m.npy", "m.npz"):
            out = tmp_path / f"{block}{name}"
            status, _, err = geodrift_cli("transform", run, new, "--out", out, "--seed", 3)
            assert status == 0
            assert "1 of 21 documents have no word that the run knows" in err
            read = np.load(out, allow_pickle=False)
            found[block, name] = read if name == "m.npy" else read["mean"]
    whole = found[1000, "m.npz"]
    assert whole.shape == (21, 3)
    assert whole.dtype == np.float32
    for what, mean in found.items():
        assert np.array_equal(mean, whole), what
    other = tmp_path / "seed.npy"
    assert geodrift_cli("transform", run, new, "--out", other, "--seed", 4)[0] == 0
    assert not np.array_equal(np.load(other), whole)
    assert not list(tmp_path.glob(".*")), "the counts of the new documents are gone"


@pytest.mark.slow  # in CI the weights themselves
def test_a_row_without_counts_of_a_mixture_has_the_weights_of_any_row(geodrift_cli, tmp_path):
    """Before, it was told as having the mean of the prior, which has as good as all in a new cluster."""
    rows = np.zeros((41, 4), int)
    rows[:30, :2], rows[30:40, 2:] = 5, 5
    np.save(tmp_path / "rows.npy", rows)
    options = ("--run", tmp_path / "run", "--steps", 60)
    assert geodrift_cli("fit", "dpm", tmp_path / "rows.npy", *options)[0] == 0
    status, _, err = geodrift_cli("transform", tmp_path / "run", "--out", tmp_path / "weights.npy")
    assert status == 0
    assert "1 of 41 documents have no word that the run knows: their weights are those of any row" in err
    assert np.load(tmp_path / "weights.npy")[40, :2] == pytest.approx([0.74, 0.24], abs=0.04)


def test_npy_holds_no_intervals(geodrift_cli, run, tmp_path):
    for option in ("--intervals", "--long"):
        status, _, err = geodrift_cli("transform", run, "--out", tmp_path / "m.npy", option)
        assert status == 2
        assert ".npy holds the means alone" in err


def test_other_tables_say_the_same(geodrift_cli, run, tmp_path, monkeypatch):
    in_blocks_of(monkeypatch, 7)
    new = tmp_path / "new.jsonl"
    new.write_text("".join(json.dumps(record | {"topic_1": 9}) + "\n" for record in texts(20, 1)))
    for name, options in {
        "wide.csv": ["--intervals", "--fields", "group,topic_1"],
        "long.csv": ["--long", "--fields=none"],
        "w.npz": [],
    }.items():
        assert geodrift_cli("transform", run, new, "--out", tmp_path / name, *options)[0] == 0
    wide, long = table(tmp_path / "wide.csv"), table(tmp_path / "long.csv")
    assert list(wide[0])[:5] == ["id", "group", "field_topic_1", "topic_0", "topic_0_low"]
    assert (len(wide), len(long)) == (20, 60)
    with np.load(tmp_path / "w.npz", allow_pickle=False) as arrays:
        assert arrays["id"].tolist() == [row["id"] for row in wide] == [f"d{i}" for i in range(20)]
        for name, suffix in (("mean", ""), ("low", "_low"), ("high", "_high")):
            of_wide = [[float(row[f"topic_{k}{suffix}"]) for k in range(3)] for row in wide]
            of_long = np.array([float(row[name]) for row in long]).reshape(20, 3)
            assert np.array_equal(of_wide, of_long)
            assert of_long == pytest.approx(arrays[name], rel=1e-5)
    assert [row["id"] for row in long[:4]] == ["d0", "d0", "d0", "d1"]


def test_leading_documents_are_those_of_the_table(geodrift_cli, run, tmp_path):
    geodrift_cli("transform", run, "--out", tmp_path / "w.csv")
    rows = table(tmp_path / "w.csv")
    status, out, _ = geodrift_cli("documents", run, "--json", "--top", 4)
    assert status == 0
    for told in json.loads(out)["documents"]:
        weights = [float(row[f"topic_{told['topic']}"]) for row in rows]
        expected = np.argsort(-np.array(weights), kind="stable")[:4]
        assert [found["mean"] for found in told["documents"]] == pytest.approx(
            [weights[place] for place in expected], rel=1e-4
        )
        assert {found["id"][0] for found in told["documents"]} == {"d"}
        assert len({found["title"] for found in told["documents"]}) == 1
        assert all(found["low"] <= found["mean"] <= found["high"] for found in told["documents"])
        assert len(told["words"]) == 6
    status, out, _ = geodrift_cli("documents", run, "--top", 2)
    assert out.count("\\x1b") == 6
    assert "\x1b" not in out
    sizes = [part["size"] for part in json.loads(geodrift_cli("topics", run, "--json")[1])["topics"]]
    assert out.startswith(f"topic {int(np.argmax(sizes))}: ")
    _, out, err = geodrift_cli("documents", run, "--most", 10, "--json", "--title", "group")
    assert "10 of 60 documents were looked at" in err
    assert json.loads(out)["documents"][0]["documents"][0]["title"] in "abc"


def test_plain_counts_are_numbered(geodrift_cli, inputs, tmp_path):
    run = tmp_path / "r"
    assert geodrift_cli("fit", "lda", inputs / "train.npz", "--run", run, "--topics=3", "--steps=20")[0] == 0
    assert geodrift_cli("transform", run, "--out", tmp_path / "w.csv")[0] == 0
    assert [row["id"] for row in table(tmp_path / "w.csv")] == [str(i) for i in range(60)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fields", "month"], "no field 'month' (fields: title, group)"),
        (["IN", "--id-field", "month"], "no id in field 'month'"),
        (["IN", "--fields", "month"], "no field 'month'"),
    ],
)
def test_fields_that_are_not_there_are_one_line(geodrift_cli, run, tmp_path, options, message):
    typed = [run.parent / "in.jsonl" if option == "IN" else option for option in options]
    status, out, err = geodrift_cli("transform", run, *typed, "--out", tmp_path / "w.csv")
    assert_one_line(status, out, err)
    assert message in err
    assert not (tmp_path / "w.csv").exists()


def test_a_fit_ends_with_what_was_found_and_what_is_next(geodrift_cli, run):
    status, out, err = geodrift_cli("resume", run, "--steps", 3)
    assert (status, out.strip()) == (0, str(run))
    lines = err.splitlines()
    assert any(re.match(r"at the end of the first chain: .*held-out perplexity \d", line) for line in lines)
    assert lines[-1] == f"next: geodrift topics {run}; geodrift report {run}; geodrift documents {run}"
    (steps,) = re.findall(r"^([\d,]+) steps", err, re.MULTILINE)
    assert f"step {steps}/{steps} of 2 chains" in err


def test_scores_keep_within_their_intervals_and_lines_within_80_columns(geodrift_cli, run):
    status, out, _ = geodrift_cli("evaluate", run, run.parent / "in.jsonl")
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    shown = re.findall(r"(npmi|u_mass|exclusivity|diversity)\s(\S+)\s\[(\S+),\s(\S+)\]", out)
    assert len(shown) == 4
    for _, value, low, high in shown:
        assert float(low) <= float(value) <= float(high)


def test_a_wrong_setting_is_refused_before_anything_is_read(geodrift_cli, tmp_path):
    typed = ["fit", "lda", tmp_path / "missing.jsonl", "--run", tmp_path / "r", "--method", "variational"]
    status, out, err = geodrift_cli(*typed)
    assert status != 0
    assert out == ""
    assert "method must be one of gibbs" in err
    assert "missing.jsonl" not in err


def test_effects_of_groups_are_those_that_made_the_documents(geodrift_cli, run):
    status, out, _ = geodrift_cli("effect", run, "--by", "group", "--json", "--reference", "b")
    assert status == 0
    told = json.loads(out)
    assert (told["by"], [part["topic"] for part in told["effects"]]) == ("group", [0, 1, 2])
    leaders = set()
    for part in told["effects"]:
        shares = {group["group"]: group for group in part["groups"]}
        assert list(shares) == ["a", "b", "c"]
        assert [group["documents"] for group in part["groups"]] == [20, 20, 20]
        assert all(group["low"] <= group["mean"] <= group["high"] for group in part["groups"])
        leader = max(shares, key=lambda name: shares[name]["mean"])
        leaders.add(leader)
        assert shares[leader]["low"] > 0.6
        assert shares["b"]["difference"] is None
        change = shares["a"]["difference"]
        assert change["mean"] == pytest.approx(shares["a"]["mean"] - shares["b"]["mean"])
        assert change["p_above_0"] == pytest.approx({"a": 1.0, "b": 0.0, "c": 0.5}[leader], abs=0.5)
        assert "trend" not in part
    assert leaders == set("abc")
    _, out, _ = geodrift_cli("effect", run, "--by", "group")
    assert out.count("share 90% interval") == 3
    assert "Difference: its share less that of a." in out
    assert max(map(len, out.splitlines())) <= 80
    for wrong, message in (
        (["--by", "month"], "no field 'month'"),
        (["--by", "id"], "no field 'id'"),
        (["--by", "group", "--reference", "z"], "reference 'z' is no group (groups: a, b, c)"),
        (["--by", "group", "--bins", "3"], "there are no --bins of it"),
    ):
        status, out, err = geodrift_cli("effect", run, *wrong)
        assert_one_line(status, out, err)
        assert message in err


def test_effects_need_fields(geodrift_cli, inputs, tmp_path):
    run = tmp_path / "r"
    assert geodrift_cli("fit", "lda", inputs / "train.npz", "--run", run, "--topics=3", "--steps=20")[0] == 0
    status, out, err = geodrift_cli("effect", run, "--by", "group")
    assert_one_line(status, out, err)
    assert "does not say who its documents are" in err


def test_a_title_that_no_document_has_is_refused(geodrift_cli, run):
    status, out, err = geodrift_cli("documents", run, "--title", "nope")
    assert (status, out) == (1, "")
    assert "no field 'nope' (fields: " in err
    assert "group" in err


def test_options_of_text_mean_nothing_for_counts(geodrift_cli, run, tmp_path):
    out = tmp_path / "w.csv"
    for option in ("--text-field", "--id-field"):
        status, _, err = geodrift_cli("transform", run, run / "corpus", "--out", out, option, "nope")
        assert status == 2
        assert f"{option} nope means nothing here" in err
        status, _, err = geodrift_cli("fit", "lda", run / "corpus", "--run", tmp_path / "r", option, "nope")
        assert status == 2
        assert f"{option} nope means nothing here" in err
    assert not list(tmp_path.iterdir())


def test_documents_that_share_an_id_are_counted(geodrift_cli, tmp_path):
    records = [record | {"id": f"n{number // 2}"} for number, record in enumerate(texts(10, 0))]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    status, _, err = geodrift_cli("corpus", source, "--out", tmp_path / "corpus", "--min-df", 1)
    assert status == 0
    assert "5 of 10 documents have the id of another" in err


def test_seed_words_that_the_corpus_does_not_have_are_named(geodrift_cli, run, tmp_path):
    known = run_words(run)
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(f"a: {known[0]} nowhere\nb: {known[1]} nothing nowhere\n")
    options = ["--topics", 3, "--steps", 1, "--chains", 1, "--seed-words", seeds]
    status, _, err = geodrift_cli("fit", "lda", run / "corpus", "--run", tmp_path / "run", *options)
    assert status == 0, err
    assert "the vocabulary lacks 2 of the 4 seed words, which start nothing: nowhere, nothing" in err


def test_seed_words_may_have_their_accents_apart(geodrift_cli, tmp_path):
    source, seeds = tmp_path / "in.jsonl", tmp_path / "seeds.txt"
    source.write_text("".join(json.dumps({"text": f"caf\u00e9 uno w{i % 3}"}) + "\n" for i in range(20)))
    seeds.write_text("a: cafe\u0301\nb: uno\n", encoding="utf-8")
    options = ["--topics=2", "--steps=1", "--chains=1", "--min-df=1", "--max-df=1.0", "--seed-words", seeds]
    status, _, err = geodrift_cli("fit", "lda", source, "--run", tmp_path / "run", *options)
    assert (status, "the vocabulary lacks" in err) == (0, False), err


def run_words(run):
    return (run / "vocabulary.txt").read_text().split()


def test_commands_that_are_advised_can_be_copied(geodrift_cli, tmp_path):
    source, run = tmp_path / "a.jsonl", tmp_path / "my run"
    source.write_text("".join(json.dumps({"text": f"one two w{i % 3}"}) + "\n" for i in range(9)))
    typed = ["--topics=2", "--steps=20", "--chains=1", "--min-df=1", "--max-df=1.0"]
    err = geodrift_cli("fit", "lda", source, "--run", run, *typed)[2]
    assert err.splitlines()[-1].startswith(f"next: geodrift topics '{run}'; ")


@pytest.mark.parametrize("name", ["a\nb", "it's\x1b[31m \\n", "\u2028é", "b\udcfccher", "-a b", "plain"])
def test_a_name_in_a_command_is_read_by_the_shell_as_it_is(name):
    shown = _files.typed(Path(name))
    assert visible(shown) == shown
    read = subprocess.run(["bash", "-c", f"printf %s {shown}"], capture_output=True, check=True).stdout
    assert os.fsdecode(read).removeprefix("./") == name


def test_standard_input_is_refused_with_what_to_do(geodrift_cli, tmp_path):
    status, _, err = geodrift_cli("fit", "lda", "-", "--run", tmp_path / "run")
    assert status == 2
    assert "save it to a file" in err


def test_options_of_text_and_words_mean_nothing_for_a_corpus(geodrift_cli, run, tmp_path):
    corpus, typed = run / "corpus", (("--ngrams", 2), ("--stop-words", "none"), ("--token-pattern", "x"))
    for option, value in (*typed, ("--fields", "none"), ("--encoding", "latin-1"), ("--vocab", "words.txt")):
        status, _, err = geodrift_cli("corpus", corpus, "--out", tmp_path / "c", option, value)
        assert (status, f"{option} {value} means nothing here" in err) == (2, True), err
    status, _, err = geodrift_cli(
        "transform", run, corpus, "--out", tmp_path / "w.csv", "--vocab", "words.txt"
    )
    assert (status, "--vocab words.txt means nothing here" in err) == (2, True)
    status, _, err = geodrift_cli("corpus", corpus, "--out", tmp_path / "c", "--workers", 2)
    assert (status, "--workers 2 read text, and" in err) == (2, True)
    assert not list(tmp_path.iterdir())


def test_text_and_counts_are_no_corpus_whose_files_need_no_check(geodrift_cli, run, inputs, tmp_path):
    for model, source in (("lda", run.parent / "in.jsonl"), ("vmf", inputs / "train.npz")):
        typed = ("--run", tmp_path / "run", "--steps", 20, "--unchecked-corpus")
        status, _, err = geodrift_cli("fit", model, source, *typed)
        assert (status, f"and {source} is none: leave it out" in err) == (2, True), err
    assert not list(tmp_path.iterdir())


def test_words_that_no_document_has_are_told_with_what_text_has_for_them(geodrift_cli, run, tmp_path):
    source, words, out = run.parent / "in.jsonl", tmp_path / "words.txt", tmp_path / "c"
    for typed, told in (
        ("w00\nW01\nabsent\n", "note: 2 of the 3 words of the vocabulary are in no document, such as 'W01'"),
        ("w00\nthe\n", "is in no document, such as 'the'; text has it as no word at all"),
        ("w00\nw01 w02\n", "such as 'w01 w02'; text has it as 'w01', 'w02'"),
        ("absent\n", "error: 1 of the 1 words of the vocabulary is in no document, such as 'absent'\n"),
    ):
        words.write_text(typed)
        status, _, err = geodrift_cli("corpus", source, "--out", out, "--vocab", words)
        assert (status, told in err, out.exists()) == (int("error" in told), True, "note" in err)
        shutil.rmtree(out, ignore_errors=True)
    words.write_text("w00\nw01\n")
    assert geodrift_cli("corpus", source, "--out", out, "--vocab", words)[2] == ""


def test_a_field_id_beside_another_id_is_told_as_a_field(geodrift_cli, tmp_path):
    records = [record | {"id": str(i)} for i, record in enumerate(texts(20, 0))]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    typed = ("--out", tmp_path / "c", "--id-field=title", "--min-df=1")
    out = geodrift_cli("corpus", tmp_path / "in.jsonl", *typed)[1]
    assert "of each document: id, the field id" in out


def test_words_that_are_given_are_neither_pruned_nor_those_of_a_run(geodrift_cli, run, tmp_path):
    words, source = tmp_path / "words.txt", run.parent / "in.jsonl"
    words.write_text("w00\nw01\n")
    typed = ("--out", tmp_path / "c", "--vocab", words, "--max-words", 1)
    status, _, err = geodrift_cli("corpus", source, *typed)
    assert (status, "leave --min-df, --max-df and --max-words out" in err) == (2, True)
    status, _, err = geodrift_cli("evaluate", run, source, "--vocab", words)
    assert (status, "names columns of counts" in err) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["words.txt"]


@pytest.mark.parametrize(
    ("command", "typed", "message"),
    [
        ("transform", ("--vocab", "words.txt"), "--vocab words.txt is about documents that are read"),
        ("transform", ("--id-field", "key"), "--id-field key is about documents that are read"),
        ("transform", ("--encoding", "latin-1"), "--encoding latin-1 is about documents that are read"),
        ("compare", ("--text-field", "body"), "give them with --documents"),
        ("report", ("--documents", 0, "--by", "group"), "--by is about documents, and --documents 0 does"),
        ("report", ("--documents", 0, "--title", "title"), "--title is about documents"),
    ],
)
def test_options_about_documents_that_are_not_read_are_refused(
    geodrift_cli, run, tmp_path, command, typed, message
):
    given = {"transform": ("--out", tmp_path / "w.csv"), "compare": (run,), "report": ()}[command]
    status, _, err = geodrift_cli(command, run, *given, *typed)
    assert (status, message in err) == (2, True), err
    assert not (tmp_path / "w.csv").exists()


def test_arrays_have_no_long_form_and_no_fields(geodrift_cli, run, tmp_path):
    for name, typed in (
        ("w.npz", ("--long",)),
        ("w.npz", ("--fields", "group")),
        ("w.npy", ("--fields", "x")),
    ):
        status, _, err = geodrift_cli("transform", run, "--out", tmp_path / name, *typed)
        assert (status, ".parquet or .csv for" in err) == (2, True)
    assert not list(tmp_path.iterdir())


def test_texts_that_were_fitted_are_weighed_as_such(geodrift_cli, run, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(kit, "weight_blocks", lambda *_, fitted, **__: asked.append(fitted) or iter(()))
    new = tmp_path / "new.jsonl"
    new.write_text("".join(json.dumps(record) + "\n" for record in texts(20, 7)))
    for number, source in enumerate((run.parent / "in.jsonl", new)):
        assert geodrift_cli("transform", run, source, "--out", tmp_path / f"{number}.csv")[0] == 0
    assert asked == [True, False]


def test_every_column_of_a_table_has_a_name_of_its_own():
    fields = dict.fromkeys(["topic_0", "field_topic_0", "id", "title"], str)
    header = Form("topic", fields, long=False, intervals=False).header(2)
    assert header[:5] == ["id", "field_field_topic_0", "field_topic_0", "field_id", "title"]
    assert len(set(header)) == len(header)


def test_a_table_is_text_whatever_files_are_called(tmp_path):
    weights = {name: np.full((1, 2), 0.5) for name in ("mean", "low", "high")}
    form = Form("topic", {}, long=False, intervals=False)
    write_weights(tmp_path / "w.csv", [([Document("q\udcfc.txt", {})], weights)], form)
    assert (tmp_path / "w.csv").read_text("utf-8").splitlines()[1] == r"q\udcfc.txt,0.5,0.5"


def test_the_demo_tells_a_command_that_can_be_copied(geodrift_cli, run, tmp_path, monkeypatch):
    monkeypatch.setattr(_making, "demonstrated", lambda: model_named("lda"))
    monkeypatch.setattr(_fitting, "start", lambda *_: geodrift.load(run))
    path = tmp_path / "my demo"
    assert f"more: geodrift topics '{path}'\n" in geodrift_cli("demo", "--run", path)[1]
    assert _files.typed(Path("-run")) == "./-run"


def test_a_path_that_is_called_as_an_option_is_told_as_it_is(geodrift_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fields").mkdir()
    assert geodrift_cli("topics", "fields")[2].startswith("error: fields is not a run directory")


def test_what_processes_need_is_told_of_all_chains(inputs, tmp_path, capsys):
    corpus, model = read_counts_file(inputs / "train.npz", None), model_named("lda")
    config = {"settings": {"n_topics": 3}, "seed": 0, "chains": 4, "held_out": 0}
    _fitting._make(model, corpus, tmp_path / "one", config, config, Start())
    _fitting._make_shared(model, corpus, tmp_path / "shared", config, Length(steps=5), Start())
    alone, shared = re.findall("of memory (.*), and up to (.*) of disk", capsys.readouterr().err)
    assert alone[1] == shared[1]
    assert (alone[0], shared[0]) == ("in all", "in each process")


def test_the_time_left_is_that_of_the_work_that_goes_on(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_waiting, "time", SimpleNamespace(monotonic=lambda: now[0]))
    waiting = _waiting.Waiting("reading")
    now[0] = 1000.0
    waiting.at(0, 10, "weighing")
    now[0] = 1010.0
    waiting.at(5, 10)
    assert waiting._left(now[0]) == ", 10 s left"


def test_numbers_of_topics_are_not_compared_within_a_corpus(geodrift_cli, run):
    corpus = run / "corpus"
    before = sorted(corpus.iterdir())
    for folder in (corpus, corpus / "more"):
        status, _, err = geodrift_cli("choose-k", corpus, "--run", folder, "--topics=2,3", "--steps=1")
        assert (status, "lies in the corpus" in err) == (2, True), err
    assert sorted(corpus.iterdir()) == before


def test_a_byte_order_mark_is_no_part_of_a_field_whatever_utf_8_is_called(geodrift_cli, tmp_path):
    source = tmp_path / "a.csv"
    source.write_text("\ufefftext,group\nred blue,a\nred green,b\n", "utf-8")
    for number, name in enumerate(("utf_8", "U8", "utf-8")):
        typed = ("--encoding", name, "--min-df=1", "--max-df=1.0")
        assert geodrift_cli("corpus", source, "--out", tmp_path / f"c{number}", *typed)[0] == 0


def test_documents_without_a_word_lead_no_topic(geodrift_cli, tmp_path):
    """Their weights are those of the prior: of a topic with a large alpha they had most."""
    records = [*texts(30, 0), *({"text": "", "id": f"e{i}"} for i in range(4))]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    priors = ["--topics=3", "--doc-topic-prior=0.1,0.1,9", "--steps=40", "--chains=1", "--min-df=1"]
    made = geodrift_cli("fit", "lda", tmp_path / "in.jsonl", "--run", tmp_path / "run", *priors)
    assert made[0] == 0, made
    told = json.loads(geodrift_cli("documents", tmp_path / "run", "--json", "--top", 40)[1])["documents"]
    assert [len(part["documents"]) for part in told] == [30, 30, 30]
    assert {found["id"][0] for part in told for found in part["documents"]} == {"d"}
    documents = geodrift.models.report(tmp_path / "run").documents
    assert documents.mean[:30].max(axis=0).min() < documents.mean[30:].max(axis=0).max()
    assert all(max(documents.leading(topic, 34)) < 30 for topic in range(3))
