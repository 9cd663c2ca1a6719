"""The steps from text to a corpus directory that processes take side by side, and how far each has come.

First every part of the sources is split into words and counted, with all of its words; when the words are
chosen, every block of these counts becomes a shard. What a step writes is on the disk before its mark is, so
that what has a mark is whole, and a build that was killed goes on from there.
"""

import json
import os
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from geodrift.data._build_plan import PLAN
from geodrift.data._document_writer import DocumentWriter
from geodrift.data._documents import PARTS as DOCUMENT_PARTS
from geodrift.data._documents import PartInfo
from geodrift.data._manifest import VOCABULARY, Told
from geodrift.data._raw_counts import RawCounts, raw_counts
from geodrift.data._shards import PARTS, ShardInfo, write_shards
from geodrift.data._sources import Source, read_identified
from geodrift.data._text import TextOptions
from geodrift.files import read_json, sync_directory, write_json

_WORDS, _FREQUENCIES = "words.json", "frequencies.npy"
_WHAT = "a corpus directory that is being written"


class CountedPart(NamedTuple):
    """A part of the sources after the first step.

    Attributes:
        blocks: Names of its blocks of counts.
        documents: How many there are.
        told: Who they are.
        no_ids: How many had a value of "id" that is no id.
    """

    blocks: list[str]
    documents: int
    told: Told
    no_ids: int


class Written(NamedTuple):
    """A block after the second step.

    Attributes:
        shards: Its shards.
        tokens: Sum of its counts.
        empty_documents: Its documents without a word.
    """

    shards: list[ShardInfo]
    tokens: float
    empty_documents: int


def count_part(
    numbered: tuple[int, Source], folder: Path, options: TextOptions, lasting: bool
) -> CountedPart:
    """First step: the counts of all words of a part, and who its documents are.

    Args:
        numbered: The part and its number.
        folder: The corpus directory.
        options: How text becomes words.
        lasting: Whether a later process may go on from here: files are flushed to the disk and marked.
    """
    number, part = numbered
    mark = folder / f"counted-{number:05d}.json"
    if mark.exists():
        return _counted(read_json(mark, _WHAT))
    blocks: list[str] = []
    documents, no_ids = 0, count()
    with DocumentWriter(folder, f"part-{number:05d}") as writer:
        texts = writer.noted(read_identified(part, no_ids.__next__))
        for place, counts in enumerate(raw_counts(texts, options)):
            blocks.append(f"{number:05d}-{place:05d}")
            documents += counts.rows.shape[0]
            _save(folder, blocks[-1], counts)
        done = CountedPart(blocks, documents, Told.of(writer), next(no_ids))
    if lasting:
        _mark(mark, done._asdict() | {"told": done.told._asdict()}, _files_of(done))
    return done


def _files_of(done: CountedPart) -> list[str]:
    """What the first step has written."""
    files = [file for block in done.blocks for file in raw_files(block)]
    return files + [f"{info.name}-{part}" for info in done.told.parts for part in DOCUMENT_PARTS]


def write_block(block: str, folder: Path, lasting: bool) -> Written:
    """Second step: a block of counts becomes a shard of the words that were chosen.

    Args:
        block: Its name.
        folder: The corpus directory.
        lasting: See `count_part`.
    """
    mark = folder / f"written-{block}.json"
    if mark.exists():
        written = read_json(mark, _WHAT)
        return Written(
            [ShardInfo(*info) for info in written["shards"]], written["tokens"], written["empty_documents"]
        )
    columns = columns_of(str(folder / VOCABULARY))
    rows = _load(folder, block).of(columns, len(columns))
    found = write_shards(folder, f"shard-{block}", [rows], len(columns))
    done = Written(found.shards, found.tokens, found.empty_documents)
    if lasting:
        files = [f"{info.name}-{part}.npy" for info in done.shards for part in PARTS]
        _mark(mark, done._asdict(), files)
    for file in raw_files(block):
        (folder / file).unlink(missing_ok=True)
    return done


def words_of(folder: Path, block: str) -> tuple[list[str], np.ndarray]:
    """The words of a block, and the number of its documents that hold each."""
    words = json.loads((folder / f"raw-{block}-{_WORDS}").read_text())
    return words, np.load(folder / f"raw-{block}-{_FREQUENCIES}", allow_pickle=False)


@lru_cache(maxsize=1)
def columns_of(vocabulary: str) -> dict[str, int]:
    """The column of each word of a file; kept, as a process needs it for every block."""
    words = Path(vocabulary).read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return {word: place for place, word in enumerate(words)}


def raw_files(block: str) -> list[str]:
    """The files of a block between the steps."""
    names = [f"{part}.npy" for part in PARTS] + [_WORDS, _FREQUENCIES]
    return [f"raw-{block}-{name}" for name in names]


def _save(folder: Path, block: str, counts: RawCounts) -> None:
    rows = counts.rows
    for part, array in zip(PARTS, (rows.indptr, rows.indices, rows.data), strict=True):
        np.save(folder / f"raw-{block}-{part}.npy", array, allow_pickle=False)
    np.save(folder / f"raw-{block}-{_FREQUENCIES}", counts.frequencies()[: len(counts.words)])
    (folder / f"raw-{block}-{_WORDS}").write_text(json.dumps(counts.words))


def _load(folder: Path, block: str) -> RawCounts:
    load = partial(np.load, allow_pickle=False)
    indptr, indices, data = (load(folder / f"raw-{block}-{part}.npy") for part in PARTS)
    words, _ = words_of(folder, block)
    shape = len(indptr) - 1, max(len(words), 1)
    return RawCounts(words, sp.csr_matrix((data, indices, indptr), shape=shape))


def _mark(mark: Path, value: dict[str, Any], files: list[str]) -> None:
    """Flush files and their names to the disk, and then say that they are there."""
    for file in files:
        sync_directory(mark.parent / file)
    sync_directory(mark.parent)
    write_json(mark, value, overwrite=True)


def _counted(mark: dict[str, Any]) -> CountedPart:
    parts = [PartInfo(*info) for info in mark["told"]["parts"]]
    return CountedPart(mark["blocks"], mark["documents"], Told(parts, mark["told"]["fields"]), mark["no_ids"])


def left_over(folder: Path) -> Iterator[Path]:
    """Files that are no part of the corpus; first the plan, without which nobody goes on from the others."""
    starts = ("raw-", "counted-", "written-", "words-", "chosen.json")
    yield from (folder / name for name in os.listdir(folder) if name == PLAN)
    yield from (folder / name for name in os.listdir(folder) if name.startswith(starts))
