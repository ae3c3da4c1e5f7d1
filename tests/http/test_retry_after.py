"""Tests of the pause that a service asks for, in each form that a response can state it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx

from research.core.errors import MAX_RETRY_AFTER_SECONDS, error_from_status
from research.models.quotas import retry_delay_seconds
from tests.tables import each_row

NOW = datetime(2026, 11, 26, 9, 0, tzinfo=UTC)
SENT = {"date": format_datetime(NOW, usegmt=True)}


def after(**headers: str) -> float | None:
    """The pause of a response with some headers, an underscore standing for a hyphen."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return error_from_status(429, "", httpx.Headers(SENT | named)).retry_after_seconds


@each_row(
    ("value", "pause"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("0", 0.0),
        ("7s", 7.0),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
        ("Thursday, 26-Nov-26 09:01:30 GMT", 90.0),  # the two older forms of an HTTP date
        ("Thu Nov 26 09:01:30 2026", 90.0),
        ("Thu, 26 Nov 2026 17:01:30 +0800", 90.0),
        # other clocks
        (str(int(NOW.timestamp()) + 90), 90.0),
        (f"{int(NOW.timestamp()) + 90}000", 90.0),
        ("2026-11-26T09:01:30Z", 90.0),
        ("2026-11-26T17:01:30.5+08:00", 90.5),
        # nothing that could be kept to
        ("2026-99-26T09:01:30Z", None),
        (format_datetime(NOW - timedelta(days=1), usegmt=True), None),
        (SENT["date"], None),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("1e400", None),
        ("soon", None),
        ("", None),
        ("Thu, 99 Nov 2026 09:00:00 GMT", None),
        ("9" * 5_000, None),
        # too long to be kept to
        ("1000000", MAX_RETRY_AFTER_SECONDS),
        ("Fri, 31 Dec 9999 23:59:59 GMT", MAX_RETRY_AFTER_SECONDS),
    ],
)
def test_a_pause_is_read_in_seconds_or_as_a_date_and_never_lasts_for_ever(value: str, pause: float | None) -> None:
    assert after(retry_after=value) == pause


def test_milliseconds_go_before_seconds() -> None:
    assert after(retry_after_ms="250", retry_after="1") == 0.25
    assert after(retry_after_ms="soon", retry_after="1") == 1.0


def test_a_date_is_compared_with_our_own_clock_where_the_response_has_none() -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=600), usegmt=True)
    pause = error_from_status(503, "", {"retry-after": until}).retry_after_seconds
    assert pause is not None and 500 < pause <= 600


def test_google_tells_the_pause_in_the_body_whatever_the_status() -> None:
    kind = "type.googleapis.com/google.rpc.RetryInfo"
    body = {"error": {"code": 503, "details": [{"@type": kind, "retryDelay": "7.500s"}]}}
    assert retry_delay_seconds(body) == retry_delay_seconds([body]) == 7.5
    assert retry_delay_seconds({"error": {"details": [{"@type": kind, "retryDelay": "-7s"}, None]}}) is None
    assert retry_delay_seconds({}) is retry_delay_seconds("text") is retry_delay_seconds(None) is None
