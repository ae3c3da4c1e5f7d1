"""Conversion of database rows to records."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel

from research.core.records import Run, RunOptions
from research.core.text.control_chars import replace_surrogates

log = logging.getLogger(__name__)

_T = TypeVar("_T")
_Record = TypeVar("_Record", bound=BaseModel)


def parse_rows(parse: Callable[[Any], _T], rows: Iterable[Any]) -> list[_T]:
    """Parse rows, skipping and logging those that cannot be parsed."""
    records = []
    for row in rows:
        try:
            records.append(parse(row))
        except (ValueError, TypeError, LookupError) as error:
            log.warning("a row of the store cannot be read: %s", type(error).__name__)
    return records


def first_record(parse: Callable[[Any], _T], rows: Iterable[Any]) -> _T | None:
    """Return the first row that can be parsed, None if there is none."""
    return next(iter(parse_rows(parse, rows)), None)


def parse_json_rows(record_type: type[_Record], rows: Iterable[Sequence[Any]]) -> list[_Record]:
    """Parse the records whose JSON is the first column of rows."""
    return parse_rows(lambda row: record_type.model_validate_json(row[0]), rows)


def to_json(data: dict[str, Any]) -> str:
    """Serialise to JSON. Lone surrogates, which models may send and databases refuse, become "?"."""
    return replace_surrogates(json.dumps(data, ensure_ascii=False), "?")


def parse_run(row: Sequence[Any]) -> Run:
    """Parse a run from its columns, in the order of the queries."""
    return Run(
        id=row[0],
        conversation=row[1],
        owner=row[2],
        question=row[3],
        options=RunOptions.model_validate_json(row[4]),
        status=row[5],
        created=datetime.fromisoformat(row[6]),
        finished=datetime.fromisoformat(row[7]) if row[7] else None,
        error=row[8],
        based_on=row[9],
        follows=row[10],
    )
