"""Which words are kept: by the number of documents that hold them."""

import math
from collections import Counter
from typing import NamedTuple

from geodrift._errors import InputError
from geodrift.data._counts import check_vocabulary
from geodrift.data._text import TextOptions


class Frequencies(NamedTuple):
    """Result of the first pass over a source."""

    documents: int
    tokens: int
    words: Counter[str]  # number of documents that hold each word


def choose_words(found: Frequencies, options: TextOptions) -> tuple[list[str], dict[str, int]]:
    """Choose the vocabulary by document frequency.

    Returns:
        The words in alphabetical order, and the number of words dropped for each reason.

    Raises:
        InputError: There are no documents, or no word is left.
    """
    if found.documents == 0:
        raise InputError("the input has no documents")
    low, high = options.limits(found.documents)
    kept = [word for word, number in found.words.items() if low <= number <= high]
    dropped = {
        f"words in fewer than {low:,.10g} documents": sum(number < low for number in found.words.values()),
        f"words in more than {high:,.10g} documents": sum(number > high for number in found.words.values()),
    }
    if options.max_words is not None and len(kept) > options.max_words:
        dropped[f"words beyond the {options.max_words:,} most frequent"] = len(kept) - options.max_words
        kept = sorted(kept, key=lambda word: (-found.words[word], word))[: options.max_words]
    if not kept:
        raise InputError(
            f"no words are left: of {len(found.words):,} (no stop words) {none_within(low, high)} of the"
            f" {found.documents:,} documents; change --min-df, --max-df or --stop-words"
        )
    try:
        return check_vocabulary(sorted(kept), len(kept)), dropped
    except InputError as error:
        pattern = options.token_pattern[:200]
        raise InputError(f"token pattern {pattern!r} finds what is no word: {error}") from None


def none_within(low: float, high: float) -> str:
    """That no word is within limits, in whole documents; it may be that none can be."""
    least, most = math.ceil(low), math.floor(high)
    if least > most:
        return f"none can be in {least:,} or more (--min-df) and in {most:,} or fewer (--max-df)"
    return f"none is in {least:,} to {most:,}"
