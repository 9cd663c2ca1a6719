"""Pytrees as named arrays, and their digests."""

import hashlib

import jax
import numpy as np
from jaxtyping import PyTree


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
