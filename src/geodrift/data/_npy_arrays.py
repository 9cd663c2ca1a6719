"""Arrays in NumPy's .npy format from files that anyone may have written.

Nothing is unpickled, and no size is believed.
"""

import ast
import struct
import warnings
from io import BufferedIOBase
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias

import numpy as np

from geodrift._errors import InputError

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 10_000
_BLOCK = 2**22  # bytes
_KINDS = "biufSU"  # numbers and text

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
    try:
        with warnings.catch_warnings():
            # Of escapes in strings, which would print a line of the file.
            warnings.simplefilter("ignore")
            told = ast.literal_eval(text.decode("latin1").strip())
        descr, fortran_order, shape = (told[name] for name in ("descr", "fortran_order", "shape"))
        dtype = np.dtype(descr) if isinstance(descr, str) else None
    except Exception:  # of many kinds: the header is a text from anywhere
        raise InputError(f"{where} is damaged in the header of its array") from None
    if dtype is None or dtype.kind not in _KINDS or dtype.itemsize == 0:
        why = (
            "holds Python objects, which are never unpickled" if dtype is not None and dtype.hasobject else ""
        )
        raise InputError(f"{where} {why or 'holds an array of something other than real numbers'}")
    whole = isinstance(shape, tuple) and all(type(length) is int and length >= 0 for length in shape)
    if not whole or not isinstance(fortran_order, bool) or len(shape) > 8:
        raise InputError(f"{where} is damaged in the header of its array")
    return Header(dtype, fortran_order, shape)
