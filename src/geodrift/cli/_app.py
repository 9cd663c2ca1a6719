"""The commands. Heavy imports stand inside them, so that `--help` is quick."""

import json
from pathlib import Path
from typing import Annotated

import typer

from geodrift import __version__
from geodrift.cli import _options as o

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
    topics: o.Topics = 20,
    seed: o.Seed = 0,
) -> None:
    """Fit topics to the docstrings of Python and of installed scientific packages, and print them."""
    from rich.console import Console

    from geodrift.cli import _fitting, _print
    from geodrift.data import demo_corpus
    from geodrift.files import refuse_existing
    from geodrift.runs import summarise

    _fitting.check_length(seconds, None)
    path = run if run is not None else _free_name("geodrift-demo")
    refuse_existing(path)
    console = Console(stderr=True)
    _fitting.say(console, "reading docstrings (parsed, never imported)")
    config = {"model": "sam", "settings": {"n_topics": topics}, "seed": seed, "chains": 1, "held_out": 200}
    fitted = _fitting.start(demo_corpus(), path, config, seconds, None)
    print(_print.topic_lines(summarise(fitted, 8), max(60, console.width)))
    print(f"\nword, posterior mean of its weight, [90% interval]\nrun directory: {path}")
    print(f"more: geodrift topics {path}")


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


@app.command(
    epilog="Example: geodrift fit lda articles --run articles-20 --topics 20 --seconds 120 --chains 2"
)
def fit(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="lda: latent Dirichlet allocation; sam: the Spherical Admixture Model."
        ),
    ],
    source: o.Input,
    run: Annotated[Path, typer.Option(help="Run directory to write.")],
    vocab: o.Vocab = None,
    topics: o.Topics = 20,
    seconds: o.Seconds = None,
    steps: o.Steps = None,
    chains: Annotated[int, typer.Option(min=1, help="Independent chains; they share the time.")] = 1,
    seed: o.Seed = 0,
    held_out: Annotated[int, typer.Option(min=0, help="Documents set aside to score during the run.")] = 0,
    doc_topic_prior: o.DocTopicPrior = None,
    topic_word_prior: o.TopicWordPrior = None,
    weighting: o.Weighting = None,
    corpus_mean_concentration: o.CorpusMeanConcentration = None,
    topic_concentration: o.TopicConcentration = None,
    document_concentration: o.DocumentConcentration = None,
    method: o.Method = None,
    batch_size: o.BatchSize = None,
    draws: o.Draws = None,
    text_field: o.TextField = "text",
    encoding: o.Encoding = "utf-8",
    min_df: o.MinDf = None,
    max_df: o.MaxDf = None,
    max_words: o.MaxWords = None,
    stop_words: o.StopWords = "english",
    ngrams: o.Ngrams = 1,
    token_pattern: o.TokenPattern = None,
) -> None:
    """Sample the posterior of a model of the documents, for 60 seconds unless told otherwise."""
    from geodrift.cli import _fitting
    from geodrift.cli._inputs import Text, load_corpus
    from geodrift.files import refuse_existing
    from geodrift.runs import MODELS

    _fitting.check_model(model)
    _fitting.check_length(seconds, steps)
    refuse_existing(run)
    settings = _fitting.check_settings(
        model,
        n_topics=topics, doc_topic_prior=doc_topic_prior, topic_word_prior=topic_word_prior,
        weighting=weighting, corpus_mean_concentration=corpus_mean_concentration,
        topic_concentration=topic_concentration, document_concentration=document_concentration,
        method=method, batch_size=batch_size, num_draws=draws,
    )  # fmt: skip
    text = Text(text_field, encoding, min_df, max_df, max_words, stop_words, ngrams, token_pattern)
    documents = load_corpus([source], vocab, text, signed=MODELS[model].takes_negative(settings))
    config = {"model": model, "settings": settings, "seed": seed, "chains": chains, "held_out": held_out}
    _fitting.start(documents, run, config, 60.0 if seconds is None and steps is None else seconds, steps)
    print(run)


