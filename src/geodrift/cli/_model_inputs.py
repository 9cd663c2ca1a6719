"""From the INPUT of a command to what a model reads: a corpus or counts of words, or vectors."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from geodrift.cli import UsageError
from geodrift.cli._inputs import holds_counts, is_corpus, load_corpus, load_documents
from geodrift.cli._options import Text, told_of_text
from geodrift.data import Corpus, DocumentTable, VectorRows, VectorSource, read_vocabulary
from geodrift.driver import Run
from geodrift.models.kit import Model
from geodrift.models.kit._fitted_among import fitted_among

MOST_LOOKED_AT = 50_000  # documents, of which it is asked whether a run was fitted to them


def load_training(
    model: Model, source: Path | str, vocab: Path | None, text: Text, *, signed: bool, checked: bool
) -> Corpus | VectorSource:
    """The documents behind INPUT of `fit`; see `load_corpus`.

    Raises:
        UsageError: The model reads vectors, and an option about text was given; or what is not to be checked
            is no corpus directory, which alone is.
    """
    if not (checked or is_corpus(source)):
        raise UsageError(
            f"--unchecked-corpus is about the files of a corpus directory, and {source} is none: leave it out"
        )
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
    if was_given(run, path):
        return True
    if isinstance(rows, Corpus):
        # It may be larger than memory: of so many documents most are the run's, or they are not.
        most = min(rows.num_documents, MOST_LOOKED_AT)
        rows = rows.rows(np.linspace(0, rows.num_documents - 1, most).astype(int))
    found = own_documents(run, rows) if sp.issparse(rows) else None
    return found is not None and 2 * found[0] > found[1]


def was_given(run: Run, path: Path | str) -> bool:
    """Whether a run was fitted to what is at `path`, be it a copy."""
    told = run.config["corpus"]
    if isinstance(path, Path) and told.get("path") == str(path.resolve()):
        return True
    return is_corpus(path) and Corpus.open(path, checked=False).checksum == told.get("checksum")


def own_documents(run: Run, rows: VectorRows) -> tuple[int, int] | None:
    """How many documents have the words of one that a run was fitted to, and how many have words.

    None of vectors, and where the run's documents are gone.
    """
    if "reads" in run.config["corpus"]:
        return None
    counts = sp.csr_matrix(rows)
    fitted = fitted_among(run, counts)
    return None if fitted is None else (int(fitted.sum()), int((counts.getnnz(axis=1) > 0).sum()))


def _refuse(model: Model, text: Text) -> None:
    """Refuse what was said about text, of a model that reads none."""
    for option, _ in told_of_text(text):
        raise UsageError(f"{option} is about text, and {model.name} reads vectors: leave it out")
