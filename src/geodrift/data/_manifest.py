"""The manifest of a corpus directory: what its files are, each with its size and checksum."""

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from geodrift._errors import InputError
from geodrift.data._document_writer import DocumentWriter
from geodrift.data._documents import PARTS as DOCUMENT_PARTS
from geodrift.data._documents import DocumentTable, PartInfo
from geodrift.data._shards import PARTS, ShardInfo, ShardSet
from geodrift.files import checksum, read_json, write_json

FORMAT_VERSION = 3  # 1 had no digest, and 2 no ids and fields of documents
VOCABULARY, FREQUENCIES, MANIFEST = "vocabulary.txt", "document-frequencies.npy", "manifest.json"
ANEW = "build it anew with geodrift corpus INPUT --out DIR"
_WHAT = "a corpus directory"
_SHARD_NAME = re.compile(r"[a-z0-9-]{1,100}")


class Told(NamedTuple):
    """The parts of a table of documents, and the names of its fields."""

    parts: list[PartInfo]
    fields: list[str]

    @classmethod
    def of(cls, writer: DocumentWriter) -> "Told":
        """What a writer has written, which ends it."""
        return cls(writer.close(), list(writer.fields))

    @classmethod
    def joined(cls, several: Iterable["Told"]) -> "Told":
        """One table of several."""
        several = list(several)
        fields = dict.fromkeys(field for told in several for field in told.fields)
        return cls([part for told in several for part in told.parts], list(fields))


def finish_directory(
    folder: Path,
    parts: list[ShardSet],
    vocabulary: list[str],
    made: dict[str, Any],
    dropped: dict[str, int],
    documents: Told = Told([], []),  # noqa: B008  # a tuple of nothing
) -> None:
    """Complete a corpus directory: write the vocabulary, the document frequencies and the manifest.

    Args:
        folder: The directory, with its shards.
        parts: What `write_shards` returned, in the order of documents.
        vocabulary: V words.
        made: Notes on how the counts were made.
        dropped: Number of words dropped for each reason, and of values that are no ids.
        documents: What was written of who the documents are.
    """
    shards = [shard for part in parts for shard in part.shards]
    (folder / VOCABULARY).write_text("\n".join(vocabulary) + "\n", encoding="utf-8", newline="\n")
    np.save(folder / FREQUENCIES, sum(part.document_frequencies for part in parts))
    names = _files(shards, documents.parts)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # hashing lets other threads work
        checksums = dict(zip(names, pool.map(lambda name: checksum(folder / name), names), strict=True))
    manifest = {
        "format": "geodrift-corpus",
        "format_version": FORMAT_VERSION,
        "documents": sum(shard.documents for shard in shards),
        "words": len(vocabulary),
        "nnz": sum(shard.nnz for shard in shards),
        "tokens": sum(part.tokens for part in parts),
        "empty_documents": sum(part.empty_documents for part in parts),
        "made": made,
        "dropped": dropped,
        "checksum": _digest(checksums),
        "shards": [shard._asdict() for shard in shards],
        "document_parts": [part._asdict() for part in documents.parts],
        "fields": documents.fields,
        "sizes": {name: (folder / name).stat().st_size for name in checksums},
        "checksums": checksums,
    }
    # As it will be read: with lists for tuples and plain numbers.
    manifest = json.loads(json.dumps(manifest, default=lambda value: value.tolist()))
    write_json(folder / MANIFEST, manifest | {"digest": _digest(manifest)})


def written(folder: Path, documents: DocumentTable | None) -> Told:
    """Write a table of documents into a corpus directory, if there is one."""
    if documents is None:
        return Told([], [])
    writer = DocumentWriter(folder)
    writer.fields.update(dict.fromkeys(documents.fields))
    for document in documents:
        writer.add(document)
    return Told.of(writer)


