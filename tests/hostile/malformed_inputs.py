"""Inputs that are malformed, hostile or absurd, of every reader of the command line.

`malformed_inputs` gives each a name and a function that writes its files into a folder and returns arguments
of the command. Almost all have to be refused: with one line and a status other than 0, within seconds, in
bounded memory, without a file written. A few may be read, where chance decides (flipped bits) or a reader may
be kind.
"""

import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import malformed_arrays as arrays
import malformed_lines as lines
import numpy as np
from damaged_corpora import damaged_corpora

WORDS = ["alpha", "beta", "gamma"]
MAY_BE_READ = (
    "flipped",
    "carriage-returns",
    "zero-bytes",
    "uci.gz-more",
    "uci.bz2-more",
    "names-twice",
    "npz-claims-size",
    "npz-bsr-data-largest",
    "dia-offsets-far",
    "npz-dia-wide",
    "longer-manifest",
    "encoding-69646e61",
)


NAMES = ("a.npz", "a.npy", "docword.a.txt", "a.ldac", "a.mm", "a.jsonl", "a.csv", "a.parquet", "a.txt")
ENCODINGS = ("rot13", "hex", "undefined", "klingon", "utf-32", "idna", "", "a" * 5000, "zlib", "\x1b[2J")


class Malformed(NamedTuple):
    """One input.

    Attributes:
        name: Of the case, told apart from all others.
        write: Writes the files into a folder; the arguments of the command, without "geodrift".
        may_be_read: Whether it may also be read as if nothing were wrong.
    """

    name: str
    write: Callable[[Path], list[str]]
    may_be_read: bool = False


def malformed_inputs() -> Iterator[Malformed]:
    """All cases; the same at every call."""
    for name, file, content in _files():
        yield _case(name, _one_file(file, content))
    for group in (_irregular, _vocabularies, _texts, _options):
        for name, write in group():
            yield _case(name, write)
    for name, write in damaged_corpora():
        yield _case(name, write)


def _case(name, write):
    return Malformed(name, write, any(part in name for part in MAY_BE_READ))


def _files():
    """Single files that `corpus` is to read: (name of the case, file name, bytes)."""
    for name, content in (*arrays.compressed_arrays(), *arrays.other_formats(), *arrays.archives()):
        yield name, "a.npz", content
    for name, content in arrays.dense_arrays():
        yield name, "a.npy", content
    for group, file, cases in (
        ("uci", "docword.a.txt", lines.UCI),
        ("lda-c", "a.ldac", lines.LDA_C),
        ("matrix-market", "a.mm", lines.MATRIX_MARKET),
        ("jsonl", "a.jsonl", lines.JSON_LINES),
        ("csv", "a.csv", lines.CSV),
    ):
        for name, text in cases.items():
            yield f"{group}-{name}", file, text.encode()
        for seed in range(3):
            yield f"{group}-random-{seed}", file, np.random.default_rng(seed).bytes(2000)
        yield f"{group}-empty", file, b""
    yield from lines.gzipped()
    for name, content in lines.parquet():
        yield name, "a.parquet", content
    yield "text-binary", "a.txt", b"PK\x00\x01"
    yield "text-latin1", "a.txt", "é".encode("latin1") * 100
    yield "text-no-words", "a.txt", b"1 2 3 , . !"
    yield "text-empty", "a.txt", b""
    yield "name-missing", "a.txt.d/b", b"a"


def _one_file(name, content):
    def write(folder):
        if "/" not in name:
            (folder / name).write_bytes(content() if callable(content) else content)
        return corpus(folder, folder / name)

    return write


def corpus(folder, *arguments):
    """Arguments that make a corpus in the folder."""
    return ["corpus", *map(str, arguments), "--out", str(folder / "out"), "--min-df", "1", "--max-df", "1.0"]


def counts(folder):
    """A file of counts with three words, which is as it should be."""
    np.save(folder / "counts.npy", arrays.DENSE)
    return folder / "counts.npy"


def text(folder, content="alpha beta gamma alpha"):
    """A text that is as it should be."""
    (folder / "text.txt").write_text(content)
    return folder / "text.txt"


def _irregular():
    """Pipes, devices and other things that are no regular files, wherever a file can be given."""

    def pipe(path):
        os.mkfifo(path)

    def device(path):
        path.symlink_to("/dev/zero")

    def bound_socket(path):
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(os.path.relpath(path))

    def nowhere(path):
        path.symlink_to(path.parent / "nowhere")

    def circle(path):
        path.symlink_to(path)

    def directory(path):
        path.mkdir()

    for make in (pipe, device, nowhere, circle, bound_socket):
        for place in NAMES:

            def write(folder, make=make, place=place):
                make(folder / place)
                return corpus(folder, folder / place)

            yield f"{make.__name__}-{place}", write

        def inside(folder, make=make):
            (folder / "texts").mkdir()
            (folder / "texts" / "a.txt").write_text("alpha beta")
            make(folder / "texts" / "b.txt")
            return corpus(folder, folder / "texts")

        yield f"{make.__name__}-in-directory", inside
    for make in (pipe, device, nowhere, directory):
        for option, given in (("--vocab", counts), ("--stop-words", text)):

            def option_write(folder, make=make, option=option, given=given):
                make(folder / "list.txt")
                return corpus(folder, given(folder), option, folder / "list.txt")

            yield f"{make.__name__}-as-{option[2:]}", option_write

    def manifest(folder):
        (folder / "made").mkdir()
        os.mkfifo(folder / "made" / "manifest.json")
        return corpus(folder, folder / "made")

    yield "pipe-as-manifest", manifest
    yield "directory-empty", lambda folder: (folder / "d").mkdir() or corpus(folder, folder / "d")


