"""The commands that make a corpus or a run: demo, corpus, fit, resume."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodrift._terminal import say, show, show_json, terminal_width, visible
from geodrift.cli import _model_options as m
from geodrift.cli import _options as o
from geodrift.cli import _starting as s
from geodrift.cli._model_help import ModelCommand
from geodrift.cli._processes import Processes
from geodrift.cli._root import app
from geodrift.models._registry import demonstrated

if TYPE_CHECKING:
    from geodrift.data import Corpus, VectorSource


@m.with_options(m.demo_settings_of, of=[demonstrated()])
def demo(
    run: Annotated[
        Path | None, typer.Option(help="Run directory to write; geodrift-demo when not given.")
    ] = None,
    seconds: Annotated[float, typer.Option(help="Time for the steps.")] = 60.0,
    seed: o.Seed = 0,
    **settings: Any,
) -> None:
    """Fit the model that is demonstrated to documentation that is installed, and print what it found."""
    from geodrift.cli import _fitting
    from geodrift.cli._files import typed
    from geodrift.cli._waiting import Waiting
    from geodrift.data import demo_corpus
    from geodrift.driver import Length
    from geodrift.files import refuse_existing

    _fitting.checked_length(seconds, None)
    path = run if run is not None else _free_name("geodrift-demo")
    refuse_existing(path)
    model = demonstrated()
    values = m.given(model, settings, m.demo_settings_of)
    config = {"settings": values, "seed": seed, "chains": s.CHAINS, "held_out": 200}

    def make() -> "Corpus":
        say("reading docstrings (parsed, never imported)")
        with Waiting("reading docstrings") as waiting:
            return demo_corpus(workers=None, progress=waiting.at)

    fitted = _fitting.start(model, make, path, config, Length(seconds), Processes(), s.Start())
    answers = model.answers()
    show(answers.summary_lines(answers.summarise(fitted, 8), max(60, terminal_width())))
    show(f"run directory: {visible(path)}\nmore: geodrift {model.summary.command} {typed(path)}")


app.command(
    help=f"Fit {demonstrated().summary.command} to the docstrings of Python and of installed scientific"
    " packages, and print them.",
    epilog="Example: geodrift demo --run my-demo --seconds 60",
)(demo)


@app.command(epilog="Example: geodrift corpus articles.jsonl --text-field body --out articles")
@o.with_text
def corpus(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            parser=o.place,
            metavar="INPUT...",
            help="Directories, files or URLs: text (one document a file), .jsonl, .csv, .parquet; or one "
            "file: .npz or .npy of counts, docword.*.txt (UCI), .ldac (LDA-C), .mm (gensim, Matrix Market).",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Corpus directory to write.")],
    vocab: o.Vocab = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that read files. Not given: one for each core.")
    ] = None,
    as_json: o.Json = False,
    *,
    text: o.Text,
) -> None:
    """Turn documents into a corpus directory, which may be larger than memory.

    A build of text that was killed goes on when the same command is given again.
    """
    from geodrift.cli._inputs import load_corpus
    from geodrift.data import describe
    from geodrift.data._corpus import manifest_summary
    from geodrift.files import refuse_existing

    refuse_existing(out)
    made = load_corpus(inputs, vocab, text, out=out, workers=workers)
    if as_json:
        show_json(manifest_summary(made), indent=2)
    else:
        show("\n".join(map(visible, [*describe(made), f"corpus directory: {out}"])))


@m.with_options(m.settings_of)
@o.with_text
@o.with_fields("processes", Processes)
@o.with_fields("start", s.Start)
@o.with_fields("how_long", o.HowLong)
def fit(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=m.model_help())],
    source: o.Input,
    run: Annotated[Path, typer.Option(help="Run directory to write.")],
    vocab: o.Vocab = None,
    seed: o.Seed = 0,
    held_out: Annotated[int, typer.Option(min=0, help="Documents set aside to score during the run.")] = 0,
    unchecked_corpus: Annotated[
        bool,
        typer.Option(
            "--unchecked-corpus",
            help="Begin without comparing the files of a corpus directory with their checksums, which takes"
            " about a second for each gigabyte: counts that the disk has changed go unseen.",
        ),
    ] = False,
    *,
    how_long: o.HowLong,
    start: s.Start,
    text: o.Text,
    processes: Processes,
    **settings: Any,
) -> None:
    """Sample the posterior of a model of the documents, for 60 seconds unless told otherwise."""
    from geodrift.cli import _fitting, _sharing
    from geodrift.cli._model_inputs import load_training
    from geodrift.driver import Length
    from geodrift.files import refuse_existing

    chosen = m.checked_model(model)
    length = _fitting.checked_length(*how_long) or Length(60.0)
    s.check_start(chosen, start)
    values = m.given(chosen, settings, m.settings_of)
    values = _sharing.settings_to_share(processes, chosen, values)  # before anything is read
    config = {"settings": values, "seed": seed, "chains": start.chains, "held_out": held_out}

    def make() -> "Corpus | VectorSource":
        refuse_existing(run)
        signed = chosen.may_be_negative(values)
        return load_training(chosen, source, vocab, text, signed=signed, checked=not unchecked_corpus)

    _say_end(_fitting.start(chosen, make, run, config, length, processes, start))


app.command(
    cls=ModelCommand,
    epilog="Example: geodrift fit lda articles --run articles-20 --topics 20 --seconds 120 --chains 2"
    " (geodrift fit lda --help has the options of LDA alone)",
)(fit)


@app.command(epilog="Example: geodrift resume articles-20 --seconds 300")
@o.with_fields("processes", Processes)
def resume(
    run: o.RunPath,
    seconds: o.MoreSeconds = None,
    steps: o.MoreSteps = None,
    *,
    processes: Processes,
) -> None:
    """Go on with a run that was stopped or killed, or make a finished one longer.

    --seconds and --steps mean more from where the run stands. Steps that are then left of its plan stay in it
    for the next time. However it is cut up, a run has the draws of an uninterrupted one.
    """
    from geodrift.cli import _fitting

    _say_end(_fitting.go_on(run, _fitting.checked_length(seconds, steps), processes))


def _say_end(run: Any) -> None:
    """What a run has found, and what to do with it; None: another process says it."""
    from geodrift.cli import _fitting

    if run is not None:
        _fitting.say_verdict(run)
        _fitting.say_next(run)
        show(visible(run.path))


def _free_name(name: str) -> Path:
    number, path = 1, Path(name)
    while path.exists():
        number += 1
        path = Path(f"{name}-{number}")
    return path