def read_manifest(path: Path) -> dict[str, Any]:
    """Read and check the manifest of a corpus directory.

    Args:
        path: The directory.

    Raises:
        InputError: There is no such directory, the manifest is missing, of something else, of a newer format
            or is not as it was written.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist")
    file = path / MANIFEST
    manifest = read_json(file, _WHAT)
    version = manifest.get("format_version")
    if type(version) is not int or version < 1 or manifest.get("format") != "geodrift-corpus":
        raise InputError(f"{path} is not {_WHAT}: its {MANIFEST} is of something else, or is damaged")
    if version > FORMAT_VERSION:
        raise InputError(
            f"{path} has corpus format {version}, newer than this geodrift reads ({FORMAT_VERSION})"
        )
    digest = manifest.pop("digest", None)
    # Format 1 had no digest.
    if version > 1 and digest != _digest(manifest):
        raise InputError(f"{file} is not as it was written (checksum differs): {ANEW}")
    try:
        wrong = _wrong(manifest)
    except (KeyError, TypeError, AttributeError) as error:
        wrong = f"{error}"
    if wrong:
        raise InputError(f"{file} is damaged ({wrong}): {ANEW}")
    return manifest


def shards_of(manifest: dict[str, Any]) -> list[ShardInfo]:
    """The entries of the shards, in the order of documents."""
    return [ShardInfo(**shard) for shard in manifest["shards"]]


def document_parts_of(manifest: dict[str, Any]) -> list[PartInfo]:
    """The parts of the table of documents; none where nobody has said who they are."""
    return [PartInfo(**part) for part in manifest.get("document_parts", [])]


def _files(shards: list[ShardInfo], documents: list[PartInfo]) -> list[str]:
    """Names of all files but the manifest."""
    counts = [f"{shard.name}-{part}.npy" for shard in shards for part in PARTS]
    told = [f"{part.name}-{file}" for part in documents for file in DOCUMENT_PARTS]
    return sorted([VOCABULARY, FREQUENCIES, *counts, *told])


def _wrong(manifest: dict[str, Any]) -> str | None:
    """What cannot be in a manifest; a KeyError, TypeError or AttributeError says so too."""
    shards, documents = shards_of(manifest), document_parts_of(manifest)
    numbers = [manifest[name] for name in ("documents", "words", "nnz", "empty_documents")]
    numbers += [number for shard in shards for number in (shard.documents, shard.nnz)]
    numbers += [part.documents for part in documents]
    numbers += [*manifest["sizes"].values(), *manifest["dropped"].values()]
    if not all(type(number) is int and number >= 0 for number in numbers):
        return "a number in it is not whole"
    if not isinstance(manifest["made"], dict) or not math.isfinite(manifest["tokens"]):
        return "'made' or 'tokens' is of another kind"
    names = [shard.name for shard in shards] + [part.name for part in documents]
    if not all(_SHARD_NAME.fullmatch(name) for name in names):
        return "the name of a shard is none"
    fields = manifest.get("fields", [])
    if not (isinstance(fields, list) and all(isinstance(field, str) for field in fields)):
        return "its fields of documents are of another kind"
    if documents and sum(part.documents for part in documents) != manifest["documents"]:
        return f"its ids do not add up to {manifest['documents']:,} documents"
    files = _files(shards, documents)
    if files != sorted(manifest["sizes"]) or files != sorted(manifest["checksums"]):
        return "its lists of files differ"
    for total, name in ((manifest["documents"], "documents"), (manifest["nnz"], "nnz")):
        if sum(getattr(shard, name) for shard in shards) != total:
            return f"its shards do not add up to {total:,} {name}"
    if 8 * manifest["words"] > manifest["sizes"][FREQUENCIES]:
        return f"its files have not {manifest['words']:,} words"
    if manifest["checksum"] != _digest(manifest["checksums"]):
        return "its checksums differ from their digest"
    return None


def _digest(value: dict[str, Any]) -> str:
    """SHA-256 of what JSON holds, whatever the order of names."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
