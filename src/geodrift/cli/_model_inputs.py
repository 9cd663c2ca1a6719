"""From the INPUT of a command to what a model reads: a corpus or counts of words, or vectors."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from geodrift.cli import UsageError
from geodrift.cli._inputs import holds_counts, is_corpus, load_corpus, load_documents
from geodrift.cli._options import Text
from geodrift.data import Corpus, DocumentTable, InputError, VectorRows, VectorSource, read_vocabulary
from geodrift.driver import Run
from geodrift.models.kit import Model

ROWS_COMPARED = 200


def load_training(
    model: Model, source: Path | str, vocab: Path | None, text: Text, *, signed: bool, checked: bool
) -> Corpus | VectorSource:
    """The documents behind INPUT of `fit`; see `load_corpus`.

    Raises:
        UsageError: The model reads vectors, and an option about text was given.
    """
    if model.reads == "counts":
        return load_corpus([source], vocab, text, signed=signed, checked=checked)
    _refuse(model, text)
    return VectorSource.open(source, None if vocab is None else read_vocabulary(vocab))


def load_new(
    run: Run, model: Model, path: Path | str, vocab: Path | None, text: Text, **stored: Any
) -> tuple[VectorRows | Corpus, DocumentTable | None]:
    """Documents for a run, and who they are, where that is said; see `load_documents`, also for `stored`."""
    if text.text_field is None:
        named = None if holds_counts(path) else run.config.get("text_field")
        text = text._replace(text_field=named or "text")
    if model.reads == "counts":
        words, options = run.labels["word"], run.config["text_options"]
        return load_documents(path, vocab, text, words, options, **stored)
    _refuse(model, text)
    return VectorSource.open(path, None if vocab is None else read_vocabulary(vocab)).matrix, None


def is_of_run(run: Run, path: Path | str, rows: VectorRows | Corpus) -> bool:
    """Whether `path` has the documents, or the vectors, that a run was fitted to.

    Args:
        run: The run.
        path: INPUT.
        rows: From `load_new`.
    """
    told = run.config["corpus"]
    if isinstance(path, Path) and told.get("path") == str(path.resolve()):
        return True
    if is_corpus(path) and Corpus.open(path, checked=False).checksum == told.get("checksum"):
        return True
    return "reads" not in told and sp.issparse(rows) and _are_rows_of(run, sp.csr_matrix(rows))


def _are_rows_of(run: Run, rows: sp.csr_matrix) -> bool:
    """Whether most rows are those of the run's documents, number by number.

    The same text makes corpora of other checksums: from the file itself, with other fields, in other shards.
    """
    try:
        corpus = Corpus.open(run.path / run.config["corpus"]["path"], checked=False)
    except InputError:
        return False  # gone, or damaged: for evaluate it need not be there
    if corpus.num_documents != rows.shape[0] or corpus.num_words != rows.shape[1]:
        return False
    numbers = np.unique(np.linspace(0, rows.shape[0] - 1, ROWS_COMPARED).astype(int))
    # Words that one of the two was made without say nothing.
    words = np.flatnonzero(np.asarray(rows.sum(axis=0)).ravel())
    given = sp.csr_matrix(rows[numbers][:, words])
    differs = abs(given - corpus.rows(numbers)[:, words]).sum(axis=1)
    alike = (np.asarray(differs).ravel() == 0) & (given.getnnz(axis=1) > 0)
    return bool(alike.mean() > 0.5)


def _refuse(model: Model, text: Text) -> None:
    """Refuse what was said about text, of a model that reads none."""
    given = [name for name in Text._fields if getattr(text, name) != Text._field_defaults[name]]
    if given:
        option = given[0].replace("_", "-")
        raise UsageError(f"--{option} is about text, and {model.name} reads vectors: leave it out")
