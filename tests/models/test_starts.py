"""Topics to start from: of runs, of other programs, of words; and what is refused."""

import gzip
import json
import types

import numpy as np
import pytest
import scipy.sparse as sp
from command import WORDS, documents

from geodrift import InputError
from geodrift.data import Corpus
from geodrift.driver import Length
from geodrift.models import (
    LatentDirichletAllocation,
    SphericalAdmixture,
    create_run,
    fit,
    make_chains,
    model_named,
)
from geodrift.models.kit import start_of
from geodrift.models.topics._given_topics import filled_up
from geodrift.models.topics.starts._live_models import topics_of_model
from geodrift.models.topics.starts._named_topics import NamedTopics, matched
from geodrift.models.topics.starts._seed_words import read_seed_words, topics_of_words
from geodrift.models.topics.starts._sources import starting_topics, topics_at

GROUPS = np.kron(np.eye(3), np.full(10, 0.1)).astype(np.float32)  # the topics that made `documents`
TOKENS = [(0, "sea", 1), (0, "sea", 1), (0, "sun", 0), (1, "sun", 0), (1, "moon", 0)]


def mallet(tokens, header=True):
    lines = ["#doc source pos typeindex type topic", "#alpha : 0.5 0.5", "#beta : 0.01"] if header else []
    lines += [f"{d} /a file.txt {i} 7 {word} {topic}" for i, (d, word, topic) in enumerate(tokens)]
    return ("\n".join(lines) + "\n").encode()


@pytest.mark.parametrize("pack", [gzip.compress, bytes])
def test_mallet_s_state_is_the_counts_of_its_tokens(tmp_path, pack):
    path = tmp_path / "state.gz"
    path.write_bytes(pack(mallet(TOKENS)))
    found, told = starting_topics(path, ["moon", "sun", "sea", "star"])
    counts = np.array([[1, 2, 0, 0], [0, 0, 2, 0]]) + np.array([[0.01, 0.01, 0.01, 0]] * 2)
    assert found[0] == pytest.approx(counts / counts.sum(axis=1, keepdims=True), rel=1e-5)
    assert str(path) in told


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (mallet(TOKENS) + b"1 f 0 7 word\n", "line 9: should be"),
        (mallet(TOKENS) + b"1 f 0 7 word x\n", "line 9: should be"),
        (mallet(TOKENS)[:-1], "line 8: should be"),
        (mallet([]), "no token"),
        (mallet([(0, "a", 90_000)]), "topic 90,000"),
        (gzip.compress(mallet(TOKENS))[:-9], "cut off"),
        (gzip.compress(mallet([]) + (b"0 f 0 0 " + b"a" * 5000 + b" 0\n") * 8000), "decompresses to more"),
    ],
    ids=["short", "letters", "cut", "empty", "many", "zip cut", "bomb"],
)
def test_a_state_that_is_none_is_one_error(tmp_path, content, message):
    path = tmp_path / "state.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        topics_at(path)


def bertopic(folder, **changes):
    """A folder as BERTopic writes it: outliers in the first row, words weighted."""
    safetensors = pytest.importorskip("safetensors.numpy")
    weights = np.array([1.0, 2.0, 4.0])
    frequencies = np.array([[0.3, 0.3, 0.4], [0.5, 0.5, 0.0], [0.0, 0.2, 0.8]])
    matrix = sp.csr_matrix(frequencies * weights)
    tensors = {
        "indptr": matrix.indptr,
        "indices": matrix.indices,
        "data": matrix.data,
        "shape": np.array(matrix.shape),
        "diag": weights,
    }
    safetensors.save_file(tensors | changes.get("tensors", {}), folder / "ctfidf.safetensors")
    vocabulary = changes.get("vocab", {"sea": 2, "sun": 0, "moon": 1})
    (folder / "ctfidf_config.json").write_text(json.dumps({"vectorizer_model": {"vocab": vocabulary}}))
    (folder / "topics.json").write_text(json.dumps({"_outliers": 1, "topics": [0, 1]}))
    (folder / "config.json").write_text("{}")


