r"""Words where the user gives no pattern: letters, digits and the marks that are written on them.

Python's ``\w`` leaves out combining marks (Unicode category M): vowel signs of Hindi, Tamil and Thai, points
of Arabic, and accents that stand for themselves, as in file text of macOS and in PDF.
"""

import re
import unicodedata
from functools import cache

# Words of two characters and more that begin with a letter: numbers say little about a topic.
_WITHOUT_MARKS = re.compile(r"(?u)\b[^\W\d_]\w+\b")
# All but what has no marks: Latin, Greek, Russian, dashes and quotes, signs, Chinese and Korean. Such text is
# split three times as fast without a look at marks, and few ranges are found fast.
_MAY_HAVE_MARKS = re.compile(
    r"[^\x00-\u02ff\u0370-\u0482\u2000-\u20cf\u2100-\u2cee\u3000-\u3029\u3400-\u9fff\uac00-\ud7a3\uff00-\uffef]"
)
_PLANES = range(0x300, 0x20000), range(0xE0100, 0xE01F0)  # where marks are; all of Unicode takes .1 s
_OF_SYMBOLS = range(0xFE00, 0xFE10)  # variation selectors: how a symbol is drawn, in colour or not


def normal(text: str) -> str:
    """A letter and its accent as one character, where there is one (NFC)."""
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", text)


def words_of_text(text: str) -> list[str]:
    """The words of a text in normal form."""
    if text.isascii() or not _MAY_HAVE_MARKS.search(text):
        return _WITHOUT_MARKS.findall(text)
    return _with_marks().findall(text)


@cache
def _with_marks() -> re.Pattern[str]:
    marks = [
        code
        for plane in _PLANES
        for code in plane
        if unicodedata.category(chr(code)).startswith("M") and code not in _OF_SYMBOLS
    ]
    ranges: list[list[int]] = []
    for code in marks:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    part = r"\w" + "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
    # A letter with nothing of a word before it; what is before is looked at where there is a letter.
    return re.compile(rf"(?s)[^\W\d_](?<![{part}].)[{part}]+")
