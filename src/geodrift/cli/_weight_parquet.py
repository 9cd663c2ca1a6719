"""What documents are made of as a Parquet file, a block of documents at a time; needs pyarrow."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from geodrift.cli._weight_files import ENDS, Form
from geodrift.data import Document, InputError
from geodrift.files import write_file
from geodrift.models.kit._document_weights import Weights


def write_parquet(path: Path, blocks: Iterable[tuple[list[Document], Weights]], form: Form) -> None:
    """Write a table of the same columns as the CSV file has; weights are float32, a missing end is null.

    Raises:
        InputError: pyarrow is not installed.
    """
    check_pyarrow(path)
    import pyarrow as pa
    import pyarrow.parquet as pq

    def write(stream: BinaryIO) -> None:
        writer = None
        for documents, weights in blocks:
            table = _long(documents, weights, form) if form.long else _wide(documents, weights, form)
            if writer is None:
                # Weights hardly ever repeat: dictionaries of them take time and no bytes less.
                texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
                writer = pq.ParquetWriter(stream, table.schema, use_dictionary=texts)
            writer.write_table(table)
        if writer is not None:
            writer.close()

    write_file(path, write)


def check_pyarrow(path: Path) -> None:
    """Raise InputError where pyarrow is not installed."""
    try:
        import pyarrow as _  # noqa: F401
    except ImportError:
        raise InputError(f"writing {path} needs pyarrow: python -m pip install 'geodrift[parquet]'") from None


def _wide(documents: list[Document], weights: Weights, form: Form) -> Any:
    values = form.values(weights)
    columns = [_texts([document.id for document in documents])]
    for field, kind in form.fields.items():
        columns.append(_column([document.fields.get(field) for document in documents], kind))
    columns += [_numbers(column) for column in values.T]
    return _table(columns, form.header(weights["mean"].shape[1]))


def _long(documents: list[Document], weights: Weights, form: Form) -> Any:
    import pyarrow as pa

    number = weights["mean"].shape[1]
    ids = _texts([document.id for document in documents for _ in range(number)])
    components = np.tile(np.arange(number, dtype=np.int32), len(documents))
    # Numbers, unless a column is no component's: then texts, as the label of that one is.
    labels = _texts(form.labels(number) * len(documents)) if form.others else pa.array(components)
    columns, names = [ids, labels], ["id", form.component]
    if form.names:
        columns.append(_texts([form.names.get(int(place), "") for place in components]))
        names.append("name")
    columns += [_numbers(weights[name].ravel()) for name in ("mean", *ENDS)]
    return _table(columns, [*names, "mean", *ENDS])


def _table(columns: list[Any], names: list[str]) -> Any:
    import pyarrow as pa

    return pa.Table.from_arrays(columns, names=[_utf8(name) for name in names])


def _column(values: list[Any], kind: type) -> Any:
    import pyarrow as pa

    if kind is str:
        return _texts([None if value is None else str(value) for value in values])
    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    return pa.array([None if value is None else kind(value) for value in values], types[kind])


def _texts(values: list[str | None]) -> Any:
    import pyarrow as pa

    return pa.array([None if value is None else _utf8(value) for value in values], pa.string())


def _utf8(text: str) -> str:
    """Text without halves of surrogate pairs, which names of files may have and UTF-8 cannot."""
    return text.encode("utf-8", "backslashreplace").decode()


def _numbers(values: np.ndarray) -> Any:
    import pyarrow as pa

    plain = np.ascontiguousarray(values, dtype=np.float32)
    return pa.array(plain, mask=np.isnan(plain))
