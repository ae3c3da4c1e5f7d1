"""All user-visible texts in Chinese and English: Project Fluent messages, one file per area.

`locale/en/ask.ftl` and `locale/zh/ask.ftl` hold the same messages. A key of the code is the
identifier of a message, with a point for its hyphen and a blank for its underscore: `reason.no key`
is `reason-no_key`. Plug-ins add plain texts (`set_plugin_messages`), which are escaped wherever
they are displayed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources

from fluent.runtime import FluentBundle, FluentResource
from fluent.runtime.types import fluent_number

from research.core.records import Language

log = logging.getLogger(__name__)

Translator = Callable[..., str]
LOCALES: Mapping[Language, str] = {"zh": "zh-Hans-CN", "en": "en-GB"}
_KEY_TO_IDENTIFIER = str.maketrans(". ", "-_")
_ENTRY_PATTERN = re.compile(r"^([a-zA-Z][\w-]*) *=.*(?:\n(?:[ \t}].*)?)*", re.MULTILINE | re.ASCII)
_GROUPED_NUMBER_PATTERN = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+")
_plugin_messages: Mapping[str, Mapping[Language, str]] = {}
_PLAIN_NUMBER_PATTERN = re.compile(r"0|[1-9][0-9]{0,14}")


def message(key: str, language: Language, /, **values: object) -> str:
    """Return the text of a key with its values filled in.

    Numbers select the plural form, also as formatted text (`1,204`), and are written as given:
    `2026`, never `2,026`.

    Raises:
        KeyError: There is no such message.
    """
    name = key.translate(_KEY_TO_IDENTIFIER)
    if plugin_text := _plugin_messages.get(name):
        return plugin_text[language]
    entry = _message_definitions(language).get(name)
    if entry is None:
        raise KeyError(key)
    bundle = _bundle(language)
    if not bundle.has_message(name):
        bundle.add_resource(FluentResource(entry))
    pattern = bundle.get_message(name).value
    if pattern is None:
        raise KeyError(key)
    arguments = {variable: _fluent_value(value) for variable, value in values.items()}
    text, errors = bundle.format_pattern(pattern, arguments)
    if errors:
        log.warning("the text %s in %s lacks something: %s", key, language, errors)
    return str(text)


def has_message(key: str) -> bool:
    """Return whether a key has a text."""
    return key.translate(_KEY_TO_IDENTIFIER) in _plugin_messages or has_shipped_message(key)


def has_shipped_message(key: str) -> bool:
    """Return whether a key has a text in the shipped files."""
    return key.translate(_KEY_TO_IDENTIFIER) in _message_definitions("en")


def set_plugin_messages(messages: Mapping[str, Mapping[Language, str]]) -> None:
    """Replace the plug-in texts, by key and language. They never override a shipped text."""
    global _plugin_messages
    added = {key: text for key, text in messages.items() if not has_shipped_message(key)}
    _plugin_messages = {key.translate(_KEY_TO_IDENTIFIER): text for key, text in added.items()}


def translator(language: Language, prefix: str = "") -> Translator:
    """Return `message` bound to a language and to a prefix of the keys."""
    return lambda key, /, **values: message(prefix + key, language, **values)


def _fluent_value(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return fluent_number(value, useGrouping=False, maximumFractionDigits=15)
    text = str(value)
    if _GROUPED_NUMBER_PATTERN.fullmatch(text):
        return fluent_number(int(text.replace(",", "")), useGrouping=True)
    if _PLAIN_NUMBER_PATTERN.fullmatch(text):
        return fluent_number(int(text), useGrouping=False)
    return text


@cache
def _bundle(language: Language) -> FluentBundle:
    """Return the bundle. Messages are added on first use: parsing all takes 0.25 seconds."""
    return FluentBundle([LOCALES[language]], use_isolating=False)


@cache
def _message_definitions(language: Language) -> Mapping[str, str]:
    """Return the source of every message of a language by identifier: each begins a line, its
    continuation lines are indented. No message refers to another one."""
    folder = resources.files("research.core.i18n") / "locale" / language
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return {match[1]: match[0] for match in _ENTRY_PATTERN.finditer(text)}
