"""Conversion of the rows of a table to the forms that the database reads, with a count of what is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from research.readers.column_choices import MAX_EXAMPLES, make_odd_values
from research.readers.column_formats import ColumnConverter, ColumnFormat, convert
from research.readers.table_records import FileColumn


class RowConverter:
    """Converts rows, and counts the values that are missing or not of the type of their column.

    Only rows that are accepted as data count.
    """

    def __init__(self, columns: Sequence[FileColumn]) -> None:
        self._columns = tuple(columns)
        self._missing, self._odd, self._filled = Counter[int](), Counter[int](), Counter[int]()
        self._examples: dict[int, list[str]] = {}
        self._converters = [ColumnConverter(column.format) for column in self._columns]
        self._row: list[tuple[int, str, str | None]] = []  # values of the last row: column, text, converted

    def convert_rows(self, rows: Sequence[Sequence[str]]) -> list[Sequence[str]] | None:
        """Return the columns of rows that have a cell for each column; None if a value is of another type."""
        converted: list[Sequence[str]] = []
        for converter, values in zip(self._converters, zip(*rows, strict=True), strict=True):
            column = [value for value in converter.convert(values) if value is not None]
            if len(column) < len(values):
                return None
            converted.append(column)
        return converted

    def accept_rows(self, rows: Sequence[Sequence[str]], converted: Sequence[Sequence[str]]) -> None:
        """Count rows, with their converted columns, as data."""
        for index, (values, column) in enumerate(zip(zip(*rows, strict=True), converted, strict=True)):
            blanks = column.count("")
            self._filled[index] += len(column) - blanks
            if blanks:
                self._missing[index] += sum(
                    bool(text.strip()) for text, value in zip(values, column, strict=True) if not value
                )

    def convert(self, row: Sequence[str]) -> list[str]:
        """Return the values of a row; one of another type is as it is written."""
        self._row = [
            (index, text, convert(text, column.format))
            for index, (text, column) in enumerate(zip(row, self._columns, strict=False))
        ]
        return [text if value is None else value for _, text, value in self._row]

    def accept(self) -> list[str]:
        """Count the last row as one of the data and return its values as they are stored.

        A value of another type is blank if a person has chosen the type of the column.
        """
        for index, text, value in self._row:
            if value is None:
                self._odd[index] += 1
                examples = self._examples.setdefault(index, [])
                if len(examples) < MAX_EXAMPLES and text not in examples:
                    examples.append(text)
            elif value:
                self._filled[index] += 1
            elif text.strip():
                self._missing[index] += 1
        return [
            value if value is not None else "" if self._columns[index].choice else text
            for index, text, value in self._row
        ]

    @property
    def has_missing(self) -> bool:
        """Return True if a value of the last row only says that there is none."""
        return any(value == "" and text.strip() for _, text, value in self._row)

    @property
    def has_mixed_columns(self) -> bool:
        """Return True if a column whose type nobody has chosen has values of another type."""
        return any(not self._columns[index].choice for index in self._odd)

    def columns(self) -> tuple[FileColumn, ...]:
        """Return the columns with what was counted; as text those that `has_mixed_columns` is about."""
        return tuple(self._describe(index, column) for index, column in enumerate(self._columns))

    def _describe(self, index: int, column: FileColumn) -> FileColumn:
        count = self._odd[index]
        if not count:
            return column.model_copy(update={"missing": self._missing[index]})
        total = count + self._filled[index]
        odd = make_odd_values(column.type, self._examples[index], count, total)
        if column.choice:
            return column.model_copy(update={"missing": self._missing[index], "odd": odd})
        return column.model_copy(update={"type": "text", "format": ColumnFormat(), "odd": odd})
