"""A damaged run directory made readable again, with all draws that are whole."""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from geodrift._errors import InputError
from geodrift.driver._checkpoint import Checkpoint, write_checkpoint
from geodrift.driver._damage import DIAGNOSTICS
from geodrift.driver._known_draws import METADATA, KnownDraws, nothing_known
from geodrift.driver._run import locked
from geodrift.driver._run_config import CHECKPOINT, CONFIG, DRAWS, METRICS, SUMMARY
from geodrift.driver._survey import Survey, survey, whole_draws
from geodrift.files import sync_directory, write_file, write_json, write_sealed

ASIDE = "damaged"

Spare = Callable[[str], bytes | None]
"""The contents of a file that was written when a run was made, from elsewhere; None where there is none."""


def repair(path: Path, spare: Spare = lambda name: None) -> list[str]:
    """Repair what can be repaired of a run directory.

    Each file is replaced in one rename, and a copy of what it held is kept in the folder `damaged` of the
    run, where files of draws that can no longer be used are moved. What the draws are is settled in the
    moment in which the checkpoint is replaced. So a repair that is killed leaves the run as it was or
    repaired, or some of several files repaired, and can be called again.

    Args:
        path: The run directory.
        spare: Where to look for labels, and other files that were written when the run was made.

    Returns:
        What was done, a line each. What is still wrong is found by another `survey`.

    Raises:
        InputError: Not a run directory, or another process writes to it.
    """
    done: list[str] = []
    with locked(path):
        while True:
            found = survey(path)
            # One at a time: each changes what the next one finds.
            line = next((line for mend in _STEPS if (line := mend(found, spare)) is not None), None)
            if line is None or line in done:
                return done
            done.append(line)


def _mend_config(found: Survey, spare: Spare) -> str | None:
    if CONFIG not in found.damage or found.info is None:
        return None
    _keep(found.path, CONFIG)
    write_sealed(found.path / CONFIG, found.info["config"], overwrite=True)
    return f"{CONFIG} is written anew as the checkpoint has it"


def _mend_files(found: Survey, spare: Spare) -> str | None:
    names = found.config["checksums"] if found.config is not None else {}
    for name in found.damage.keys() & names.keys():
        content = spare(name)
        if content is None or hashlib.sha256(content).hexdigest() != names[name]:
            continue
        _keep(found.path, name)
        write_file(found.path / name, lambda stream: stream.write(content), overwrite=True)  # noqa: B023
        return f"{name} is written anew"
    return None


def _mend_checkpoint(found: Survey, spare: Spare) -> str | None:
    """A checkpoint that is lost, in whole or in part: the draws can be read, the run cannot go on."""
    path, wrong = found.path, found.damage.get(CHECKPOINT)
    if wrong is None or found.config is None:
        return None
    if found.checkpoint is not None:  # older than the summary
        _set_aside(path, SUMMARY)
        return (
            f"{SUMMARY} is set aside: the run stands where {CHECKPOINT} says, and resume goes on from there"
        )
    try:
        info, known = _lost_checkpoint(found)
    except InputError:
        return None
    if not known.counts.any():
        for name in (CHECKPOINT, METRICS, SUMMARY, DRAWS):
            _set_aside(path, name)
        return "no draws are left: resume begins anew"
    ended = {"ended": "its last state was lost"}
    _replace_checkpoint(path, Checkpoint([], info | ended, known))
    number = f"{min(info['draws']):,} draws of each chain"
    return f"{CHECKPOINT} is written anew: {number} can be read, but the run cannot be resumed"


def _lost_checkpoint(found: Survey) -> tuple[dict[str, Any], KnownDraws]:
    """What a checkpoint told besides the chains' states, from what is left of it or from the other files."""
    from geodrift.driver._salvage import salvaged_draws, salvaged_metrics  # imports zarr

    if found.known is not None:
        return found.info, found.known
    has_draws = (found.path / DRAWS).is_dir()
    known = salvaged_draws(found.path) if has_draws else nothing_known(1)
    told = {"run": found.config["id"], "config": found.config, "plan": found.config.get("plan")}
    draws = {"draws": [int(count) for count in known.counts], "counts": [], "seconds": 0.0}
    return told | draws | salvaged_metrics(found.path), known


