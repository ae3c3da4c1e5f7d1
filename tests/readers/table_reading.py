"""Reading of the tables of a file, for tests: with their rows as the database has them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb

from research.readers.table_detection import detect_tables_of_kind
from research.readers.table_loading import write_table
from research.readers.table_records import FileTable


def read_table(path: Path, folder: Path) -> list[tuple[FileTable, list[tuple[Any, ...]]]]:
    """Return the tables of a file with their rows; `folder` takes the databases."""
    copy = folder / path.name
    if copy != path:
        shutil.copy(path, copy)
    tables = []
    for number, table in enumerate(detect_tables_of_kind(copy, copy.suffix, copy.name, {})):
        target = folder / f"{path.name}{number}.duckdb"
        written = write_table(copy, table, target, lambda done: None)
        with duckdb.connect(str(target), read_only=True) as connection:
            rows = connection.execute(f'SELECT * FROM "{written.name}"').fetchall()
        tables.append((written, rows))
    return tables
