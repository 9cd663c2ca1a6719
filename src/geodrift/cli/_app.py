"""The commands. Heavy imports stand inside them, so that `--help` is quick."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from geodrift import __version__
from geodrift.cli import _model_options as m
from geodrift.cli import _options as o
from geodrift.models import models

app = typer.Typer(
    name="geodrift",
    help="Topic models with a full posterior, from minibatches.",
    epilog="Start with: geodrift demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"geodrift {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    pass


@app.command(epilog="Example: geodrift demo --run my-demo --seconds 60")
def demo(
    run: Annotated[
        Path | None, typer.Option(help="Run directory to write; geodrift-demo when not given.")
    ] = None,
    seconds: Annotated[float, typer.Option(help="Time for the steps.")] = 60.0,
    topics: Annotated[int, typer.Option("--topics", help="Number of topics.")] = 20,
    seed: o.Seed = 0,
) -> None:
    """Fit topics to the docstrings of Python and of installed scientific packages, and print them."""
    from rich.console import Console

    from geodrift.cli import _fitting
    from geodrift.data import demo_corpus
    from geodrift.driver import Length
    from geodrift.files import refuse_existing
    from geodrift.models._registry import DEMONSTRATED

    _fitting.checked_length(seconds, None)
    path = run if run is not None else _free_name("geodrift-demo")
    refuse_existing(path)
    console = Console(stderr=True)
    _fitting.say(console, "reading docstrings (parsed, never imported)")
    model = m.checked_model(DEMONSTRATED)
    config = {"settings": {"n_topics": topics}, "seed": seed, "chains": 1, "held_out": 200}
    fitted = _fitting.start(model, demo_corpus(), path, config, Length(seconds))
    answers = model.answers()
    print(answers.summary_lines(answers.summarise(fitted, 8), max(60, console.width)))
    print(f"\nword, posterior mean of its weight, [90% interval]\nrun directory: {path}")
    print(f"more: geodrift {model.summary.command} {path}")


@app.command(epilog="Example: geodrift corpus articles.jsonl --text-field body --out articles")
def corpus(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="INPUT...",
            help="Directories or files: text (one document a file), .jsonl, .csv, .parquet; or one file: "
            ".npz or .npy of counts, docword.*.txt (UCI), .ldac (LDA-C), .mm (gensim, Matrix Market).",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Corpus directory to write.")],
    vocab: o.Vocab = None,
    text_field: o.TextField = "text",
    encoding: o.Encoding = "utf-8",
    min_df: o.MinDf = None,
    max_df: o.MaxDf = None,
    max_words: o.MaxWords = None,
    stop_words: o.StopWords = "english",
    ngrams: o.Ngrams = 1,
    token_pattern: o.TokenPattern = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that read files.")] = 1,
    as_json: o.Json = False,
) -> None:
    """Turn documents into a corpus directory, which may be larger than memory."""
    from geodrift.cli._inputs import Text, load_corpus
    from geodrift.data import describe
    from geodrift.data._corpus import manifest_text
    from geodrift.files import refuse_existing

    refuse_existing(out)
    text = Text(text_field, encoding, min_df, max_df, max_words, stop_words, ngrams, token_pattern)
    made = load_corpus(inputs, vocab, text, out=out, workers=workers)
    print(manifest_text(made) if as_json else "\n".join([*describe(made), f"corpus directory: {out}"]))


@m.with_options(m.settings_of)
def fit(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=m.model_help())],
    source: o.Input,
    run: Annotated[Path, typer.Option(help="Run directory to write.")],
    vocab: o.Vocab = None,
    seconds: o.Seconds = None,
    steps: o.Steps = None,
    chains: Annotated[int, typer.Option(min=1, help="Independent chains; they share the time.")] = 1,
    seed: o.Seed = 0,
    held_out: Annotated[int, typer.Option(min=0, help="Documents set aside to score during the run.")] = 0,
    text_field: o.TextField = "text",
    encoding: o.Encoding = "utf-8",
    min_df: o.MinDf = None,
    max_df: o.MaxDf = None,
    max_words: o.MaxWords = None,
    stop_words: o.StopWords = "english",
    ngrams: o.Ngrams = 1,
    token_pattern: o.TokenPattern = None,
    **settings: Any,
) -> None:
    """Sample the posterior of a model of the documents, for 60 seconds unless told otherwise."""
    from geodrift.cli import _fitting
    from geodrift.cli._inputs import Text, load_corpus
    from geodrift.driver import Length
    from geodrift.files import refuse_existing

    chosen = m.checked_model(model)
    length = _fitting.checked_length(seconds, steps)
    refuse_existing(run)
    values = m.given(chosen, settings, m.settings_of)
    chosen.settings_type.from_dict(values)  # refused before anything is read
    text = Text(text_field, encoding, min_df, max_df, max_words, stop_words, ngrams, token_pattern)
    documents = load_corpus([source], vocab, text, signed=chosen.may_be_negative(values))
    config = {"settings": values, "seed": seed, "chains": chains, "held_out": held_out}
    _fitting.start(chosen, documents, run, config, length or Length(60.0))
    print(run)


app.command(
    epilog="Example: geodrift fit lda articles --run articles-20 --topics 20 --seconds 120 --chains 2"
)(fit)


@app.command(epilog="Example: geodrift resume articles-20 --seconds 300")
def resume(run: o.RunPath, seconds: o.Seconds = None, steps: o.Steps = None) -> None:
    """Go on with a run that was stopped or killed, or make a finished one longer."""
    from geodrift.cli import _fitting

    _fitting.go_on(run, _fitting.checked_length(seconds, steps))
    print(run)


def _add_summary(command: str, help_text: str, top_help: str) -> None:
    """The command that prints what the models of one kind have found."""

    def summary(
        run: o.RunPath,
        top: Annotated[int, typer.Option(min=1, help=top_help)] = 10,
        as_json: o.Json = False,
    ) -> None:
        from geodrift.driver import Run
        from geodrift.models import model_of

        opened = Run.open(run)
        model = model_of(opened)
        if model.summary.command != command:
            from geodrift.cli import UsageError

            raise UsageError(f"run {run} is of {model.title}: use geodrift {model.summary.command}")
        answers = model.answers()
        found = answers.summarise(opened, top)
        print(json.dumps({command: found}, ensure_ascii=False) if as_json else answers.summary_text(found))

    app.command(command, help=help_text, epilog=f"Example: geodrift {command} articles-20 --top 15")(summary)


for _summary in dict.fromkeys(model.summary for model in models().values()):
    _add_summary(*_summary)


@m.with_options(m.evaluation_options_of)
def evaluate(
    run: o.RunPath,
    source: o.Input,
    vocab: o.Vocab = None,
    draws: Annotated[
        int | None,
        typer.Option(min=1, help="N draws: the last ceil(N / chains) of each chain."),
    ] = None,
    seed: o.Seed = 0,
    text_field: o.TextField = "text",
    encoding: o.Encoding = "utf-8",
    as_json: o.Json = False,
    **options: Any,
) -> None:
    from geodrift.cli._inputs import Text, load_counts
    from geodrift.driver import Run
    from geodrift.models import document_rows, model_of

    opened = Run.open(run)
    model = model_of(opened)
    told = m.given(model, options, m.evaluation_options_of)
    text = Text(text_field, encoding)
    counts = load_counts(source, vocab, text, opened.labels["word"], opened.config["text_options"])
    rows, answers = document_rows(opened, model, counts), model.answers()
    result = answers.evaluate(opened, rows, num_draws=draws, seed=seed, **told)
    print(json.dumps(result) if as_json else answers.sentence(result))


app.command(
    help=f"Score documents that were not fitted (lower is better).\n\n{m.evaluation_help()}",
    epilog="Example: geodrift evaluate articles-20 test.npz --vocab vocab.txt",
)(evaluate)


@app.command(epilog="Example: geodrift transform articles-20 new.jsonl --out mixtures.csv")
def transform(
    run: o.RunPath,
    source: o.Input,
    out: Annotated[Path, typer.Option(help="File to write: .npz (mean, low, high) or .csv.")],
    vocab: o.Vocab = None,
    seed: o.Seed = 0,
    text_field: o.TextField = "text",
    encoding: o.Encoding = "utf-8",
) -> None:
    """Write what each document is a mixture of, with 90% intervals."""
    from geodrift.cli._files import check_suffix, write_mixtures
    from geodrift.cli._inputs import Text, load_counts
    from geodrift.driver import Run
    from geodrift.models import document_rows, model_of

    check_suffix(out, ".npz", ".csv")
    opened = Run.open(run)
    model = model_of(opened)
    text = Text(text_field, encoding)
    counts = load_counts(source, vocab, text, opened.labels["word"], opened.config["text_options"])
    rows = document_rows(opened, model, counts)
    write_mixtures(out, model.answers().transform(opened, rows, seed=seed), model.component)
    print(out)


@app.command(epilog="Example: geodrift export articles-20 --out articles-20.npz")
def export(run: o.RunPath, out: Annotated[Path, typer.Option(help=".npz file to write.")]) -> None:
    """Write the draws of all chains, aligned, and all that is needed to read them, as .npz.

    Of topic models: topics [draw, topic, word], expected_topics [topic, word], vocabulary, hyperparameters
    (JSON). expected_topics is for lda the topics' mean given the assignments of the first chain's last state;
    for sam the draws' mean direction.
    """
    from geodrift.cli._files import check_suffix
    from geodrift.driver import Run
    from geodrift.files import write_arrays
    from geodrift.models import model_of

    check_suffix(out, ".npz")
    opened = Run.open(run)
    write_arrays(out, model_of(opened).answers().export(opened))
    print(out)


def _free_name(name: str) -> Path:
    number, path = 1, Path(name)
    while path.exists():
        number += 1
        path = Path(f"{name}-{number}")
    return path