def test_bertopic_s_weights_become_frequencies_without_the_outliers(tmp_path):
    bertopic(tmp_path)
    found, _ = starting_topics(tmp_path, ["sun", "moon", "sea"])
    assert found[0] == pytest.approx(np.array([[0.5, 0.5, 0.0], [0.0, 0.2, 0.8]]), rel=1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        {"tensors": {"shape": np.array([3, 2**40])}},
        {"tensors": {"indices": np.array([9, 9, 9, 9, 9, 9, 9])}},
        {"tensors": {"indptr": np.array([0, 99, 1, 2])}},
        {"tensors": {"data": np.full(7, np.nan)}},
        {"vocab": {"sea": 17}},
        {"vocab": [1, 2]},
        {"vocab": {"sea": None}},
    ],
    ids=lambda changes: next(iter(next(iter(changes.values())))) if isinstance(changes, dict) else "",
)
def test_a_wrong_bertopic_is_one_error(tmp_path, changes):
    bertopic(tmp_path, **changes)
    with pytest.raises(InputError):
        topics_at(tmp_path)


def test_pickles_and_what_nobody_knows_are_refused(tmp_path):
    for name, message in (
        ("model.pkl", "unpickling"),
        ("lda.model", "unpickling"),
        ("notes.txt", "no topics"),
    ):
        (tmp_path / name).write_bytes(b"\x80\x04cposix\nsystem\n.")
        with pytest.raises(InputError, match=message):
            topics_at(tmp_path / name)
    (tmp_path / "topics.json").write_text("{}")
    with pytest.raises(InputError, match="save_ctfidf=True"):
        topics_at(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        topics_at(tmp_path / "nothing")
    with pytest.raises(InputError, match="no topics to start from that are known"):
        topics_of_model(object())


def test_live_models_of_other_packages():
    gensim = types.SimpleNamespace(get_topics=lambda: GROUPS[:, ::-1], id2word=dict(enumerate(WORDS[::-1])))
    found, told = starting_topics(gensim, WORDS)
    assert found[0] == pytest.approx(GROUPS, rel=1e-5)
    assert told.startswith("gensim's")
    components = types.SimpleNamespace(components_=7 * GROUPS)
    assert starting_topics(components, WORDS)[0][0] == pytest.approx(GROUPS, rel=1e-5)
    tomotopy = pytest.importorskip("tomotopy")
    model = tomotopy.LDAModel(k=3, seed=1)
    for row in documents(60, 0).toarray():
        model.add_doc([word for word, count in zip(WORDS, row, strict=True) for _ in range(count)])
    model.train(50, workers=1)
    found, _ = starting_topics(model, WORDS)
    assert found.shape == (1, 3, 30)
    assert sorted(found[0].reshape(3, 3, 10).sum(axis=2).argmax(axis=1)) == [0, 1, 2]


def test_words_are_matched_by_name_and_topics_without_one_begin_even():
    named = NamedTopics(np.array([[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]], np.float32), ["a", "b", "z"], "x")
    found = matched(named, ["b", "c", "a"])
    assert found[0] == pytest.approx(np.array([[0.5, 0, 0.5], [1 / 3, 1 / 3, 1 / 3]]))
    with pytest.raises(InputError, match="no word in common"):
        matched(named, ["q", "r"])
    with pytest.raises(InputError, match="not finite"):
        matched(named._replace(sets=np.full((1, 2, 3), np.nan)), ["a"])
    with pytest.raises(InputError, match="topics have 3 words and the corpus has 2"):
        matched(named._replace(words=None), ["a", "b"])


def test_what_is_found_fills_up_what_is_given():
    filled = filled_up(GROUPS[1:2].astype(float), GROUPS.astype(float), np.sqrt)
    assert filled == pytest.approx(GROUPS[[1, 0, 2]])


def test_topics_of_words_are_these_and_those_beside_them():
    found = topics_of_words({"one": ["w00", "nothing"], "two": ["w15"]}, WORDS, documents(60, 0))
    dense = topics_of_words([["w00", "nothing"], ["w15"]], WORDS, documents(60, 0).toarray())
    np.testing.assert_array_equal(dense, found)
    assert found.sum(axis=1) == pytest.approx([1, 1], rel=1e-5)
    assert found[0, 0] > 0.5
    assert found[0, :10].sum() > 0.8
    assert found[1, 10:20].sum() > 0.8
    with pytest.raises(InputError, match="no word of topic 'one'"):
        topics_of_words({"one": ["x"]}, WORDS, documents(60, 0))


def test_accents_of_given_words_are_found_in_either_form():
    counts = sp.csr_matrix(np.eye(3))
    for vocabulary in (["caf\u00e9", "one", "two"], ["cafe\u0301", "one", "two"]):
        for word in ("caf\u00e9", "cafe\u0301"):
            assert topics_of_words([[word]], vocabulary, counts)[0].argmax() == 0
    both = ["cafe\u0301", "caf\u00e9", "one"]  # a vocabulary of other programs may tell them apart
    assert [topics_of_words([[word]], both, counts)[0].argmax() for word in both] == [0, 1, 2]


def test_a_file_of_words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("\ufeffsports: goal, match team\n\nsea sun\n", encoding="utf-8")
    assert read_seed_words(path) == {"sports": ["goal", "match", "team"], "line 3": ["sea", "sun"]}
    path.write_text("a: b\na: c\n")
    with pytest.raises(InputError, match="two topics"):
        read_seed_words(path)
    path.write_text("\n")
    with pytest.raises(InputError, match="no words"):
        read_seed_words(path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LatentDirichletAllocation, SphericalAdmixture])
