"""Random damage to the bytes of a file, from a `random.Random` or Hypothesis's, which makes cases small."""

import io
import re
import zipfile
from collections.abc import Callable, Sequence
from random import Random

import numpy as np

EXTREMES = [
    *(0, -1, 1, 255, 65535, 2**31 - 1, 2**31, -(2**31), 2**32, 2**40, 2**53 + 1, 2**63 - 1, 2**63, 2**64),
    *(10**12, 10**30, "1e308", "1e999", "-0.0", "1.5", "nan", "inf", "0x10", "1_000", "\u0663", "", "true"),
]
HOSTILE = [
    *(b"\x1b[2J\x1b[31m", b"\x07", b"\x9b1m", b"\xc2\x9b1m", "\u202e\u2067".encode(), b"\x00", b"\xff\xfe"),
    *(b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\x0b\x0c\x1c\x85", "\u2028\u2029\x85".encode()),
    *(b'"', b"'", b"\\", b"{", b"[" * 2000, b"}" * 3, b",", b":", b" " * 100, b"\t", b"%", b"\\u001b[31m"),
    *(b"NaN", b"null", b"../../../../tmp/x", b"{}".ljust(40), b"-" * 30),
]


def _place(content: bytes, random: Random) -> int:
    return random.randint(0, len(content))


def flip(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """A bit or a few."""
    changed = bytearray(content or b"\x00")
    for _ in range(random.choice([1, 1, 1, 3, 20])):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def truncate(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    return content[: _place(content, random)]


def behead(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    return content[_place(content, random) :]


def insert(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Something that a terminal, a parser or a codec minds."""
    place = _place(content, random)
    return content[:place] + random.choice(HOSTILE) + content[place:]


def overwrite(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    place, noise = _place(content, random), bytes(random.randrange(256) for _ in range(8))
    return content[:place] + noise + content[place + 8 :]


def repeat(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    start, stop = sorted((_place(content, random), _place(content, random)))
    return content[:stop] + content[start:stop] * random.choice([1, 2, 50]) + content[stop:]


def cut_out(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    start, stop = sorted((_place(content, random), _place(content, random)))
    return content[:start] + content[stop:]


def splice(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """The beginning of one file and the end of another."""
    other = random.choice(list(others) or [b""])
    return content[: _place(content, random)] + other[_place(other, random) :]


def swap(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Another file under this one's name."""
    return random.choice(list(others) or [content])


def number(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """A number that is written in digits becomes another; the first ones, of headers, more often."""
    found = list(re.finditer(rb"\d+", content[:5000]))
    if not found:
        return flip(content, random, others)
    chosen = random.choice(found[:5] if random.random() < 0.5 else found)
    return content[: chosen.start()] + str(random.choice(EXTREMES)).encode() + content[chosen.end() :]


def empty(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    return b""


ALL: list[Callable[[bytes, Random, Sequence[bytes]], bytes]] = [
    flip, flip, flip, truncate, behead, insert, insert, overwrite, repeat, cut_out, splice, swap, number,
    number, number, empty,
]  # fmt: skip


def mutate(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """One to three kinds of damage to a file; in an archive often to one of its members."""
    if content[:2] == b"PK" and random.random() < 0.6:
        return _in_archive(content, random, others)
    for _ in range(random.choice([1, 1, 2, 3])):
        content = random.choice(ALL)(content, random, others)
    return content


def _in_archive(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """An archive made anew, with checksums that are right, of members of which one is wrong."""
    with zipfile.ZipFile(io.BytesIO(content)) as zipped:
        members = {name: zipped.read(name) for name in zipped.namelist()}
    chosen = random.choice(sorted(members))
    what = random.choice(["entry", "entry", "entry", "bytes", "drop", "type", "shape", "double", "bomb"])
    if what == "drop":
        del members[chosen]
    elif what == "bytes":
        members[chosen] = mutate(members[chosen], random, list(members.values()))
    elif what == "bomb":
        members[chosen] = members[chosen] + bytes(30_000_000)
    elif what != "double":
        members[chosen] = _array(members[chosen], what, random)
    stream = io.BytesIO()
    kind = random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    with zipfile.ZipFile(stream, "w", kind) as zipped:
        for name, member in members.items():
            zipped.writestr(zipfile.ZipInfo(name), member, kind)
        if what == "double":
            zipped.writestr(zipfile.ZipInfo(f"{chosen}.npy"), members[chosen], kind)
    return stream.getvalue()


def _array(member: bytes, what: str, random: Random) -> bytes:
    """A .npy whose numbers, type or shape are others."""
    array = np.load(io.BytesIO(member), allow_pickle=False)
    if what == "type":
        kind = random.choice(["f8", "f2", "i1", "u8", ">i8", "U3", "S2", "c16", "?", "M8[s]", "O"])
        try:
            array = array.astype(kind)
        except (ValueError, TypeError):
            array = np.zeros(array.shape, kind)
    elif what == "shape":
        array = random.choice(
            [array.reshape(-1, 1), array.ravel()[:0], array.ravel()[:1].reshape(()), np.repeat(array, 3)]
        )
    elif array.size and array.dtype.kind in "iuf":
        wild = [value for value in EXTREMES if isinstance(value, int)]
        array = array.copy()
        with np.errstate(all="ignore"):
            value = np.array(random.choice([*wild, 2, 3, 7]), dtype=object).astype(float).astype(array.dtype)
        array.flat[random.randrange(array.size)] = value
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()
