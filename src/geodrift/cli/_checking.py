"""The command that compares what was written with what is there: verify."""

from pathlib import Path
from typing import Annotated

import typer

from geodrift._terminal import show, visible
from geodrift.cli._root import app


@app.command(epilog="Example: geodrift verify articles-20 --repair")
def verify(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A run or a corpus directory.")],
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Of a run: keep all draws that are whole, and make them readable. What is replaced or "
            "removed is kept in RUN/damaged. A corpus is never changed.",
        ),
    ] = False,
) -> None:
    """Say which files of a run or a corpus are not as they were written; exit status 1 if there are any."""
    from geodrift._errors import InputError
    from geodrift.cli import UsageError
    from geodrift.driver import survey
    from geodrift.driver._damage import NOTHING_KEPT
    from geodrift.models.kit import damage_of_corpus, damage_of_run, repair_run

    is_corpus = (path / "manifest.json").exists()
    if is_corpus and repair:
        raise UsageError(f"{path} is a corpus, which --repair does not change: make it anew from its source")
    if not is_corpus and path.is_dir() and not (path / "config.json").exists():
        raise InputError(f"{path} is no run, without config.json, and no corpus, without manifest.json")
    damage = damage_of_corpus(path) if is_corpus else damage_of_run(path)
    for found in damage:
        show(visible(found))
    if damage and repair:
        for line in repair_run(path):
            show(visible(f"repaired: {line}"))
        damage = damage_of_run(path)
        for found in damage:
            show(visible(f"cannot be repaired: {found}"))
        if damage and not survey(path).keeps_any:
            show(NOTHING_KEPT)
    if damage:
        raise typer.Exit(1)
    show(visible(f"{path}: every file is as it was written{_what_a_run_holds(path, is_corpus)}"))


def _what_a_run_holds(path: Path, is_corpus: bool) -> str:
    if is_corpus:
        return ""
    from geodrift.driver import Run
    from geodrift.report._text import counted

    run = Run.open(path)
    if not run.has_checkpoint:
        return "; it has not begun"
    draws = f"; {run.num_draws:,} draws of each of {counted(run.num_chains, 'chain')}"
    return draws + (f"; it cannot be resumed, {run.state['ended']}" if "ended" in run.state else "")
