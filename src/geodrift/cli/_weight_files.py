"""Files of what documents are made of: a wide table, a long one, or arrays."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from geodrift.data import Document
from geodrift.files import write_arrays, write_file
from geodrift.models.kit._document_weights import Weights

ENDS = ("low", "high")


class Form(NamedTuple):
    """How a table is laid out.

    Attributes:
        component: What is weighed, such as ``topic``.
        fields: Fields of the documents that a wide table has beside the weights, with the types of their
            values.
        long: One row a document and component; otherwise one row a document.
        intervals: Whether a wide table has the ends of the intervals; a long one always does.
        names: What components are called, by their numbers; a component that has no name is not there.
        documents: How many there are, for .npy.
        others: What the last columns are that are no component's, from `column_of`.
    """

    component: str
    fields: Mapping[str, type]
    long: bool
    intervals: bool
    names: Mapping[int, str] = MappingProxyType({})
    documents: int = 0
    others: Sequence[str] = ()

    def labels(self, number: int) -> list[str]:
        """What so many columns are in a long table: the components' numbers, then `others`."""
        return [*map(str, range(number - len(self.others))), *self.others]

    def column(self, component: int, number: int, ends: str = "") -> str:
        """One of so many columns in a wide table: a component's number, and its name behind it."""
        behind = component - (number - len(self.others))
        if behind >= 0:
            return f"{self.others[behind]}{ends}"
        name = self.names.get(component)
        return f"{self.component}_{component}{ends}" + ("" if name is None else f" {name}")

    def header(self, number: int) -> list[str]:
        """The columns of a wide table of so many components."""
        ends = ("", "_low", "_high") if self.intervals else ("",)
        columns = [self.column(place, number, end) for place in range(number) for end in ends]
        # A field that is called as a column of ours keeps its name behind a word.
        taken, fields = {"id", *columns}, []
        plain = {field for field in self.fields if field not in taken}
        for field in self.fields:
            name = field
            while name in taken or (name != field and name in plain):
                name = f"field_{name}"
            taken.add(name)
            fields.append(name)
        return ["id", *fields, *columns]

    def values(self, weights: Weights) -> np.ndarray:
        """The numbers of a wide table, [document, column]."""
        names = ("mean", *ENDS) if self.intervals else ("mean",)
        return np.stack([weights[name] for name in names], axis=2).reshape(len(weights["mean"]), -1)


def column_of(other: str) -> str:
    """The heading of a column that is no component's: ``others``, or such as ``no_cluster``."""
    return "others" if other.startswith("other ") else other.replace(" ", "_")


def write_weights(path: Path, blocks: Iterable[tuple[list[Document], Weights]], form: Form) -> None:
    """Write weights as .npz, or as .csv, .parquet or .npy while they come.

    An end of an interval that there is not is NaN in arrays, null in Parquet and empty in CSV.
    """
    if path.suffix == ".parquet":
        from geodrift.cli._weight_parquet import write_parquet

        write_parquet(path, blocks, form)
        return
    if path.suffix == ".npy":
        write_file(path, lambda stream: _write_means(stream, blocks, form.documents))
        return
    if path.suffix == ".npz":
        write_arrays(path, _arrays(blocks))
        return

    def write(stream: BinaryIO) -> None:
        text = io.TextIOWrapper(stream, encoding="utf-8", errors="backslashreplace", newline="")
        writer = csv.writer(text)
        for row in _long(blocks, form) if form.long else _wide(blocks, form):
            writer.writerow(row)
        text.flush()
        text.detach()

    write_file(path, write)


def _write_means(stream: BinaryIO, blocks: Iterable[tuple[list[Document], Weights]], documents: int) -> None:
    """The means as one array, [document, component] float32, a block after the other."""
    begun = False
    for _, weights in blocks:
        mean = np.ascontiguousarray(weights["mean"], dtype="<f4")
        if not begun:
            header = {"descr": "<f4", "fortran_order": False, "shape": (documents, mean.shape[1])}
            np.lib.format.write_array_header_1_0(stream, header)
            begun = True
        stream.write(mean.data)


def _arrays(blocks: Iterable[tuple[list[Document], Weights]]) -> dict[str, np.ndarray]:
    """All weights, and the documents' ids."""
    found = list(blocks)
    ids = [document.id for documents, _ in found for document in documents]
    arrays = {name: np.concatenate([weights[name] for _, weights in found]) for name in ("mean", *ENDS)}
    return arrays | {"id": np.array(ids, dtype=np.str_)}


def _wide(blocks: Iterable[tuple[list[Document], Weights]], form: Form) -> Iterator[list[Any]]:
    header = False
    for documents, weights in blocks:
        if not header:
            yield form.header(weights["mean"].shape[1])
            header = True
        for document, row in zip(documents, form.values(weights), strict=True):
            told = [document.fields.get(field, "") for field in form.fields]
            yield [document.id, *told, *map(_shown, row)]


def _long(blocks: Iterable[tuple[list[Document], Weights]], form: Form) -> Iterator[list[Any]]:
    yield ["id", form.component, *(["name"] if form.names else []), "mean", *ENDS]
    for documents, weights in blocks:
        for (place, component), mean in np.ndenumerate(weights["mean"]):
            ends = (weights[name][place, component] for name in ENDS)
            called = [form.names.get(component, "")] if form.names else []
            label = form.labels(weights["mean"].shape[1])[component]
            yield [documents[place].id, label, *called, *map(_shown, (mean, *ends))]


def _shown(value: np.floating) -> str:
    return "" if np.isnan(value) else f"{value:.6g}"
