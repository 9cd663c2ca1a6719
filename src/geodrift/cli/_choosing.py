"""The command that compares numbers of topics: choose-k."""

import dataclasses
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from geodrift._terminal import progress_console, say, show, show_json, visible
from geodrift.cli import UsageError
from geodrift.cli import _model_options as m
from geodrift.cli import _options as o
from geodrift.cli._files import typed
from geodrift.cli._model_help import GroupedCommand
from geodrift.cli._root import app
from geodrift.models import models
from geodrift.models.kit import Setting

_MODELS = [model for model in models().values() if model.ladder_setting]


def _other_settings(model: Any) -> Iterable[Setting]:
    """All but the number of topics, with the defaults that they have here."""
    return [
        dataclasses.replace(told, default=model.ladder_defaults.get(told.name, told.default))
        for told in m.settings_of(model)
        if told.name != model.ladder_setting
    ]


Topics = Annotated[str, typer.Option(help="Numbers of topics, two or more.")]
Folder = Annotated[
    Path, typer.Option(help="Directory for runs, page and figure; what is done there is not done again.")
]
Seconds = Annotated[
    float | None, typer.Option(help="Time for the steps of all runs together; 300 unless told.")
]
Chains = Annotated[int, typer.Option(min=1, max=1000, help="Chains of each run, which share its time.")]
Aside = Annotated[
    int | None, typer.Option(min=2, help="Documents set aside; a tenth, 1,000 at most, unless told.")
]


@m.with_options(_other_settings, of=_MODELS)
@o.with_text
def choose_k(
    source: o.Input,
    run: Folder,
    topics: Topics = "5,10,20,40",
    vocab: o.Vocab = None,
    seconds: Seconds = None,
    steps: o.Steps = None,
    chains: Chains = 4,
    seed: o.Seed = 0,
    held_out: Aside = None,
    as_json: o.Json = False,
    *,
    text: o.Text,
    **settings: Any,
) -> None:
    """Fit a model with several numbers of topics, and say which cannot be told from the best.

    All runs have the same documents set aside. A number is told from the best where its held-out score is
    worse by more than two standard errors of the paired difference, over documents and over chains. alpha and
    eta are learnt unless --learn-doc-topic-prior and --learn-topic-word-prior say no, so that each number is
    at its best.
    """
    from geodrift.cli import _fitting
    from geodrift.cli._inputs import load_corpus
    from geodrift.models.topics._ladder import PAGE, climb
    from geodrift.models.topics._ladder_runs import StoppedError, checked_numbers

    model = _MODELS[0]
    _fitting.checked_length(seconds, steps)
    numbers = checked_numbers(_numbers(topics))
    given = m.given(model, settings, _other_settings)
    # Refused before anything is read.
    model.settings_type.from_dict({**model.ladder_defaults, **given, model.ladder_setting: numbers[0]})
    _fitting.refuse_within_corpus(run)
    corpus = load_corpus([source], vocab, text)
    length: dict[str, Any] = {"seconds": seconds, "steps": steps, "console": progress_console(), "say": say}
    asked: dict[str, Any] = {"settings": given, "chains": chains, "held_out": held_out, "seed": seed}
    try:
        ladder = climb(model, corpus, numbers, run, **asked, **length)
    except StoppedError as stopped:
        say(f"interrupted: the same command goes on with what {run} holds")
        raise typer.Exit(128 + (stopped.signal or signal.SIGINT)) from None
    ladder.save(run)
    if as_json:
        show_json(ladder.to_dict())
    else:
        show(f"{ladder}\n\nthe page: {visible(run / PAGE)}")
    say(f"next: geodrift {model.summary.command} {typed(run / f'{model.component}s-{ladder.chosen}')}")


def _numbers(typed: str) -> list[int]:
    try:
        return [int(part) for part in typed.split(",")]
    except ValueError:
        raise UsageError(f"--topics must be whole numbers such as 5,10,20,40, got {typed!r}") from None


app.command(
    "choose-k",
    cls=GroupedCommand,
    epilog="Example: geodrift choose-k articles --run articles-k --topics 5,10,20,40 --seconds 600",
)(choose_k)
