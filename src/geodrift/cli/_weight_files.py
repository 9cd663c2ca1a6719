"""Files of what documents are made of: a wide table, a long one, or arrays."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
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
        fields: Fields of the documents that a wide table has beside the weights.
        long: One row a document and component; otherwise one row a document.
        intervals: Whether a wide table has the ends of the intervals; a long one always does.
    """

    component: str
    fields: Sequence[str]
    long: bool
    intervals: bool


def write_weights(path: Path, blocks: Iterable[tuple[list[Document], Weights]], form: Form) -> None:
    """Write weights as .npz, or as .csv while they come.

    An end of an interval that there is not is NaN in the one and empty in the other.
    """
    if path.suffix == ".npz":
        write_arrays(path, _arrays(blocks))
        return

    def write(stream: BinaryIO) -> None:
        text = io.TextIOWrapper(stream, encoding="utf-8", errors="surrogatepass", newline="")
        writer = csv.writer(text)
        for row in _long(blocks, form) if form.long else _wide(blocks, form):
            writer.writerow(row)
        text.flush()
        text.detach()

    write_file(path, write)


def _arrays(blocks: Iterable[tuple[list[Document], Weights]]) -> dict[str, np.ndarray]:
    """All weights, and the documents' ids."""
    found = list(blocks)
    ids = [document.id for documents, _ in found for document in documents]
    arrays = {name: np.concatenate([weights[name] for _, weights in found]) for name in ("mean", *ENDS)}
    return arrays | {"id": np.array(ids, dtype=np.str_)}


def _wide(blocks: Iterable[tuple[list[Document], Weights]], form: Form) -> Iterator[list[Any]]:
    header = False
    for documents, weights in blocks:
        number = weights["mean"].shape[1]
        names = ("mean", *ENDS) if form.intervals else ("mean",)
        if not header:
            columns = [f"{form.component}_{k}{_SUFFIX[name]}" for k in range(number) for name in names]
            # A field that is called as a column of ours keeps its name behind a word.
            ours = {"id", *columns}
            yield ["id", *(f"field_{field}" if field in ours else field for field in form.fields), *columns]
            header = True
        values = np.stack([weights[name] for name in names], axis=2).reshape(len(documents), -1)
        for document, row in zip(documents, values, strict=True):
            told = [document.fields.get(field, "") for field in form.fields]
            yield [document.id, *told, *map(_shown, row)]


def _long(blocks: Iterable[tuple[list[Document], Weights]], form: Form) -> Iterator[list[Any]]:
    yield ["id", form.component, "mean", *ENDS]
    for documents, weights in blocks:
        for (place, component), mean in np.ndenumerate(weights["mean"]):
            ends = (weights[name][place, component] for name in ENDS)
            yield [documents[place].id, component, *map(_shown, (mean, *ends))]


_SUFFIX = {"mean": "", "low": "_low", "high": "_high"}


def _shown(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.6g}"
