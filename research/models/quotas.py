"""Parses the errors of exhausted quotas: the kind of quota, and the delay before the next request.

Sources: https://ai.google.dev/gemini-api/docs/rate-limits, the messages of google.rpc in its
errors, and the error pages of the other providers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from research import data
from research.core.errors import parse_seconds
from research.core.json_values import keep_objects
from research.core.records import FailureHint

_ZERO_LIMIT = re.compile(r"limit: 0(?![\d.,]*\d)")


class QuotaDetails(NamedTuple):
    """An exhausted quota. `description` names it and its limit; `retry_after_seconds` is None if the
    delay is unknown, or belongs to another quota."""

    hint: FailureHint = ""
    description: str = ""
    retry_after_seconds: float | None = None


@cache
def _quota_pattern(hint: str) -> re.Pattern[str]:
    """Return the pattern of a quota's wording, for services whose errors have no fields for it."""
    rows = data.rows("quotas.tsv")
    return re.compile("|".join(words for name, words in rows if name == hint), re.ASCII)


def is_payment_refusal(body: Any) -> bool:
    """Return whether the body of a refusal, with any HTTP status, says that a payment is missing."""
    error = _error_object(body)
    text = " | ".join(str(error.get(name) or "") for name in ("message", "type", "code")).lower()
    return bool(_quota_pattern("billing").search(text)) and not _quota_pattern("minute").search(text)


def parse_quota(body: Any) -> QuotaDetails:
    """Parse the body of an HTTP 429. A delay is ignored for a daily quota, which it does not restore; a
    limit of 0 means a key without billing."""
    error = _error_object(body)
    violations = [violation for detail in keep_objects(error.get("details")) for violation in _violations(detail)]
    message = str(error.get("message") or "")
    line = "; ".join(dict.fromkeys(_quota_lines(message))) or "; ".join(map(_describe_violation, violations))
    is_zero = _ZERO_LIMIT.search(message) or any(str(entry.get("quotaValue")) == "0" for entry in violations)
    if is_zero or is_payment_refusal(body):
        return QuotaDetails("billing", line)
    names = " ".join(f"{entry.get('quotaId')} {entry.get('quotaMetric')}" for entry in violations)
    text = re.sub("(?<=[a-z])(?=[A-Z])", " ", names or message).lower()
    if _quota_pattern("day").search(text):
        return QuotaDetails("day", line)
    return QuotaDetails("minute" if _quota_pattern("minute").search(text) else "", line, retry_delay_seconds(body))


def retry_delay_seconds(body: Any) -> float | None:
    """Return the delay in seconds of the RetryInfo in a refusal's body; None without one."""
    details = keep_objects(_error_object(body).get("details"))
    delays = (str(detail["retryDelay"]) for detail in details if "retryDelay" in detail)
    return parse_seconds(next(delays, None))


def _violations(detail: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the violations of a QuotaFailure, or that of an ErrorInfo in the same format."""
    yield from keep_objects(detail.get("violations"))
    metadata = detail.get("metadata")
    if isinstance(metadata, dict) and "quota_limit" in metadata:
        yield {
            "quotaId": metadata["quota_limit"],
            "quotaMetric": metadata.get("quota_metric"),
            "quotaValue": metadata.get("quota_limit_value"),
        }


def _error_object(body: Any) -> dict[str, Any]:
    """Return the error within a body; OpenAI's library has already extracted it."""
    if isinstance(body, list) and body:  # in a stream
        body = body[0]
    inner = body.get("error", body) if isinstance(body, dict) else {}
    return inner if isinstance(inner, dict) else {"message": inner}


def _quota_lines(message: str) -> Iterator[str]:
    """Yield the lines of a message that name a quota."""
    for line in message.splitlines():
        if "metric" in line and "limit" in line:
            yield line.strip("* \t")


def _describe_violation(violation: dict[str, Any]) -> str:
    """Describe a quota by its own names, if the message has no line for it."""
    metric, name = violation.get("quotaMetric"), violation.get("quotaId")
    value = violation.get("quotaValue")
    limit = "" if value is None else f", limit: {value}"
    return f"Quota exceeded for metric: {metric or name}{limit}" + (f" ({name})" if metric and name else "")
