"""The command line as a user meets it: results on stdout, one line of error, nothing overwritten."""

import csv
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
import typer.main
from command import WORDS, assert_one_line, documents, tree

import geodrift
from geodrift import cli
from geodrift.cli._app import app
from geodrift.cli._root import COMMANDS
from geodrift.data import Corpus
from geodrift.models import models


@pytest.fixture(scope="module")
def run(inputs, tmp_path_factory):
    """A fitted run, made by the command itself."""
    # A folder of its own each time: tests of a module that are shared out late make it once more.
    path = tmp_path_factory.mktemp("run") / "run"
    with pytest.MonkeyPatch.context() as patch:
        source = [str(inputs / "train.npz"), "--vocab", str(inputs / "vocab.txt"), "--run", str(path)]
        options = ["--topics=3", "--steps=240", "--chains=2", "--batch-size=20", "--seed=5", "--draws=30"]
        patch.setattr(sys, "argv", ["geodrift", "fit", "sam", *source, *options])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert not stop.value.code
    return path


def test_topics_json_has_the_stated_form(geodrift_cli, run):
    status, out, _ = geodrift_cli("topics", run, "--json", "--top", 4)
    assert status == 0
    found = json.loads(out)
    assert set(found) == {"topics", "verdict"}
    assert [topic["topic"] for topic in found["topics"]] == [0, 1, 2]
    for topic in found["topics"]:
        assert len(topic["words"]) == 4
        for word in topic["words"]:
            assert set(word) == {"word", "weight", "low", "high", "p_top10"}
            assert word["low"] <= word["weight"] <= word["high"]
            assert 0 <= word["p_top10"] <= 1


