"""Every command on runs of latent Dirichlet allocation."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as parquet
import pytest
import scipy.sparse as sp
from command import WORDS, assert_one_line, documents

import geodrift
from geodrift.data import Corpus
from geodrift.driver import Run
from geodrift.models import model_of
from geodrift.models.latent_dirichlet_allocation import completion_perplexity, document_mixtures
from geodrift.models.latent_dirichlet_allocation._answers import LatentDirichletAnswers

OPTIONS = ["--topics=3", "--chains=2", "--batch-size=20", "--seed=5", "--draws=25", "--doc-topic-prior=0.2"]
OPTIONS += ["--topic-word-prior=0.1"]  # at 0.01 so small a corpus keeps the modes it starts in


@pytest.fixture(scope="module")
def run(inputs, tmp_path_factory):
    """A fitted run, made by the command itself."""
    # A folder of its own each time: tests of a module that are shared out late make it once more.
    path = tmp_path_factory.mktemp("run") / "run"
    with pytest.MonkeyPatch.context() as patch:
        source = [str(inputs / "train.npz"), "--vocab", str(inputs / "vocab.txt"), "--run", str(path)]
        patch.setattr(sys, "argv", ["geodrift", "fit", "lda", *source, "--steps=200", *OPTIONS])
        from geodrift import cli

        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert not stop.value.code
    return path


def aligned(topics):
    """Topics in the order of the group of words that each favours."""
    groups = topics.reshape(*topics.shape[:-1], 3, 10).sum(-1).argmax(-1)
    assert (np.sort(groups, axis=-1) == np.arange(3)).all()
    return np.take_along_axis(topics, np.argsort(groups, axis=-1)[..., None], axis=-2)


def test_topics_are_probabilities_with_the_stated_form(geodrift_cli, run):
    status, out, err = geodrift_cli("topics", run, "--json", "--top", 4)
    assert (status, err) == (0, "")
    found = json.loads(out)["topics"]
    draws = aligned(geodrift.load(run).stacked("topics"))
    groups = []
    for topic in found:
        assert set(topic) == {
            *("topic", "name", "chains", "found", "shared", "size", "size_low", "size_high", "words", "apart")
        }
        assert 0 < topic["size_low"] <= topic["size"] <= topic["size_high"] < 1
        assert topic["found"] == topic["chains"] == 2
        assert len(topic["words"]) == 4
        (group,) = {int(word["word"][1:]) // 10 for word in topic["words"]}
        groups.append(group)
        for word in topic["words"]:
            assert set(word) == {"word", "weight", "low", "high", "p_top10"}
            values = draws[:, group, WORDS.index(word["word"])]
            assert word["weight"] == pytest.approx(values.mean(), rel=1e-5)
            assert word["low"] <= np.quantile(values, 0.1)
            assert word["high"] >= np.quantile(values, 0.9)
            tenth = np.sort(draws[:, group], axis=1)[:, -10]
            assert word["p_top10"] == pytest.approx((values >= tenth).mean())
    assert sorted(groups) == [0, 1, 2]


def test_topics_as_text_have_no_negative_end(geodrift_cli, run):
    status, out, err = geodrift_cli("topics", run)
    assert (status, err) == (0, "")
    assert out.count("90% interval") == 3
    assert "negative" not in out
    assert "+0." not in out


def test_export_has_the_means_of_topics_in_the_order_of_the_draws(geodrift_cli, run, tmp_path):
    assert geodrift_cli("export", run, "--out", tmp_path / "e.npz")[0] == 0
    with np.load(tmp_path / "e.npz", allow_pickle=False) as exported:
        topics, expected = exported["topics"], exported["expected_topics"]
        assert exported["vocabulary"].tolist() == WORDS
        hyperparameters = json.loads(str(exported["hyperparameters"]))
    assert topics.shape == (50, 3, 30)
    assert topics.sum(axis=2) == pytest.approx(1, abs=1e-5)
    assert hyperparameters["model"] == "lda"
    assert hyperparameters["settings"]["doc_topic_prior"] == 0.2
    # Both chains have found all three.
    by_hand = aligned(geodrift.load(run).stacked("topics").reshape(50, 3, 30)).mean(axis=0)
    assert np.allclose(aligned(expected), by_hand, atol=1e-6)
    # One order: every draw's topic k is the expected topic k.
    favours = topics.reshape(50, 3, 3, 10).sum(3).argmax(2)
    assert (favours == expected.reshape(3, 3, 10).sum(2).argmax(1)).all()


def test_evaluate_is_document_completion_under_spaced_draws(geodrift_cli, run, inputs):
    status, out, _ = geodrift_cli("evaluate", run, inputs / "test.npz", "--json", "--draws", 3, "--seed", 7)
    assert status == 0
    result = json.loads(out)
    stored = geodrift.load(run).draws["posterior"]["topics"].values[:, [12, -1]].reshape(-1, 3, 30)
    direct = completion_perplexity(documents(10, 1), stored, 0.2, seed=7)
    assert result["perplexity"] == pytest.approx(direct.perplexity, rel=1e-12)
    assert result["held_out_tokens"] == direct.held_out_tokens
    assert (result["topic_draws"], result["chains"], result["topic_draws_per_chain"]) == (4, 2, 2)
    assert {"npmi", "u_mass", "exclusivity", "frex", "diversity"} <= set(result)
    text = geodrift_cli("evaluate", run, inputs / "test.npz", "--draws", 3, "--seed", 7)[1]
    assert f"perplexity {direct.perplexity:,.1f} of {direct.held_out_tokens:,} held-out words" in text
    assert f"npmi {result['npmi']['value']:.3f}" in text


def test_evaluate_takes_ten_draws_unless_told_otherwise(geodrift_cli, run, inputs):
    result = json.loads(geodrift_cli("evaluate", run, inputs / "test.npz", "--json")[1])
    assert (result["topic_draws"], result["topic_draws_per_chain"]) == (10, 5)


def test_transform_finds_the_group_of_a_text(geodrift_cli, run, tmp_path):
    texts = [" ".join(WORDS[10 * group : 10 * group + 10]) for group in range(3)] + ["unknown"]
    (tmp_path / "new.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    assert geodrift_cli("transform", run, tmp_path / "new.jsonl", "--out", tmp_path / "m.npz")[0] == 0
    with np.load(tmp_path / "m.npz", allow_pickle=False) as mixtures:
        mean, low, high = mixtures["mean"], mixtures["low"], mixtures["high"]
    opened = geodrift.load(run)
    topics = model_of(opened).answers().export(opened)["topics"]
    counts = sp.csr_matrix(np.vstack([np.kron(np.eye(3), np.ones(10)), np.zeros(30)]).astype(int))
    # Of new documents, under the mean topics of each of the two chains.
    chosen = np.linspace(0, 49, 20).astype(int)
    means = topics.reshape(2, 25, *topics.shape[1:]).mean(axis=1, dtype=float).astype(np.float32)
    direct = document_mixtures(counts, means[chosen // 25], 0.2)
    for name, values in (("mean", mean), ("low", low), ("high", high)):
        assert np.array_equal(values, direct[name]), name
    groups = topics.mean(0).reshape(3, 3, 10).sum(2).argmax(1)
    assert groups[mean[:3].argmax(1)].tolist() == [0, 1, 2]
    assert mean[3] == pytest.approx(np.full(3, 1 / 3), abs=0.15)


def test_transform_lets_go_of_each_block_of_a_corpus_directory(
    geodrift_cli, run, inputs, tmp_path, monkeypatch
):
    """What has been read of mapped files counts as memory until then: a million documents would stay."""
    whole, blocks = tmp_path / "whole.npy", tmp_path / "blocks.npy"
    corpus = Corpus.from_matrix(documents(10, 1), WORDS).save(tmp_path / "corpus")
    assert geodrift_cli("transform", run, corpus.path, "--out", whole)[0] == 0
    held, let_go = [], Corpus.let_go
    monkeypatch.setattr(Corpus, "let_go", lambda corpus: (let_go(corpus), held.append(_open_shards(corpus))))
    monkeypatch.setattr(LatentDirichletAnswers, "documents_a_block", lambda *_: 4)
    assert geodrift_cli("transform", run, corpus.path, "--out", blocks)[0] == 0
    # Before the three blocks the run's own corpus is looked through: are these its documents?
    assert held == [0, 0, 0, 0]
    assert blocks.read_bytes() == whole.read_bytes()


def _open_shards(corpus):
    return sum(shard.is_open for shard in corpus._shards)


@pytest.mark.parametrize(
    "suffix",
    [pytest.param("npy", marks=pytest.mark.slow), pytest.param("csv", marks=pytest.mark.slow), "parquet"],
)
def test_transform_of_parts_is_that_of_all(geodrift_cli, run, inputs, tmp_path, suffix):
    """So that several machines can share the documents."""

    def rows(*options):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.{suffix}"
        assert geodrift_cli("transform", run, inputs / "test.npz", "--out", path, *options)[0] == 0
        if suffix == "npy":
            return np.load(path).tolist()
        if suffix == "csv":
            return path.read_text().splitlines()[1:]
        return parquet.read_table(path).to_pylist()

    parts = [rows("--part", f"{part}/3") for part in (1, 2, 3)]
    assert [len(part) for part in parts] == [3, 3, 4]
    assert [row for part in parts for row in part] == rows() == rows("--part", "1/1")


@pytest.mark.parametrize("part", ["0/2", "3/2", "2", "1/0", "a/b", "1/11"])
def test_a_part_that_cannot_be_is_refused(geodrift_cli, run, inputs, tmp_path, part):
    out = tmp_path / "w.npy"
    status, _, err = geodrift_cli("transform", run, inputs / "test.npz", "--out", out, "--part", part)
    assert status == 2
    assert f"--part {part}" in err if part == "1/11" else part in err
    assert not out.exists()


def test_held_out_perplexity_is_shown_and_those_documents_are_not_fitted(geodrift_cli, inputs, tmp_path):
    path = tmp_path / "r"
    command = ["fit", "lda", inputs / "train.npz", "--run", path, "--topics=3", "--steps=40", "--held-out=10"]
    status, _, err = geodrift_cli(*command)
    assert status == 0
    assert "held-out perplexity" in err
    opened = geodrift.load(path)
    assert opened.config["documents"] == 50
    _, aside = Corpus.open(path / "corpus").split(10, 0)
    tokens = documents(60, 0).sum() - aside.sum()
    assert opened.read_checkpoint().states[0]["move.assignments"].shape == (tokens,)
    score = opened.metrics[-1]["held_out_perplexity"]
    assert 8 < score < 31  # 30 words; a document of one group has 10
    command[4] = tmp_path / "s"
    status, _, err = geodrift_cli(*command[:-1], "--held-out=60")
    assert status == 1
    assert "--held-out must lie between 1 and 59" in err


def test_the_same_steps_give_the_same_draws_and_no_interruption_changes_one(
    geodrift_cli, run, inputs, tmp_path, monkeypatch
):
    """Killed after its first steps, at each of several checkpoints, and resumed each time."""
    monkeypatch.setattr("geodrift.driver._pace.CHUNK_SECONDS", 0.0)
    monkeypatch.setattr("geodrift.driver._record.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("geodrift.driver._record.CHECKPOINT_SHARE", 1e9)
    write = Run.write_checkpoint

    def killed_at(occurrence):
        calls = []

        def dying(self, checkpoint):
            calls.append(1)
            if len(calls) == occurrence:
                raise RuntimeError("killed")
            write(self, checkpoint)

        return dying

    command = ["fit", "lda", inputs / "train.npz", "--vocab", inputs / "vocab.txt", "--run", tmp_path / "r"]
    monkeypatch.setattr(Run, "write_checkpoint", killed_at(4))
    assert geodrift_cli(*command, "--steps=200", *OPTIONS)[0] == 1
    for occurrence in (2, 100):
        monkeypatch.setattr(Run, "write_checkpoint", killed_at(occurrence))
        assert geodrift_cli("resume", tmp_path / "r")[0] == 1
    monkeypatch.setattr(Run, "write_checkpoint", write)
    monkeypatch.undo()
    assert geodrift_cli("resume", tmp_path / "r")[0] == 0
    straight, stopped = geodrift.load(run), geodrift.load(tmp_path / "r")
    assert stopped.state["counts"] == [200, 200]
    assert np.array_equal(straight.stacked("topics"), stopped.stacked("topics"))
    assert geodrift_cli("resume", tmp_path / "r", "--steps", 40)[0] == 0
    before, after = (opened.draws["posterior"]["topics"].values for opened in (straight, stopped))
    assert np.array_equal(after[:, :25], before)
    assert stopped.num_draws == 35


IN_SHORT_CHUNKS = """
from geodrift.driver import _pace
_pace.CHUNK_SECONDS = 0.01
from geodrift.cli import main
main()
"""


@pytest.mark.slow
def test_control_c_keeps_a_run_that_resumes_to_the_same_draws(geodrift_cli, inputs, tmp_path):
    command = ["fit", "lda", inputs / "train.npz", "--topics=3", "--steps=4000", "--draws=10", "--run"]
    child = subprocess.Popen(
        [sys.executable, "-c", IN_SHORT_CHUNKS, *map(str, [*command, tmp_path / "r"])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    metrics = tmp_path / "r" / "metrics.jsonl"
    while not (metrics.exists() and metrics.stat().st_size):
        assert child.poll() is None, child.stderr.read()
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate()
    assert child.returncode == 130
    assert out == b""
    assert b"go on with geodrift resume" in err
    assert b"Traceback" not in err
    assert 0 < geodrift.load(tmp_path / "r").state["counts"][0] < 4000
    assert geodrift_cli("resume", tmp_path / "r")[0] == 0
    assert geodrift_cli(*command, tmp_path / "straight")[0] == 0
    assert np.array_equal(*(geodrift.load(tmp_path / name).stacked("topics") for name in ("r", "straight")))


@pytest.mark.parametrize("method", [pytest.param("scir", marks=pytest.mark.slow), "sgrld"])
def test_other_methods_fit_and_export(geodrift_cli, inputs, tmp_path, method):
    path = tmp_path / "r"
    options = ["--topics=3", "--steps=60", "--batch-size=10", "--method", method]
    assert geodrift_cli("fit", "lda", inputs / "train.npz", "--run", path, *options)[0] == 0
    assert geodrift_cli("export", path, "--out", tmp_path / "e.npz")[0] == 0
    with np.load(tmp_path / "e.npz", allow_pickle=False) as exported:
        assert exported["expected_topics"].sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert geodrift.load(path).config["settings"]["method"] == method


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["lda", "--weighting", "tfidf"],
            "--weighting is not an option of lda: it is one of sam; leave",
        ),
        (["lda", "--document-concentration", "3"], "--document-concentration is not an option of lda"),
        (
            ["sam", "--topic-word-prior", "0.1"],
            "--topic-word-prior is not an option of sam: it is one of",
        ),
    ],
)
def test_options_of_the_other_model_are_refused(geodrift_cli, inputs, tmp_path, arguments, message):
    model, *options = arguments
    result = geodrift_cli("fit", model, inputs / "train.npz", "--run", tmp_path / "r", *options)
    assert_one_line(*result, code=2)
    assert message in result[2]
    assert list(tmp_path.iterdir()) == []


def test_options_of_the_other_model_s_evaluation_are_refused(geodrift_cli, run, inputs):
    result = geodrift_cli("evaluate", run, inputs / "test.npz", "--theta-draws", 5)
    assert_one_line(*result, code=2)
    assert "--theta-draws is not an option of lda: it is one of sam; leave it out" in result[2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "sggmc"], "method must be one of gibbs, scir"),
        (["--topic-word-prior", "0"], "--topic-word-prior must be a number from 1e-06 to 10000, got 0"),
        (["--doc-topic-prior", "-1"], "--doc-topic-prior must be a number from 1e-06 to 10000"),
        (["--topics", "61"], "--topics is 61 but the corpus has 60 documents"),
        (["--topics", "1"], "--topics must be a whole number from 2"),
        (["--draws", "0"], "--draws must be a whole number from 1 to 1000000"),
    ],
)
def test_settings_that_cannot_be_are_one_line_and_write_nothing(
    geodrift_cli, inputs, tmp_path, options, message
):
    result = geodrift_cli("fit", "lda", inputs / "train.npz", "--run", tmp_path / "r", *options)
    assert_one_line(*result)
    assert message in result[2]
    assert list(tmp_path.iterdir()) == []


def test_fractions_are_refused(geodrift_cli, tmp_path):
    np.save(tmp_path / "a.npy", documents(10, 0).toarray() * 0.5)
    result = geodrift_cli("fit", "lda", tmp_path / "a.npy", "--topics=2", "--run", tmp_path / "r")
    assert_one_line(*result)
    assert "counts must be whole numbers" in result[2]
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("model", "count", "most"),
    [(model, 2**24 + 1, 2**24) for model in ("lda", "hdp")]
    + [("dpm", 100_000_001, 100_000_000)]
    + [("lda", 2**40, 2**24), ("hdp", 2**31, 2**24), ("dpm", 2**40, 100_000_000)],
)
def test_documents_of_more_words_than_any_has_are_refused(geodrift_cli, tmp_path, model, count, most):
    """By their count, before memory is taken for each word."""
    counts = documents(10, 0).toarray().astype(np.int64)
    counts[3, 1] = count
    np.save(tmp_path / "a.npy", counts)
    few = ["--topics=2"] if model == "lda" else []
    result = geodrift_cli("fit", model, tmp_path / "a.npy", "--run", tmp_path / "r", "--steps=2", *few)
    assert_one_line(*result)
    assert f"a document has {counts[3].sum():,} words, and may have {most:,};" in result[2]
    assert not (tmp_path / "r").exists()


def test_a_run_whose_checkpoint_is_damaged_is_one_line(geodrift_cli, run, inputs, tmp_path):
    cut = tmp_path / "cut"
    shutil.copytree(run, cut)
    state = cut / "checkpoint" / "state.npz"
    state.write_bytes(state.read_bytes()[: state.stat().st_size // 2])
    for command in (("topics", cut), ("resume", cut), ("export", cut, "--out", tmp_path / "x.npz"),
                    ("evaluate", cut, inputs / "test.npz")):  # fmt: skip
        result = geodrift_cli(*command)
        assert_one_line(*result)
        assert "is damaged" in result[2]
    assert not (tmp_path / "x.npz").exists()
