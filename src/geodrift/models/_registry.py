"""The models: every folder beside this file that has a ``model.py``, which holds its specification."""

import functools
import importlib
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from geodrift._errors import InputError
from geodrift.driver import Run
from geodrift.models.kit._model import KIND, Model
from geodrift.report import Report

if TYPE_CHECKING:
    import numpy as np
    import scipy.sparse as sp

    from geodrift.models.kit._comparison import Comparison

_DEMONSTRATED = "sam"


@functools.cache
def models() -> Mapping[str, Model]:
    """The specification of every model, by its name."""
    folders = sorted(file.parent.name for file in Path(__file__).parent.glob("*/model.py"))
    found = (importlib.import_module(f"geodrift.models.{folder}.model").MODEL for folder in folders)
    return MappingProxyType({model.name: model for model in found})


def model_named(name: str) -> Model:
    """The model of that name.

    Raises:
        InputError: There is none.
    """
    if name not in models():
        raise InputError(f"there is no model {name!r}; the models are: {', '.join(models())}")
    return models()[name]


def demonstrated() -> Model:
    """The model that `geodrift demo` fits."""
    return model_named(_DEMONSTRATED)


def model_of(run: Run) -> Model:
    """The model of a run.

    Raises:
        InputError: The run is not of a model.
    """
    if run.config["kind"] != KIND:
        raise InputError(
            f"run {run.path} was written by geodrift.sample: read it with geodrift.load, and go on with it"
            f" by the same call of geodrift.sample"
        )
    return model_named(run.config["model"])


def report(
    run: Run | str | PathLike,
    *,
    top: int = 15,
    documents: int = 2000,
    seed: int = 0,
    by: Sequence[str] | None = None,
    title: str | None = None,
    text: str | None = None,
) -> Report:
    """What a run has found, for readers: ``report("articles-20").save("articles.html")``.

    Args:
        run: A run, or where it is.
        top: Words of a component.
        documents: Documents whose weights are told, at most; 0 does without the corpus.
        seed: Of what the documents' weights, their scores and their choice draw.
        by: Fields of the documents that make groups whose shares are compared; None: the first that is a
            time, or else a group, by its name, of a model that tells shares of groups.
        title: Field of the documents' titles; None: the first that is called so.
        text: Field of the beginnings of texts, where the corpus has kept them; None: the first that is called
            so.
    """
    opened = run if isinstance(run, Run) else Run.open(run)
    asked = {"top": top, "documents": documents, "seed": seed, "by": by, "title": title, "text": text}
    return model_of(opened).answers().report(opened, **asked)


def rename(run: Run | str | PathLike, number: int, name: str | None) -> dict[int, str]:
    """Keep a name of a topic, or other component, beside the run; None takes it away.

    What components are called changes no draw and no number. A run that goes on may have its components in
    another order: a name stays with the component that has the words.

    Args:
        run: A run, or where it is.
        number: Of the component.
        name: 1 to 80 characters on one line.

    Returns:
        All names, by the numbers of their components.
    """
    opened = run if isinstance(run, Run) else Run.open(run)
    answers = model_of(opened).answers()
    with opened.locked():
        answers.rename(opened, number, name)
    return answers.names(opened)


def compare(
    first: Run | str | PathLike,
    second: Run | str | PathLike,
    *,
    documents: "sp.csr_matrix | None" = None,
    top: int = 10,
    seed: int = 0,
) -> "Comparison":
    """Which components of one run are found in another, and how they differ; ``str`` of it is a table.

    Args:
        first: A run, or where it is.
        second: Another of the same kind of model.
        documents: Counts of documents that neither was fitted to, to score; None: those that both have set
            aside. Those that have the words of one that was fitted are left out; where these are most of
            them, there are no scores.
        top: Words of each pair of components.
        seed: Of what the scores draw.

    Raises:
        InputError: The runs cannot be compared, or the documents are no counts of their words.
    """
    # Imported here: the command line reads this file before it knows what it is asked for.
    from geodrift.models.kit._compare_runs import compared
    from geodrift.models.kit._component_answers import ComponentAnswers

    runs = [run if isinstance(run, Run) else Run.open(run) for run in (first, second)]
    kinds = [model_of(run) for run in runs]
    answers = [found for kind in kinds if isinstance(found := kind.answers(), ComponentAnswers)]
    if kinds[0] != kinds[1] or len(answers) < 2:
        titles = " and ".join(kind.title for kind in kinds)
        raise InputError(f"two runs of one model of components can be compared, these are of {titles}")
    if kinds[0].reads != "counts":
        raise InputError(
            f"runs of {kinds[0].title} cannot be compared: components are compared by their words, and"
            " vectors have none"
        )
    return compared(runs, answers, documents, top=top, seed=seed)


def to_pyldavis(run: Run | str | PathLike, *, most: int = 20_000, seed: int = 0) -> "dict[str, np.ndarray]":
    """The arguments of ``pyLDAvis.prepare`` by name: ``pyLDAvis.prepare(**to_pyldavis("articles-20"))``.

    Args:
        run: A run, or where it is, of topics that are probabilities of words.
        most: Documents, at most; of a larger corpus so many at random.
        seed: Of the choice and of the documents' mixtures.

    Raises:
        InputError: The model's components are not probabilities of words.
    """
    from geodrift.models.kit._component_answers import ComponentAnswers
    from geodrift.models.kit._other_tools import pyldavis_arrays
    from geodrift.models.kit._runs import corpus_of

    opened = run if isinstance(run, Run) else Run.open(run)
    answers = model_of(opened).answers()
    if not isinstance(answers, ComponentAnswers):
        raise InputError(f"run {opened.path} is of {answers.model.title}, which has no components of words")
    corpus = corpus_of(opened)
    return pyldavis_arrays(
        opened, answers, corpus, most=most, seed=seed, progress=lambda done, total, what: None
    )


def refusal(model: Model, option: str, shown: str | None = None) -> str:
    """Why a model does not take an option, and what to do.

    Args:
        model: The model.
        option: A setting or an option of `evaluate`, of another model.
        shown: The option as it was typed.
    """
    others = [other.name for other in models().values() if option in option_names(other)]
    whose = f"it is one of {', '.join(others)}; leave it out" if others else "no model has it"
    return f"{shown or option} is not an option of {model.name}: {whose}"


def option_names(model: Model) -> set[str]:
    """Names of a model's settings and of what its `evaluate` takes."""
    return {told.name for told in (*model.settings_type.settings(), *model.evaluation_options)}
