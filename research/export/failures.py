"""Failures in words for people: which service failed, how, and what can be done about it.

What a service or a library has said itself is kept apart as a detail. Failures that read the same are told
once. Knows records and texts, no service.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, get_args

from research.core.i18n import has_message, message
from research.core.providers import shipped_providers
from research.core.records import Failure, FailureReason, Language

_MODEL_NAME = re.compile(r"([a-z][a-z0-9-]*):([^\s:(]+(?::[\w.-]+)?)")  # gemini:gemini-3.8-flash
_SERVICE_PREFIX = re.compile(r"(?!HTTP\b)((?:[A-Z][\w.-]*)(?: [\w.-]+){0,2}): ")  # Tavily: …
_SETTING_NAME = re.compile(r"\b[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+\b")
_REASONS_BY_LENGTH = sorted(get_args(FailureReason), key=len, reverse=True)


class FailureGroup(NamedTuple):
    """Failures that read the same: the sentence, how many there are, the queries that failed, and what was
    said by the services, each once."""

    text: str
    failure_count: int
    queries: tuple[str, ...]
    details: tuple[str, ...]


def group_failures(failures: Iterable[Failure], language: Language) -> tuple[FailureGroup, ...]:
    """Put failures that read the same together, in the order of the first of each."""
    found: dict[str, list[Failure]] = {}
    for failure in failures:
        found.setdefault(explain_failure(failure, language), []).append(failure)
    return tuple(
        FailureGroup(
            text,
            len(own),
            tuple(dict.fromkeys(one.query for one in own if one.query.strip())),
            tuple(dict.fromkeys(one.message for one in own if one.message and one.message not in text)),
        )
        for text, own in found.items()
    )


def explain_failure(failure: Failure, language: Language) -> str:
    """Say in a sentence which service failed, at what, how, and what can be done."""
    if failure.reason == "unclear" and failure.message:  # it asks back
        return message("report.failed.asks", language, question=failure.message)
    if failure.reason in ("empty", "no model") and failure.message:  # it is said for people
        return failure.message
    text = _failure_sentence(failure, language)
    if failure.stage in ("search", "check"):
        return text
    return message("mark.colon", language).join((message(f"stage.{failure.stage}", language), text))


def _failure_sentence(failure: Failure, language: Language) -> str:
    key, service = f"report.failed.{failure.reason}", service_name(failure, language)
    if failure.reason == "left out" and failure.message:
        return message("report.failed.left out why", language, service=service, why=failure.message)
    settings = dict.fromkeys(_SETTING_NAME.findall(failure.message))
    if failure.reason == "no key" and settings:
        names = message("mark.list", language).join(settings)
        return message("report.failed.no key named", language, service=service, setting=names)
    if failure.hint and has_message(f"{key} {failure.hint}"):
        key = f"{key} {failure.hint}"
    return message(key, language, service=service)


def service_name(failure: Failure, language: Language) -> str:
    """The name of the service that failed: a model with its provider, what the message begins with, or the
    source."""
    if (model := _MODEL_NAME.match(failure.message)) and model[1] in shipped_providers():
        known = shipped_providers()[model[1]]
        if model[2] == known.proof:  # its list of models was asked for
            return known.title
        return message("mark.aside", language, text=known.title, more=model[2])
    if head := _SERVICE_PREFIX.match(failure.message):
        return head[1]
    key = f"source.{failure.source}"
    if failure.source:
        return message(key, language) if has_message(key) else failure.source
    return message("report.failed.service", language)


def parse_failure(error: str) -> Failure | None:
    """Read the reason and the message out of the recorded error of a run; None if it has no reason."""
    for reason in _REASONS_BY_LENGTH:
        if error.startswith(f"{reason}: "):
            return Failure(reason=reason, message=error.removeprefix(f"{reason}: "))
    return None
