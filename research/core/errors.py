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

from research.core.records import Failure, Hint, Reason, Stage

MESSAGE = 300  # characters that a message keeps
HIDDEN = "•••"
LONGEST_PAUSE = 86_400.0  # seconds; a service that asks for a longer one is asked again after a day
_SECONDS = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{0,9})?)\s*s?\s*")
_UNIX = re.compile(r"[12][0-9]{9}(?:[0-9]{3})?")  # seconds or milliseconds since the epoch
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]")

REDIRECTS = (301, 302, 303, 307, 308)
_ORIGIN = re.compile(r"(?:https?:)?//(?:[^/?#@]*@)?[\w.:\[\]-]+", re.I)

_secrets: set[str] = set()
_KEYS = re.compile(
    r"(?i)((?:[?&](?:key|api_?key|access_?token|token)=)|(?:bearer\s+)|(?:x-goog-api-key['\":\s]+))[^\s&'\",}]+"
)
_TELLTALE = re.compile(r"\b(?:AIza[\w-]{20,}|sk-[\w-]{16,}|tvly-[\w-]{8,})")


class Trouble(Exception):
    """A call to a service that failed for a reason of a known kind.

    `again` says whether the same call may succeed if it is repeated, `after` how many seconds the
    service wants to be left alone first.
    """

    def __init__(
        self,
        reason: Reason,
        message: str = "",
        *,
        hint: Hint = "",
        again: bool = False,
        after: float | None = None,
    ) -> None:
        self.reason = reason
        self.hint = hint
        self.again = again
        self.after = after
        self.message = concealed(" ".join(message.split()))[:MESSAGE]
        super().__init__(f"{reason}: {self.message}")

    def failure(self, stage: Stage, source: str = "", query: str = "") -> Failure:
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
_DNS = {"gaierror", "ClientConnectorDNSError"}
_TLS = {"SSLError", "SSLCertVerificationError", "ClientSSLError", "CertificateError"}
_DNS_WORDS = re.compile(r"name or service not known|name resolution|nodename nor servname|getaddrinfo|ENOTFOUND|EAI_AGAIN|\[Errno -[235]\]", re.I)  # fmt: skip
_TLS_WORDS = re.compile(r"certificate|\bssl\b|\btls\b|CERT_", re.I)


def connection_hint(error: BaseException) -> Hint:
    """Tell from an exception of a connection whether the name was not found or TLS failed."""
    seen: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in seen:
        seen.append(link)
        link = link.__cause__ or link.__context__
    names = {cls.__name__ for one in seen for cls in type(one).__mro__}
    words = " ".join(map(str, seen))
    if names & _DNS or _DNS_WORDS.search(words):
        return "dns"
    return "tls" if names & _TLS or _TLS_WORDS.search(words) else ""


def of_status(status: int, message: str, headers: Mapping[str, str] | None = None) -> Trouble:
    """The trouble that an HTTP status from 300 on tells of, whatever the service.

    Of the headers (a mapping that ignores case), those count that say when to come back
    and where a redirect leads. None is followed by a client with a key: keys and prompts are meant
    for the address that was set, and a library would send them on.
    """
    headers = headers or {}
    after = retry_after(headers)
    text = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    if status in REDIRECTS:
        where = _origin(headers.get("location", ""))
        return Trouble("redirected", f"{text} redirects{where}; this is not followed")
    if status == 401:
        return Trouble("refused", text, hint="key")
    if status == 403:
        return Trouble("refused", text)
    if status == 404:
        return Trouble("refused", text, hint="endpoint")
    if status in (402, 429, 432, 433):
        return Trouble("quota", text, again=status == 429, after=after)
    if status == 408:
        return Trouble("timeout", text, again=True)
    if status >= 500:
        return Trouble("unavailable", text, again=True, after=after)
    return Trouble("refused", text)


def of_address(status: int, host: str, headers: Mapping[str, str] | None = None) -> Trouble:
    """The trouble that an HTTP status other than 200 tells of with a page or a feed, of which no key
    and no endpoint can be set right."""
    if status < 300:
        return Trouble("empty", f"HTTP {status}: {host}")
    if status in (404, 410):
        return Trouble("not found", f"HTTP {status}: {host}")
    found = of_status(status, host, headers)
    found.hint = ""
    return found


def _origin(location: str) -> str:
    """Where a redirect leads, in words: only the host, since the rest may repeat a key."""
    found = _ORIGIN.match(location.strip())
    return f" to {re.sub(r'//.*@', '//', found[0])}" if found else ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response asks to wait, at most `LONGEST_PAUSE`, by `retry-after-ms` or by
    `Retry-After`, which has seconds or an HTTP date; some send a time of Unix or of ISO 8601. None if it asks for nothing that can be read, or for
    a moment that is past.

    A date is compared with the `Date` of the same response, so that no clock needs to be right. Source:
    https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3; `retry-after-ms` is that of OpenAI and Azure.
    """
    if (exact := seconds(headers.get("retry-after-ms"))) is not None:
        return min(exact / 1000, LONGEST_PAUSE)
    value = headers.get("retry-after")
    until = _moment(value)
    if until is None:
        return seconds(value)
    left = until - (_moment(headers.get("date")) or time.time())
    return min(left, LONGEST_PAUSE) if left > 0 else None


def seconds(value: str | None) -> float | None:
    """Return the seconds of a plain number, with or without an `s`, at most `LONGEST_PAUSE`; None if it
    is something else."""
    found = _SECONDS.fullmatch(value or "")
    return min(float(found[1]), LONGEST_PAUSE) if found else None


def _moment(value: str | None) -> float | None:
    """Seconds since the epoch of a date or of a time of Unix; None if it is none."""
    value = (value or "").strip()
    if _UNIX.fullmatch(value):
        return float(value) / (1 if len(value) < 13 else 1000)
    try:
        iso = _ISO.match(value)
        found = datetime.fromisoformat(value) if iso else parsedate_to_datetime(value)
        return found.replace(tzinfo=found.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


# Keys


def conceal(secrets: Iterable[str]) -> None:
    """From now on these keys are replaced in messages and in every log of the process, also as
    they look in an address or in JSON.
    """
    for secret in secrets:
        if len(secret) >= 4:
            _secrets.update({secret, quote(secret, safe=""), json.dumps(secret)[1:-1]})
    if logging.getLogRecordFactory() is not _record:
        global _factory
        _factory = logging.getLogRecordFactory()
        logging.setLogRecordFactory(_record)


def concealed(text: str) -> str:
    """The text without any key: those that are known, and what looks like one."""
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return _TELLTALE.sub(HIDDEN, _KEYS.sub(rf"\1{HIDDEN}", text))


_factory: Callable[..., logging.LogRecord] = logging.LogRecord


def _record(*args: Any, **kwargs: Any) -> logging.LogRecord:
    """A log record whose message and traceback have no key in them."""
    record = _factory(*args, **kwargs)
    if record.exc_info and record.exc_info[0] is not None:
        told = "".join(traceback.format_exception(*record.exc_info)).rstrip()
        record.exc_text = concealed(told)
        if record.exc_text != told:  # a handler that formats it by itself would show the key
            record.exc_info = None
    try:
        message = record.getMessage()
    except Exception:  # noqa: BLE001 - the same mistake is reported where the line is written
        return record
    if (clean := concealed(message)) != message:
        record.msg, record.args = clean, ()
    return record
