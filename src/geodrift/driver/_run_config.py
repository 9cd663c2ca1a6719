"""`config.json` of a run directory, and the files whose checksums stand in it."""

import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from geodrift._errors import InputError
from geodrift.driver._damage import CHANGED, MISSING, damaged
from geodrift.files import SEAL, Damage, check_seal, checksum, read_json, write_sealed

FORMAT_VERSION = 4  # 3 had a second estimate of the topics in its checkpoints
CONFIG = "config.json"
CHECKPOINT, DRAWS, METRICS, SUMMARY = "checkpoint/state.npz", "draws.zarr", "metrics.jsonl", "summary.json"
_WHAT = "a run directory"
# What `geodrift.sample` kept before it wrote run directories.
_OLD_CHECKPOINT = "checkpoint.json"


class NotThisFormatError(InputError):
    """There is no run directory of this format, damaged or not."""


class Labels(NamedTuple):
    """Names of the places along a dimension of the draws, kept as text, one a line."""

    dimension: str
    file: str
    names: Sequence[str]


def write_new(
    folder: Path, config: dict[str, Any], labels: Sequence[Labels], fill: Callable[[Path], dict[str, Any]]
) -> None:
    """The first files of a run in a new directory; see `Run.create`."""
    from geodrift import __version__  # not yet set when this module is imported

    header = {
        "format": "geodrift-run",
        "format_version": FORMAT_VERSION,
        "geodrift": __version__,
        "id": uuid.uuid4().hex,  # by which a file of another run is known
    }
    for kept in labels:
        text = "\n".join(kept.names) + "\n"
        (folder / kept.file).write_text(text, encoding="utf-8", newline="\n")
    files = {kept.dimension: {"file": kept.file, "lines": len(kept.names)} for kept in labels}
    header |= config | {"labels": files} | fill(folder)
    checksums = {file.name: checksum(file) for file in sorted(folder.iterdir()) if file.is_file()}
    write_sealed(folder / CONFIG, header | {"checksums": checksums})


def read_config(path: Path) -> dict[str, Any]:
    """The config of the run directory ``path``.

    Raises:
        InputError: Not a run directory, one of another format, or the config was changed or is damaged.
    """
    if not path.exists():
        raise NotThisFormatError(f"run {path} does not exist")
    if (path / _OLD_CHECKPOINT).is_file():
        raise NotThisFormatError(
            f"{path} is a checkpoint of an older geodrift, which this one does not read: finish it with"
            " the version that began it, or begin anew in another directory"
        )
    if not (path / CONFIG).exists():
        if path.is_dir() and holds_results(path):
            raise damaged(path, Damage(path / CONFIG, MISSING))
        why = f"it has no {CONFIG}" if path.is_dir() else "it is not a directory"
        raise NotThisFormatError(f"{path} is not {_WHAT}: {why}")
    try:
        config = read_json(path / CONFIG, _WHAT)
        # A config without a checksum may be of an older format; with one, a number that is wrong is damage.
        if SEAL not in config and ("format" in config or not holds_results(path)):
            _check_format(path, config)
        check_seal(path / CONFIG, config)
    except NotThisFormatError:
        raise
    except InputError as error:
        raise InputError(f"{error}; geodrift verify {path} says what can be done") from None
    _check_format(path, config)
    return config


def _check_format(path: Path, config: dict[str, Any]) -> None:
    version = config.get("format_version")
    if config.get("format") != "geodrift-run" or not isinstance(version, int):
        raise NotThisFormatError(f"{path} is not {_WHAT}: its config.json is of something else")
    if version != FORMAT_VERSION:
        age, wanted = ("newer", "a newer geodrift") if version > FORMAT_VERSION else (
            "older", f"geodrift {config.get('geodrift', 'of that time')}"
        )  # fmt: skip
        raise NotThisFormatError(
            f"{path} has run format {version}, {age} than the one this geodrift reads ({FORMAT_VERSION}):"
            f" read it with {wanted}, or fit anew"
        )


def holds_results(path: Path) -> bool:
    """Whether a directory holds what a run writes after it was made."""
    return any((path / name).exists() for name in (CHECKPOINT, DRAWS, METRICS, SUMMARY))


def damage_of_file(path: Path, config: dict[str, Any], name: str) -> Damage | None:
    """What is wrong with one of the files whose checksums the config has."""
    try:
        same = checksum(path / name) == config["checksums"][name]
    except FileNotFoundError:
        return Damage(path / name, MISSING)
    return None if same else Damage(path / name, CHANGED)


def read_labels(path: Path, config: dict[str, Any]) -> dict[str, list[str]]:
    """The names of the places along dimensions of the draws."""
    found = {}
    for dimension, kept in config["labels"].items():
        damage = damage_of_file(path, config, kept["file"])
        if damage is not None:
            raise damaged(path, damage)
        found[dimension] = (path / kept["file"]).read_text(encoding="utf-8").split("\n")[:-1]
    return found
