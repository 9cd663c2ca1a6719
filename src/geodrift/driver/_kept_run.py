"""The run directory of `geodrift.sample`: made, or found and compared with what is asked for."""

from os import PathLike
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
from jaxtyping import PyTree

from geodrift._errors import InputError
from geodrift._types import RandomKey
from geodrift.driver._batches import Batching
from geodrift.driver._pytrees import digest
from geodrift.driver._run import Run
from geodrift.samplers import Sampler

KIND = "sample"


def settings_of(
    key: RandomKey, sampler: Sampler, data: PyTree, batching: Batching, *, initial: Any, **counts: int
) -> dict[str, Any]:
    """Everything that determines the draws: functions by their names, arrays by their digests."""
    return {
        "key": str(jax.random.key_impl(key)) + digest(jax.random.key_data(key)),
        "sampler": eqx.tree_pformat(sampler, width=10_000),
        "sampler arrays": digest(jax.tree.leaves(eqx.filter(sampler, eqx.is_array))),
        "data": digest(data),
        "batch_size": batching.batch_size,
        "replacement": batching.replacement,
        "batches": batching.scheme,
        "initial": digest(initial),
        **counts,
    }


def kept_settings(directory: str | PathLike) -> dict[str, Any]:
    """The settings of the run in a directory; empty where there is none: `open_or_create` says why."""
    try:
        return Run.open(directory).config.get("settings", {})
    except InputError:
        return {}


def open_or_create(path: Path, settings: dict[str, Any], num_chains: int) -> Run:
    """The run directory of these settings.

    Args:
        path: New, empty, or a run of `geodrift.sample`.
        settings: From `settings_of`.
        num_chains: Chains of the run.

    Raises:
        ValueError: The directory holds a run with other settings, or files that are no run.
    """
    if not _holds_files(path):
        if path.is_dir():
            path.rmdir()
        return Run.create(path, {"kind": KIND, "chains": num_chains, "settings": settings})
    try:
        run = Run.open(path)
    except InputError as error:
        raise InputError(f"checkpoint = {str(path)!r}: {error}; give an empty or a new directory") from None
    if run.config.get("kind") != KIND:
        raise InputError(
            f"checkpoint = {str(path)!r}: holds a run of another kind; give an empty or a new directory"
        )
    kept = run.config["settings"]
    differing = [
        name for name in sorted(kept.keys() | settings.keys()) if kept.get(name) != settings.get(name)
    ]
    if differing:
        raise InputError(
            f"checkpoint = {str(path)!r}: holds a run with another {', '.join(differing)}; give the"
            " settings of that run, or another directory"
        )
    return run


def _holds_files(path: Path) -> bool:
    return path.exists() and (not path.is_dir() or any(path.iterdir()))
