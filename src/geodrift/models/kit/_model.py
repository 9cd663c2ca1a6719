"""The specification of a model: what the library knows of it before any of its code is needed."""

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from geodrift.models.kit._settings import ModelSettings, Setting

if TYPE_CHECKING:
    from geodrift.models.kit._answers import Answers


KIND = "model"  # of a run directory, in its config


class Summary(NamedTuple):
    """The command that prints what was found: one for each kind of model, such as ``topics``."""

    command: str
    help: str  # of the command
    top_help: str  # of its option --top


def never(settings: Mapping[str, Any]) -> bool:
    """For ``may_be_negative``: documents are counts."""
    del settings
    return False


def in_one_process(settings: Mapping[str, Any], number: int) -> str | None:
    """For ``cannot_share``: of a model whose chains know nothing of other processes."""
    del settings, number
    return "its documents are not shared out to processes yet"


def as_they_are(settings: Mapping[str, Any]) -> dict[str, Any]:
    """For ``to_share``: of a model that shares its work under any settings."""
    return dict(settings)


@dataclasses.dataclass(frozen=True)
class Model:
    """A model by what it is called, what can be set, and where its code is.

    It stands in ``model.py`` of the model's folder under the name ``MODEL``, and imports nothing that takes
    long: the command line reads it before it knows what it is asked for.

    Attributes:
        name: In `config.json` and on the command line.
        title: For a reader.
        settings_type: The class of its settings.
        answers_class: Where its `Answers` are, as ``module:class``.
        summary: The command that prints what was found.
        component: What `Answers.transform` weighs in a document, in one word such as ``topic``; in stored
            variables the dimension along which they lie.
        transform_help: What these weights are, for the help of ``geodrift transform``.
        evaluation_help: What its scores are, for the help of ``geodrift evaluate``.
        export_help: The arrays of `Answers.export`, for the help of ``geodrift export``.
        evaluation_options: What `Answers.evaluate` takes besides the seed and the number of draws.
        demo_settings: Names of the settings that ``geodrift demo`` takes, of the model that it shows.
        ladder_setting: The setting whose values `geodrift choose-k` compares, where the model has the scores
            for it: its answers have ``completion_by_chain``.
        ladder_defaults: Settings of such a comparison that are not those of a fit.
        reads: What documents are: rows of counts ("counts"), or of real numbers ("vectors").
        document: What one of them is called.
        sizes_of: What sizes of components are shares of, in the plural.
        takes_start: Whether a run can begin at given components; see `ModelChain.start_from`.
        may_be_negative: Whether documents may have negative entries under given settings.
        cannot_share: Why so many processes cannot take the steps of a chain together under given settings;
            None where they can, and its chains take a ``team``.
        to_share: The settings of a run that is begun by several processes, given those that were asked for.
        memory_of_a_step: Memory that a step needs, as a multiple of the state's.
        memory_of_compiling: Bytes that the compilers take besides; measured by `benchmarks/models/memory.py`.
    """

    name: str
    title: str
    settings_type: type[ModelSettings]
    answers_class: str
    summary: Summary
    component: str
    transform_help: str
    evaluation_help: str
    export_help: str
    evaluation_options: tuple[Setting, ...] = ()
    demo_settings: tuple[str, ...] = ()
    ladder_setting: str = ""
    ladder_defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    reads: Literal["counts", "vectors"] = "counts"
    document: str = "document"
    sizes_of: str = "documents"
    takes_start: bool = False
    may_be_negative: Callable[[Mapping[str, Any]], bool] = never
    cannot_share: Callable[[Mapping[str, Any], int], str | None] = in_one_process
    to_share: Callable[[Mapping[str, Any]], dict[str, Any]] = as_they_are
    memory_of_a_step: float = 2.0
    memory_of_compiling: int = 60_000_000

    def answers(self) -> "Answers":
        """The working part, imported now."""
        module, name = self.answers_class.split(":")
        return getattr(importlib.import_module(module), name)(self)
