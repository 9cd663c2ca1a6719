"""Draws of a sampler as named variables: the leaves of the position, and what each step reports."""

import jax
import numpy as np
from jaxtyping import PyTree

from geodrift.samplers import StepInfo

_INFO_GROUP = "sample_stats/"


def named_draws(position: PyTree, info: StepInfo) -> dict[str, np.ndarray]:
    """Leaves of a position by name, and the fields of the information in the group ``sample_stats``."""
    leaves = dict(zip(leaf_names(position), jax.tree.leaves(position), strict=True))
    return leaves | {_INFO_GROUP + name: values for name, values in info._asdict().items()}


def position_and_info(draws: dict[str, np.ndarray], like: PyTree) -> tuple[PyTree, StepInfo]:
    """The inverse of `named_draws`, for a position of the structure of ``like``."""
    position = jax.tree.unflatten(jax.tree.structure(like), [draws[name] for name in leaf_names(like)])
    return position, info_of(draws)


def leaf_names(position: PyTree) -> list[str]:
    """A name for each leaf: its path joined by points; ``position`` for a single array.

    Leaves whose names would be equal, or hold a slash, are numbered.
    """
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(position)]
    names = [_joined(path) for path in paths]
    if len(set(names)) < len(names) or any("/" in name for name in names):
        return [f"position.{i}" for i in range(len(names))]
    return names


def _joined(path: tuple) -> str:
    parts = (getattr(k, "name", getattr(k, "key", getattr(k, "idx", None))) for k in path)
    return ".".join(str(part) for part in parts) or "position"


def info_of(draws: dict[str, np.ndarray]) -> StepInfo:
    """The information of draws from `named_draws`."""
    return StepInfo._make(draws[_INFO_GROUP + name] for name in StepInfo._fields)
