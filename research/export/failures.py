"""Failures as sentences for people: the service, the reason and a remedy.

Original messages of services and libraries are kept apart as details. Failures with the same
sentence are grouped.
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
    """Failures with the same sentence: count, failed queries and service messages, each once."""

    text: str
    failure_count: int
    queries: tuple[str, ...]
    details: tuple[str, ...]


def group_failures(failures: Iterable[Failure], language: Language) -> tuple[FailureGroup, ...]:
    """Group failures with the same sentence, in the order of their first occurrence."""
    groups: dict[str, list[Failure]] = {}
    for failure in failures:
        groups.setdefault(explain_failure(failure, language), []).append(failure)
    return tuple(
        FailureGroup(
            text,
            len(group),
            tuple(dict.fromkeys(item.query for item in group if item.query.strip())),
            tuple(dict.fromkeys(item.message for item in group if item.message and item.message not in text)),
        )
        for text, group in groups.items()
    )


def explain_failure(failure: Failure, language: Language) -> str:
    """Describe a failure in a sentence: service, stage, reason and remedy."""
    if failure.reason == "unclear" and failure.message:  # the message is a question to the user
        return message("report.failed.asks", language, question=failure.message)
    if failure.reason in ("empty", "no model") and failure.message:  # the message is written for people
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
    """Return the name of the failed service.

    The name is the model with its provider, the prefix of the message, or the source.
    """
    if (model := _MODEL_NAME.match(failure.message)) and model[1] in shipped_providers():
        known = shipped_providers()[model[1]]
        if model[2] == known.key_test_path:  # the request was for the list of models
            return known.title
        return message("mark.aside", language, text=known.title, more=model[2])
    if head := _SERVICE_PREFIX.match(failure.message):
        return head[1]
    key = f"source.{failure.source}"
    if failure.source:
        return message(key, language) if has_message(key) else failure.source
    return message("report.failed.service", language)


def parse_failure(error: str) -> Failure | None:
    """Parse reason and message of the recorded error of a run. Return None if it has no reason."""
    for reason in _REASONS_BY_LENGTH:
        if error.startswith(f"{reason}: "):
            return Failure(reason=reason, message=error.removeprefix(f"{reason}: "))
    return None