def _vocabularies():
    for name, content in {
        "empty": b"",
        "twice": b"alpha\nbeta\nalpha\n",
        "blank": b"alpha\n\ngamma\n",
        "spaces": b"alpha\n   \ngamma\n",
        "few": b"alpha\nbeta\n",
        "many": b"alpha\nbeta\ngamma\ndelta\n",
        "latin1": "alpha\nb\u00e9ta\ngamma\n".encode("latin1"),
        "utf-16": "alpha\nbeta\ngamma\n".encode("utf-16"),
        "gensim-gap": b"3\n0\ta\t1\n1\tb\t1\n3\tc\t1\n",
        "gensim-twice": b"3\n0\ta\t1\n1\tb\t1\n1\tc\t1\n",
        "gensim-same-word": b"3\n0\ta\t1\n1\tb\t1\n2\tb\t1\n",
        "gensim-digits": b"0\ta\t1\n" + b"9" * 5000 + b"\tb\t1\n",
        "escapes": b"\x1b[2J\n\x1b[2J\nc\n",
    }.items():

        def write(folder, content=content):
            (folder / "vocab.txt").write_bytes(content)
            return corpus(folder, counts(folder), "--vocab", folder / "vocab.txt")

        yield f"vocab-{name}", write


def _texts():
    """Token patterns, encodings and other options about text."""
    slow = "a" * 60 + "!"
    for name, pattern, content in (
        ("nested", "(a+)+$", slow),
        ("alternation", "(a|aa)+$", slow),
        ("stars", "(a*)*b", slow),
        ("open", "(", "alpha"),
        ("deep", "(" * 20_000 + "a" + ")" * 20_000, "alpha"),
        ("repeat-huge", "a{99999999999}", "alpha"),
        ("look-behind", "(?<=a*)b", "alpha"),
        ("reference", r"\7", "alpha"),
        ("blank-words", "a*", "alpha beta"),
        ("spaces", " ", "alpha beta"),
        ("groups", "(a)(l)", "alpha beta"),
        ("line-breaks", r"[\s\S]+", "alpha\nbeta"),
    ):

        def write(folder, pattern=pattern, content=content):
            return corpus(folder, text(folder, content), "--token-pattern", pattern)

        yield f"pattern-{name}", write
    for encoding in ENCODINGS:

        def encoded(folder, encoding=encoding):
            return corpus(folder, text(folder), "--encoding", encoding)

        yield f"encoding-{encoding[:10].encode().hex()}", encoded

    def surrogate(folder):
        (folder / "a.jsonl").write_text('{"text": "\\ud800 \\udfff"}\n')
        return corpus(folder, folder / "a.jsonl", "--token-pattern", r"\S+")

    yield "jsonl-surrogates", surrogate
    for name, typed in {
        "min-df-text": ("--min-df", "many"),
        "min-df-nan": ("--min-df", "nan"),
        "min-df-negative": ("--min-df", "-1"),
        "max-df-huge": ("--max-df", "1e300"),
        "max-words-zero": ("--max-words", "0"),
        "ngrams-huge": ("--ngrams", "1000000000"),
        "text-field-none": ("--text-field", "nothing"),
    }.items():

        def optional(folder, typed=typed):
            (folder / "a.jsonl").write_text(json.dumps({"text": "alpha beta"}))
            return [*corpus(folder, folder / "a.jsonl"), *typed]

        yield f"option-{name}", optional


def _options():
    """Settings of models far outside of what can be computed with."""
    absurd = {
        "lda": ("topic-word-prior", "doc-topic-prior"),
        "sam": (
            "doc-topic-prior",
            "corpus-mean-concentration",
            "topic-concentration",
            "document-concentration",
            "step-size",
            "friction",
        ),
    }
    names = [(model, name) for model, names in absurd.items() for name in names]
    cases = [(*name, value) for name in names for value in ("1e300", "1e-300")]
    many = "99999999999999999999"
    cases += [("lda", name, many) for name in ("batch-size", "sweeps", "early-sweeps", "draws")]
    cases += [("sam", name, many) for name in ("topics", "batch-size", "num-steps", "draws")]
    cases += [("lda", "topics", "99999999"), ("lda", "step-size", "1e300,1e300,1e300")]
    priors = ("nan", "inf", "-1", "0", "x", "0.1,0.2,0.3", "1e300,1")
    cases += [("lda", "doc-topic-prior", value) for value in priors]
    cases += [("lda", "step-size", value) for value in ("1", "1,2", "nan,1,1", "1,1,-1", "1e-300,1,1")]
    for model, name, value in cases:

        def write(folder, model=model, name=name, value=value):
            topics = [] if name == "topics" else ["--topics", "2"]
            run = ["--run", str(folder / "run"), "--steps", "4"]
            return ["fit", model, str(counts(folder)), *run, *topics, f"--{name}", value]

        yield f"setting-{model}-{name}-{value}", write
