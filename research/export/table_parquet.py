"""The Parquet writer of exported tables, and their form as Arrow tables with typed columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from io import BytesIO
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from research.core.text.control_chars import replace_surrogates
from research.export.table_model import ExportColumn, ExportTable, unique_names

_INT64_LIMIT = 2**63


def table_parquet(table: ExportTable) -> bytes:
    """Encode a table as Parquet. Facts about the table and its columns are metadata of the file."""
    out = BytesIO()
    parquet.write_table(arrow_table(table), out)
    return out.getvalue()


def arrow_table(table: ExportTable) -> pa.Table:
    """Convert a table to an Arrow table with typed columns and unique names.

    A column becomes text if one of its values does not fit the type: a date that does not exist, an
    integer of more than 64 bits, or a timestamp with a time zone.
    """
    rows = list(table.rows)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(table.columns)
    arrays = [_typed_array(column.type, values) for column, values in zip(table.columns, columns, strict=True)]
    names = unique_names([column.name for column in table.columns])
    fields = [
        pa.field(name, array.type, metadata=_clean_metadata(column))
        for name, array, column in zip(names, arrays, table.columns, strict=True)
    ]
    facts = {key: replace_surrogates(text).encode() for key, text in (table.metadata or {}).items()}
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=facts or None))


def _clean_metadata(column: ExportColumn) -> dict[str, str] | None:
    return {key: replace_surrogates(text) for key, text in column.metadata.items()} if column.metadata else None


def _typed_array(type_name: str, values: Sequence[Any]) -> pa.Array:
    """Build an array of the column's type, or of text if a value does not fit."""
    arrow_type, convert = _ARROW_TYPES.get(type_name, (pa.string(), _as_text))
    try:
        return pa.array([None if value is None else convert(value) for value in values], arrow_type)
    except (ValueError, TypeError, pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else _as_text(value) for value in values], pa.string())


def _as_text(value: Any) -> str:
    return replace_surrogates(value) if isinstance(value, str) else str(value)


def _as_int64(value: Any) -> int:
    if not isinstance(value, int) or not -_INT64_LIMIT <= value < _INT64_LIMIT:
        raise ValueError(value)
    return value


def _as_date(value: Any) -> date:
    return value if isinstance(value, date) else date.fromisoformat(value)


def _as_naive_datetime(value: Any) -> datetime:
    moment = datetime.fromisoformat(value)
    if moment.tzinfo:
        raise ValueError(value)  # viewers would convert it to their own time zone
    return moment


_ARROW_TYPES: dict[str, tuple[pa.DataType, Callable[[Any], Any]]] = {
    "integer": (pa.int64(), _as_int64),
    "number": (pa.float64(), float),
    "boolean": (pa.bool_(), bool),
    "date": (pa.date32(), _as_date),
    "datetime": (pa.timestamp("us"), _as_naive_datetime),
    "texts": (pa.list_(pa.string()), lambda texts: [_as_text(text) for text in texts]),
}
