"""Text from Parquet files, a few thousand rows at a time; needs pyarrow."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from geodrift._errors import InputError
from geodrift.data._limits import refuse_expanding
from geodrift.data._records import Record
from geodrift.data._spans import Span, spans_of_rows
from geodrift.data._stores import open_file, state_of

_ROWS = 4096  # read at a time, or fewer of
_BYTES = 2**24
_REMEDY = "write it again without compression and without dictionaries"


def read_parquet(
    path: str,
    text_field: str,
    wanted: Callable[[str], bool] = lambda name: False,
    span: Span | None = None,
) -> Iterator[Record]:
    """Read the records of a file; a missing text is an empty document.

    Args:
        path: The file.
        text_field: Name of the column that holds the text.
        wanted: Whether another column is read; of nested columns, only if it is wanted under its own name.
        span: The rows to read; None: all.

    Raises:
        InputError: pyarrow is not installed, the file is not in this format or was cut off, it has no such
            column, the column does not hold text, or it holds far more text than the file has bytes.
    """
    with ExitStack() as stack:
        pa = _pyarrow(path)
        size, found = state_of(path)[0], 0
        stack.enter_context(_as_errors(path, text_field, pa))
        file = _opened(path, stack)
        _check_column(path, file.schema_arrow, text_field, pa)
        columns = [text_field, *_plain_columns(file.schema_arrow, text_field, wanted, pa)]
        rows = min(_ROWS, max(1, file.metadata.num_rows * _BYTES // _checked_size(path, size, file.metadata)))
        if span is None:
            span = Span(0, file.metadata.num_rows)
        groups, at = _groups(file.metadata, span)
        # A dictionary stays one, and its texts are not repeated for each row.
        file = _opened(path, stack, read_dictionary=[text_field])
        for batch in file.iter_batches(rows, row_groups=groups, columns=columns):
            first, stop = max(span.start - at, 0), min(span.stop - at, len(batch))
            part = batch.slice(first, max(stop - first, 0))
            others = {name: part.column(name).to_pylist() for name in columns[1:]}
            for place, value in enumerate(part.column(text_field)):
                text = value.as_py() or ""
                found += len(text)
                refuse_expanding(path, size, found, _REMEDY)
                values = {name: column[place] for name, column in others.items()}
                yield Record(text, at + first + place + 1, values)
            at += len(batch)


def spans_of_parquet(path: str, text_field: str) -> list[Span]:
    """Parts of a file, by rows.

    Raises:
        InputError: See `read_parquet`.
    """
    with ExitStack() as stack:
        pa = _pyarrow(path)
        size = state_of(path)[0]
        stack.enter_context(_as_errors(path, text_field, pa))
        file = _opened(path, stack)
        _check_column(path, file.schema_arrow, text_field, pa)
        return spans_of_rows(file.metadata.num_rows, _checked_size(path, size, file.metadata))


def _pyarrow(path: str) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as _  # noqa: F401
    except ImportError:
        raise InputError(f"reading {path} needs pyarrow: python -m pip install 'geodrift[parquet]'") from None
    return pa


def _opened(path: str, stack: ExitStack, **options: Any) -> Any:
    import pyarrow.parquet as pq

    return stack.enter_context(pq.ParquetFile(stack.enter_context(open_file(path)), **options))


@contextmanager
def _as_errors(path: str, text_field: str, pa: Any) -> Iterator[None]:
    """Raise InputError in the place of what pyarrow raises."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: column {text_field!r} is not UTF-8 text ({error.reason})") from None
    except (pa.ArrowException, OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{path} is not a Parquet file that can be read: {error}") from None


def _groups(metadata: Any, span: Span) -> tuple[list[int], int]:
    """The row groups that have a row of a span, and the number of their first row."""
    found, first, at = [], span.start, 0
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        if at < span.stop and at + rows > span.start:
            first = first if found else at
            found.append(group)
        at += rows
    return found, first


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
    tests += (types.is_date, types.is_timestamp, types.is_string_view, types.is_decimal)
    found = []
    for field in schema:
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        plain = any(test(kind) for test in tests) and schema.names.count(field.name) == 1
        if plain and field.name != text_field and wanted(field.name):
            found.append(field.name)
    return found


def _checked_size(path: str, size: int, metadata: Any) -> int:
    """Bytes that a file says it becomes; refused where that is far more than its size.

    Of all columns: the metadata of one end the process if they are damaged, as of pyarrow 26.
    """
    groups = range(metadata.num_row_groups)
    told = max(1, sum(metadata.row_group(group).total_byte_size for group in groups))
    refuse_expanding(path, size, told, _REMEDY)
    return told
