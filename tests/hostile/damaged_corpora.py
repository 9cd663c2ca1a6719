"""Corpus directories that are damaged, or were written to mislead; `fit` has to refuse each."""

import hashlib
import json
import shutil

import malformed_arrays as arrays
import numpy as np

from geodrift.data import Corpus

FILES = (
    "shard-00000-indptr.npy",
    "shard-00000-indices.npy",
    "shard-00000-data.npy",
    "vocabulary.txt",
    "document-frequencies.npy",
    "manifest.json",
)


def damaged_corpora():
    """(Name, function that writes the corpus and returns arguments of the command)."""
    for name, change in changes():

        def write(folder, change=change):
            Corpus.from_matrix(arrays.DENSE, ["alpha", "beta", "gamma"], folder / "corpus")
            change(folder / "corpus")
            run = ["--run", str(folder / "run"), "--steps", "4", "--topics", "2"]
            return ["fit", "lda", str(folder / "corpus"), *run]

        yield f"corpus-{name}", write


def changes():
    """(Name, function that damages a corpus directory)."""
    for file in FILES:
        yield f"no-{file}", lambda path, file=file: (path / file).unlink()
        yield f"directory-{file}", lambda path, file=file: (path / file).unlink() or (path / file).mkdir()
        yield f"empty-{file}", lambda path, file=file: (path / file).write_bytes(b"")
        for share in (0.3, 0.95):
            yield f"cut-{share}-{file}", lambda path, file=file, share=share: cut(path / file, share)
        yield f"longer-{file}", lambda path, file=file: longer(path / file)
        for seed in range(4):
            yield f"bit-{seed}-{file}", lambda path, file=file, seed=seed: flip(path / file, seed)
    yield "swapped", lambda path: swap(path / FILES[1], path / FILES[2])
    for name, edit in {
        "newer": {"format_version": 99},
        "version-text": {"format_version": "2"},
        "version-zero": {"format_version": 0},
        "format": {"format": "other"},
        "seed-of-another": {"documents": 5},
        "words-huge": {"words": 10**12},
        "words-text": {"words": "3"},
        "documents-negative": {"documents": -4},
        "shards-none": {"shards": []},
        "shards-number": {"shards": 3},
        "shards-text": {"shards": ["a"]},
        "shards-elsewhere": {"shards": [{"name": "../corpus/shard-00000", "documents": 4, "nnz": 7}]},
        "shards-huge": {"shards": [{"name": "shard-00000", "documents": 10**12, "nnz": 10**12}]},
        "sizes-list": {"sizes": []},
        "sizes-none": {"sizes": {}},
        "sums-none": {"checksums": {}},
        "made-list": {"made": []},
        "tokens-nan": {"tokens": float("nan")},
    }.items():
        for signed in (False, True):
            yield (
                f"manifest-{name}{'-signed' if signed else ''}",
                lambda path, edit=edit, signed=signed: edit_manifest(path, edit, signed),
            )
    for name, (file, values) in {
        "index-beyond": (FILES[1], np.array([0, 2, 1, 0, 2, 1, 10**6], np.int32)),
        "index-negative": (FILES[1], np.array([0, 2, 1, 0, 2, 1, -1], np.int32)),
        "indices-wide": (FILES[1], np.array([0, 2, 1, 0, 2, 1, 2], np.int64)),
        "indices-few": (FILES[1], np.array([0, 2, 1], np.int32)),
        "indptr-jump": (FILES[0], np.array([0, 10**6, 3, 5, 7], np.int64)),
        "indptr-falling": (FILES[0], np.array([0, 5, 3, 5, 7], np.int64)),
        "indptr-short": (FILES[0], np.array([0, 7], np.int64)),
        "indptr-float": (FILES[0], np.array([0, 2, 3, 5, 7], float)),
        "data-nan": (FILES[2], np.full(7, np.nan, np.float32)),
        "data-half": (FILES[2], np.full(7, 0.5, np.float32)),
        "data-double": (FILES[2], np.ones(7)),
        "data-few": (FILES[2], np.ones(3, np.int32)),
        "frequencies-wrong": (FILES[4], np.array([1, 1, 1])),
        "frequencies-few": (FILES[4], np.array([1, 1])),
    }.items():
        yield (
            f"signed-{name}",
            lambda path, file=file, values=values: replace(path, file, arrays.npy(values)),
        )
    yield "signed-words-few", lambda path: replace(path, "vocabulary.txt", b"alpha\nbeta\n")
    yield "signed-words-latin1", lambda path: replace(path, "vocabulary.txt", b"alpha\nb\xe9ta\ngamma\n")
    yield (
        "signed-header",
        lambda path: replace(path, FILES[1], arrays.npy_with(b"{'descr': '<i8', 'shape': (")),
    )
    yield "signed-pickle", lambda path: replace(path, FILES[2], arrays.npy(np.array([{}] * 7, object)))


def longer(file):
    file.write_bytes(file.read_bytes() + b"\n")


def cut(file, share):
    file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])


def flip(file, seed):
    file.write_bytes(arrays.flipped(file.read_bytes(), seed))


def swap(one, other):
    shutil.move(one, one.with_name("kept"))
    shutil.move(other, one)
    shutil.move(one.with_name("kept"), other)


def replace(path, file, content):
    """Other content of a file, with a manifest that agrees with it."""
    (path / file).write_bytes(content)
    edit_manifest(path, {}, signed=True)


def edit_manifest(path, edit, signed):
    """Other entries of the manifest, with checksums that agree where ``signed``."""
    manifest = json.loads((path / "manifest.json").read_text()) | edit
    if signed:
        for name in manifest["checksums"]:
            content = (path / name).read_bytes()
            manifest["checksums"][name] = hashlib.sha256(content).hexdigest()
            if manifest["sizes"]:
                manifest["sizes"][name] = len(content)
        manifest.pop("digest")
        manifest["checksum"] = digest(manifest["checksums"])
        manifest["digest"] = digest(manifest)
    (path / "manifest.json").write_text(json.dumps(manifest))


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
