"""Arrays and JSON on disk; a process killed at any moment leaves the old or the new, never a mixture."""

import hashlib
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from geodrift._durable import replace_file


def temporary_path(path: Path) -> Path:
    """The name under which a file is written before it gets its own."""
    return path.with_name(path.name + ".tmp")


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write an ``.npz`` file atomically: to a temporary name, flushed to the disk, then renamed."""
    saved: dict[str, Any] = dict(arrays)
    replace_file(path, temporary_path(path), lambda file: np.savez(file, **saved))


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read an ``.npz`` file whole; pickled objects are refused."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file atomically."""
    text = json.dumps(content, indent=1).encode()
    replace_file(path, temporary_path(path), lambda file: file.write(text))


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def digest(tree: PyTree) -> str:
    """A hash of the structure, shapes, types and bytes of a pytree of arrays."""
    leaves, structure = jax.tree.flatten(tree)
    total = hashlib.sha256(str(structure).encode())
    for leaf in leaves:
        array = np.ascontiguousarray(leaf)
        total.update(f"{array.dtype}{array.shape}".encode())
        total.update(array.view(np.uint8).reshape(-1).data if array.size else b"")
    return total.hexdigest()


def flatten_arrays(prefix: str, tree: PyTree) -> dict[str, np.ndarray]:
    """The leaves of a pytree, numbered, as `write_arrays` takes them."""
    return {f"{prefix}{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}


def unflatten_arrays(prefix: str, arrays: dict[str, np.ndarray], like: PyTree) -> PyTree:
    """The inverse of `flatten_arrays`, in the structure of ``like``.

    Raises:
        ValueError: Number, shape or type of the leaves differ.
    """
    leaves, structure = jax.tree.flatten(like)
    names = [f"{prefix}{i}" for i in range(len(leaves))]
    if sorted(names) != sorted(name for name in arrays if name.startswith(prefix)):
        raise ValueError(f"the checkpoint holds other arrays than the {len(leaves)} of this sampler's state")
    for name, leaf in zip(names, leaves, strict=True):
        if arrays[name].shape != leaf.shape or arrays[name].dtype != leaf.dtype:
            found = f"{arrays[name].dtype}{arrays[name].shape}"
            raise ValueError(f"the checkpoint holds {found} where this run has {leaf.dtype}{leaf.shape}")
    return jax.tree.unflatten(structure, [arrays[name] for name in names])