def _mend_draws(found: Survey, spare: Spare) -> str | None:
    """Chunks that are lost: the draws before them are kept, or the diagnostics that they were of left out."""
    prefix, known = f"{DRAWS}/", found.known
    keys = [name.removeprefix(prefix) for name in found.damage if name.startswith(prefix)]
    chunks = [key for key in keys if "/c/" in key]
    if known is None or not keys:
        return None
    if not chunks:
        _write_metadata(found.path, known, keys)
        return f"{DRAWS}: zarr's metadata are written anew"
    dropped = {key.partition("/c/")[0] for key in chunks if key.startswith(DIAGNOSTICS)}
    kept = whole_draws(known, [key for key in chunks if not key.startswith(DIAGNOSTICS)])
    if not kept:
        return None
    number, left = int(known.counts.min()), known.cut(kept, known.shapes.keys() - dropped)
    gone = [f"{', '.join(sorted(dropped))} {'are' if len(dropped) > 1 else 'is'} left out"] if dropped else []
    if kept < number:
        gone.append(f"{kept:,} draws of each chain are kept, {number - kept:,} behind the damage go")
    else:
        gone.append(f"all {kept:,} draws of each chain are kept")
    ended = {"ended": "some of its files were lost", "draws": [min(kept, n) for n in found.info["draws"]]}
    _replace_checkpoint(found.path, Checkpoint([], found.info | ended, left))
    _move_chunks(found.path, known, left, chunks)
    _write_metadata(found.path, left, list(left.nodes))
    return f"{DRAWS}: {'; '.join(gone)}; the run cannot be resumed"


def _mend_metrics(found: Survey, spare: Spare) -> str | None:
    if METRICS not in found.damage or found.checkpoint is None:
        return None
    nothing = {"metrics_bytes": 0, "metrics_sum": 0}
    _keep(found.path, METRICS)
    _replace_checkpoint(found.path, found.checkpoint._replace(info=found.info | nothing))
    (found.path / METRICS).unlink(missing_ok=True)
    return f"{METRICS} is set aside: its lines cannot be told from damaged ones"


def _mend_summary(found: Survey, spare: Spare) -> str | None:
    if SUMMARY not in found.damage:
        return None
    _set_aside(found.path, SUMMARY)
    return f"{SUMMARY} is set aside: the next call writes it"


_STEPS = (_mend_config, _mend_files, _mend_checkpoint, _mend_draws, _mend_metrics, _mend_summary)


def _replace_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    _keep(path, CHECKPOINT)
    write_checkpoint(path / CHECKPOINT, checkpoint)


def _move_chunks(path: Path, known: KnownDraws, left: KnownDraws, damaged: list[str]) -> None:
    """Move away the files that are damaged, and those of which no draw is left."""
    for name in known.shapes:
        stay = {key for key, *_ in left.files(name)} if name in left.shapes else set()
        for key, *_ in known.files(name):
            if key not in stay or key in damaged:
                _set_aside(path, f"{DRAWS}/{key}")
        if name not in left.shapes:
            _set_aside(path, f"{DRAWS}/{name}")


def _write_metadata(path: Path, known: KnownDraws, names: list[str]) -> None:
    for node in known.nodes:
        name = f"{DRAWS}/{node}/{METADATA}" if node else f"{DRAWS}/{METADATA}"
        if node in names or name.removeprefix(f"{DRAWS}/") in names:
            _keep(path, name)
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            write_json(path / name, known.metadata(node), overwrite=True)


def _keep(path: Path, name: str) -> None:
    """A copy of a file as it is, in the folder of what was damaged."""
    if (path / name).is_file():
        place = _free_place(path, name)
        shutil.copy2(path / name, place)
        sync_directory(place)


def _set_aside(path: Path, name: str) -> None:
    """Move a file or a folder into the folder of what was damaged."""
    if os.path.lexists(path / name):
        (path / name).rename(_free_place(path, name))


def _free_place(path: Path, name: str) -> Path:
    place, number = path / ASIDE / name, 1
    place.parent.mkdir(parents=True, exist_ok=True)
    while os.path.lexists(place):
        number += 1
        place = path / ASIDE / f"{name}.{number}"
    return place
