"""The manifest of a corpus directory: what its files are, each with its size and checksum."""

import hashlib
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from geodrift._errors import InputError
from geodrift.data._shards import PARTS, ShardInfo, ShardSet
from geodrift.files import checksum, read_json, write_json

FORMAT_VERSION = 2
VOCABULARY, FREQUENCIES, MANIFEST = "vocabulary.txt", "document-frequencies.npy", "manifest.json"
ANEW = "build it anew with geodrift corpus INPUT --out DIR"
_WHAT = "a corpus directory"
_SHARD_NAME = re.compile(r"[a-z0-9-]{1,100}")


def finish_directory(
    folder: Path, parts: list[ShardSet], vocabulary: list[str], made: dict[str, Any], dropped: dict[str, int]
) -> None:
    """Complete a corpus directory: write the vocabulary, the document frequencies and the manifest.

    Args:
        folder: The directory, with its shards.
        parts: What `write_shards` returned, in the order of documents.
        vocabulary: V words.
        made: Notes on how the counts were made.
        dropped: Number of words dropped for each reason.
    """
    shards = [shard for part in parts for shard in part.shards]
    (folder / VOCABULARY).write_text("\n".join(vocabulary) + "\n", encoding="utf-8", newline="\n")
    np.save(folder / FREQUENCIES, sum(part.document_frequencies for part in parts))
    checksums = {name: checksum(folder / name) for name in _files(shards)}
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
        "sizes": {name: (folder / name).stat().st_size for name in checksums},
        "checksums": checksums,
    }
    # As it will be read: with lists for tuples and plain numbers.
    manifest = json.loads(json.dumps(manifest, default=lambda value: value.tolist()))
    write_json(folder / MANIFEST, manifest | {"digest": _digest(manifest)})


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


def _files(shards: list[ShardInfo]) -> list[str]:
    """Names of all files but the manifest."""
    return sorted(
        [VOCABULARY, FREQUENCIES, *(f"{shard.name}-{part}.npy" for shard in shards for part in PARTS)]
    )


def _wrong(manifest: dict[str, Any]) -> str | None:
    """What cannot be in a manifest; a KeyError, TypeError or AttributeError says so too."""
    shards = shards_of(manifest)
    numbers = [manifest[name] for name in ("documents", "words", "nnz", "empty_documents")]
    numbers += [number for shard in shards for number in (shard.documents, shard.nnz)]
    numbers += [*manifest["sizes"].values(), *manifest["dropped"].values()]
    if not all(type(number) is int and number >= 0 for number in numbers):
        return "a number in it is not whole"
    if not isinstance(manifest["made"], dict) or not math.isfinite(manifest["tokens"]):
        return "'made' or 'tokens' is of another kind"
    if not all(_SHARD_NAME.fullmatch(shard.name) for shard in shards):
        return "the name of a shard is none"
    if _files(shards) != sorted(manifest["sizes"]) or _files(shards) != sorted(manifest["checksums"]):
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
