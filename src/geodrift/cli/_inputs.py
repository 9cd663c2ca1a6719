"""From the INPUT of a command to a corpus or to counts of a run's vocabulary."""

import codecs
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from geodrift._terminal import say
from geodrift.cli import UsageError
from geodrift.cli._options import Text, told_of_text
from geodrift.cli._waiting import Waiting
from geodrift.data import (
    Corpus,
    DocumentTable,
    InputError,
    Source,
    TextOptions,
    count_documents,
    count_into,
    counts_format,
    find_sources,
    parse_frequency,
    prune_columns,
    read_counts_file,
    read_stop_words,
    read_vocabulary,
)
from geodrift.data._build import NO_IDS, Progress, built
from geodrift.data._limits import default_words


def load_corpus(
    inputs: Sequence[Path | str],
    vocab: Path | None,
    text: Text,
    *,
    out: Path | None = None,
    signed: bool = False,
    workers: int | None = None,
    checked: bool = True,
) -> Corpus:
    """The corpus behind the inputs of `corpus` or `fit`, written to `out` when given; see `Corpus.open`.

    Text is read by all cores unless told otherwise.
    """
    first = inputs[0]
    for path in inputs:
        check_text_options(path, text, vocab)
    if any(is_corpus(path) or counts_format(path) for path in inputs):
        if len(inputs) > 1:
            raise UsageError("give one corpus directory or one file of counts, not several inputs")
        if workers is not None:
            raise UsageError(f"--workers {workers} read text, and {first} holds counts: leave it out")
        if text.asks_to_prune:
            whole = _of_counts(first, vocab, signed, checked=checked)
            corpus = prune_columns(whole, _tokeniser(text, min_df=1, max_df=1.0))
            return corpus if out is None else corpus.save(out)
        return _of_counts(first, vocab, signed, out, checked=checked)
    if vocab is not None and text.asks_to_prune:
        raise UsageError(
            f"--vocab {vocab} says which words are counted: leave --min-df, --max-df and --max-words out"
        )
    words = None if vocab is None else read_vocabulary(vocab)
    sources, options = _sources(text, inputs), _tokeniser(text)
    with Waiting("reading text") as waiting:
        corpus, missing = built(sources, options, out, workers, words, waiting.at)
    if missing is not None:
        say(f"note: {missing}")
    _say_duplicates(corpus)
    return corpus


def load_documents(
    path: Path | str,
    vocab: Path | None,
    text: Text,
    words: list[str],
    stored: dict | None,
    *,
    scratch: Path | None = None,
    progress: Progress = lambda done, total, what: None,
) -> tuple[sp.csr_matrix | Corpus, DocumentTable | None]:
    """Counts of a run's vocabulary in the documents at `path`, and who these are, where that is said.

    Args:
        path: INPUT of `evaluate` or `transform`.
        vocab: Words of the columns of a file of counts.
        text: Field and encoding; everything else comes from the run.
        words: The run's vocabulary.
        stored: The run's tokeniser settings; None when it was fitted to counts.
        scratch: An empty directory, in which counts may be kept while they are needed: a corpus is returned
            then wherever it can be. None: all counts are in memory.
        progress: See `geodrift.data.build_corpus`.
    """
    # The fields of what holds counts are chosen where the table is written.
    check_text_options(path, text._replace(fields=Text().fields), vocab)
    if holds_counts(path):
        corpus = _of_counts(path, vocab, signed=True)
        if scratch is not None and corpus.vocabulary == words:
            return corpus, corpus.documents
        # Columns without names are taken to be the run's.
        named = vocab is not None or corpus.vocabulary != default_words(corpus.num_words)
        counts = _match(corpus.matrix(), corpus.vocabulary, words) if named else corpus.matrix()
        return counts, corpus.documents
    if vocab is not None:
        raise UsageError(f"--vocab {vocab} names columns of counts, and {path} holds text: leave it out")
    if stored is None:
        longest = max(word.count(" ") for word in words) + 1
        options = TextOptions(stop_words="none", ngrams=longest)
        say("note: the run was fitted to counts, text is split by the default rules")
    else:
        options = TextOptions.from_dict(stored)
    if scratch is None:
        return count_documents(_sources(text, [path]), options, words)
    corpus = count_into(scratch, _sources(text, [path]), options, words, progress=progress)
    if NO_IDS in corpus.manifest["dropped"]:
        say(f"note: dropped: {corpus.manifest['dropped'][NO_IDS]:,} {NO_IDS}")
    return corpus, corpus.documents


