"""A test over a table: one test, which names every row that fails."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest

FAILURES = (Exception, pytest.fail.Exception)


def each_row(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Any], Any]:
    """Runs a test with each row of a table, as `pytest.mark.parametrize` does, but as a single test:
    to collect and report a test costs more than most rows do. Every row is run, and what failed is
    raised together, each with its row. Rows share the fixtures of the test, so it is for tests that
    leave nothing behind. Tables can be stacked: each row of one is run with each row of the other.
    """
    keys = names.replace(",", " ").split() if isinstance(names, str) else list(names)
    table = [dict(zip(keys, row if len(keys) > 1 else (row,), strict=True)) for row in rows]
    assert table, "a table without rows tests nothing"

    def decorate(test: Any) -> Any:
        @wraps(test)
        def plain(*args: Any, **fixtures: Any) -> None:
            failed = []
            for row in table:
                try:
                    test(*args, **fixtures, **row)
                except FAILURES as error:
                    failed.append(_noted(error, row))
            _raise(failed, len(table))

        @wraps(test)
        async def awaited(*args: Any, **fixtures: Any) -> None:
            failed = []
            for row in table:
                try:
                    await test(*args, **fixtures, **row)
                except FAILURES as error:
                    failed.append(_noted(error, row))
            _raise(failed, len(table))

        made: Any = awaited if inspect.iscoroutinefunction(test) else plain
        signature = inspect.signature(test)
        left = [p for name, p in signature.parameters.items() if name not in keys]
        assert len(left) == len(signature.parameters) - len(keys), f"{test.__name__} takes {keys}"
        made.__signature__ = signature.replace(parameters=left)
        return made

    return decorate


def _noted(error: BaseException, row: dict[str, Any]) -> BaseException:
    error.add_note(f"in the row {row!r:.500}")
    return error


def _raise(failed: list[BaseException], rows: int) -> None:
    if failed:
        raise BaseExceptionGroup(f"{len(failed)} of {rows} rows failed", failed)
