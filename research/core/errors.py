"""The exception for failed service calls, with a reason of a fixed vocabulary, and masking of keys.

Knows records and HTTP, no provider. No message of this module and no log line contains a key.
"""

from __future__ import annotations

import json
import logging
import re
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

from research.core.records import Failure, FailureHint, FailureReason, Stage

MAX_MESSAGE_CHARS = 300
MASK = "•••"
MAX_RETRY_AFTER_SECONDS = 86_400.0  # cap for services that demand more than a day
_SECONDS_PATTERN = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{0,9})?)\s*s?\s*")
_UNIX_TIME_PATTERN = re.compile(r"[12][0-9]{9}(?:[0-9]{3})?")  # seconds or milliseconds since the epoch
_ISO_TIME_PATTERN = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]")

REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_ORIGIN_PATTERN = re.compile(r"(?:https?:)?//(?:[^/?#@]*@)?[\w.:\[\]-]+", re.I)

_secrets: set[str] = set()
_KEY_PARAMETER_PATTERN = re.compile(
    r"(?i)((?:[?&](?:key|api_?key|access_?token|token)=)|(?:bearer\s+)|(?:x-goog-api-key['\":\s]+))[^\s&'\",}]+"
)
_KEY_PATTERN = re.compile(r"\b(?:AIza[\w-]{20,}|sk-[\w-]{16,}|tvly-[\w-]{8,})")


class ServiceError(Exception):
    """A failed call to a service, with a known reason.

    `is_retryable`: the same call may succeed if it is repeated. `retry_after_seconds`: the delay
    that the service demands first.
    """

    def __init__(
        self,
        reason: FailureReason,
        message: str = "",
        *,
        hint: FailureHint = "",
        is_retryable: bool = False,
        retry_after_seconds: float | None = None,
    ) -> None:
        self.reason = reason
        self.hint = hint
        self.is_retryable = is_retryable
        self.retry_after_seconds = retry_after_seconds
        self.message = mask_secrets(" ".join(message.split()))[:MAX_MESSAGE_CHARS]
        super().__init__(f"{reason}: {self.message}")

    def to_failure(self, stage: Stage, source: str = "", query: str = "") -> Failure:
        """Convert the error to a `Failure`."""
        return Failure(
            stage=stage,
            source=source,
            query=query,
            reason=self.reason,
            hint=self.hint,
            message=self.message,
        )


# Signs of a failed name lookup or certificate check in a chain of exceptions: class names of
# socket, ssl and aiohttp, and messages of transports that keep no cause.
_DNS_ERROR_CLASSES = {"gaierror", "ClientConnectorDNSError"}
_TLS_ERROR_CLASSES = {"SSLError", "SSLCertVerificationError", "ClientSSLError", "CertificateError"}
_DNS_MESSAGE_PATTERN = re.compile(
    r"name or service not known|name resolution|nodename nor servname|getaddrinfo|ENOTFOUND|EAI_AGAIN|\[Errno -[235]\]",
    re.I,
)
_TLS_MESSAGE_PATTERN = re.compile(r"certificate|\bssl\b|\btls\b|CERT_", re.I)


def exception_chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, then the one that caused it or was being handled, and so on."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def connection_hint(error: BaseException) -> FailureHint:
    """Return "dns" or "tls" for a connection error of that kind, else ""."""
    chain = list(exception_chain(error))
    names = {cls.__name__ for exception in chain for cls in type(exception).__mro__}
    text = " ".join(map(str, chain))
    if names & _DNS_ERROR_CLASSES or _DNS_MESSAGE_PATTERN.search(text):
        return "dns"
    return "tls" if names & _TLS_ERROR_CLASSES or _TLS_MESSAGE_PATTERN.search(text) else ""


def error_from_status(status: int, message: str, headers: Mapping[str, str] | None = None) -> ServiceError:
    """Convert an HTTP status from 300 on to an error, for any service.

    `headers` (a case-insensitive mapping) supply the retry delay and the redirect target. A redirect
    is an error, because a client that followed it would send its key and prompt to another address
    than the configured one.
    """
    headers = headers or {}
    after = parse_retry_after(headers)
    text = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    if status in REDIRECT_STATUSES:
        target = _describe_redirect_target(headers.get("location", ""))
        return ServiceError("redirected", f"{text} redirects{target}; this is not followed")
    if status == 401:
        return ServiceError("refused", text, hint="key")
    if status == 403:
        return ServiceError("refused", text)
    if status == 404:
        return ServiceError("refused", text, hint="endpoint")
    if status in (402, 429, 432, 433):
        return ServiceError("quota", text, is_retryable=status == 429, retry_after_seconds=after)
    if status == 408:
        return ServiceError("timeout", text, is_retryable=True)
    if status >= 500:
        return ServiceError("unavailable", text, is_retryable=True, retry_after_seconds=after)
    return ServiceError("refused", text)


