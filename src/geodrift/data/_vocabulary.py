"""Vocabularies: plain lists of words, and gensim's dictionaries."""

import re
from collections.abc import Mapping
from pathlib import Path

from geodrift._errors import InputError
from geodrift.data._counts import first_wrong_word
from geodrift.data._regular_files import open_regular

# A line of gensim's `Dictionary.save_as_text`: number, word, document frequency.
_GENSIM_LINE = re.compile(r"(\d+)\t([^\t]+)\t\d+")


def read_vocabulary(path: str | Path) -> list[str]:
    """Read the word of each column from a UTF-8 file: one word a line, or a gensim dictionary saved as text.

    Raises:
        InputError: The file does not exist, is empty, no regular file or not UTF-8; a word is blank or stands
            twice; or a dictionary has a number twice or has a gap.
    """
    path = Path(path)
    try:
        with open_regular(path, "vocabulary file") as stream:
            text = stream.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"vocabulary file {path} is not UTF-8 (byte {error.start})") from None
    # str.splitlines would also split at form feeds and other characters a word may contain.
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    words = _of_gensim(path, lines)
    if words is None and (wrong := first_wrong_word(lines)) is not None:
        raise InputError(f"vocabulary file {path}, line {wrong[0] + 1}: word {wrong[0]} {wrong[1]}")
    return words or lines


def words_by_id(dictionary: Mapping[int, str], where: str = "the dictionary") -> list[str]:
    """The words of a mapping from word numbers, in order.

    Args:
        dictionary: Words of the numbers 0, 1, ...
        where: Name of the mapping, for the error message.

    Raises:
        InputError: The numbers have a gap.
    """
    missing = next((number for number in range(len(dictionary)) if number not in dictionary), None)
    if missing is not None:
        raise InputError(
            f"{where} has {len(dictionary):,} words but none of number {missing}; "
            "number them from 0 without gaps (gensim: dictionary.compactify())"
        )
    return [str(dictionary[number]) for number in range(len(dictionary))]


def _of_gensim(path: Path, lines: list[str]) -> list[str] | None:
    """The words of a gensim dictionary, with or without a number of documents on its first line; or None."""
    first = 1 if lines[0].isdigit() and len(lines) > 1 else 0
    found = [_GENSIM_LINE.fullmatch(line) for line in lines[first:]]
    if not all(found):
        return None
    words: dict[int, str] = {}
    for line, match in enumerate(found, first + 1):
        number = int(match[1])
        if number in words:
            raise InputError(
                f"{path}, line {line}: number {number} stands twice ({words[number]!r}, {match[2]!r})"
            )
        words[number] = match[2]
    return words_by_id(words, f"gensim dictionary {path}")
