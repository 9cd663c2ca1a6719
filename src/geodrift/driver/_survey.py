"""What of a run directory is whole, and what is not."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from geodrift._errors import InputError
from geodrift.driver._checkpoint import Checkpoint, read_checkpoint, read_known
from geodrift.driver._damage import CHANGED, MISSING, OF_ANOTHER, damaged, keeps_any
from geodrift.driver._known_draws import METADATA, KnownDraws, is_group, without_shape
from geodrift.driver._run import metrics_of
from geodrift.driver._run_config import (
    CHECKPOINT,
    CONFIG,
    DRAWS,
    METRICS,
    SUMMARY,
    NotThisFormatError,
    damage_of_file,
    holds_results,
    read_config,
)
from geodrift.files import Damage, read_json, read_sealed


class Survey(NamedTuple):
    """Every file of a run directory, compared with what was written.

    Attributes:
        path: The directory.
        config: As in `config.json`, or as the checkpoint has it; None where both are lost.
        checkpoint: All of it; None where a part is lost, or where there is none yet.
        info: The small part of the checkpoint, which may be whole where the rest is not.
        known: The same of what the checkpoint knows of the draws.
        damage: What is wrong, by the file's path in the directory.
    """

    path: Path
    config: dict[str, Any] | None
    checkpoint: Checkpoint | None
    info: dict[str, Any] | None
    known: KnownDraws | None
    damage: dict[str, Damage]

    @property
    def whole_draws(self) -> int | None:
        """Draws of each chain before the first that is damaged; None where the checkpoint is lost."""
        if self.known is None:
            return None
        if DRAWS in self.damage:
            return 0
        return whole_draws(self.known, (name.removeprefix(f"{DRAWS}/") for name in self.damage))

    @property
    def keeps_any(self) -> bool:
        """Whether a repair can keep draws, or was nothing of the draws damaged."""
        inside = f"{DRAWS}/"
        chunks = [name.removeprefix(inside) for name in self.damage if name.startswith(inside)]
        return DRAWS not in self.damage and all(map(keeps_any, chunks))


def survey(path: Path) -> Survey:
    """Look at every file of a run directory.

    Raises:
        InputError: Not a run directory, or one of another format.
    """
    damage: dict[str, Damage] = {}
    checkpoint, info, known = _checkpoint(path, damage)
    config = _config(path, info, damage)
    if info is not None and config is not None and info["run"] != config["id"]:
        # The draws tell whose checkpoint it is.
        if known.counts.any() and not _draws_damage(path, known):
            damage[CONFIG], config = Damage(path / CONFIG, f"{OF_ANOTHER} than {CHECKPOINT}"), info["config"]
        else:
            damage[CHECKPOINT] = Damage(path / CHECKPOINT, f"{OF_ANOTHER} than {CONFIG}")
            checkpoint = info = known = None
    if config is not None:
        found = {name: damage_of_file(path, config, name) for name in config["checksums"]}
        damage |= {name: wrong for name, wrong in found.items() if wrong is not None}
        damage |= _summary_damage(path, config, info)
    if info is not None and metrics_of(path, info) is None:
        what = CHANGED if (path / METRICS).exists() else MISSING
        damage[METRICS] = Damage(path / METRICS, what)
    if known is not None and known.counts.any():
        damage |= _draws_damage(path, known)
    return Survey(path, config, checkpoint, info, known, damage)


def check_whole(path: Path) -> None:
    """Raise InputError, with what is good, for the first file of a run directory that is damaged."""
    found = survey(path)
    if not found.damage:
        return
    number = found.whole_draws
    good = "" if number is None else f"{number:,} draws of each chain are whole"
    raise damaged(path, next(iter(found.damage.values())), good, kept=found.keeps_any)


def whole_draws(known: KnownDraws, damaged_keys: Iterable[str]) -> int:
    """Draws of each chain before the first chunk that is damaged.

    Args:
        known: Of the checkpoint.
        damaged_keys: Paths in the store; of metadata too, which can be written anew.
    """
    fewest = int(known.counts.min()) if known.shapes else 0
    for key in damaged_keys:
        name, inside, place = key.partition("/c/")
        if inside and name in known.shapes:
            fewest = min(fewest, int(place.split("/")[1]) * known.draws_a_chunk(name))
    return fewest


def _checkpoint(
    path: Path, damage: dict[str, Damage]
) -> tuple[Checkpoint | None, dict[str, Any] | None, KnownDraws | None]:
    file = path / CHECKPOINT
    if not file.exists():
        if holds_results(path):
            damage[CHECKPOINT] = Damage(file, MISSING)
        return None, None, None
    try:
        found = read_checkpoint(file)
        return found, found.info, found.known
    except InputError as error:
        damage[CHECKPOINT] = Damage(file, _what(error, file))
    try:
        return None, *read_known(file)
    except InputError:
        return None, None, None


def _config(path: Path, info: dict[str, Any] | None, damage: dict[str, Damage]) -> dict[str, Any] | None:
    try:
        return read_config(path)
    except NotThisFormatError:
        raise
    except InputError as error:
        damage[CONFIG] = Damage(path / CONFIG, _what(error, path / CONFIG))
    return None if info is None else info["config"]


def _what(error: InputError, file: Path) -> str:
    """What is wrong with the file that an error names."""
    return str(error).partition(f"{file} ")[2].partition("; geodrift verify")[0] or str(error)


def _summary_damage(path: Path, config: dict[str, Any], info: dict[str, Any] | None) -> dict[str, Damage]:
    file = path / SUMMARY
    if not file.exists():
        return {}
    try:
        summary = read_sealed(file, "a run directory")
    except InputError as error:
        return {SUMMARY: Damage(file, _what(error, file))}
    if summary["run"] != config["id"]:
        return {SUMMARY: Damage(file, OF_ANOTHER)}
    # A summary is written after the checkpoint of what it sums up.
    if info is not None and sum(summary["draws"]) > sum(info["draws"]) and "ended" not in info:
        return {CHECKPOINT: Damage(path / CHECKPOINT, f"is older than {SUMMARY}")}
    return {}


def _draws_damage(path: Path, known: KnownDraws) -> dict[str, Damage]:
    """By the path in the run directory."""
    from geodrift.driver._draws_check import draws_damage  # imports zarr

    folder = path / DRAWS
    if not folder.is_dir():
        return {DRAWS: Damage(folder, MISSING)}
    found = {f"{DRAWS}/{key}": wrong for key, wrong in draws_damage(path, folder, known).items()}
    for node in known.nodes:
        file = folder / node / METADATA
        wrong = _metadata_damage(file, known, node)
        if wrong is not None:
            found[file.relative_to(path).as_posix()] = wrong
    return found


def _metadata_damage(file: Path, known: KnownDraws, node: str) -> Damage | None:
    if not file.exists():
        return Damage(file, MISSING)
    try:
        written = read_json(file, "a zarr directory")
    except InputError as error:
        return Damage(file, _what(error, file))
    same = without_shape(written) == known.nodes[node]
    if not is_group(known.nodes[node]):
        same = same and _is_grown(written.get("shape"), known.shapes[node])
    return None if same else Damage(file, CHANGED)


def _is_grown(shape: Any, known: list[int]) -> bool:
    """Whether an array's shape is that of the checkpoint or one that it had later."""
    if not isinstance(shape, list) or len(shape) != len(known) or shape[:1] != known[:1]:
        return False
    return all(isinstance(size, int) and size >= least for size, least in zip(shape, known, strict=True))