def error_from_page_status(status: int, host: str, headers: Mapping[str, str] | None = None) -> ServiceError:
    """Convert an HTTP status other than 200 of a page or feed to an error. It has no hint, since
    there is no key or endpoint to correct."""
    if status < 300:
        return ServiceError("empty", f"HTTP {status}: {host}")
    if status in (404, 410):
        return ServiceError("not found", f"HTTP {status}: {host}")
    error = error_from_status(status, host, headers)
    error.hint = ""
    return error


def _describe_redirect_target(location: str) -> str:
    """Return the host that a redirect points to; the rest of the URL may repeat a key."""
    match = _ORIGIN_PATTERN.match(location.strip())
    return f" to {re.sub(r'//.*@', '//', match[0])}" if match else ""


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response asks to wait, at most `MAX_RETRY_AFTER_SECONDS`; None
    without a readable delay or for a moment in the past.

    Reads `retry-after-ms`, then `Retry-After`, which has seconds or an HTTP date; some services
    send a Unix or ISO 8601 time. A date is compared with the `Date` of the same response, so that
    no clock needs to be right. Source: https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3;
    `retry-after-ms` is used by OpenAI and Azure.
    """
    if (milliseconds := parse_seconds(headers.get("retry-after-ms"))) is not None:
        return min(milliseconds / 1000, MAX_RETRY_AFTER_SECONDS)
    value = headers.get("retry-after")
    until = _parse_timestamp(value)
    if until is None:
        return parse_seconds(value)
    remaining = until - (_parse_timestamp(headers.get("date")) or time.time())
    return min(remaining, MAX_RETRY_AFTER_SECONDS) if remaining > 0 else None


def parse_seconds(value: str | None) -> float | None:
    """Parse a plain number of seconds, with or without an `s`, capped at `MAX_RETRY_AFTER_SECONDS`;
    None for anything else."""
    match = _SECONDS_PATTERN.fullmatch(value or "")
    return min(float(match[1]), MAX_RETRY_AFTER_SECONDS) if match else None


def _parse_timestamp(value: str | None) -> float | None:
    """Return the seconds since the epoch of a date or a Unix time; None for anything else."""
    value = (value or "").strip()
    if _UNIX_TIME_PATTERN.fullmatch(value):
        return float(value) / (1 if len(value) < 13 else 1000)
    try:
        is_iso = _ISO_TIME_PATTERN.match(value)
        parsed = datetime.fromisoformat(value) if is_iso else parsedate_to_datetime(value)
        return parsed.replace(tzinfo=parsed.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


# Keys


def register_secrets(secrets: Iterable[str]) -> None:
    """Mask these keys in all later messages and log lines of the process, also in their URL-encoded
    and JSON-encoded forms."""
    for secret in secrets:
        if len(secret) >= 4:
            _secrets.update({secret, quote(secret, safe=""), json.dumps(secret)[1:-1]})
    if logging.getLogRecordFactory() is not _make_masked_record:
        global _original_record_factory
        _original_record_factory = logging.getLogRecordFactory()
        logging.setLogRecordFactory(_make_masked_record)


def mask_secrets(text: str) -> str:
    """Replace registered keys, and anything that looks like a key, in a text."""
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return _KEY_PATTERN.sub(MASK, _KEY_PARAMETER_PATTERN.sub(rf"\1{MASK}", text))


_original_record_factory: Callable[..., logging.LogRecord] = logging.LogRecord


def _make_masked_record(*args: Any, **kwargs: Any) -> logging.LogRecord:
    """Create a log record whose message and traceback contain no key."""
    record = _original_record_factory(*args, **kwargs)
    if record.exc_info and record.exc_info[0] is not None:
        text = "".join(traceback.format_exception(*record.exc_info)).rstrip()
        record.exc_text = mask_secrets(text)
        if record.exc_text != text:  # a handler that formats exc_info itself would show the key
            record.exc_info = None
    try:
        message = record.getMessage()
    except Exception:  # noqa: BLE001 - the same error is reported where the line is written
        return record
    if (clean := mask_secrets(message)) != message:
        record.msg, record.args = clean, ()
    return record
