"""Interface of the engines, which SQLite, DuckDB and PostgreSQL implement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from contextlib import AbstractContextManager
from copy import copy
from typing import Self

from research.sources.database.allowlist import Dialect
from research.sources.database.results import ExecutionError, ExecutionResult, ResultLimits, RowStream, collect_result
from research.sources.database.schema import FindComment, RunQuery, Schema, TableFilter


class Backend(ABC):
    """A database of one engine. Every operation that reaches the database may raise ExecutionError."""

    dialect: Dialect

    def __init__(self, limits: ResultLimits) -> None:
        self._limits = limits

    @abstractmethod
    def read_schema(self, table_filter: TableFilter | None, find_comment: FindComment | None) -> Schema:
        """Read the schema of the database; from then on only its tables may be read."""

    @abstractmethod
    def open_query(self) -> AbstractContextManager[RunQuery]:
        """Open a connection that can read the known tables, until the deadline.

        Yield a function that runs a statement on it and returns all rows, for statements that are not
        checked by the guard because this package wrote them.
        """

    @abstractmethod
    def stream(self, sql: str, cte_names: Collection[str] = ()) -> AbstractContextManager[RowStream]:
        """Yield the column names of a statement and an iterator of its rows, until the deadline.

        `cte_names` are the names of its WITH parts. If there are more columns than the limits allow, the
        iterator may be empty.
        """

    def run(self, sql: str, cte_names: Collection[str] = ()) -> ExecutionResult:
        """Run a statement, and collect its rows up to the limits of a result."""
        return collect_result(self.stream(sql, cte_names), self._limits)

    def with_limits(self, limits: ResultLimits) -> Self:
        """Return the same database with other limits."""
        other = copy(self)
        other._limits = limits
        return other

    def privileges(self) -> str:
        """Return the privileges beyond reading: "superuser", "write" or "" if none was found."""
        return ""

    def _timeout_error(self) -> ExecutionError:
        return ExecutionError(
            "timeout",
            f"The statement took more than {self._limits.timeout_seconds:g} seconds. Ask for less, or filter first.",
        )