@app.command(epilog="Example: geodrift resume articles-20 --seconds 300")
def resume(run: o.RunPath, seconds: o.Seconds = None, steps: o.Steps = None) -> None:
    """Go on with a run that was stopped or killed, or make a finished one longer."""
    from geodrift.cli import _fitting

    _fitting.check_length(seconds, steps)
    _fitting.go_on(run, seconds, steps)
    print(run)


@app.command(epilog="Example: geodrift topics articles-20 --top 15")
def topics(
    run: o.RunPath,
    top: Annotated[int, typer.Option(min=1, help="Words of a topic (of sam: at each end).")] = 10,
    as_json: o.Json = False,
) -> None:
    """Print each topic's words with 90% intervals and the chance of being among its ten highest."""
    from geodrift.cli._print import topic_tables
    from geodrift.runs import Run, summarise

    found = summarise(Run.open(run), top)
    print(json.dumps({"topics": found}, ensure_ascii=False) if as_json else topic_tables(found), end="\n")


@app.command(epilog="Example: geodrift evaluate articles-20 test.npz --vocab vocab.txt")
def evaluate(
    run: o.RunPath,
    source: o.Input,
    vocab: o.Vocab = None,
    draws: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="N topic draws: the last ceil(N / chains) of each chain. Default: lda 10, sam all.",
        ),
    ] = None,
    theta_draws: o.ThetaDraws = None,
    seed: o.Seed = 0,
    text_field: o.TextField = "text",
    encoding: o.Encoding = "utf-8",
    as_json: o.Json = False,
) -> None:
    """Score documents that were not fitted (lower is better).

    lda: perplexity of a tenth of each document's words given the others; coherence, exclusivity and
    diversity of the topics. sam: log-perplexity; compare only at equal N and J.
    """
    from geodrift import runs
    from geodrift.cli import _fitting
    from geodrift.cli._inputs import Text, load_counts

    opened = runs.Run.open(run)
    options = _fitting.check_evaluation(opened.config["model"], theta_draws=theta_draws)
    text = Text(text_field, encoding)
    counts = load_counts(source, vocab, text, opened.vocabulary, opened.config["text_options"])
    rows = runs.document_rows(opened, counts)
    result = runs.evaluate(opened, rows, topic_draws=draws, seed=seed, **options)
    print(json.dumps(result) if as_json else runs.model_named(opened.config["model"]).sentence(result))


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
    """Write each document's mixture of topics with 90% intervals."""
    from geodrift import runs
    from geodrift.cli._files import check_suffix, write_mixtures
    from geodrift.cli._inputs import Text, load_counts

    check_suffix(out, ".npz", ".csv")
    opened = runs.Run.open(run)
    text = Text(text_field, encoding)
    counts = load_counts(source, vocab, text, opened.vocabulary, opened.config["text_options"])
    write_mixtures(out, runs.transform(opened, runs.document_rows(opened, counts), seed))
    print(out)


@app.command(epilog="Example: geodrift export articles-20 --out articles-20.npz")
def export(run: o.RunPath, out: Annotated[Path, typer.Option(help=".npz file to write.")]) -> None:
    """Write topic draws [draw, topic, word], aligned, and all that is needed to read them, as .npz.

    Arrays: topics, expected_topics [topic, word], vocabulary, hyperparameters (JSON). expected_topics is for
    lda the topics' mean given the assignments of the first chain's last state; for sam the draws' mean
    direction.
    """
    from geodrift import runs
    from geodrift.cli._files import check_suffix, write_export

    check_suffix(out, ".npz")
    write_export(out, runs.Run.open(run))
    print(out)


def _free_name(name: str) -> Path:
    number, path = 1, Path(name)
    while path.exists():
        number += 1
        path = Path(f"{name}-{number}")
    return path
