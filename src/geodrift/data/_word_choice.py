"""Which words are kept: by the number of documents that hold them."""

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from geodrift._errors import InputError
from geodrift.data._counts import check_vocabulary
from geodrift.data._text import TextOptions

_MOST_SPLIT = 1000  # words that no document has, among which an example is looked for


class Choice(NamedTuple):
    """The words that are kept.

    Attributes:
        words: V words.
        frequencies: The number of documents that hold each.
        dropped: The number of words dropped for each reason.
    """

    words: list[str]
    frequencies: Int[np.ndarray, " V"]
    dropped: dict[str, int]


def choose_words(totals: Iterable[tuple[str, int]], documents: int, options: TextOptions) -> Choice:
    """Choose the vocabulary by document frequency, in the memory of the words that are kept.

    Args:
        totals: Every word once, in alphabetical order, and the number of documents that hold it.
        documents: Number of all documents.
        options: The limits.

    Returns:
        The words in alphabetical order.

    Raises:
        InputError: There are no documents, or no word is left.
    """
    if documents == 0:
        raise InputError("the input has no documents")
    low, high = options.limits(documents)
    kept, found = _Kept(options.max_words), Counter(rare=0, often=0, all=0)
    for word, number in totals:
        found["all"] += 1
        if number < low:
            found["rare"] += 1
        if number > high:
            found["often"] += 1
        if low <= number <= high:
            kept.add(word, number)
    words, frequencies = kept.in_order()
    dropped = {
        f"words in fewer than {math.ceil(low):,} documents": found["rare"],
        f"words in more than {math.floor(high):,} documents": found["often"],
    }
    if kept.number > len(words):
        dropped[f"words beyond the {options.max_words:,} most frequent"] = kept.number - len(words)
    if not words:
        change = "--min-df, --max-df or --stop-words"
        raise none_left(found["all"], (low, high), documents, change, of="no stop words")
    try:
        return Choice(check_vocabulary(words, len(words)), frequencies, dropped)
    except InputError as error:
        if options.token_pattern is None:
            raise
        pattern = options.token_pattern[:200]
        raise InputError(f"token pattern {pattern!r} finds what is no word: {error}") from None


def given_words(totals: Iterable[tuple[str, int]], words: list[str]) -> Choice:
    """The words that a user has given, in their order, whatever documents hold them."""
    places = {word: place for place, word in enumerate(words)}
    frequencies = np.zeros(len(words), np.int64)
    for word, number in totals:
        if (place := places.get(word)) is not None:
            frequencies[place] = number
    return Choice(words, frequencies, {})


def not_found(words: Sequence[str], frequencies: Int[np.ndarray, " V"], options: TextOptions) -> str | None:
    """What to say of words that a user has given and no document has; None: all are found.

    An example that text can never have, as one with a capital, is told with what it would have to be.
    """
    missing = np.flatnonzero(np.asarray(frequencies) == 0)
    if not len(missing):
        return None
    split, looked_at = options.analyzer(), [words[place] for place in missing[:_MOST_SPLIT]]
    example = next((word for word in looked_at if word not in split(word)), looked_at[0])
    pieces, as_text = split(example), ""
    if example not in pieces:
        as_text = f"; text has it as {', '.join(map(repr, pieces)) or 'no word at all'}"
    number = f"{len(missing):,} of the {len(words):,} words of the vocabulary"
    return f"{number} {'is' if len(missing) == 1 else 'are'} in no document, such as {example!r}{as_text}"


class _Kept:
    """Words within the limits: all, or so many of those in most documents, in the memory of twice those."""

    def __init__(self, most: int | None) -> None:
        self.number, self._most = 0, most
        self._held: list[tuple[int, str]] = []  # minus the number of documents, and the word

    def add(self, word: str, number: int) -> None:
        self.number += 1
        self._held.append((-number, word))
        if self._most is not None and len(self._held) > 2 * self._most + 1000:
            self._held = heapq.nsmallest(self._most, self._held)

    def in_order(self) -> tuple[list[str], Int[np.ndarray, " V"]]:
        held = self._held if self._most is None else heapq.nsmallest(self._most, self._held)
        held = sorted(held, key=lambda pair: pair[1])
        return [word for _, word in held], np.array([-number for number, _ in held], np.int64)


def none_left(
    number: int, limits: tuple[float, float], documents: int, change: str, of: str | None = None
) -> InputError:
    """That no word is within limits, in whole documents; it may be that none can be.

    Args:
        number: Of the words that there were.
        limits: The least and the most documents that hold a word which is kept.
        documents: Number of all documents.
        change: The options that choose words.
        of: What these words are, beside words.
    """
    least, most = math.ceil(limits[0]), math.floor(limits[1])
    if least > most and number and documents == 1:
        return InputError(
            "one document is too few: words are chosen by how many documents have them; give more documents"
            " (a file is one, but for those named .jsonl, .csv and .parquet, whose records are many),"
            " or --min-df 1 --max-df 1.0"
        )
    none = f"none is in {least:,} to {most:,}"
    if least > most:
        none = f"none can be in {least:,} or more (--min-df) and in {most:,} or fewer (--max-df)"
    words = f"{number:,}" + (f" ({of})" if of else "")
    return InputError(f"no words are left: of {words} {none} of the {documents:,} documents; change {change}")
