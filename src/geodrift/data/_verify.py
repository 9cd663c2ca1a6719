"""Comparison of a corpus directory with its manifest."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Int

from geodrift._errors import InputError
from geodrift.data._documents import PARTS, open_part
from geodrift.data._manifest import (
    ANEW,
    FREQUENCIES,
    MANIFEST,
    VOCABULARY,
    document_parts_of,
    read_manifest,
    shards_of,
)
from geodrift.data._shards import ShardInfo, open_array
from geodrift.data._sparse_structure import check_indices, check_pointers
from geodrift.files import Damage, checksum

_BLOCK = 2**22  # entries

Finder: TypeAlias = Callable[[Path, dict[str, Any]], list[Damage]]


def damage_of(path: str | Path) -> list[Damage]:
    """All files of a corpus directory that are not as they were written: missing, cut off, changed or wrong.

    Args:
        path: The directory.

    Returns:
        Nothing where the corpus is whole. Where the manifest is damaged, that alone: it tells what the other
        files should be.
    """
    path = Path(path)
    try:
        manifest = read_manifest(path)
    except InputError as error:
        return [_damage(path / MANIFEST, error)]
    return damaged_files(path, manifest)


def refuse_damage(path: Path, manifest: dict[str, Any], find: Finder) -> None:
    """Raise InputError where files of a corpus directory are damaged.

    Args:
        path: The directory.
        manifest: From `read_manifest`.
        find: `damaged_files`, or `wrong_sizes`, which is quick and finds less.
    """
    found = find(path, manifest)
    if found:
        damaged = len({damage.file for damage in found})
        more = f" and {damaged - 1} more" if damaged > 1 else ""
        raise InputError(
            f"corpus {path} is damaged: {found[0].file.name} {found[0].what}{more}; its other "
            f"{len(manifest['sizes']) - damaged} files are as they were written: {ANEW}"
        )


def wrong_sizes(path: Path, manifest: dict[str, Any]) -> list[Damage]:
    """Files that are missing or of another size; nothing is read."""
    found = []
    for name, size in manifest["sizes"].items():
        file = path / name
        if not file.is_file():
            found.append(Damage(file, "is missing"))
        elif (there := file.stat().st_size) != size:
            what = "was cut off" if there < size else "was changed"
            found.append(Damage(file, f"{what} (it has {there:,} bytes, {size:,} were written)"))
    return found


def damaged_files(path: Path, manifest: dict[str, Any]) -> list[Damage]:
    """Files whose size, checksum or structure is not the manifest's; every file is read, by all cores."""
    found = wrong_sizes(path, manifest)
    checksums = {path / name: expected for name, expected in manifest["checksums"].items()}
    for damage in found:
        del checksums[damage.file]
    # Hashing and NumPy's reductions let other threads work.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, now in zip(checksums, pool.map(_checksum, checksums), strict=True):
            if now != checksums[file]:
                found.append(Damage(file, "is not as it was written (checksum differs)"))
        # Files as they were written are wrong only where their writer was.
        return found or _wrong_structure(path, manifest, pool)


def _wrong_structure(path: Path, manifest: dict[str, Any], pool: ThreadPoolExecutor) -> list[Damage]:
    """Files that hold what no corpus does."""
    words = manifest["words"]
    found, frequencies = _wrong_words(path, words), np.zeros(words, np.int64)
    for wrong, counted in pool.map(lambda shard: _shard(path, shard, words), shards_of(manifest)):
        found += wrong
        frequencies += counted
    found += _wrong_documents(path, manifest)
    if not found:
        file = path / FREQUENCIES
        try:
            if not np.array_equal(open_array(file, np.int64, words), frequencies):
                found.append(Damage(file, "holds other document frequencies than the shards have"))
        except InputError as error:
            found.append(_damage(file, error))
    return found


def _wrong_documents(path: Path, manifest: dict[str, Any]) -> list[Damage]:
    """Parts of the table of documents whose files do not fit together."""
    found = []
    for info in document_parts_of(manifest):
        try:
            open_part(path, info)
        except InputError as error:
            found.append(_damage(path / f"{info.name}-{PARTS[1]}", error))
    return found


def _wrong_words(path: Path, words: int) -> list[Damage]:
    file = path / VOCABULARY
    try:
        lines = file.read_text(encoding="utf-8").removesuffix("\n").count("\n") + 1
    except UnicodeDecodeError as error:
        return [Damage(file, f"is not UTF-8 (byte {error.start})")]
    return [] if lines == words else [Damage(file, f"has {lines:,} words, the manifest says {words:,}")]


def _shard(path: Path, shard: ShardInfo, words: int) -> tuple[list[Damage], Int[np.ndarray, " V"]]:
    """What is wrong with the files of a shard, and in how many of its documents each word is."""
    found, frequencies = [], np.zeros(words, np.int64)

    def indptr(file: Path) -> None:
        pointers = open_array(file, np.int64, shard.documents + 1)
        check_pointers(pointers, shard.documents, shard.nnz, str(file))

    def indices(file: Path) -> None:
        for block in _blocks(open_array(file, np.int32, shard.nnz)):
            check_indices(block, words, str(file))
            frequencies[:] += np.bincount(block, minlength=words)

    def data(file: Path) -> None:
        for block in _blocks(open_array(file, (np.int32, np.float32), shard.nnz)):
            if block.dtype.kind == "f" and not np.isfinite(block).all():
                raise InputError(f"{file} has a count that is not finite")

    for check in (indptr, indices, data):
        file = path / f"{shard.name}-{check.__name__}.npy"
        try:
            check(file)
        except InputError as error:
            found.append(_damage(file, error))
    return found, frequencies


def _blocks(values: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(values), _BLOCK):
        yield values[start : start + _BLOCK]


def _checksum(file: Path) -> str:
    """The checksum of a file, or what kept it from being read."""
    try:
        return checksum(file)
    except OSError as error:
        return str(error)


def _damage(file: Path, error: InputError) -> Damage:
    return Damage(file, str(error).removeprefix(f"{file} "))
