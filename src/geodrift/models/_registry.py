"""The models: every folder beside this file that has a ``model.py``, which holds its specification."""

import functools
import importlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import MappingProxyType

from geodrift._errors import InputError
from geodrift.driver import Run
from geodrift.models.kit._model import KIND, Model
from geodrift.report import Report

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


def report(run: Run | str | PathLike, *, top: int = 15, documents: int = 2000, seed: int = 0) -> Report:
    """What a run has found, for readers: ``report("articles-20").save("articles.html")``.

    Args:
        run: A run, or where it is.
        top: Words of a component.
        documents: Documents whose weights are told, at most; 0 does without the corpus.
        seed: Of what the documents' weights, their scores and their choice draw.
    """
    opened = run if isinstance(run, Run) else Run.open(run)
    return model_of(opened).answers().report(opened, top=top, documents=documents, seed=seed)


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