def test_topics_are_the_groups_that_made_the_documents(geodrift_cli, run):
    _, out, _ = geodrift_cli("topics", run, "--json")
    groups = [
        {int(word["word"][1:]) // 10 for word in topic["words"][:5]} for topic in json.loads(out)["topics"]
    ]
    assert sorted(map(len, groups)) == [1, 1, 1]
    assert len(set.union(*groups)) == 3


def test_topics_as_text_shows_both_ends(geodrift_cli, run):
    status, out, err = geodrift_cli("topics", run)
    assert (status, err) == (0, "")
    assert out.count("90% interval") == 3
    assert "negative end" in out


def test_export_is_aligned_plain_and_in_the_order_of_the_vocabulary(geodrift_cli, run, tmp_path):
    status, out, _ = geodrift_cli("export", run, "--out", tmp_path / "e.npz")
    assert (status, out.strip()) == (0, str(tmp_path / "e.npz"))
    with np.load(tmp_path / "e.npz", allow_pickle=False) as exported:
        assert exported["vocabulary"].tolist() == WORDS
        topics = exported["topics"]
        assert json.loads(str(exported["hyperparameters"]))["settings"]["n_topics"] == 3
        mean = topics.mean(0)
        assert np.allclose(
            exported["expected_topics"], mean / np.linalg.norm(mean, axis=1, keepdims=True), atol=1e-5
        )
    stored = geodrift.load(run).stacked("topics")
    assert topics.shape == stored.shape
    assert topics.shape[1:] == (3, 30)
    # The same set of topics in every draw, whatever their order.
    assert np.allclose(np.sort(topics[..., 0], axis=1), np.sort(stored[..., 0], axis=1))


def test_evaluate_states_what_it_measured(geodrift_cli, run, inputs):
    status, out, _ = geodrift_cli(
        "evaluate", run, inputs / "test.npz", "--json", "--draws", 3, "--theta-draws", 50
    )
    assert status == 0
    result = json.loads(out)
    # ceil(3 / 2) draws of each of the two chains.
    assert (result["topic_draws"], result["theta_draws"], result["documents"]) == (4, 50, 10)
    assert (result["chains"], result["topic_draws_per_chain"]) == (2, 2)
    _, text, _ = geodrift_cli("evaluate", run, inputs / "test.npz", "--draws", 3, "--theta-draws", 50)
    assert "N = 4" in text
    assert "J = 50" in text
    assert f"{result['log_perplexity']:.2f}" in text


def test_evaluate_moves_columns_to_the_run_s_words(geodrift_cli, run, inputs, tmp_path):
    order = np.random.default_rng(3).permutation(30)
    sp.save_npz(tmp_path / "moved.npz", documents(10, 1)[:, order])
    (tmp_path / "moved.txt").write_text("\n".join([WORDS[i] for i in order]))
    straight = geodrift_cli("evaluate", run, inputs / "test.npz", "--json")[1]
    moved = geodrift_cli(
        "evaluate", run, tmp_path / "moved.npz", "--vocab", tmp_path / "moved.txt", "--json"
    )[1]
    value, other = (json.loads(text)["log_perplexity"] for text in (straight, moved))
    assert value == pytest.approx(other, rel=1e-9)


def test_transform_finds_the_group_of_a_text(geodrift_cli, run, tmp_path):
    texts = [" ".join(WORDS[10 * group : 10 * group + 10]) for group in range(3)] + ["unknown"]
    (tmp_path / "new.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    assert geodrift_cli("transform", run, tmp_path / "new.jsonl", "--out", tmp_path / "m.npz")[0] == 0
    assert geodrift_cli("transform", run, tmp_path / "new.jsonl", "--out", tmp_path / "m.csv")[0] == 0
    with np.load(tmp_path / "m.npz", allow_pickle=False) as mixtures:
        mean, low, high = mixtures["mean"], mixtures["low"], mixtures["high"]
    assert sorted(mean[:3].argmax(1)) == [0, 1, 2]
    assert np.allclose(mean.sum(1), 1, atol=1e-5)
    assert (low <= high).all()
    assert mean[3] == pytest.approx(np.full(3, 1 / 3), abs=0.15)
    with (tmp_path / "m.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"] for row in rows] == [f"new.jsonl:{line}" for line in range(1, 5)]
    assert float(rows[1]["topic_1"]) == pytest.approx(mean[1, 1], rel=1e-4)


def test_corpus_command_then_fit(geodrift_cli, tmp_path):
    rng = np.random.default_rng(0)
    vocabulary = [f"word{chr(97 + i)}" for i in range(12)]
    lines = [json.dumps({"body": " ".join(rng.choice(vocabulary, 15))}) for _ in range(30)]
    (tmp_path / "a.jsonl").write_text("\n".join([*lines, json.dumps({"body": "12 3"})]))
    options = ["--text-field", "body", "--max-df", "1.0"]
    status, out, _ = geodrift_cli("corpus", tmp_path / "a.jsonl", "--out", tmp_path / "c", *options)
    assert status == 0
    assert "31 documents, 12 words" in out
    assert "1 document is empty" in out
    run = tmp_path / "r"
    options = ["--topics", "2", "--steps", "30", "--batch-size", "10", "--held-out", "5"]
    status, out, err = geodrift_cli("fit", "sam", tmp_path / "c", "--run", run, *options)
    assert (status, out.strip()) == (0, str(run))
    assert "held-out" in err
    assert "start-up" in err
    assert "of memory" in err
    opened = geodrift.load(run)
    assert not (run / "corpus").exists()
    assert opened.config["documents"] == 26
    assert opened.config["text_options"]["max_df"] == 1.0
    assert geodrift_cli("evaluate", run, tmp_path / "a.jsonl", "--text-field", "body", "--json")[0] == 0
    # The run notices when its corpus is no longer the one it was fitted to.
    os.rename(tmp_path / "c", tmp_path / "old")
    Corpus.from_matrix(np.ones((31, 12)), vocabulary, tmp_path / "c")
    assert_one_line(*geodrift_cli("resume", run, "--steps", 5))


def test_resume_goes_on_with_a_run_killed_in_its_pilot(geodrift_cli, inputs, tmp_path, monkeypatch):
    def dying(*_, **__):
        raise RuntimeError("killed")

    command = ["fit", "sam", inputs / "train.npz", "--run", tmp_path / "r", "--topics=2", "--steps=20"]
    with monkeypatch.context() as patch:
        patch.setattr("geodrift.driver._fit.plan_and_leg", dying)
        assert geodrift_cli(*command)[0] == 1
    assert not (tmp_path / "r" / "checkpoint").exists()
    status, _, err = geodrift_cli("resume", tmp_path / "r")
    assert status == 0, err
    assert geodrift.load(tmp_path / "r").state["counts"] == [20] * 4


def test_parents_of_what_is_written_are_made(geodrift_cli, run, inputs, tmp_path):
    places = [tmp_path / name / "b" / "c" for name in ("runs", "corpora", "exports")]
    counts = inputs / "train.npz"
    for arguments in (
        ("fit", "sam", counts, "--run", places[0], "--topics=2", "--steps=5"),
        ("corpus", counts, "--out", places[1]),
        ("export", run, "--out", places[2].with_suffix(".npz")),
    ):
        status, _, err = geodrift_cli(*arguments)
        assert status == 0, err
    assert geodrift.load(places[0]).state["counts"] == [5] * 4
    (tmp_path / "file").write_text("precious")
    result = geodrift_cli("corpus", counts, "--out", tmp_path / "file" / "b" / "c")
    assert_one_line(*result)
    assert "is not a directory" in result[2]


def bad_counts(folder, **changes):
    matrix = documents(10, 0).toarray().astype(float)
    for value in changes.values():
        matrix[2, 3] = value
    sp.save_npz(folder / "bad.npz", sp.csr_matrix(matrix))
    return folder / "bad.npz"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: [bad_counts(f, value=np.nan)], "not a finite number"),
        (lambda f: [bad_counts(f, value=-1.0)], "is negative"),
        (lambda f: [bad_counts(f), "--topics", "11"], "--topics"),
        (lambda f: [bad_counts(f), "--vocab", f / "short.txt"], "vocabulary has 2 words"),
        (lambda f: [bad_counts(f), "--vocab", f / "nowhere.txt"], "does not exist"),
        (lambda f: [bad_counts(f), "--weighting", "other"], "weighting"),
        (lambda f: [bad_counts(f), "--doc-topic-prior", "-1"], "--doc-topic-prior"),
        (lambda f: [bad_counts(f), "--held-out", "10"], "--held-out"),
        (lambda f: [bad_counts(f), "--min-df", "100"], "no words are left"),
        (lambda f: [f / "empty.txt"], "is empty"),
        (lambda f: [f / "empty.npz"], "is empty"),
        (lambda f: [f / "cut.npz"], "cut off"),
        (lambda f: [f / "stop.txt"], "no words are left"),
        (lambda f: [f / "nowhere"], "does not exist"),
        (lambda f: [f / "nowhere.npz"], "does not exist"),
    ],
)
def test_bad_input_to_fit_is_one_line_and_writes_nothing(geodrift_cli, tmp_path, make, message):
    (tmp_path / "short.txt").write_text("a\nb\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "stop.txt").write_text("the and of a")
    (tmp_path / "cut.npz").write_bytes(bad_counts(tmp_path).read_bytes()[:200])
    arguments = make(tmp_path)
    before = tree(tmp_path)
    result = geodrift_cli("fit", "sam", *arguments, "--run", tmp_path / "run", "--steps", 5)
    assert_one_line(*result)
    assert message in result[2]
    assert tree(tmp_path) == before
    assert not (tmp_path / "run").exists()


def test_existing_targets_are_refused_before_any_work(geodrift_cli, run, inputs, tmp_path):
    before = tree(run)
    (tmp_path / "out.npz").write_text("precious")
    (tmp_path / "out").mkdir()
    for arguments in (
        ("fit", "sam", inputs / "train.npz", "--run", run),
        ("demo", "--run", run),
        ("corpus", inputs / "train.npz", "--out", tmp_path / "out"),
        ("export", run, "--out", tmp_path / "out.npz"),
        ("transform", run, inputs / "test.npz", "--out", tmp_path / "out.npz"),
    ):
        began = time.monotonic()
        result = geodrift_cli(*arguments)
        assert_one_line(*result)
        assert "exists already" in result[2]
        assert time.monotonic() - began < 5
    assert tree(run) == before
    assert tree(tmp_path) == {"out.npz": b"precious"}


def test_runs_that_cannot_be_read_are_one_line(geodrift_cli, run, inputs, tmp_path):
    (tmp_path / "other").mkdir()
    cut = tmp_path / "cut"
    shutil.copytree(run, cut)
    state = cut / "checkpoint" / "state.npz"
    state.write_bytes(state.read_bytes()[:100])
    for path in (tmp_path / "nowhere", tmp_path / "other", cut):
        for command in (("topics", path), ("resume", path), ("export", path, "--out", tmp_path / "x.npz"),
                        ("evaluate", path, inputs / "test.npz")):  # fmt: skip
            assert_one_line(*geodrift_cli(*command))
    assert not (tmp_path / "x.npz").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "nmf", "x", "--run", "r"],
        ["fit", "sam", "x", "--run", "r", "--seconds", "1", "--steps", "1"],
        ["fit", "sam", "x", "--run", "r", "--seconds", "-1"],
        ["export", "x", "--out", "x.txt"],
    ],
)
def test_wrong_usage_has_status_2(geodrift_cli, arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = geodrift_cli(*arguments)
    assert_one_line(*result, code=2)
    if "nmf" in arguments:
        assert f"the models are: {', '.join(models())}" in result[2]
    assert list(tmp_path.iterdir()) == []


def test_unknown_option_has_status_2(geodrift_cli):
    status, out, err = geodrift_cli("topics", "r", "--nonsense")
    assert (status, out) == (2, "")
    assert "--nonsense" in err


@pytest.mark.parametrize("command", typer.main.get_command(app).commands)
def test_help_has_an_example(geodrift_cli, command):
    status, out, _ = geodrift_cli(command, "--help")
    assert status == 0
    assert f"Example: geodrift {command}" in out


def test_help_of_a_model_has_its_options_alone(geodrift_cli):
    every = geodrift_cli("fit", "--help")[1]
    assert {"--topics", "--clusters", "lda:", "vmf:"} <= set(every.split())
    for typed in (
        ["fit", "lda", "--help"],
        ["fit", "--help", "lda"],
        ["fit", "lda", "--clusters", "3", "--help"],
    ):
        status, out, _ = geodrift_cli(*typed)
        words = set(out.split())
        assert status == 0
        assert {"--topics", "--held-out", "--learn-doc-topic-prior"} <= words
        assert not {"--clusters", "--kappa0"} & words
        assert "sam:" not in out.partition("Options:")[2]
        assert "Example: geodrift fit lda articles" in out
    out = geodrift_cli("fit", "vmf", "--help")[1]
    assert "Example: geodrift fit vmf vectors.npy" in out
    assert not {"--stop-words", "--unchecked-corpus"} & set(out.split())
    status, _, err = geodrift_cli("fit", "lda", "a.npz", "--run", "r", "--clusters", "3")
    assert status == 2
    assert "--clusters" in err


def test_options_stand_under_headings(geodrift_cli):
    for command, headings in (
        (("fit", "lda"), ["Options", "Start", "Processes", "Text input", "Model"]),
        (("choose-k",), ["Options", "Text input", "Model"]),
    ):
        out = geodrift_cli(*command, "--help")[1]
        assert re.findall(r"^(\w[\w ]*):$", out, re.MULTILINE) == ["Arguments", *headings]
        assert "--topic-word-prior" in out.partition("\nModel:\n")[2]
        assert "--help " in out.partition("\nOptions:\n")[2].partition("\n\n")[0]


def test_commands_are_listed_in_the_order_of_use_with_whole_sentences(geodrift_cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = geodrift_cli("--help")
    assert status == 0
    listed = [
        line.split(maxsplit=1) for line in out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    ]
    assert [name for name, _ in listed] == list(COMMANDS)
    assert set(COMMANDS) == set(typer.main.get_command(app).commands)
    assert all(sentence == COMMANDS[name] for name, sentence in listed)


def test_the_package_can_be_run_as_a_module():
    """By the Python that is asked, whatever `geodrift` is first on PATH."""
    command = [sys.executable, "-m", "geodrift", "--version"]
    assert subprocess.check_output(command, text=True) == f"geodrift {geodrift.__version__}\n"


def test_version_and_help_leave_heavy_libraries_alone():
    code = """
import sys
sys.argv[1:] = ["--version"]
from geodrift.cli import main
try:
    main()
except SystemExit:
    heavy = {"sklearn", "numba", "zarr", "xarray", "scipy.sparse", "pandas"}
    print(sorted(heavy & set(sys.modules)))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, loaded = result.stdout.splitlines()
    assert version == f"geodrift {geodrift.__version__}"
    assert loaded == "[]"


def test_full_disk_is_one_line_and_leaves_no_corpus(geodrift_cli, inputs, tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        # Files beyond this size fail in the kernel, as on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        result = geodrift_cli(
            "corpus", inputs / "train.npz", "--vocab", inputs / "vocab.txt", "--out", tmp_path / "c"
        )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert_one_line(*result)
    assert list(tmp_path.iterdir()) == []


def test_reader_that_leaves_gets_no_traceback(run):
    code = "import sys; from geodrift.cli import main; sys.argv.insert(1, 'topics'); main()"
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(run)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    child.stdout.close()
    error = child.stderr.read()
    child.stderr.close()
    child.wait()
    assert b"Traceback" not in error
    assert b"Exception" not in error


def test_counts_of_other_programs_are_inputs(geodrift_cli, run, tmp_path):
    """A corpus and a score from UCI's, LDA-C's, gensim's and NumPy's forms are those from a .npz."""
    counts = documents(20, 1)
    sp.save_npz(tmp_path / "a.npz", counts)
    np.save(tmp_path / "a.npy", counts.toarray())
    entries = [f"{d + 1} {w + 1} {n}" for (d, w), n in np.ndenumerate(counts.toarray()) if n]
    (tmp_path / "docword.a.txt").write_text("\n".join(["20", "30", str(len(entries)), *entries]))
    header = ["%%MatrixMarket matrix coordinate real general", f"20 30 {len(entries)}"]
    (tmp_path / "a.mm").write_text("\n".join([*header, *entries]))
    rows = [[f"{w}:{n}" for w, n in enumerate(row) if n] for row in counts.toarray()]
    (tmp_path / "a.ldac").write_text("\n".join(" ".join([str(len(row)), *row]) for row in rows))
    (tmp_path / "vocab.a.txt").write_text("\n".join(WORDS))
    expected = json.loads(geodrift_cli("evaluate", run, tmp_path / "a.npz", "--json", "--draws", 1)[1])
    for name in ("a.npy", "docword.a.txt", "a.mm", "a.ldac"):
        vocabulary = () if name.startswith("docword") else ("--vocab", tmp_path / "vocab.a.txt")
        found = geodrift_cli("evaluate", run, tmp_path / name, *vocabulary, "--json", "--draws", 1)[1]
        assert json.loads(found) == expected, name
        status, _, err = geodrift_cli(
            "corpus", tmp_path / name, *vocabulary, "--out", tmp_path / f"{name}.corpus"
        )
        assert status == 0, err
        made = Corpus.open(tmp_path / f"{name}.corpus")
        assert np.array_equal(made.matrix().toarray(), counts.toarray())
        assert made.vocabulary == WORDS
