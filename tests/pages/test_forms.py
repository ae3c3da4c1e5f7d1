"""Dates, numbers and amounts are written as a reader of the page's language writes them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from pages.shared import locale_format
from tests.tables import each_row

SHANGHAI = ZoneInfo("Asia/Shanghai")
MADE = datetime(2026, 11, 20, 2, 59, tzinfo=UTC)


def both(form: object, *values: object) -> tuple[str, str]:
    return form(*values, "zh"), form(*values, "en")  # type: ignore[operator]


def test_a_day_is_written_in_the_language() -> None:
    assert both(locale_format.format_day, date(2026, 11, 2)) == ("2026年11月2日", "2 Nov 2026")


def test_a_time_is_that_of_the_readers_zone() -> None:
    assert locale_format.format_datetime(MADE, "zh", SHANGHAI) == "2026年11月20日 10:59"
    assert locale_format.format_datetime(MADE, "en", SHANGHAI) == "20 Nov 2026, 10:59"
    assert locale_format.format_datetime(MADE, "en", UTC) == "20 Nov 2026, 02:59"


def test_numbers_are_exact_and_grouped() -> None:
    assert both(locale_format.format_number, 1_234_567) == ("1,234,567", "1,234,567")


@each_row(
    ("dollars", "told"),
    [(0, "0.00"), (0.06, "0.06"), (0.00123, "0.0012"), (0.2, "0.20"), (1.5, "1.50"), (1234.567, "1,234.57")],
)  # fmt: skip
def test_money_has_cents_or_two_digits_that_say_something(dollars: float, told: str) -> None:
    assert both(locale_format.format_money, dollars) == (f"US${told}", f"${told}")


@each_row(
    ("seconds", "chinese", "english"),
    [
        (0.001, "<0.01 秒", "<0.01 s"),
        (4.21, "4.2 秒", "4.2 s"),
        (41.9, "41 秒", "41 s"),
        (60, "1 分", "1 min"),
        (200, "3 分 20 秒", "3 min 20 s"),
        (7500, "2 小时 5 分", "2 h 5 min"),
    ],
)
def test_durations_have_the_units_that_fit(seconds: float, chinese: str, english: str) -> None:
    assert both(locale_format.format_duration, seconds) == (chinese, english)
