"""Damaged files of topics to start from, of words and of names: read, or refused in one error."""

import gzip
import json
from random import Random

import numpy as np
import pytest
import scipy.sparse as sp
from mutations import mutate

from geodrift import InputError
from geodrift.models.topics.starts._named_topics import matched
from geodrift.models.topics.starts._seed_words import read_seed_words, topics_of_words
from geodrift.models.topics.starts._sources import topics_at

WORDS = [f"word{letter}" for letter in "abcdefghijkl"]
TIMES = 200


def _mallet():
    rng = np.random.default_rng(0)
    lines = ["#doc source pos typeindex type topic", "#alpha : 0.5 0.5 ", "#beta : 0.01"]
    lines += [
        f"{i // 9} file:/a b{i}.txt {i % 9} {w} {WORDS[w]} {rng.integers(3)}"
        for i, w in enumerate(rng.integers(12, size=90))
    ]
    return ("\n".join(lines) + "\n").encode()


def _export(folder):
    path = folder / "seed.npz"
    topics = np.random.default_rng(0).dirichlet(np.ones(12), (4, 3)).astype(np.float32)
    np.savez(path, topics=topics, found=np.ones((2, 3), bool), vocabulary=np.array(WORDS))
    content = path.read_bytes()
    path.unlink()
    return content


def _bertopic():
    safetensors = pytest.importorskip("safetensors.numpy")
    matrix = sp.csr_matrix(np.random.default_rng(0).random((3, 12)))
    parts = {name: getattr(matrix, name) for name in ("indptr", "indices", "data")}
    tensors = parts | {"shape": np.array(matrix.shape), "diag": np.ones(12)}
    vocabulary = {word: column for column, word in enumerate(WORDS)}
    return {
        "ctfidf.safetensors": safetensors.save(tensors),
        "ctfidf_config.json": json.dumps({"vectorizer_model": {"vocab": vocabulary}}).encode(),
        "topics.json": json.dumps({"_outliers": 1}).encode(),
    }


def read_or_refuse(path):
    """What was read can be used as it is."""
    try:
        found = matched(topics_at(path), WORDS)
    except InputError:
        return False
    assert found.ndim == 3
    assert np.isfinite(found).all()
    assert (np.abs(found).sum(axis=2) > 0).all()
    return True


@pytest.mark.parametrize(
    "kind", ["mallet", pytest.param("mallet.gz", marks=pytest.mark.slow), "export", "bertopic"]
)
def test_damaged_topics_are_read_or_refused(tmp_path, kind):
    if kind == "bertopic":
        files = _bertopic()
    else:
        content = {
            "mallet": _mallet(),
            "mallet.gz": gzip.compress(_mallet(), mtime=0),
            "export": _export(tmp_path),
        }
        files = {"topics.npz" if kind == "export" else "state.gz": content[kind]}
    folder, random = tmp_path / "in", Random(kind)
    folder.mkdir()
    path = folder if kind == "bertopic" else folder / next(iter(files))
    read = 0
    for number in range(TIMES):
        changed = dict(files)
        if number:
            name = random.choice(sorted(files))
            changed[name] = mutate(files[name], random, list(files.values()))
        for name, content in changed.items():
            (folder / name).write_bytes(content)
        read += read_or_refuse(path)
        assert number or read == 1
    assert 0 < read < TIMES


def test_damaged_words_are_read_or_refused(tmp_path):
    random, path = Random(1), tmp_path / "words.txt"
    content = b"one: worda, wordb\nwordc wordd\n# three: worde\n"
    for number in range(TIMES):
        path.write_bytes(mutate(content, random, [content]) if number else content)
        try:
            found = topics_of_words(read_seed_words(path), WORDS, sp.csr_matrix(np.eye(12)))
        except (InputError, UnicodeDecodeError):  # the command tells the second with the words of the command
            assert number
            continue
        assert np.isfinite(found).all()
