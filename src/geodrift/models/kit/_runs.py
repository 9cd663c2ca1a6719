"""Run directories of models: made of a config and a corpus, and taken up again."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from geodrift._errors import InputError
from geodrift.data import Corpus, CorpusView, VectorRows, VectorSource, VectorView
from geodrift.distributed import Team
from geodrift.driver import Chain, FitResult, Labels, Length, Run, compile_steps, fit_to_run
from geodrift.models.kit._chain import ModelChain
from geodrift.models.kit._model import KIND, Model

if TYPE_CHECKING:
    from rich.console import Console

START = "start.npy"
FREQUENCIES = "document-frequencies.npy"
CORPUS = "corpus"
VOCABULARY = "vocabulary.txt"


def make_chains(
    model: Model,
    config: dict[str, Any],
    corpus: Corpus | VectorSource,
    team: Team | None = None,
    *,
    start: Float[np.ndarray, "C J V"] | None = None,
) -> list[ModelChain]:
    """The chains of a run as at its start: a function of the config and the corpus.

    Args:
        model: The model.
        config: `settings`, `seed`, `chains` and `held_out`, the number of documents set aside for scoring.
        corpus: All documents, those set aside included, of the kind that the model `reads`.
        team: Processes that take the steps together, each of which makes the chains; or None.
        start: Components to begin at, one set or one for each chain; None: those that the model finds.

    Raises:
        ValueError: Settings outside what is allowed, or a corpus that the model cannot take.
    """
    training: Corpus | CorpusView | VectorSource | VectorView = corpus
    aside: VectorRows | None = None
    if config["held_out"]:
        training, aside = corpus.split(config["held_out"], config["seed"])
    if team is not None and team.rank > 0:
        aside = None  # process 0 scores
    settings, answers = model.settings_type.from_dict(config["settings"]), model.answers()
    shared = {} if team is None else {"team": team}
    chains = [
        answers.chain(training, settings, seed=config["seed"], chain=chain, held_out=aside, **shared)
        for chain in range(config["chains"])
    ]
    if start is not None:
        for number, chain in enumerate(chains):
            chain.start_from(start[number % len(start)])
    compile_steps(chains)
    return chains


def create_run(
    path: str | Path,
    model: Model,
    config: dict[str, Any],
    corpus: Corpus | VectorSource,
    chains: Sequence[ModelChain],
    start: Float[np.ndarray, "C J V"] | None = None,
) -> Run:
    """A run directory for chains from `make_chains`; a corpus in memory is saved inside it.

    Components that the chains begin at are kept too, since a run may be killed before its first checkpoint;
    `config` says under ``start`` what they are of.

    Raises:
        InputError: Vectors are in memory and not in a file.
    """
    training = corpus.split(config["held_out"], config["seed"])[0] if config["held_out"] else corpus
    dimension = "coordinate" if isinstance(corpus, VectorSource) else "word"
    told = {} if start is None else {"start": {"from": config["start"], "sets": len(start)}}
    made = corpus.manifest["made"] if isinstance(corpus, Corpus) else {}
    header = {name: config[name] for name in ("seed", "chains", "held_out")} | told
    header |= {
        "kind": KIND,
        "model": model.name,
        "settings": chains[0].settings.to_dict(),
        "documents": training.num_documents,
        "words": corpus.num_words,
        "text_options": made.get("options"),
        "text_field": made.get("text_field"),
    }

    def fill(folder: Path) -> dict[str, Any]:
        if isinstance(corpus, VectorSource):
            return {"corpus": _place_of_vectors(corpus)}
        if isinstance(training, Corpus | CorpusView):
            np.save(folder / FREQUENCIES, frequencies_of(training))
        if start is not None:
            np.save(folder / START, start)
        inside = corpus.save(folder / CORPUS) if corpus.path is None else corpus
        place = CORPUS if corpus.path is None else str(corpus.path.resolve())
        return {"corpus": {"path": place, "checksum": inside.checksum}}

    labels = [] if corpus.vocabulary is None else [Labels(dimension, VOCABULARY, corpus.vocabulary)]
    return Run.create(path, header, labels, fill)


def _place_of_vectors(vectors: VectorSource) -> dict[str, Any]:
    if vectors.path is None:
        raise InputError("the vectors are in memory: save them by numpy.save, and open the file")
    return {"reads": "vectors", "path": str(vectors.path.resolve()), "checksum": vectors.checksum}


def start_of(run: Run) -> Float[np.ndarray, "C J V"] | None:
    """The components that a run's chains begin at, where they were given."""
    return np.load(run.file(START), allow_pickle=False) if "start" in run.config else None


def corpus_of(run: Run) -> Corpus | VectorSource:
    """The documents of a run, compared with their manifest, or with the checksum of their file.

    Raises:
        InputError: They are gone, damaged, or no longer those that were fitted.
    """
    told = run.config["corpus"]
    place = run.path / told["path"]
    if not place.exists():
        raise InputError(
            f"the documents that run {run.path} was fitted to are no longer at {place}: put them back, or"
            " make them anew there from the same input"
        )
    if told.get("reads") == "vectors":
        vectors = VectorSource.open(place, run.labels.get("coordinate"))
        if vectors.checksum != told["checksum"]:
            raise InputError(
                f"vectors {place} have changed since run {run.path} was fitted to them (checksum differs):"
                " put the file back, or fit anew"
            )
        return vectors
    corpus = Corpus.open(place)
    if corpus.checksum != told["checksum"]:
        raise InputError(f"corpus {place} is not the one run {run.path} was fitted to (checksum differs)")
    corpus.verify()
    return corpus


def frequencies_of(training: Corpus | CorpusView) -> Int[np.ndarray, " V"]:
    """In how many documents each word occurs, as it is kept in a run."""
    return np.asarray(training.document_frequencies, dtype=np.int64)


def document_frequencies(run: Run) -> Int[np.ndarray, " V"]:
    """In how many training documents each word occurs."""
    return np.load(run.file(FREQUENCIES), allow_pickle=False)


def document_rows(run: Run, model: Model, counts: VectorRows) -> VectorRows:
    """Counts of new documents, or vectors, in the form that the run's model takes.

    Raises:
        InputError: They have not the run's number of words, or of numbers in a vector.
    """
    words = run.config["words"]
    if counts.shape[1] != words:
        what = "words" if model.reads == "counts" else "numbers in a row"
        raise InputError(f"the input has {counts.shape[1]:,} {what} but run {run.path} has {words:,}")
    return model.answers().rows(run, counts)


def fit(
    model: Model,
    chains: Sequence[Chain],
    run: Run,
    length: Length | None = None,
    console: "Console | None" = None,
) -> FitResult:
    """Start or continue a run of a model; see `geodrift.driver.fit_to_run`."""
    return fit_to_run(chains, run, length, console=console)