def check_text_options(path: Path | str, text: Text, vocab: Path | None) -> None:
    """Refuse options about text where there is none, but for those that prune counts too."""
    if not holds_counts(path):
        return
    pruned = text._replace(min_df=None, max_df=None, max_words=None)
    for option, typed in told_of_text(pruned):
        raise UsageError(f"{option} {typed} means nothing here: {path} holds counts, and no text")
    if vocab is not None and is_corpus(path):
        raise UsageError(f"--vocab {vocab} means nothing here: the corpus {path} has its own words")


def _say_duplicates(corpus: Corpus) -> None:
    """Say that documents share their ids, which are then no names of them; told once, where text is read."""
    if corpus.documents is None:
        return
    # Hashes in the place of ids: eight bytes a document, however long ids are and however many there are.
    hashes = np.fromiter((hash(document.id) for document in corpus.documents), np.int64)
    hashes.sort()
    repeated = int((np.diff(hashes) == 0).sum())
    if repeated:
        say(
            f"note: {repeated:,} of {corpus.num_documents:,} documents have the id of another: all are kept,"
            " and tables cannot tell them apart by id"
        )


def holds_counts(path: Path | str) -> bool:
    """Whether `path` is a corpus directory or a file of counts, and no text."""
    return is_corpus(path) or counts_format(path) is not None


def is_corpus(path: Path | str) -> bool:
    """Whether `path` is a corpus directory, be it one that has lost its manifest."""
    if isinstance(path, str):
        return False
    return (path / "manifest.json").is_file() or (path / "document-frequencies.npy").exists()


def _of_counts(
    path: Path | str, vocab: Path | None, signed: bool, out: Path | None = None, *, checked: bool = True
) -> Corpus:
    if isinstance(path, str):
        raise InputError(f"{path}: counts are read from files, and behind URLs text alone: copy it to a file")
    if is_corpus(path):
        corpus = Corpus.open(path, checked=checked)
        return corpus if out is None else corpus.save(out)
    return read_counts_file(path, vocab, out, signed=signed)


def _match(counts: sp.csr_matrix, given: list[str], words: list[str]) -> sp.csr_matrix:
    """Columns moved to where the run has their words; words it does not know are left out."""
    if given == words:
        return counts
    place = {word: column for column, word in enumerate(words)}
    known = [(column, place[word]) for column, word in enumerate(given) if word in place]
    if not known:
        raise InputError("the input and the run have no word in common")
    say(f"note: {len(known):,} of the input's {len(given):,} words are in the run")
    rows, columns = zip(*known, strict=True)
    move = sp.csr_matrix(
        ([1] * len(known), (rows, columns)), shape=(len(given), len(words)), dtype=counts.dtype
    )
    return sp.csr_matrix(counts @ move)


def _tokeniser(text: Text, **defaults: int | float) -> TextOptions:
    """The tokeniser's settings."""
    values: dict[str, Any] = dict(defaults)
    for name, typed in (("min_df", text.min_df), ("max_df", text.max_df)):
        if typed is not None:
            values[name] = parse_frequency(typed, f"--{name.replace('_', '-')}")
    if text.token_pattern is not None:
        values["token_pattern"] = text.token_pattern
    words = text.stop_words
    listed = words if words in ("english", "none") else read_stop_words(Path(words))
    return TextOptions(max_words=text.max_words, stop_words=listed, ngrams=text.ngrams, **values)


def _is_utf8(encoding: str) -> bool:
    """Whether a name is one of those of UTF-8, such as UTF_8; the reader tells what is no name at all."""
    try:
        return codecs.lookup(encoding).name == "utf-8"
    except (LookupError, ValueError):
        return False


def _sources(text: Text, inputs: Sequence[Path | str]) -> list[Source]:
    """The files behind the inputs."""
    # A byte order mark at the start of UTF-8 is no part of the text.
    encoding = "utf-8-sig" if _is_utf8(text.encoding) else text.encoding
    fields = {"all": None, "none": []}.get(text.fields, text.fields.split(","))
    return find_sources(inputs, text.text_field, encoding, id_field=text.id_field, fields=fields)
