"""How much a file may ask for: what its header says is a claim, and memory has to stand behind its bytes."""

import io
from pathlib import Path
from typing import BinaryIO

from geodrift._errors import InputError

MOST_UNNAMED_WORDS = 1_000_000
_DOCUMENTS_OF_ANY_FILE = 1_000_000
_DECOMPRESSED_OF_ANY_FILE = 2**25  # bytes
_DECOMPRESSED_TIMES = 20


def default_words(num_words: int, where: str | Path = "the input") -> list[str]:
    """Words of columns that have no names: word0, word1, ...

    Args:
        num_words: V.
        where: What has so many words, for the error message.

    Raises:
        InputError: There are more than `MOST_UNNAMED_WORDS`. A single index in a file can ask for that many.
    """
    if num_words > MOST_UNNAMED_WORDS:
        raise InputError(
            f"{where} has {num_words:,} words without names, and at most {MOST_UNNAMED_WORDS:,} are named "
            "word0, word1, ...: give the words (--vocab FILE, vocabulary=...)"
        )
    return [f"word{column}" for column in range(num_words)]


def check_documents(claimed: int, size: int, where: str | Path) -> None:
    """Refuse a number of documents that a file of so many bytes cannot hold, unless nearly all are empty.

    Args:
        claimed: The number that the file says.
        size: Its size in bytes.
        where: The file, for the error message.

    Raises:
        InputError: There are more than a million and one for each byte.
    """
    most = _DOCUMENTS_OF_ANY_FILE + size
    if claimed > most:
        raise InputError(
            f"{where} says that it has {claimed:,} documents; its {size:,} bytes may have {most:,} at most"
        )


def most_decompressed(size: int) -> int:
    """Bytes, or characters, that a compressed file of ``size`` bytes may become."""
    return _DECOMPRESSED_OF_ANY_FILE + _DECOMPRESSED_TIMES * size


def refuse_expanding(path: str | Path, size: int, found: int, remedy: str) -> None:
    """Raise InputError where a compressed file of ``size`` bytes becomes more than `most_decompressed`.

    Args:
        path: The file, for the error message.
        size: Its size in bytes.
        found: Bytes, or characters, that it has become so far, or says that it will.
        remedy: What to do where the file is what it should be.
    """
    most = most_decompressed(size)
    if found > most:
        raise InputError(
            f"{path} has {size:,} bytes and decompresses to more than {most:,} "
            f"({_DECOMPRESSED_TIMES} times as many and 32 MiB), which is refused: {remedy}"
        )


class BoundedReader(io.BufferedIOBase):
    """What a compressed file becomes, up to `most_decompressed`.

    Args:
        stream: The decompressor, open for reading.
        path: The compressed file.
        remedy: See `refuse_expanding`.
    """

    def __init__(self, stream: io.BufferedIOBase | BinaryIO, path: Path, remedy: str) -> None:
        self._stream, self._path, self._remedy = stream, path, remedy
        self._size, self._found = path.stat().st_size, 0

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int | None = -1) -> bytes:
        """At most ``size`` bytes; all that are left when it is negative.

        Raises:
            InputError: There are more than the file may become.
        """
        return self._counted(self._stream.read(self._most(size)))

    def readline(self, size: int | None = -1) -> bytes:
        """The next line, of at most ``size`` bytes where it is not negative."""
        return self._counted(self._stream.readline(self._most(size)))

    def _most(self, size: int | None) -> int:
        """How much to read; one more than allowed tells a file that ends there from one that goes on."""
        left = most_decompressed(self._size) - self._found + 1
        return left if size is None or size < 0 else min(size, left)

    def _counted(self, part: bytes) -> bytes:
        self._found += len(part)
        refuse_expanding(self._path, self._size, self._found, self._remedy)
        return part