def test_an_estimator_begins_at_another_s_topics(kind):
    counts = documents(60, 0)
    short = {"n_steps": 20, "n_draws": 5, "n_chains": 2, "random_state": 0}
    first = kind(3, **short).fit(counts)
    more = kind(4, **short).fit(counts, start_from=first)
    assert more.topic_draws_.shape[1] == 4
    with pytest.raises(ValueError, match="n_topics is 2"):
        kind(2, **short).fit(counts, start_from=first)
    with pytest.raises(ValueError, match="5 words"):
        kind(3, **short).fit(counts, start_from=np.full((2, 5), 0.2))
    with pytest.raises(ValueError, match="takes no topics"):
        LatentDirichletAllocation(3, method="scir", **short).fit(counts, start_from=GROUPS)


def test_a_run_keeps_what_it_began_at(tmp_path):
    """Killed before its first checkpoint it begins there again, and its verdict says where that was."""
    model, corpus = model_named("lda"), Corpus.from_matrix(documents(60, 0), WORDS)
    config = {"settings": {"n_topics": 3}, "seed": 0, "chains": 2, "held_out": 0, "start": "some words"}
    start = np.stack([GROUPS])
    chains = make_chains(model, config, corpus, start=start)
    run = create_run(tmp_path / "run", model, config, corpus, chains, start)
    np.testing.assert_array_equal(start_of(run), start)
    again = make_chains(model, run.config, corpus, start=start_of(run))
    np.testing.assert_array_equal(again[1].move.given, chains[1].move.given)
    fit(model, chains, run, Length(steps=10))
    verdict = model.answers().verdict(run)
    assert verdict.start == {"from": "some words", "sets": 1}
    assert "The chains began at the same topics, of some words" in str(verdict)
    found, told = starting_topics(tmp_path / "run", WORDS)
    assert found.shape == (2, 3, 30)
    assert told == f"run {tmp_path / 'run'}"
