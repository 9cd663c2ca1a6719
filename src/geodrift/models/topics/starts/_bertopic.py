"""Topics of BERTopic: the folder that ``save(..., serialization="safetensors", save_ctfidf=True)`` writes.

`ctfidf.safetensors` has the c-TF-IDF matrix in compressed rows, `ctfidf_config.json` the vocabulary. A weight
is a word's frequency in its topic times a weight of the word: divided by it, rows are frequencies.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from geodrift._errors import InputError
from geodrift.data import as_csr
from geodrift.data._regular_files import open_regular
from geodrift.models.topics.starts._named_topics import MOST_TOPICS, NamedTopics

WEIGHTS, CONFIG, TOPICS = "ctfidf.safetensors", "ctfidf_config.json", "topics.json"
MOST_ENTRIES = 2**28  # of the matrix of topics and words, as rows without gaps
MOST_BYTES = 2**31  # of a file


def is_bertopic(path: Path) -> bool:
    """Whether a folder is one that BERTopic has saved."""
    return path.is_dir() and any((path / name).is_file() for name in (WEIGHTS, CONFIG, TOPICS))


def read_bertopic(path: Path) -> NamedTopics:
    """The topics of a folder, without the outliers.

    Raises:
        InputError: The folder has no such files, safetensors is not installed, or a file is damaged.
    """
    for name in (WEIGHTS, CONFIG):
        if not (path / name).is_file():
            raise InputError(
                f"{path} has no {name}: save the model with serialization='safetensors' and save_ctfidf=True"
                " (what torch or pickle wrote is not read: it can run anything)"
            )
    tensors = _tensors(path / WEIGHTS)
    try:
        vocabulary = _json(path / CONFIG)["vectorizer_model"]["vocab"]
        rows, columns = (int(size) for size in tensors["shape"])
        if rows * columns > MOST_ENTRIES or not 0 < rows <= MOST_TOPICS:
            raise InputError(f"{path / WEIGHTS} says that it has {rows:,} topics of {columns:,} words")
        parts = tensors["data"], tensors["indices"].astype(np.int64), tensors["indptr"].astype(np.int64)
        weights = as_csr(sp.csr_matrix(parts, shape=(rows, columns)), str(path / WEIGHTS))
        words = [""] * columns
        for word, column in vocabulary.items():
            if not 0 <= int(column) < columns:
                raise InputError(f"{path / CONFIG}: word {str(word)[:40]!r} has no column")
            words[int(column)] = str(word)
        diagonal = np.asarray(tensors["diag"], np.float64).ravel()
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is not as BERTopic writes it: {error}") from None
    outliers = _outliers(path)
    return of_ctfidf(weights[outliers:], diagonal, words, f"BERTopic's {path}")


def of_ctfidf(weights: sp.csr_matrix, diagonal: np.ndarray, words: list[str], told: str) -> NamedTopics:
    """Frequencies of words in topics from their c-TF-IDF weights.

    Args:
        weights: [topic, word], without the outliers.
        diagonal: The weight of each word, or nothing where it is not known.
        words: Of the columns.
        told: What they are of.
    """
    topics = np.maximum(np.asarray(weights.todense(), np.float64), 0.0)
    if diagonal.shape == (topics.shape[1],) and (diagonal > 0).all() and np.isfinite(diagonal).all():
        topics /= diagonal
    if not topics.shape[0] or not np.isfinite(topics).all():
        raise InputError(f"{told} has no topics beside the outliers, or weights that are not finite")
    topics[topics.sum(axis=1) <= 0] = 1.0
    topics /= topics.sum(axis=1, keepdims=True)
    return NamedTopics(topics[None].astype(np.float32), words, told)


def _outliers(path: Path) -> int:
    """Rows at the beginning that are of no topic."""
    if not (path / TOPICS).is_file():
        return 0
    told = _json(path / TOPICS)
    return 1 if isinstance(told, dict) and told.get("_outliers") else 0


def _json(path: Path) -> Any:
    with open_regular(str(path)) as stream:
        content = stream.read(MOST_BYTES)
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}") from None


def _tensors(path: Path) -> dict[str, np.ndarray]:
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load
    except ImportError:
        raise InputError(
            f"reading {path} needs safetensors: python -m pip install 'geodrift[bertopic]'"
        ) from None
    with open_regular(str(path)) as stream:
        content = stream.read(MOST_BYTES)
    try:
        return load(content)
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise InputError(f"{path} is not a safetensors file that can be read: {error}") from None
