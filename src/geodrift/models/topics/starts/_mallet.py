"""Topics of MALLET: the state that ``mallet train-topics --output-state`` writes.

A text, mostly compressed with gzip: ``#doc source pos typeindex type topic``, lines that begin with
``#alpha`` and ``#beta``, then one line a token. The topics are the tokens' counts.
"""

import gzip
import zlib
from array import array
from pathlib import Path
from typing import NoReturn

import numpy as np

from geodrift._errors import InputError
from geodrift.data._limits import BoundedReader
from geodrift.data._regular_files import open_regular
from geodrift.models.topics.starts._named_topics import MOST_TOPICS, NamedTopics

HEADER = b"#doc source pos typeindex type topic"
MOST_ENTRIES = 2**28  # of the matrix of topics and words
LONGEST_LINE = 2**16  # bytes; a line has the name of a file and a word
SMOOTHING = 0.01  # of each word in a topic, as MALLET's beta is where nothing is said


def is_mallet(path: Path) -> bool:
    """Whether a file begins as such a state does."""
    try:
        with open_regular(str(path)) as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            stream = gzip.GzipFile(fileobj=raw) if zipped else raw
            return stream.read(len(HEADER)) == HEADER
    except (OSError, EOFError, zlib.error, InputError):
        return False


def read_mallet(path: Path) -> NamedTopics:
    """The topics of a state.

    Raises:
        InputError: A line is not one of a token, the file was cut off, or it becomes far too large.
    """
    words: dict[bytes, int] = {}
    columns, topics = array("q"), array("q")
    with open_regular(str(path)) as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream = BoundedReader(gzip.GzipFile(fileobj=raw) if zipped else raw, path, "decompress it first")
        try:
            for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), 1):
                if line.startswith(b"#") and number <= 3:
                    continue
                # The name of a file may have spaces; what stands behind it has none.
                parts = line.rsplit(maxsplit=4)
                if len(parts) != 5 or not parts[4].isdigit() or len(parts[4]) > 6 or not line.endswith(b"\n"):
                    _refuse(path, number, line)
                columns.append(words.setdefault(parts[3], len(words)))
                topics.append(int(parts[4]))
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{path} was cut off or is damaged: {error}") from None
    if not columns:
        raise InputError(f"{path} has no token")
    number_of_topics = max(topics) + 1
    too_large = number_of_topics * len(words) > MOST_ENTRIES
    if number_of_topics > MOST_TOPICS or number_of_topics > len(topics) or too_large:
        raise InputError(f"{path}: its {len(topics):,} tokens are of topic {max(topics):,} and below")
    counts = np.full((number_of_topics, len(words)), SMOOTHING, np.float32)
    np.add.at(counts, (np.frombuffer(topics, np.int64), np.frombuffer(columns, np.int64)), 1.0)
    counts /= counts.sum(axis=1, keepdims=True)
    names = [word.decode("utf-8", "surrogateescape") for word in words]
    return NamedTopics(counts[None], names, f"MALLET's state {path}")


def _refuse(path: Path, number: int, line: bytes) -> NoReturn:
    shown = line[:60].decode("utf-8", "replace").strip()
    raise InputError(f"{path}, line {number}: should be 'doc source pos typeindex type topic', got {shown!r}")
