"""Text from Parquet files, a few thousand rows at a time; needs pyarrow."""

import os
from collections.abc import Callable, Iterator
from typing import Any

from geodrift._errors import InputError
from geodrift.data._limits import refuse_expanding
from geodrift.data._records import Record
from geodrift.data._regular_files import refuse_irregular

_ROWS = 4096  # read at a time
_REMEDY = "write it again without compression and without dictionaries"


def read_parquet(
    path: str, text_field: str, wanted: Callable[[str], bool] = lambda name: False
) -> Iterator[Record]:
    """Read the records of a file; a missing text is an empty document.

    Args:
        path: The file.
        text_field: Name of the column that holds the text.
        wanted: Whether another column is read; of nested columns, only if it is wanted under its own name.

    Raises:
        InputError: pyarrow is not installed, the file is not in this format or was cut off, it has no such
            column, the column does not hold text, or it holds far more text than the file has bytes.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(f"reading {path} needs pyarrow: python -m pip install 'geodrift[parquet]'") from None
    refuse_irregular(path)
    size, found = os.stat(path).st_size, 0
    try:
        with pq.ParquetFile(path) as file:
            _check_column(path, file.schema_arrow, text_field, pa)
            columns = [text_field, *_plain_columns(file.schema_arrow, text_field, wanted, pa)]
            _check_size(path, size, file.metadata, columns)
        # A dictionary stays one, and its texts are not repeated for each row.
        with pq.ParquetFile(path, read_dictionary=[text_field]) as file:
            number = 0
            for batch in file.iter_batches(_ROWS, columns=columns):
                others = {name: batch.column(name).to_pylist() for name in columns[1:]}
                for place, value in enumerate(batch.column(text_field)):
                    text = value.as_py() or ""
                    found += len(text)
                    refuse_expanding(path, size, found, _REMEDY)
                    number += 1
                    yield Record(text, number, {name: values[place] for name, values in others.items()})
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: column {text_field!r} is not UTF-8 text ({error.reason})") from None
    except (pa.ArrowException, OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{path} is not a Parquet file that can be read: {error}") from None


def _check_column(path: str, schema: Any, text_field: str, pa: Any) -> None:
    """Raise InputError unless the file's ``schema`` has one such column, of text; ``pa`` is pyarrow."""
    if schema.names.count(text_field) != 1:
        fields = ", ".join(schema.names)
        raise InputError(f"{path}: no column {text_field!r} (columns: {fields}); name it with --text-field")
    kind = schema.field(text_field).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    if not any(test(kind) for test in text):
        raise InputError(f"{path}: column {text_field!r} holds {kind}, not text")


def _plain_columns(schema: Any, text_field: str, wanted: Callable[[str], bool], pa: Any) -> list[str]:
    """The other wanted columns that hold numbers, dates or text, and of whose names there is one."""
    types = pa.types
    tests = (types.is_string, types.is_large_string, types.is_integer, types.is_floating, types.is_boolean)
    tests += (types.is_date, types.is_timestamp, types.is_string_view)
    found = []
    for field in schema:
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        plain = any(test(kind) for test in tests) and schema.names.count(field.name) == 1
        if plain and field.name != text_field and wanted(field.name):
            found.append(field.name)
    return found


def _check_size(path: str, size: int, metadata: Any, columns: list[str]) -> None:
    """Refuse columns that say that they decompress to far more than the file's size."""
    told = 0
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            part = metadata.row_group(group).column(column)
            if part.path_in_schema in columns:
                told += part.total_uncompressed_size
    refuse_expanding(path, size, told, _REMEDY)
