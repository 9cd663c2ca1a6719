"""How text becomes words: scikit-learn's tokeniser and limits on the words' frequencies."""

from collections.abc import Callable, Collection, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from geodrift._errors import InputError
from geodrift._whole import is_whole
from geodrift.data._fields import of_python
from geodrift.data._regular_files import open_regular
from geodrift.data._token_pattern import compiled, limited
from geodrift.data._words_of_text import normal, words_of_text

# Of corpora that were made before words had marks; it takes time in proportion to the text.
_PATTERN_BEFORE = r"(?u)\b[^\W\d_]\w+\b"

_MOST_NGRAMS = 10  # words grow in number with each


@dataclass(frozen=True)
class TextOptions:
    """How text becomes words, and which words are kept.

    Args:
        min_df: Drop words in fewer documents: a count (int) or a proportion (float). None: 5, or 2 in corpora
            of fewer than 500 documents.
        max_df: Drop words in more documents: a count (int) or a proportion (float).
        max_words: Keep at most so many words, those in most documents.
        stop_words: "english", "none" or words, of any collection; they are kept as a tuple.
        extra_stop_words: Further words to drop, likewise.
        ngrams: Longest sequence of words that counts as one word.
        token_pattern: Regular expression of a word, as in scikit-learn's `CountVectorizer`. None: two
            characters and more that begin with a letter, combining marks among them.
        normal_form: "NFC": a letter and its accent are one character where there is one. None: text is
            split as it is, as for corpora made before there was this.

    Raises:
        InputError: An argument is outside its range.
    """

    min_df: int | float | None = None
    max_df: int | float = 0.5
    max_words: int | None = None
    stop_words: str | Collection[str] = "english"
    extra_stop_words: Collection[str] = ()
    ngrams: int = 1
    token_pattern: str | None = None
    normal_form: str | None = "NFC"

    def __post_init__(self) -> None:
        """Check every value."""
        for name in ("min_df", "max_df", "max_words", "ngrams"):
            object.__setattr__(self, name, of_python(getattr(self, name)))  # NumPy's 5 is no proportion
        self._check_numbers()
        for name in ("stop_words", "extra_stop_words"):
            value = getattr(self, name)
            if name == "extra_stop_words" or not isinstance(value, str):
                object.__setattr__(self, name, _words(name, value))
        if isinstance(self.stop_words, str) and self.stop_words not in ("english", "none"):
            raise InputError(f'stop_words must be "english", "none" or words, got {self.stop_words!r}')
        if self.normal_form not in ("NFC", None):
            raise InputError(f'normal_form must be "NFC" or None, got {self.normal_form!r}')

    def _check_numbers(self) -> None:
        for name in ("min_df", "max_df"):
            value = getattr(self, name)
            missing = value is None and name == "min_df"
            if isinstance(value, bool) or not (missing or isinstance(value, int | float)):
                raise InputError(f"{name} must be a count like 5 or a proportion like 0.5, got {value!r}")
            if isinstance(value, float) and not 0 <= value <= 1:
                raise InputError(f"{name} as a proportion must lie in [0, 1], got {value}")
            if isinstance(value, int) and value < 1:
                raise InputError(f"{name} as a number of documents must be at least 1, got {value}")
        if not is_whole(self.ngrams, 1) or self.ngrams > _MOST_NGRAMS:
            raise InputError(f"ngrams must be 1 to {_MOST_NGRAMS}, got {self.ngrams!r}")
        if self.max_words is not None and not is_whole(self.max_words, 1):
            raise InputError(f"max_words must be a whole number of at least 1, got {self.max_words!r}")

    def analyzer(self) -> Callable[[str], list[str]]:
        """The function from a text to its words (and n-grams).

        Raises:
            InputError: ``token_pattern`` is not a regular expression that scikit-learn takes. The function
                raises it too, for a text on which the pattern takes too long; see `limited`.
        """
        if self.token_pattern is None:
            return self._vectorizer(words_of_text, tokenizer=words_of_text).build_analyzer()
        # Where the pattern has a group, findall returns the group, as scikit-learn does.
        split = limited(compiled(self.token_pattern).findall, self.token_pattern)
        try:
            analyze = self._vectorizer(split, tokenizer=None).build_analyzer()
        except ValueError as error:
            raise InputError(f"token pattern {self.token_pattern!r} cannot be used: {error}") from None
        return analyze if self.token_pattern == _PATTERN_BEFORE else limited(analyze, self.token_pattern)

    def normal(self, text: str) -> str:
        """The text in the form in which it is split."""
        return text if self.normal_form is None else normal(text)

    def _vectorizer(self, split: Callable[[str], list[Any]], tokenizer: Callable | None) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        form = str if self.normal_form is None else normal
        return CountVectorizer(
            preprocessor=lambda text: form(text.lower()),
            tokenizer=tokenizer,
            token_pattern=self.token_pattern,
            ngram_range=(1, self.ngrams),
            stop_words=self._stop_list(split),
        )

    def _stop_list(self, split: Callable[[str], list[Any]]) -> list[str] | None:
        """Stop words in lower case, with the pieces into which ``split`` cuts them; None without any."""
        words = {word.lower() for word in self.extra_stop_words}
        if self.stop_words == "english":
            from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

            words |= ENGLISH_STOP_WORDS
        elif self.stop_words != "none":
            words |= {word.lower() for word in self.stop_words}
        # "don't" reaches the list as the pieces the pattern makes of it.
        words = {self.normal(word) for word in words}
        pieces = {piece for word in words for piece in split(word) if isinstance(piece, str)}
        return sorted(words | pieces) or None

    def limits(self, documents: int) -> tuple[float, float]:
        """Smallest and largest document frequency of kept words, in a corpus of so many documents."""
        min_df = self.min_df
        if min_df is None:
            min_df = 2 if documents < 500 else 5
        low = min_df if isinstance(min_df, int) else min_df * documents
        high = self.max_df if isinstance(self.max_df, int) else self.max_df * documents
        return low, high

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The options from what `to_dict` returned, of an earlier version too."""
        arguments: dict[str, Any] = {"normal_form": None} | {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**arguments)


def _words(name: str, value: Any) -> tuple[str, ...]:
    """Stop words as a tuple, those of a set in their order."""
    words = list(value) if isinstance(value, Collection) and not isinstance(value, str) else [None]
    if not all(isinstance(word, str) for word in words):
        also = '"english", "none" or ' if name == "stop_words" else ""
        raise InputError(f"{name} must be {also}words, such as ('the', 'of'), got {repr(value)[:40]}")
    return tuple(sorted(words) if isinstance(value, Set) else words)


def read_stop_words(path: str | Path) -> tuple[str, ...]:
    """Read stop words from a UTF-8 file, separated by white space.

    Raises:
        InputError: The file does not exist, is empty, no regular file or not UTF-8.
    """
    try:
        with open_regular(path, "stop word file") as stream:
            return tuple(stream.read().decode("utf-8-sig").split())
    except UnicodeDecodeError as error:
        raise InputError(f"stop word file {path} is not UTF-8 (byte {error.start})") from None


def parse_frequency(text: str, name: str) -> int | float:
    """Parse a document frequency as typed by a user: "5" is a count, "0.5" a proportion.

    Args:
        text: What was typed.
        name: Name of the option, for the error message.

    Raises:
        InputError: The text is not a number.
    """
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} must be a count like 5 or a proportion like 0.5, got {text!r}") from None
