"""What the helpers of the tests promise: every row is run, every failure named, a square is noticed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.growth import assert_linear
from tests.tables import each_row


def test_every_row_is_run_and_each_that_fails_is_named() -> None:
    seen = []

    @each_row("left, right", [(1, 1), (1, 2), (3, 4)])
    def same(left: int, right: int) -> None:
        seen.append((left, right))
        assert left == right

    with pytest.raises(ExceptionGroup, match="2 of 3 rows failed") as caught:
        same()
    assert seen == [(1, 1), (1, 2), (3, 4)]
    notes = [note for error in caught.value.exceptions for note in error.__notes__]
    assert notes == [
        "in the row {'left': 1, 'right': 2}",
        "in the row {'left': 3, 'right': 4}",
    ]


async def test_rows_of_two_tables_are_combined_and_awaited() -> None:
    seen = []

    @each_row("one", "ab")
    @each_row("two", [1, 2])
    async def pair(one: str, two: int) -> None:
        seen.append((one, two))

    await pair()
    assert seen == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_a_table_without_rows_and_a_name_that_is_not_taken_are_mistakes() -> None:
    with pytest.raises(AssertionError, match="without rows"):
        each_row("x", [])
    with pytest.raises(AssertionError, match="takes"):
        each_row("y", [1])(lambda x: None)


def test_time_that_grows_with_the_square_is_noticed_and_in_proportion_it_is_not() -> None:
    assert_linear(lambda size: lambda: [n * n for n in range(size)], 20_000)
    with pytest.raises(AssertionError, match="times those of a 16th"):
        assert_linear(lambda size: lambda: sum(a * b for a in range(size) for b in range(size)), 250)


def test_no_two_files_of_tests_have_one_name() -> None:
    """Of two that lie in no package pytest imports the first alone, and stops at the other."""
    files = [file for file in Path(__file__).parent.rglob("test_*.py") if not (file.parent / "__init__.py").exists()]  # fmt: skip
    assert [name for name, count in Counter(file.name for file in files).items() if count > 1] == []
