"""The failures of model services as `Trouble`: which class, status and body mean what.

Three libraries and four transports raise errors of their own; they are told apart here and nowhere
else. Sources: the error tables of the Gemini API, of OpenAI's and of Ollama's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from research.core.errors import REDIRECT_STATUSES, ServiceError, connection_hint, error_from_status
from research.models.lifecycle import describe_change
from research.models.prompt_overflow import PromptOverflow, detect_overflow
from research.models.quotas import QuotaDetails, is_unpaid, read_quota, retry_delay_seconds
from research.models.roles import ModelSpec

# Names of classes rather than the classes: which transport a client uses depends on what is
# installed (httpx, its successor, aiohttp), and each has errors of its own.
_API_ERRORS = {"APIError", "ResponseError"}
_TIMEOUT_ERRORS = {"TimeoutError", "TimeoutException", "ServerTimeoutError", "APITimeoutError"}
_CONNECTION_ERRORS = {
    "ConnectionError", "TransportError", "ClientConnectionError", "ClientPayloadError",
    "APIConnectionError", "ClientError", "OSError",
}  # fmt: skip
_OBJECT_REPR = re.compile(r"\s*(?:ssl:)?<[^>]*>")
_BROKEN_TRANSFER_ERRORS = {"HttpProcessingError", "ClientPayloadError", "RemoteProtocolError", "ReadError"}
_PARSE_ERRORS = {
    "JSONDecodeError", "UnknownApiResponseError", "APIResponseValidationError", "ValidationError",
    "ContentTypeError", "TypeError", "KeyError", "IndexError", "AttributeError", "ValueError",
    "RecursionError",
}  # fmt: skip


class PromptTooLongError(ServiceError):
    """A prompt that is longer than the model takes; `found` is what the server has said of it."""

    def __init__(self, message: str, overflow: PromptOverflow) -> None:
        super().__init__("refused", message, hint="context")
        self.overflow = overflow


class UnsupportedFeatureError(ServiceError):
    """A request that was turned down, it seems, for a parameter that the server does not take."""


# What was turned down may be how something was asked, and then it is asked in another way. Bad requests
# (400, 422) for no other known reason may be that, in whatever words; other answers have to name it.
_FEATURE_WORDS = re.compile(
    r"response.?(?:format|schema)|json.?(?:mode|schema|object)|struct|guided|grammar"
    r"|stream.?options|include.?usage|requested parameters"
)
_UNEXPLANATORY_FIELDS = {"input", "ctx", "url", "status", "type", "@type", "object"}  # they explain nothing

_REGION_MESSAGES = ("location is not supported", "country, region, or territory not supported")


def classify_error(error: Exception, spec: ModelSpec) -> ServiceError:
    """What an exception of a client means.

    Exceptions of a kind that no client raises for a bad answer are bugs: they are raised again.
    """
    for link in _exception_chain(error):
        if isinstance(link, ServiceError):
            return link
        if (status := _http_status(link)) is not None:
            return _classify_status(status, link, spec)
    names = [{cls.__name__ for cls in type(link).__mro__} for link in _exception_chain(error)]
    what = f"{spec}: {type(error).__name__}"
    if any(found & _TIMEOUT_ERRORS for found in names):
        return ServiceError("timeout", f"{spec} did not answer in time")
    if any(found & {"ContentTypeError"} for found in names):
        return ServiceError("malformed", what, is_retryable=True)
    if any(found & _BROKEN_TRANSFER_ERRORS for found in names):
        return ServiceError("unreachable", f"{spec} broke off ({type(error).__name__})", is_retryable=True)
    if any(found & _CONNECTION_ERRORS for found in names):
        words = _OBJECT_REPR.sub("", str(error))
        where = "" if spec.protocol == "gemini" else f" ({spec.address_setting})"  # others name no host
        text = f"{what}: {words}{where}"
        return ServiceError("unreachable", text, hint=connection_hint(error), is_retryable=True)
    told = _is_bare_error_body(error)
    if not told and any(found & _PARSE_ERRORS for found in names):
        return ServiceError("malformed", f"{spec} answered something that is not its JSON", is_retryable=True)
    if told or any(found & _API_ERRORS for found in names):  # in place of an answer, or in its middle
        body = _response_body(error)
        message = f"{spec}: {_first_message_line(body)}"
        if longer := detect_overflow(0, body, str(error)):
            return PromptTooLongError(message, longer)
        if _FEATURE_WORDS.search(message.lower()):
            return UnsupportedFeatureError("refused", message)
        return ServiceError("unavailable", message, is_retryable=True)
    raise error


def _exception_chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _http_status(error: BaseException) -> int | None:
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


def _classify_status(status: int, error: BaseException, spec: ModelSpec) -> ServiceError:
    body, headers = _response_body(error), _response_headers(error)
    if status in REDIRECT_STATUSES:
        found = error_from_status(status, "", headers)
        return ServiceError(found.reason, f"{spec}: {found.message} (check {spec.address_setting})")
    message = _first_message_line(body) or ("" if status >= 500 else _first_line(str(error)))
    text = f"{message} {json.dumps(body, ensure_ascii=False)}".lower()
    if "api_key_invalid" in text or "api key not valid" in text or status == 401:
        return ServiceError("refused", f"{spec}: {message} ({spec.provider_details.required_setting})", hint="key")
    if status in (400, 403) and any(words in text for words in _REGION_MESSAGES):
        return ServiceError("refused", f"{spec}: {message}", hint="location")
    if longer := detect_overflow(status, body, str(error)):
        return PromptTooLongError(f"{spec}: {message or f'HTTP {status}'}", longer)
    if status == 402 or (status in (400, 403) and is_unpaid(body)):
        return ServiceError("quota", f"{spec}: HTTP {status}: {message}".rstrip(": "), hint="billing")
    if _is_about_feature(status, " ".join(_explanations(body)) or message):
        return UnsupportedFeatureError("refused", f"{spec}: HTTP {status}: {message}".rstrip(": "))
    if status == 404:
        known = describe_change(spec.name) or message  # a server may know what helps: "try pulling it first"
        return ServiceError(
            "refused",
            f"{spec} is not available; {f'set {spec.setting} to' if spec.setting else 'choose'} "
            f"another model" + (f". {known}" if known else ""),
            hint="model",
        )
    quota = read_quota(body) if status == 429 else QuotaDetails(retry_after_seconds=retry_delay_seconds(body))
    found = error_from_status(status, quota.description or message, headers)
    return ServiceError(
        found.reason,
        f"{spec}: {found.message}",
        hint=quota.hint or found.hint,
        is_retryable=found.is_retryable and quota.hint not in ("billing", "day"),
        retry_after_seconds=found.retry_after_seconds
        if quota.retry_after_seconds is None
        else quota.retry_after_seconds,
    )


def _is_about_feature(status: int, text: str) -> bool:
    """Whether a refusal may be about the way in which something was asked for."""
    named = _FEATURE_WORDS.search(text.lower()) is not None
    return status in (400, 422) or (named and (status == 404 or status >= 500))


def _explanations(body: Any) -> Iterator[str]:
    """Every text in the body of a refusal that may explain it."""
    if isinstance(body, dict):
        for name, value in body.items():
            if name not in _UNEXPLANATORY_FIELDS:
                yield from _explanations(value)
    elif isinstance(body, list):
        for value in body:
            yield from _explanations(value)
    elif isinstance(body, str):
        yield body


def _response_headers(error: BaseException) -> Mapping[str, str]:
    """The headers of a response that an exception, or one behind it, holds on to."""
    responses = (getattr(link, "response", None) for link in _exception_chain(error))
    return next((response.headers for response in responses if response is not None), {})


def _is_bare_error_body(error: BaseException) -> bool:
    """Whether an exception has nothing but the error that a server sent where its answer belongs."""
    return len(error.args) == 1 and isinstance(error.args[0], dict)


def _response_body(error: BaseException) -> Any:
    if _is_bare_error_body(error):
        return {"error": error.args[0]}
    for name in ("details", "body"):
        if isinstance(value := getattr(error, name, None), dict | list):
            return value
        if isinstance(value, str) and value:  # of a server that says no more than that
            return {"error": value}
    said = getattr(error, "error", "")  # Ollama's, which is a text
    return {"error": said} if isinstance(said, str) else {}


def _first_message_line(body: Any) -> str:
    """The first line of the service's own message; "" if it is a page of HTML."""
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, dict):
        inner = body.get("error") or body.get("detail") or body
        if isinstance(inner, list):  # of FastAPI: what is wrong, and where
            inner = "; ".join(_first_line(" ".join(_explanations(one))) for one in inner)
        text = inner.get("message", "") if isinstance(inner, dict) else inner
        return _first_line(str(text or ""))
    return ""


def _first_line(text: str) -> str:
    line = text.strip().split("\n")[0]
    return "" if line.startswith("<") or "<html" in line.lower() else line
