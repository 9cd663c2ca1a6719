"""Topics from words that a reader gives: a start, and no prior."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift._errors import InputError
from geodrift.data._records import open_text
from geodrift.data._words_of_text import normal

OWN_SHARE = 0.5  # of the words given in their topic; the rest is of the documents that have them
DOCUMENTS_A_BLOCK = 10_000
MOST_LINES = 2**16


def read_seed_words(path: Path) -> dict[str, list[str]]:
    """Words of topics from a file: a line a topic, words apart by spaces or commas, its name before a colon.

    Raises:
        InputError: There are no words, two topics have one name, or the file is no text.
    """
    found: dict[str, list[str]] = {}
    with open_text(str(path), "utf-8-sig") as stream:
        for number, line in enumerate(stream, 1):
            name, colon, rest = line.partition(":")
            words = (rest if colon else line).replace(",", " ").split()
            if not words:
                continue
            key = name.strip() if colon else f"line {number}"
            if key in found or len(found) == MOST_LINES:
                raise InputError(f"{path}, line {number}: there are two topics {key[:40]!r}, or too many")
            found[key] = words
    if not found:
        raise InputError(f"{path} has no words: write a line a topic, such as 'sports: goal match team'")
    return found


def columns_by_word(vocabulary: Sequence[str]) -> Callable[[str], int | None]:
    """The column of a word that a reader gives, None where there is none: of accents in either form of them.

    Text is split in NFC, and some keyboards and programs write NFD.
    """
    exact = {word: column for column, word in enumerate(vocabulary)}
    in_nfc = {normal(word): column for word, column in exact.items()}
    return lambda word: exact.get(word, in_nfc.get(normal(word)))


def topics_of_words(
    seeds: Mapping[str, Sequence[str]] | Sequence[Sequence[str]],
    vocabulary: Sequence[str],
    corpus: Any,
) -> Float[np.ndarray, "J V"]:
    """A topic for each list of words: half of it these, half what the documents that have them consist of.

    Args:
        seeds: Words of each topic.
        vocabulary: V words.
        corpus: Anything with ``num_documents`` and ``rows(numbers)``, or counts [D, V].

    Raises:
        InputError: A topic has no word that the vocabulary has, or what is given are no lists of words.
    """
    column_of, own = columns_by_word(vocabulary), []
    for name, words in _lists_of_words(seeds):
        known = [column for word in words if (column := column_of(word)) is not None]
        if not known:
            raise InputError(
                f"no word of topic {name[:40]!r} is in the vocabulary (words: {', '.join(words)[:80]})"
            )
        own.append(np.bincount(known, minlength=len(vocabulary)))
    if not own:
        raise InputError("there are no words to start from")
    seeded = np.minimum(np.array(own, np.float64), 1.0)
    beside = np.zeros_like(seeded)
    for rows in _blocks(corpus):
        lengths = np.maximum(np.asarray(rows.sum(axis=1), np.float64).ravel(), 1.0)
        # The share of a document's words that are a topic's, times the document.
        beside += ((rows @ seeded.T) / lengths[:, None]).T @ rows
    for kind in (seeded, beside):
        kind[kind.sum(axis=1) <= 0] = 1.0
        kind /= kind.sum(axis=1, keepdims=True)
    return (OWN_SHARE * seeded + (1 - OWN_SHARE) * beside).astype(np.float32)


def _lists_of_words(seeds: Any) -> Iterator[tuple[str, list[str]]]:
    """The name and the words of each topic; a text in the place of a list would be taken letter by letter."""
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise InputError(f"seeds must be a list of words for each topic, got {seeds!r}")
    named = seeds.items() if isinstance(seeds, Mapping) else ((f"number {n}", s) for n, s in enumerate(seeds))
    for name, given in named:
        words = None if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
        if words is None or not all(isinstance(word, str) for word in words):
            instead = f": give [{given!r}]" if isinstance(given, str) else ""
            raise InputError(f"topic {str(name)[:40]!r} must be a list of words, got {given!r}{instead}")
        yield str(name), words


def _blocks(corpus: Any) -> Iterator[sp.csr_matrix]:
    whole = corpus if hasattr(corpus, "num_documents") else sp.csr_matrix(corpus)
    number = whole.shape[0] if sp.issparse(whole) else whole.num_documents
    for start in range(0, number, DOCUMENTS_A_BLOCK):
        numbers = np.arange(start, min(start + DOCUMENTS_A_BLOCK, number))
        yield sp.csr_matrix(whole[numbers] if sp.issparse(whole) else whole.rows(numbers), dtype=np.float64)
