"""The report of a run: what its answers say, as plain data."""

import platform
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from geodrift import __version__
from geodrift.driver import Run
from geodrift.models.kit._document_names import document_names
from geodrift.models.kit._model import Model
from geodrift.models.kit._report_documents import chosen_documents, weighed_documents
from geodrift.models.kit._report_parts import kinds_of, of_draws
from geodrift.models.kit._runs import corpus_of
from geodrift.report import Documents, Entry, Report

if TYPE_CHECKING:
    from geodrift.models.kit._component_answers import ComponentAnswers

# Of what is measured on the way, what a reader may judge by.
_TOLD = ("held_out", "configurational_temperature")


def report_of_run(answers: "ComponentAnswers", run: Run, *, top: int, documents: int, seed: int) -> Report:
    """See `Answers.report`."""
    model, vocabulary = answers.model, answers.vocabulary(run)
    draws, agreed = answers.aligned(run)
    found = answers.summarise(run, top)
    told = of_draws(
        answers.map_draws(draws), answers.variable, agreed, found.parts, vocabulary, answers.signed
    )
    asked = _documents(answers, run, draws, documents, seed) if documents else {}
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
        notes=found.notes,
        traces=answers.numbers(run),
        history=_history(run),
        settings=_settings(run, model),
        **told,
        **asked,
    )


def _documents(
    answers: "ComponentAnswers", run: Run, draws: Mapping[str, np.ndarray], most: int, seed: int
) -> dict[str, Any]:
    """What needs the corpus: the mixtures of documents, checks, the score of those set aside."""
    corpus = corpus_of(run)
    fitted, scored = np.arange(corpus.num_documents), {}
    if run.config["held_out"]:
        view, aside = corpus.split(run.config["held_out"], run.config["seed"])
        fitted = view.documents
        scores = answers.evaluate(run, answers.rows(run, aside), num_draws=None, seed=seed)
        scored = {"scores": scores, "scores_told": answers.sentence(scores)}
    numbers = fitted[chosen_documents(len(fitted), most, seed)]
    counts = corpus.rows(numbers)
    rows = answers.rows(run, counts)
    weights = answers.transform(run, rows, seed=seed)
    names = document_names(corpus, numbers.tolist(), answers.model.document)
    vocabulary, others = answers.vocabulary(run), answers.other_columns(run)
    told: Documents = weighed_documents(numbers, names, counts, weights, vocabulary, len(fitted), others)
    checks = answers.checks(run, rows, draws, seed=seed)
    return scored | {"documents": told, "checks": checks}


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
