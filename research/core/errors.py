"""What can go wrong with a service, as an exception that says why in a word of a known kind.

Knows records and the ways of HTTP, no provider. Keys are concealed here: no message that leaves
this module, and no line of any log, has one in it.
"""

from __future__ import annotations

import json
import logging
import re
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

from research.core.records import Failure, FailureHint, FailureReason, Stage

MAX_MESSAGE_CHARS = 300  # characters that a message keeps
MASK = "•••"
MAX_RETRY_AFTER_SECONDS = 86_400.0  # seconds; a service that asks for a longer one is asked again after a day
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
    """A call to a service that failed for a reason of a known kind.

    `again` says whether the same call may succeed if it is repeated, `after` how many seconds the
    service wants to be left alone first.
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
        """The record of it."""
        return Failure(
            stage=stage,
            source=source,
            query=query,
            reason=self.reason,
            hint=self.hint,
            message=self.message,
        )


# What in a chain of exceptions tells that a name was not found, or that a certificate does not hold:
# classes of socket, ssl and aiohttp by their names, and the words of transports that keep no cause.
_DNS_ERROR_CLASSES = {"gaierror", "ClientConnectorDNSError"}
_TLS_ERROR_CLASSES = {"SSLError", "SSLCertVerificationError", "ClientSSLError", "CertificateError"}
_DNS_MESSAGE_PATTERN = re.compile(r"name or service not known|name resolution|nodename nor servname|getaddrinfo|ENOTFOUND|EAI_AGAIN|\[Errno -[235]\]", re.I)  # fmt: skip
_TLS_MESSAGE_PATTERN = re.compile(r"certificate|\bssl\b|\btls\b|CERT_", re.I)


def connection_hint(error: BaseException) -> FailureHint:
    """Tell from an exception of a connection whether the name was not found or TLS failed."""
    seen: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in seen:
        seen.append(link)
        link = link.__cause__ or link.__context__
    names = {cls.__name__ for one in seen for cls in type(one).__mro__}
    words = " ".join(map(str, seen))
    if names & _DNS_ERROR_CLASSES or _DNS_MESSAGE_PATTERN.search(words):
        return "dns"
    return "tls" if names & _TLS_ERROR_CLASSES or _TLS_MESSAGE_PATTERN.search(words) else ""


def error_from_status(status: int, message: str, headers: Mapping[str, str] | None = None) -> ServiceError:
    """The trouble that an HTTP status from 300 on tells of, whatever the service.

    Of the headers (a mapping that ignores case), those count that say when to come back
    and where a redirect leads. None is followed by a client with a key: keys and prompts are meant
    for the address that was set, and a library would send them on.
    """
    headers = headers or {}
    after = parse_retry_after(headers)
    text = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    if status in REDIRECT_STATUSES:
        where = _describe_redirect_target(headers.get("location", ""))
        return ServiceError("redirected", f"{text} redirects{where}; this is not followed")
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
    """The trouble that an HTTP status other than 200 tells of with a page or a feed, of which no key
    and no endpoint can be set right."""
    if status < 300:
        return ServiceError("empty", f"HTTP {status}: {host}")
    if status in (404, 410):
        return ServiceError("not found", f"HTTP {status}: {host}")
    found = error_from_status(status, host, headers)
    found.hint = ""
    return found


def _describe_redirect_target(location: str) -> str:
    """Where a redirect leads, in words: only the host, since the rest may repeat a key."""
    found = _ORIGIN_PATTERN.match(location.strip())
    return f" to {re.sub(r'//.*@', '//', found[0])}" if found else ""


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response asks to wait, at most `LONGEST_PAUSE`, by `retry-after-ms` or by
    `Retry-After`, which has seconds or an HTTP date; some send a time of Unix or of ISO 8601. None if it asks for nothing that can be read, or for
    a moment that is past.

    A date is compared with the `Date` of the same response, so that no clock needs to be right. Source:
    https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3; `retry-after-ms` is that of OpenAI and Azure.
    """
    if (exact := parse_seconds(headers.get("retry-after-ms"))) is not None:
        return min(exact / 1000, MAX_RETRY_AFTER_SECONDS)
    value = headers.get("retry-after")
    until = _parse_timestamp(value)
    if until is None:
        return parse_seconds(value)
    left = until - (_parse_timestamp(headers.get("date")) or time.time())
    return min(left, MAX_RETRY_AFTER_SECONDS) if left > 0 else None


def parse_seconds(value: str | None) -> float | None:
    """Return the seconds of a plain number, with or without an `s`, at most `LONGEST_PAUSE`; None if it
    is something else."""
    found = _SECONDS_PATTERN.fullmatch(value or "")
    return min(float(found[1]), MAX_RETRY_AFTER_SECONDS) if found else None


def _parse_timestamp(value: str | None) -> float | None:
    """Seconds since the epoch of a date or of a time of Unix; None if it is none."""
    value = (value or "").strip()
    if _UNIX_TIME_PATTERN.fullmatch(value):
        return float(value) / (1 if len(value) < 13 else 1000)
    try:
        iso = _ISO_TIME_PATTERN.match(value)
        found = datetime.fromisoformat(value) if iso else parsedate_to_datetime(value)
        return found.replace(tzinfo=found.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


# Keys


def register_secrets(secrets: Iterable[str]) -> None:
    """From now on these keys are replaced in messages and in every log of the process, also as
    they look in an address or in JSON.
    """
    for secret in secrets:
        if len(secret) >= 4:
            _secrets.update({secret, quote(secret, safe=""), json.dumps(secret)[1:-1]})
    if logging.getLogRecordFactory() is not _make_masked_record:
        global _original_record_factory
        _original_record_factory = logging.getLogRecordFactory()
        logging.setLogRecordFactory(_make_masked_record)


def mask_secrets(text: str) -> str:
    """The text without any key: those that are known, and what looks like one."""
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return _KEY_PATTERN.sub(MASK, _KEY_PARAMETER_PATTERN.sub(rf"\1{MASK}", text))


_original_record_factory: Callable[..., logging.LogRecord] = logging.LogRecord


def _make_masked_record(*args: Any, **kwargs: Any) -> logging.LogRecord:
    """A log record whose message and traceback have no key in them."""
    record = _original_record_factory(*args, **kwargs)
    if record.exc_info and record.exc_info[0] is not None:
        told = "".join(traceback.format_exception(*record.exc_info)).rstrip()
        record.exc_text = mask_secrets(told)
        if record.exc_text != told:  # a handler that formats it by itself would show the key
            record.exc_info = None
    try:
        message = record.getMessage()
    except Exception:  # noqa: BLE001 - the same mistake is reported where the line is written
        return record
    if (clean := mask_secrets(message)) != message:
        record.msg, record.args = clean, ()
    return record
