"""What a service says of a quota that is used up: which one it is, and when it may be asked again.

Sources: https://ai.google.dev/gemini-api/docs/rate-limits, the messages of google.rpc in its errors, and
the error pages of the other providers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from research import data
from research.core.errors import parse_seconds
from research.core.records import FailureHint

_ZERO_LIMIT = re.compile(r"limit: 0(?![\d.,]*\d)")


class QuotaDetails(NamedTuple):
    """What could help, the line that names the quota and its limit, and the seconds until it may be
    asked again; None if they are not known, or are those of another quota."""

    hint: FailureHint = ""
    description: str = ""
    retry_after_seconds: float | None = None


@cache
def _quota_pattern(hint: str) -> re.Pattern[str]:
    """The words by which a service that has no fields for it tells of a quota."""
    rows = data.rows("quotas.tsv")
    return re.compile("|".join(words for name, words in rows if name == hint), re.ASCII)


def is_unpaid(body: Any) -> bool:
    """Whether a refusal, whatever its status, is for want of money."""
    error = _error_object(body)
    said = " | ".join(str(error.get(name) or "") for name in ("message", "type", "code")).lower()
    return bool(_quota_pattern("billing").search(said)) and not _quota_pattern("minute").search(said)


def read_quota(body: Any) -> QuotaDetails:
    """What the body of a 429 says. The delay that comes with a quota of the day is of no use, and a
    limit of nothing is that of a key without billing."""
    error = _error_object(body)
    details = [item for item in _as_list(error.get("details")) if isinstance(item, dict)]
    violations = [violation for detail in details for violation in _violations(detail)]
    message = str(error.get("message") or "")
    line = "; ".join(dict.fromkeys(_quota_lines(message))) or "; ".join(map(_describe_violation, violations))
    nothing = _ZERO_LIMIT.search(message) or any(str(v.get("quotaValue")) == "0" for v in violations)
    if nothing or is_unpaid(body):
        return QuotaDetails("billing", line)
    names = " ".join(f"{v.get('quotaId')} {v.get('quotaMetric')}" for v in violations)
    said = re.sub("(?<=[a-z])(?=[A-Z])", " ", names or message).lower()
    if _quota_pattern("day").search(said):
        return QuotaDetails("day", line)
    return QuotaDetails("minute" if _quota_pattern("minute").search(said) else "", line, retry_delay_seconds(body))


def retry_delay_seconds(body: Any) -> float | None:
    """Return the seconds that the RetryInfo in the body of a refusal asks to wait; None without one."""
    details = [item for item in _as_list(_error_object(body).get("details")) if isinstance(item, dict)]
    asked = (str(item.get("retryDelay")) for item in details if "retryDelay" in item)
    return parse_seconds(next(asked, None))


def _violations(detail: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The quotas that a QuotaFailure names, or the one of an ErrorInfo, in the words of the former."""
    yield from (item for item in _as_list(detail.get("violations")) if isinstance(item, dict))
    known = detail.get("metadata")
    if isinstance(known, dict) and "quota_limit" in known:
        yield {
            "quotaId": known["quota_limit"],
            "quotaMetric": known.get("quota_metric"),
            "quotaValue": known.get("quota_limit_value"),
        }


def _error_object(body: Any) -> dict[str, Any]:
    """The error within a body, which OpenAI's library has taken out already."""
    if isinstance(body, list) and body:  # of a stream
        body = body[0]
    inner = body.get("error", body) if isinstance(body, dict) else {}
    return inner if isinstance(inner, dict) else {"message": inner}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _quota_lines(message: str) -> Iterator[str]:
    """The lines of a message that name a quota."""
    for line in message.splitlines():
        if "metric" in line and "limit" in line:
            yield line.strip("* \t")


def _describe_violation(violation: dict[str, Any]) -> str:
    """A quota by its own names, where the message has no line for it."""
    metric, name = violation.get("quotaMetric"), violation.get("quotaId")
    value = violation.get("quotaValue")
    limit = "" if value is None else f", limit: {value}"
    return f"Quota exceeded for metric: {metric or name}{limit}" + (f" ({name})" if metric and name else "")
