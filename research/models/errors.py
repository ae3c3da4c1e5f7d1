"""The failures of model services as `Trouble`: which class, status and body mean what.

Three libraries and four transports raise errors of their own; they are told apart here and nowhere
else. Sources: the error tables of the Gemini API, of OpenAI's and of Ollama's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from research.core.errors import REDIRECTS, Trouble, connection_hint, of_status
from research.models.lifecycle import describe
from research.models.overflow import Overflow, overflow
from research.models.quotas import Spent, delay, spent, unpaid
from research.models.roles import Spec

# Names of classes rather than the classes: which transport a client uses depends on what is
# installed (httpx, its successor, aiohttp), and each has errors of its own.
_SPOKEN = {"APIError", "ResponseError"}
_TIMEOUTS = {"TimeoutError", "TimeoutException", "ServerTimeoutError", "APITimeoutError"}
_CONNECTIONS = {
    "ConnectionError", "TransportError", "ClientConnectionError", "ClientPayloadError",
    "APIConnectionError", "ClientError", "OSError",
}  # fmt: skip
_OBJECT = re.compile(r"\s*(?:ssl:)?<[^>]*>")
_BROKEN = {"HttpProcessingError", "ClientPayloadError", "RemoteProtocolError", "ReadError"}
_UNREADABLE = {
    "JSONDecodeError", "UnknownApiResponseError", "APIResponseValidationError", "ValidationError",
    "ContentTypeError", "TypeError", "KeyError", "IndexError", "AttributeError", "ValueError",
    "RecursionError",
}  # fmt: skip


class TooLong(Trouble):
    """A prompt that is longer than the model takes; `found` is what the server has said of it."""

    def __init__(self, message: str, found: Overflow) -> None:
        super().__init__("refused", message, hint="context")
        self.found = found


class Unsupported(Trouble):
    """A request that was turned down, it seems, for a parameter that the server does not take."""


# What was turned down may be how something was asked, and then it is asked in another way. Bad requests
# (400, 422) for no other known reason may be that, in whatever words; other answers have to name it.
_MANNER = re.compile(
    r"response.?(?:format|schema)|json.?(?:mode|schema|object)|struct|guided|grammar"
    r"|stream.?options|include.?usage|requested parameters"
)
_ASIDE = {"input", "ctx", "url", "status", "type", "@type", "object"}  # they explain nothing

_REGION = ("location is not supported", "country, region, or territory not supported")


def trouble(error: Exception, spec: Spec) -> Trouble:
    """What an exception of a client means.

    Exceptions of a kind that no client raises for a bad answer are bugs: they are raised again.
    """
    for link in _chain(error):
        if isinstance(link, Trouble):
            return link
        if (status := _status(link)) is not None:
            return _refusal(status, link, spec)
    names = [{cls.__name__ for cls in type(link).__mro__} for link in _chain(error)]
    what = f"{spec}: {type(error).__name__}"
    if any(found & _TIMEOUTS for found in names):
        return Trouble("timeout", f"{spec} did not answer in time")
    if any(found & {"ContentTypeError"} for found in names):
        return Trouble("malformed", what, again=True)
    if any(found & _BROKEN for found in names):
        return Trouble("unreachable", f"{spec} broke off ({type(error).__name__})", again=True)
    if any(found & _CONNECTIONS for found in names):
        words = _OBJECT.sub("", str(error))
        where = "" if spec.wire == "gemini" else f" ({spec.address})"  # others name no host
        text = f"{what}: {words}{where}"
        return Trouble("unreachable", text, hint=connection_hint(error), again=True)
    told = _in_place(error)
    if not told and any(found & _UNREADABLE for found in names):
        return Trouble("malformed", f"{spec} answered something that is not its JSON", again=True)
    if told or any(found & _SPOKEN for found in names):  # in place of an answer, or in its middle
        body = _body(error)
        message = f"{spec}: {_message(body)}"
        if longer := overflow(0, body, str(error)):
            return TooLong(message, longer)
        if _MANNER.search(message.lower()):
            return Unsupported("refused", message)
        return Trouble("unavailable", message, again=True)
    raise error


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _status(error: BaseException) -> int | None:
    """The HTTP status that an exception of google-genai, openai or ollama carries.

    A broken transfer is no answer, though aiohttp's errors of that kind have a code 400.
    """
    if any(cls.__name__ == "HttpProcessingError" for cls in type(error).__mro__):
        return None
    for name in ("status_code", "code"):
        value = getattr(error, name, None)
        if isinstance(value, int) and 300 <= value < 600:
            return value
    return None


def _refusal(status: int, error: BaseException, spec: Spec) -> Trouble:
    body, headers = _body(error), _headers(error)
    if status in REDIRECTS:
        found = of_status(status, "", headers)
        return Trouble(found.reason, f"{spec}: {found.message} (check {spec.address})")
    message = _message(body) or ("" if status >= 500 else _line(str(error)))
    text = f"{message} {json.dumps(body, ensure_ascii=False)}".lower()
    if "api_key_invalid" in text or "api key not valid" in text or status == 401:
        return Trouble("refused", f"{spec}: {message} ({spec.server.needs})", hint="key")
    if status in (400, 403) and any(words in text for words in _REGION):
        return Trouble("refused", f"{spec}: {message}", hint="location")
    if longer := overflow(status, body, str(error)):
        return TooLong(f"{spec}: {message or f'HTTP {status}'}", longer)
    if status == 402 or (status in (400, 403) and unpaid(body)):
        return Trouble("quota", f"{spec}: HTTP {status}: {message}".rstrip(": "), hint="billing")
    if _about_manner(status, " ".join(_explained(body)) or message):
        return Unsupported("refused", f"{spec}: HTTP {status}: {message}".rstrip(": "))
    if status == 404:
        known = (
            describe(spec.name) or message
        )  # a server may know what helps: "try pulling it first"
        return Trouble(
            "refused",
            f"{spec} is not available; {f'set {spec.setting} to' if spec.setting else 'choose'} "
            f"another model" + (f". {known}" if known else ""),
            hint="model",
        )
    quota = spent(body) if status == 429 else Spent(after=delay(body))
    found = of_status(status, quota.line or message, headers)
    return Trouble(
        found.reason,
        f"{spec}: {found.message}",
        hint=quota.hint or found.hint,
        again=found.again and quota.hint not in ("billing", "day"),
        after=found.after if quota.after is None else quota.after,
    )


def _about_manner(status: int, said: str) -> bool:
    """Whether a refusal may be about the way in which something was asked for."""
    named = _MANNER.search(said.lower()) is not None
    return status in (400, 422) or (named and (status == 404 or status >= 500))


def _explained(body: Any) -> Iterator[str]:
    """Every text in the body of a refusal that may explain it."""
    if isinstance(body, dict):
        for name, value in body.items():
            if name not in _ASIDE:
                yield from _explained(value)
    elif isinstance(body, list):
        for value in body:
            yield from _explained(value)
    elif isinstance(body, str):
        yield body


def _headers(error: BaseException) -> Mapping[str, str]:
    """The headers of a response that an exception, or one behind it, holds on to."""
    responses = (getattr(link, "response", None) for link in _chain(error))
    return next((response.headers for response in responses if response is not None), {})


def _in_place(error: BaseException) -> bool:
    """Whether an exception has nothing but the error that a server sent where its answer belongs."""
    return len(error.args) == 1 and isinstance(error.args[0], dict)


def _body(error: BaseException) -> Any:
    if _in_place(error):
        return {"error": error.args[0]}
    for name in ("details", "body"):
        if isinstance(value := getattr(error, name, None), dict | list):
            return value
        if isinstance(value, str) and value:  # of a server that says no more than that
            return {"error": value}
    said = getattr(error, "error", "")  # Ollama's, which is a text
    return {"error": said} if isinstance(said, str) else {}


def _message(body: Any) -> str:
    """The first line of the service's own message; "" if it is a page of HTML."""
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, dict):
        inner = body.get("error") or body.get("detail") or body
        if isinstance(inner, list):  # of FastAPI: what is wrong, and where
            inner = "; ".join(_line(" ".join(_explained(one))) for one in inner)
        text = inner.get("message", "") if isinstance(inner, dict) else inner
        return _line(str(text or ""))
    return ""


def _line(text: str) -> str:
    line = text.strip().split("\n")[0]
    return "" if line.startswith("<") or "<html" in line.lower() else line
