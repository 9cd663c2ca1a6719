"""Text from Parquet files, a few thousand rows at a time; needs pyarrow."""

from collections.abc import Iterator
from typing import Any

from geodrift._errors import InputError

_ROWS = 4096  # read at a time


def read_parquet(path: str, text_field: str) -> Iterator[str]:
    """Read the texts of one column; a missing value is an empty document.

    Args:
        path: The file.
        text_field: Name of the column.

    Raises:
        InputError: pyarrow is not installed, the file is not in this format or was cut off, it has no such
            column, or the column does not hold text.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(f"reading {path} needs pyarrow: python -m pip install 'geodrift[parquet]'") from None
    try:
        with pq.ParquetFile(path) as file:
            _check_column(path, file.schema_arrow, text_field, pa)
            for batch in file.iter_batches(_ROWS, columns=[text_field]):
                for value in batch.column(0):
                    yield value.as_py() or ""
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
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
