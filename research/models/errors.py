"""Conversion of the failures of model services to `ServiceError`.

Three libraries and four transports raise errors of their own; exception class, status and body are
told apart here and nowhere else. Sources: the error tables of the Gemini API, of OpenAI's and of
Ollama's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from research.core.errors import (
    REDIRECT_STATUSES,
    ServiceError,
    connection_hint,
    error_from_status,
    exception_chain,
)
from research.models.lifecycle import describe_change
from research.models.prompt_overflow import PromptOverflow, detect_overflow
from research.models.quotas import QuotaDetails, is_payment_refusal, parse_quota, retry_delay_seconds
from research.models.roles import ModelSpec

# Class names instead of classes: the transport of a client depends on what is installed (httpx, its
# successor, aiohttp), and each has errors of its own.
_API_ERRORS = {"APIError", "ResponseError"}
_TIMEOUT_ERRORS = {"TimeoutError", "TimeoutException", "ServerTimeoutError", "APITimeoutError"}
_CONNECTION_ERRORS = {
    "ConnectionError",
    "TransportError",
    "ClientConnectionError",
    "ClientPayloadError",
    "APIConnectionError",
    "ClientError",
    "OSError",
}
_OBJECT_REPR = re.compile(r"\s*(?:ssl:)?<[^>]*>")
_BROKEN_TRANSFER_ERRORS = {"HttpProcessingError", "ClientPayloadError", "RemoteProtocolError", "ReadError"}
_PARSE_ERRORS = {
    "JSONDecodeError", "UnknownApiResponseError", "APIResponseValidationError", "ValidationError",
    "ContentTypeError", "TypeError", "KeyError", "IndexError", "AttributeError", "ValueError",
    "RecursionError",
}  # fmt: skip


class PromptTooLongError(ServiceError):
    """The prompt is too long for the model; `overflow` holds the limits it reported."""

    def __init__(self, message: str, overflow: PromptOverflow) -> None:
        super().__init__("refused", message, hint="context")
        self.overflow = overflow


class UnsupportedFeatureError(ServiceError):
    """A request refused, it seems, for a parameter that the server does not support."""


# A refusal may be about an optional feature, and the request is then repeated without it. Bad
# requests (400, 422) without another known reason may be that, whatever their wording; other
# answers have to name the feature.
_FEATURE_WORDS = re.compile(
    r"response.?(?:format|schema)|json.?(?:mode|schema|object)|struct|guided|grammar"
    r"|stream.?options|include.?usage|requested parameters"
)
_IGNORED_FIELDS = {"input", "ctx", "url", "status", "type", "@type", "object"}  # fields without an explanation

_REGION_MESSAGES = ("location is not supported", "country, region, or territory not supported")


def classify_error(error: Exception, spec: ModelSpec) -> ServiceError:
    """Convert an exception of a client to a ServiceError.

    Exceptions of a kind that no client raises for a bad answer are bugs and are raised again.
    """
    for link in exception_chain(error):
        if isinstance(link, ServiceError):
            return link
        if (status := _http_status(link)) is not None:
            return _classify_status(status, link, spec)
    names = [{cls.__name__ for cls in type(link).__mro__} for link in exception_chain(error)]
    summary = f"{spec}: {type(error).__name__}"
    if any(class_names & _TIMEOUT_ERRORS for class_names in names):
        return ServiceError("timeout", f"{spec} did not answer in time")
    if any(class_names & {"ContentTypeError"} for class_names in names):
        return ServiceError("malformed", summary, is_retryable=True)
    if any(class_names & _BROKEN_TRANSFER_ERRORS for class_names in names):
        return ServiceError("unreachable", f"{spec} broke off ({type(error).__name__})", is_retryable=True)
    if any(class_names & _CONNECTION_ERRORS for class_names in names):
        error_text = _OBJECT_REPR.sub("", str(error))
        # Only Gemini's errors name the host.
        setting_hint = "" if spec.protocol == "gemini" else f" ({spec.address_setting})"
        text = f"{summary}: {error_text}{setting_hint}"
        return ServiceError("unreachable", text, hint=connection_hint(error), is_retryable=True)
    is_bare = _holds_error_object(error)
    if not is_bare and any(class_names & _PARSE_ERRORS for class_names in names):
        return ServiceError("malformed", f"{spec} answered something that is not its JSON", is_retryable=True)
    # Errors sent in place of an answer, or in its middle.
    if is_bare or any(class_names & _API_ERRORS for class_names in names):
        body = _response_body(error)
        message = f"{spec}: {_first_message_line(body)}"
        if overflow := detect_overflow(0, body, str(error)):
            return PromptTooLongError(message, overflow)
        if _FEATURE_WORDS.search(message.lower()):
            return UnsupportedFeatureError("refused", message)
        return ServiceError("unavailable", message, is_retryable=True)
    raise error


def _http_status(error: BaseException) -> int | None:
    """Return the HTTP status of an exception of google-genai, openai or ollama; None without one.

    A broken transfer has none, though aiohttp's errors of that kind have a code 400.
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
        converted = error_from_status(status, "", headers)
        return ServiceError(converted.reason, f"{spec}: {converted.message} (check {spec.address_setting})")
    message = _first_message_line(body) or ("" if status >= 500 else _first_line(str(error)))
    text = f"{message} {json.dumps(body, ensure_ascii=False)}".lower()
    if "api_key_invalid" in text or "api key not valid" in text or status == 401:
        return ServiceError("refused", f"{spec}: {message} ({spec.provider_details.required_setting})", hint="key")
    if status in (400, 403) and any(words in text for words in _REGION_MESSAGES):
        return ServiceError("refused", f"{spec}: {message}", hint="location")
    if overflow := detect_overflow(status, body, str(error)):
        return PromptTooLongError(f"{spec}: {message or f'HTTP {status}'}", overflow)
    if status == 402 or (status in (400, 403) and is_payment_refusal(body)):
        return ServiceError("quota", f"{spec}: HTTP {status}: {message}".rstrip(": "), hint="billing")
    if _is_about_feature(status, " ".join(_explanations(body)) or message):
        return UnsupportedFeatureError("refused", f"{spec}: HTTP {status}: {message}".rstrip(": "))
    if status == 404:
        advice = describe_change(spec.name) or message  # a server may give advice: "try pulling it first"
        return ServiceError(
            "refused",
            f"{spec} is not available; {f'set {spec.setting} to' if spec.setting else 'choose'} "
            f"another model" + (f". {advice}" if advice else ""),
            hint="model",
        )
    quota = parse_quota(body) if status == 429 else QuotaDetails(retry_after_seconds=retry_delay_seconds(body))
    converted = error_from_status(status, quota.description or message, headers)
    return ServiceError(
        converted.reason,
        f"{spec}: {converted.message}",
        hint=quota.hint or converted.hint,
        is_retryable=converted.is_retryable and quota.hint not in ("billing", "day"),
        retry_after_seconds=converted.retry_after_seconds
        if quota.retry_after_seconds is None
        else quota.retry_after_seconds,
    )


