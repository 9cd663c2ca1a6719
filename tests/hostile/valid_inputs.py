"""One small valid input of every kind that a reader takes, to be damaged."""

import csv
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

NUM_WORDS = 12
VOCABULARY = [f"word{chr(97 + i)}" for i in range(NUM_WORDS)]


class Input(NamedTuple):
    """A file or a directory for a command.

    Attributes:
        name: Of the file or directory that is given as INPUT.
        files: Contents by name, with those below ``name`` where it is a directory, and a vocabulary.
        options: What else is typed; "VOCAB" stands for the vocabulary's path.
    """

    name: str
    files: dict[str, bytes]
    options: tuple[str, ...] = ()


def counts(number: int = 15) -> sp.csr_matrix:
    return sp.csr_matrix(np.random.default_rng(1).poisson(1.5, (number, NUM_WORDS)))


def texts() -> list[str]:
    rng = np.random.default_rng(2)
    return [" ".join(rng.choice(VOCABULARY, 12)) for _ in range(8)]


def saved(save: Callable, *arguments: object, **options: object) -> bytes:
    """What a function writes into a stream."""
    stream = io.BytesIO()
    save(stream, *arguments, **options)
    content = stream.getvalue()
    return _without_dates(content) if content[:2] == b"PK" else content


def _without_dates(content: bytes) -> bytes:
    """An archive whose members all have the same date: a seed has the same case tomorrow."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as given, zipfile.ZipFile(stream, "w") as made:
        for member in given.infolist():
            info = zipfile.ZipInfo(member.filename)
            info.compress_type = member.compress_type
            with made.open(info, "w", force_zip64=True) as file:  # as NumPy does
                file.write(given.read(member))
    return stream.getvalue()


def archive(arrays: dict[str, np.ndarray], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A .npz of arrays in a way of compression that NumPy does not write, too."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as zipped:
        for name, array in arrays.items():
            content = saved(np.save, array, allow_pickle=True)
            zipped.writestr(zipfile.ZipInfo(f"{name}.npy"), content, compression)
    return stream.getvalue()


def _csv() -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerows([["text", "more"], *([text, 'a "quoted" one'] for text in texts())])
    return stream.getvalue().encode()


def _parquet() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    return saved(lambda stream: pq.write_table(pa.table({"text": texts(), "n": list(range(8))}), stream))


def _entries() -> list[str]:
    return [f"{d + 1} {w + 1} {n}" for (d, w), n in np.ndenumerate(counts().toarray()) if n]


def all_inputs() -> list[Input]:
    """One of every kind."""
    matrix, entries = counts(), _entries()
    rows = [[f"{w}:{n}" for w, n in enumerate(row) if n] for row in matrix.toarray()]
    words = "\n".join(VOCABULARY).encode()
    gensim = "\n".join(["15", *(f"{i}\t{word}\t3" for i, word in enumerate(VOCABULARY))]).encode()
    lines = "\n".join(json.dumps({"text": text, "n": 1}) for text in texts()).encode()
    size = f"15 {NUM_WORDS} {len(entries)}"
    market = "\n".join(["%%MatrixMarket matrix coordinate real general", size, *entries]).encode()
    uci = "\n".join([*size.split(), *entries]).encode()
    blei = "\n".join(" ".join([str(len(row)), *row]) for row in rows).encode()
    named = ("--vocab", "VOCAB")
    pruned = ("--max-df", "1.0", "--min-df", "1")
    return [
        Input("texts", {f"texts/{i}.txt": text.encode() for i, text in enumerate(texts())}, pruned),
        Input("a.txt", {"a.txt": texts()[0].encode()}, pruned),
        Input("a.jsonl", {"a.jsonl": lines}, pruned),
        Input("a.csv", {"a.csv": _csv()}, pruned),
        Input("a.parquet", {"a.parquet": _parquet()}, pruned),
        Input("csr.npz", {"csr.npz": saved(sp.save_npz, matrix), "VOCAB": words}, named),
        Input("csc.npz", {"csc.npz": saved(sp.save_npz, matrix.tocsc())}),
        Input("coo.npz", {"coo.npz": saved(sp.save_npz, matrix.tocoo(), compressed=False)}),
        Input("a.npy", {"a.npy": saved(np.save, matrix.toarray()), "VOCAB": gensim}, named),
        Input("docword.a.txt", {"docword.a.txt": uci, "vocab.a.txt": words}),
        Input("a.ldac", {"a.ldac": blei, "VOCAB": words}, named),
        Input("a.mm", {"a.mm": market, "VOCAB": words}, named),
    ]


def write(files: dict[str, bytes], folder: Path) -> None:
    """Files below a folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
