"""Comparison of a whole corpus directory with its manifest."""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from geodrift._errors import InputError
from geodrift.data._shards import CsrArrays
from geodrift.files import checksum


def verify_directory(path: Path, manifest: dict[str, Any]) -> None:
    """Raise InputError for the first file, count or index that does not agree with the manifest."""
    for name, expected in manifest["checksums"].items():
        if checksum(path / name) != expected:
            raise InputError(f"corpus {path}: {name} has changed since it was written (checksum differs)")
    frequencies = np.zeros(manifest["words"], dtype=np.int64)
    for shard in manifest["shards"]:
        indptr, indices, data = (
            np.load(path / f"{shard['name']}-{part}.npy", allow_pickle=False)
            for part in ("indptr", "indices", "data")
        )
        frequencies += _check_shard(path, shard, (indptr, indices, data), manifest["words"])
    if sum(shard["documents"] for shard in manifest["shards"]) != manifest["documents"]:
        raise InputError(f"corpus {path}: the shards do not add up to {manifest['documents']:,} documents")
    stored = np.load(path / "document-frequencies.npy", allow_pickle=False)
    if not np.array_equal(stored, frequencies):
        raise InputError(f"corpus {path}: the document frequencies are not those of the shards")


def _check_shard(
    path: Path, shard: dict[str, Any], arrays: CsrArrays, num_words: int
) -> Int[np.ndarray, " V"]:
    """Raise InputError unless the arrays are the shard of the manifest; the shard's document frequencies."""
    indptr, indices, data = arrays
    shapes_fit = len(indptr) == shard["documents"] + 1 and len(indices) == len(data) == shard["nnz"]
    if not shapes_fit or indptr[0] != 0 or indptr[-1] != shard["nnz"] or (np.diff(indptr) < 0).any():
        raise InputError(f"corpus {path}: {shard['name']} is not the CSR block that the manifest describes")
    if indices.size and (indices.min() < 0 or indices.max() >= num_words):
        raise InputError(f"corpus {path}: {shard['name']} has a word outside the vocabulary")
    if not np.isfinite(data).all():
        raise InputError(f"corpus {path}: {shard['name']} has a count that is not finite")
    return np.bincount(indices, minlength=num_words)
