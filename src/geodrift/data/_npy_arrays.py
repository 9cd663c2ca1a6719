"""Arrays in NumPy's .npy format from files that anyone may have written.

Nothing is unpickled, and no size is believed.
"""

import re
import struct
from io import BufferedIOBase
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias

import numpy as np

from geodrift._errors import InputError

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 10_000
_BLOCK = 2**22  # bytes
_KINDS = "biufSU"  # numbers and text

# An entry of the header's dictionary. A shape is a tuple of lengths (Python 2 wrote 3L), and a type with
# several fields, which is refused, is a list.
_ENTRY = re.compile(
    r"""\s* (?P<name> '\w+' | "\w+" ) \s* : \s*
        (?P<value> '[^'\\]*' | "[^"\\]*" | True | False | \[ .* \]
                 | \( (\s* \d+ L? \s* ,)* \s* (\d+ L? \s*)? \) )
        \s* (,\s* | (?=\}) )""",
    re.VERBOSE,
)
_LENGTH = re.compile(r"\d+")

Stream: TypeAlias = IO[bytes] | BufferedIOBase


class Header(NamedTuple):
    """What the header of an array says."""

    dtype: np.dtype
    fortran_order: bool
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of values."""
        # Python's whole numbers do not overflow.
        number = 1
        for length in self.shape:
            number *= length
        return number

    @property
    def nbytes(self) -> int:
        """Bytes after the header."""
        return self.size * self.dtype.itemsize


def read_header(stream: Stream, where: str | Path) -> Header:
    """Read the header of an array; the stream stands at its values then.

    Args:
        stream: At the beginning of the array.
        where: The file, for error messages.

    Raises:
        InputError: It is not the header of an array of numbers or text.
    """
    start = stream.read(8)
    if start[:6] != _MAGIC:
        hint = "; it is a zip archive: name it .npz" if start[:2] == b"PK" else ""
        raise InputError(f"{where} is not an array saved by numpy.save{hint}")
    form = {1: "<H", 2: "<I", 3: "<I"}.get(start[6] if len(start) == 8 else 0)
    if form is None:
        raise InputError(f"{where} was cut off, or is in a format of numpy.save that is not known")
    length_bytes = stream.read(struct.calcsize(form))
    length = struct.unpack(form, length_bytes)[0] if len(length_bytes) == struct.calcsize(form) else 0
    text = stream.read(length) if 0 < length <= _LONGEST_HEADER else b""
    if not text or len(text) < length:
        raise InputError(f"{where} was cut off or is damaged in the header of its array")
    return _parsed(text, where)


def read_array(stream: Stream, where: str | Path) -> np.ndarray:
    """Read an array, in memory that grows with the bytes that there are.

    Args:
        stream: At the beginning of the array, and ends where it does.
        where: The file, for error messages.

    Raises:
        InputError: It is not an array of numbers or text, or has other values than its header says.
    """
    return read_values(stream, read_header(stream, where), where)


def read_values(stream: Stream, header: Header, where: str | Path) -> np.ndarray:
    """Read the values of an array whose header was read; see `read_array`."""
    content = bytearray()
    while len(content) < header.nbytes and (part := stream.read(min(_BLOCK, header.nbytes - len(content)))):
        content += part
    if len(content) < header.nbytes or stream.read(1):
        more = "more" if len(content) == header.nbytes else "fewer"
        raise InputError(f"{where} was cut off or changed: it has {more} bytes than its header says")
    values = np.frombuffer(content, header.dtype, header.size)
    return values.reshape(header.shape, order="F" if header.fortran_order else "C")


def _parsed(text: bytes, where: str | Path) -> Header:
    damaged = InputError(f"{where} is damaged in the header of its array")
    told = _entries(text.decode("latin1").strip())
    try:
        descr, fortran_order, shape = (told[name] for name in ("descr", "fortran_order", "shape"))
        dtype = None if descr[0] == "[" else np.dtype(descr[1:-1])
        lengths = tuple(int(length) for length in _LENGTH.findall(shape))
    except Exception:  # of many kinds: the header is a text from anywhere
        raise damaged from None
    if dtype is None or dtype.kind not in _KINDS or dtype.itemsize == 0:
        why = (
            "holds Python objects, which are never unpickled" if dtype is not None and dtype.hasobject else ""
        )
        raise InputError(f"{where} {why or 'holds an array of something other than real numbers'}")
    if shape[0] != "(" or (len(lengths) == 1 and "," not in shape) or len(lengths) > 8:
        raise damaged
    if fortran_order not in ("True", "False"):
        raise damaged
    return Header(dtype, fortran_order == "True", lengths)


def _entries(text: str) -> dict[str, str]:
    """The entries of a dictionary as they are written; nothing where it is none.

    Headers are read by many threads, and those of `ast.literal_eval` trip over one another (Python 3.11 and
    3.12, where garbage is collected meanwhile): a whole file would be called damaged.
    """
    found, place = {}, 1
    while entry := _ENTRY.match(text, place):
        found[entry["name"][1:-1]] = entry["value"]
        place = entry.end()
    return found if text[:1] == "{" and text[place:] == "}" else {}
