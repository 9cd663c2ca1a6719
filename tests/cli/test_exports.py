"""What other programs read: Parquet tables, pyLDAvis' arrays, BERTopic's table."""

import ast
import csv
import json

import numpy as np
import pytest
from command import assert_one_line

import geodrift
from geodrift import models
from geodrift.models.kit import _other_tools, corpus_of
from geodrift.models.latent_dirichlet_allocation._answers import LatentDirichletAnswers


@pytest.fixture
def run(geodrift_cli, tmp_path):
    rng, source = np.random.default_rng(0), tmp_path / "in.jsonl"
    words = [f"w{i:02d}" for i in range(30)]
    with source.open("w") as stream:
        for i in range(40):
            text = " ".join(rng.choice(words[10 * (i % 3) : 10 * (i % 3) + 10], 12)) if i else "nothing"
            fields = {"year": 2000 + i, "share": i / 3, "sure": i % 2 == 0, "mixed": i if i % 2 else "x"}
            stream.write(json.dumps({"text": text, "id": f"d{i}"} | fields) + "\n")
    path = tmp_path / "run"
    typed = ["--topics=3", "--steps=60", "--chains=2", "--min-df=2"]
    assert geodrift_cli("fit", "lda", source, "--run", path, *typed)[0] == 0
    return path


def test_parquet_has_the_table_s_columns_and_their_types(geodrift_cli, run, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(LatentDirichletAnswers, "documents_a_block", lambda self, run: 7)
    for form in ([], ["--intervals"], ["--long"]):
        out = tmp_path / f"w{''.join(form)}"
        for suffix in (".csv", ".parquet"):
            assert geodrift_cli("transform", run, "--out", out.with_suffix(suffix), *form)[0] == 0
        table = parquet.read_table(out.with_suffix(".parquet"))
        with out.with_suffix(".csv").open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert table.column_names == list(rows[0])
        assert table.num_rows == len(rows) == (120 if form == ["--long"] else 40)
        last = table.column_names[-1]
        written = np.array([float(row[last] or "nan") for row in rows])
        assert np.array(table[last].to_pylist(), float) == pytest.approx(written, rel=1e-5, nan_ok=True)
        if not form:
            types = {field.name: str(field.type) for field in table.schema}
            assert [types[name] for name in ("id", "year", "share", "sure", "mixed", "topic_0")] == [
                "string", "int64", "double", "bool", "string", "float",
            ]  # fmt: skip


def test_without_pyarrow_nothing_is_read_before_it_is_said(geodrift_cli, run, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    status, out, err = geodrift_cli("transform", run, "--out", tmp_path / "w.parquet")
    assert_one_line(status, out, err)
    assert "geodrift[parquet]" in err


def test_arrays_of_pyldavis(geodrift_cli, run, tmp_path):
    found = models.to_pyldavis(run)
    corpus = corpus_of(geodrift.load(run))
    lengths = np.asarray(corpus.matrix().sum(axis=1)).ravel()
    assert found["doc_lengths"].tolist() == lengths[lengths > 0].tolist()
    assert found["term_frequency"].tolist() == np.asarray(corpus.matrix().sum(axis=0)).ravel().tolist()
    assert found["vocab"].tolist() == corpus.vocabulary
    for name in ("topic_term_dists", "doc_topic_dists"):
        assert found[name].sum(axis=1) == pytest.approx(np.ones(len(found[name])), abs=1e-9)
    assert found["doc_topic_dists"].shape == (len(found["doc_lengths"]), 3)
    assert geodrift_cli("export", run, "--out", tmp_path / "v.npz", "--for", "pyldavis")[0] == 0
    assert geodrift_cli("export", run, "--out", tmp_path / "v.json", "--for", "pyldavis")[0] == 0
    told = json.loads((tmp_path / "v.json").read_text())
    with np.load(tmp_path / "v.npz", allow_pickle=False) as arrays:
        for name, values in found.items():
            np.testing.assert_array_equal(arrays[name], values)
            assert told[name] == values.tolist()


def test_the_table_of_bertopic(geodrift_cli, run, tmp_path):
    geodrift_cli("rename", run, 1, '=cmd, "sea"')
    assert geodrift_cli("export", run, "--out", tmp_path / "t.csv", "--for", "bertopic")[0] == 0
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["Topic"] for row in rows] == ["0", "1", "2"]
    assert sum(int(row["Count"]) for row in rows) == 39  # the one without a word is of no topic
    assert rows[1]["Name"] == '1_=cmd, "sea"'
    parts = json.loads(geodrift_cli("topics", run, "--json")[1])["topics"]
    for row, part in zip(rows, parts, strict=True):
        assert ast.literal_eval(row["Representation"]) == [entry["word"] for entry in part["words"]]
    assert rows[0]["Name"] == "_".join(["0", *(entry["word"] for entry in parts[0]["words"][:4])])


def test_documents_of_no_topic_are_bertopic_s_outliers(run, monkeypatch):
    """Of models with more columns than components, such as topics that are not told of."""

    def blocks(*_, **__):
        yield np.arange(1, 5), {"mean": np.eye(5)[[0, 0, 3, 4]]}

    monkeypatch.setattr(LatentDirichletAnswers, "other_columns", lambda self, run: ["others", "none"])
    monkeypatch.setattr(_other_tools, "weight_blocks", blocks)
    opened = geodrift.load(run)
    answers = models.model_of(opened).answers()
    given = {"most": 4, "seed": 0, "progress": lambda *_: None}
    rows = _other_tools.topic_table(opened, answers, corpus_of(opened), **given)
    assert [(row["Topic"], row["Count"]) for row in rows] == [(-1, 2), (0, 2), (1, 0), (2, 0)]
    assert rows[0]["Name"] == "-1_others_none"


def test_what_cannot_be_exported_is_one_line(geodrift_cli, run, inputs, tmp_path):
    for form, name in (("pyldavis", "v.csv"), ("bertopic", "t.npz"), ("draws", "d.json")):
        assert geodrift_cli("export", run, "--out", tmp_path / name, "--for", form)[0] == 2
    for typed in (
        ["export", run, "--out", tmp_path / "d.npz", "--most", "3"],
        ["export", run, "--out", tmp_path / "d.npz", "--seed", "0"],
        ["report", run, "--by", "none", "--by", "year"],
    ):
        assert geodrift_cli(*typed)[0] == 2
    assert not (tmp_path / "d.npz").exists()
    sam = tmp_path / "sam"
    typed = ["--topics=3", "--steps=40", "--chains=2", "--batch-size=20"]
    assert geodrift_cli("fit", "sam", inputs / "train.npz", "--run", sam, *typed)[0] == 0
    status, out, err = geodrift_cli("export", sam, "--out", tmp_path / "v.npz", "--for", "pyldavis")
    assert_one_line(status, out, err)
    assert "probabilities" in err
    status, out, err = geodrift_cli("effect", sam, "--by", "group")
    assert_one_line(status, out, err)
    assert "fit lda" in err
