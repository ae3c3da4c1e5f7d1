"""The fixed words of an exported report: those of the catalogue that begin with `report.`."""

from __future__ import annotations

from typing import Literal

from research.core.i18n import Translator, has_message, message
from research.core.records import Language

# How Markdown cites: [1]; a link to the list of sources; or [^1], whose note is the source.
CitationFormat = Literal["numbers", "links", "footnotes"]

MESSAGE_PREFIX = "report."


def report_translator(language: Language, citation_format: CitationFormat = "numbers") -> Translator:
    """A function that gives a fixed text by its key, with its blanks filled in, and citations so."""

    def say(key: str, /, **blanks: object) -> str:
        own = f"cite.{citation_format}" if key == "cite" and citation_format != "numbers" else key
        return message(MESSAGE_PREFIX + own, language, **blanks)

    return say


def has_report_text(key: str) -> bool:
    """Whether there is a fixed text for a key."""
    return has_message(MESSAGE_PREFIX + key)
