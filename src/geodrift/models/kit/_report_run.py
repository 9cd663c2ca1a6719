"""The report of a run: what its answers say, as plain data."""

import platform
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from geodrift import __version__
from geodrift.data import Corpus, VectorSource
from geodrift.driver import Run
from geodrift.models.kit._document_names import document_names
from geodrift.models.kit._effects import effects
from geodrift.models.kit._model import Model
from geodrift.models.kit._report_documents import chosen_documents, weighed_documents
from geodrift.models.kit._report_fields import ReportFields, report_fields
from geodrift.models.kit._report_parts import kinds_of, of_draws
from geodrift.models.kit._runs import corpus_of
from geodrift.report import Entry, Prevalence, Report

if TYPE_CHECKING:
    from geodrift.models.kit._component_answers import ComponentAnswers

# Of what is measured on the way, what a reader may judge by.
_TOLD = ("held_out", "configurational_temperature")


class Asked(NamedTuple):
    """What a report is to tell; see `Answers.report`."""

    top: int = 15
    documents: int = 2000
    seed: int = 0
    by: Sequence[str] | None = None
    title: str | None = None
    text: str | None = None
    progress: Callable[[int, int, str], object] = lambda done, total, what: None


def report_of_run(answers: "ComponentAnswers", run: Run, asked: Asked) -> Report:
    """See `Answers.report`."""
    model, vocabulary = answers.model, answers.vocabulary(run)
    asked.progress(0, 0, "reading the draws")
    draws, agreed = answers.aligned(run)
    found = answers.summarise(run, asked.top)
    told = of_draws(
        answers.map_draws(draws), answers.variable, agreed, found.parts, vocabulary, answers.signed
    )
    of_corpus = _of_corpus(answers, run, draws, asked) if asked.documents else {}
    return Report(
        title=run.path.resolve().name,
        model=model.title,
        component=model.component,
        signed=answers.signed,
        parts=found.parts,
        kinds=kinds_of(found.verdict),
        verdict=found.verdict.to_dict(),
        sentences=str(found.verdict).split("\n"),
        numbers=list(found.numbers),
        document=model.document,
        sizes_of=model.sizes_of,
        notes=[*found.notes, *of_corpus.pop("notes", ())],
        traces=answers.numbers(run),
        history=_history(run),
        settings=_settings(run, model),
        **told,
        **of_corpus,
    )


def _of_corpus(
    answers: "ComponentAnswers", run: Run, draws: Mapping[str, np.ndarray], asked: Asked
) -> dict[str, Any]:
    """What needs the corpus: the mixtures of documents, checks, groups, the score of those set aside."""
    asked.progress(0, 0, "reading the corpus")
    corpus = corpus_of(run)
    fields = report_fields(corpus.documents, asked.by, asked.title, asked.text)
    fitted, scored = np.arange(corpus.num_documents), {}
    if run.config["held_out"]:
        asked.progress(0, 0, "scoring documents")
        view, aside = corpus.split(run.config["held_out"], run.config["seed"])
        fitted = view.documents
        scores = answers.evaluate(run, answers.rows(run, aside), num_draws=None, seed=asked.seed)
        scored = {"scores": scores, "scores_told": answers.sentence(scores)}
    numbers = fitted[chosen_documents(len(fitted), asked.documents, asked.seed)]
    counts = corpus.rows(numbers)
    rows = answers.rows(run, counts)
    asked.progress(0, 0, "weighing documents")
    weights = answers.transform(run, rows, seed=asked.seed, fitted=True)
    who, known = corpus.identities(numbers), corpus.documents is not None
    texts = [document.fields.get(fields.text) for document in who] if fields.text else []
    names = document_names(who, fields.title, known=known, called=answers.model.document)
    vocabulary, others = answers.vocabulary(run), answers.other_columns(run)
    told = weighed_documents(numbers, names, counts, weights, vocabulary, len(fitted), others, texts)
    if known:
        shown = {name: [document.fields.get(name) for document in who] for name in fields.shown}
        told = told._replace(ids=[document.id for document in who], fields=shown)
    asked.progress(0, 0, "checking components")
    checks = answers.checks(run, rows, draws, seed=asked.seed)
    groups = _prevalence(answers, run, corpus, fields, asked)
    return scored | {
        "documents": told,
        "checks": checks,
        "prevalence": groups,
        "notes": [*(_notes(fields) if groups else []), *_set_aside(answers.model.document, fitted, corpus)],
    }


def _notes(fields: ReportFields) -> list[str]:
    """That there are other fields by which groups could be told: each takes its time."""
    if not fields.left:
        return []
    options = " ".join(f"--by {field}" for field in (*fields.by, *fields.left))
    return [
        f"Groups are told by {', '.join(fields.by)} alone; for all of them: geodrift report RUN {options}."
    ]


def _set_aside(document: str, fitted: np.ndarray, corpus: Corpus | VectorSource) -> list[str]:
    """Which documents the lists are of, where some were set aside."""
    number = corpus.num_documents
    if len(fitted) == number:
        return []
    return [
        f"The lists of {document}s are of the {len(fitted):,} that were fitted; groups, and"
        f" geodrift documents, are of all {number:,}, with those set aside."
    ]


def _prevalence(
    answers: "ComponentAnswers",
    run: Run,
    corpus: Corpus | VectorSource,
    fields: ReportFields,
    asked: Asked,
) -> list[Prevalence]:
    """Shares in groups, of a model that tells them: others have none unless they are asked for by name.

    They are of the documents that `geodrift effect` looks at, so that the two say the same.
    """
    if not answers.tells_groups and asked.by is None:
        return []
    options: dict[str, Any] = {"seed": asked.seed, "answers": answers, "progress": asked.progress}
    told = []
    for field, groups in fields.by.items():
        found = effects(run, answers.model, corpus, groups, **options)
        told.append(Prevalence(field, groups.centres, found.parts, found.notes(field)))
    return told


def _history(run: Run) -> list[dict[str, Any]]:
    """Each value once: a score stands in every entry until the next one is taken."""
    last: dict[tuple[str, int], Any] = {}
    told = []
    for entry in run.metrics:
        for name, value in entry.items():
            key = name, entry["chain"]
            if name.startswith(_TOLD) and value is not None and last.get(key) != value:
                last[key] = value
                told.append({"step": entry["count"], "chain": entry["chain"], "name": name, "value": value})
    return told


def _settings(run: Run, model: Model) -> list[Entry]:
    config, state = run.config, run.state
    corpus = config.get("corpus", {})
    run_told = {
        "run": run.path,
        "seed": config["seed"],
        "chains": config["chains"],
        "steps of each chain": max(state["counts"]),
        "draws of each chain": run.num_draws,
        "identifier": config["id"],
    }
    data_told = {
        "corpus": corpus.get("path"),
        "digest": corpus.get("checksum"),
        f"{model.document}s fitted": f"{config['documents']:,}",
        f"{model.document}s set aside": f"{config['held_out']:,}",
        "words" if model.reads == "counts" else "numbers in a row": f"{config['words']:,}",
    }
    versions = {
        "geodrift, of the run": config["geodrift"],
        "geodrift, of this report": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
    }
    groups = {"Run": run_told, "Settings": config["settings"], "Data": data_told, "Versions": versions}
    return [
        Entry(group, name.replace("_", " "), _told(value))
        for group, entries in groups.items()
        for name, value in entries.items()
    ]


def _told(value: Any) -> str:
    return "chosen by the model" if value is None else str(value)