def _is_about_feature(status: int, text: str) -> bool:
    """Return whether a refusal may be about an optional feature of the request."""
    named = _FEATURE_WORDS.search(text.lower()) is not None
    return status in (400, 422) or (named and (status == 404 or status >= 500))


def _explanations(body: Any) -> Iterator[str]:
    """Yield every text in a refusal's body that may explain it."""
    if isinstance(body, dict):
        for name, value in body.items():
            if name not in _IGNORED_FIELDS:
                yield from _explanations(value)
    elif isinstance(body, list):
        for value in body:
            yield from _explanations(value)
    elif isinstance(body, str):
        yield body


def _response_headers(error: BaseException) -> Mapping[str, str]:
    """Return the response headers that an exception, or one in its chain, holds."""
    responses = (getattr(link, "response", None) for link in exception_chain(error))
    return next((response.headers for response in responses if response is not None), {})


def _holds_error_object(error: BaseException) -> bool:
    """Return whether an exception holds just the error object that replaced an answer."""
    return len(error.args) == 1 and isinstance(error.args[0], dict)


def _response_body(error: BaseException) -> Any:
    if _holds_error_object(error):
        return {"error": error.args[0]}
    for name in ("details", "body"):
        if isinstance(value := getattr(error, name, None), dict | list):
            return value
        if isinstance(value, str) and value:  # of a server that sends plain text
            return {"error": value}
    message = getattr(error, "error", "")  # Ollama's error is a text
    return {"error": message} if isinstance(message, str) else {}


def _first_message_line(body: Any) -> str:
    """Return the first line of the service's message; "" if it is an HTML page."""
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, dict):
        inner = body.get("error") or body.get("detail") or body
        if isinstance(inner, list):  # FastAPI's list of validation errors
            inner = "; ".join(_first_line(" ".join(_explanations(entry))) for entry in inner)
        text = inner.get("message", "") if isinstance(inner, dict) else inner
        return _first_line(str(text or ""))
    return ""


def _first_line(text: str) -> str:
    line = text.strip().split("\n")[0]
    return "" if line.startswith("<") or "<html" in line.lower() else line
