"""Runs of a ladder that stand in its directory, of numbers of topics that a later call does not name."""

import re
from collections.abc import Iterable
from pathlib import Path

from geodrift._errors import InputError
from geodrift.driver import Run
from geodrift.models.kit._model import Model


def other_runs(model: Model, folder: Path, runs: dict[int, Run]) -> tuple[dict[int, Run], list[str]]:
    """The runs of other numbers that can be compared with those of a call, and what is to be said of others.

    Without them the best of few numbers would be told as the best of all that were tried.

    Args:
        model: Of the runs.
        folder: Of all runs.
        runs: Of the call's numbers, which are done.
    """
    found, notes = {}, []
    one = next(iter(runs.values()))
    for path in sorted(folder.glob(f"{model.component}s-*"), key=lambda path: (len(path.name), path.name)):
        number = re.fullmatch(r"\d{1,9}", path.name.rpartition("-")[2])
        if number is None or int(number[0]) in runs or not path.is_dir():
            continue
        try:
            run = Run.open(path)
            why = _why_not(model, run, one)
        except InputError:
            why = "it cannot be read"
        if why:
            notes.append(f"{path.name} is not compared: {why}.")
        else:
            found[int(number[0])] = run
    if found:
        told = ", ".join(map(str, sorted(found)))
        notes.insert(0, f"In the directory already, and compared too: {told}.")
    return found, notes


def shorter_or_longer(runs: Iterable[Run], steps: int | None) -> list[str]:
    """What is to be said of runs that were done with other steps than a call asks for.

    Args:
        runs: That are compared.
        steps: Of each chain; None where a time was asked for, of which each number has its share.
    """
    done = [(run.path.name, int(run.state["total"])) for run in runs]
    return [
        f"{name} has {total:,} steps of each chain, and not the {steps:,} that were asked for: what is done"
        " is not done again; to do so, write to another directory."
        for name, total in done
        if steps is not None and total != steps
    ]


def _why_not(model: Model, run: Run, one: Run) -> str:
    """Why a run is none of the ladder of another one; empty where it is."""
    names = ("model", "seed", "chains", "held_out")
    differs = [name.replace("_", " ") for name in names if run.config.get(name) != one.config[name]]
    settings = [
        {
            name: value
            for name, value in each.config.get("settings", {}).items()
            if name != model.ladder_setting
        }
        for each in (run, one)
    ]
    if settings[0] != settings[1]:
        differs.append("settings")
    if run.config.get("corpus", {}).get("checksum") != one.config["corpus"]["checksum"]:
        differs.append("corpus")
    if differs:
        return f"it is of another {' and '.join(differs)}"
    if not run.has_checkpoint or min(run.state["counts"]) < run.state["total"]:
        return "it is not done"
    given = ["steps" if each.config["request"]["seconds"] is None else "seconds" for each in (run, one)]
    return "" if given[0] == given[1] else f"it was given {given[0]}, and these {given[1]}"
