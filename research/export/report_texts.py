"""Fixed texts of an exported report: catalogue messages with the prefix `report.`."""

from __future__ import annotations

from typing import Literal

from research.core.i18n import Translator, has_message, message
from research.core.records import Language

# Citations in Markdown: [1], a link to the list of sources, or a footnote [^1] with the source.
CitationFormat = Literal["numbers", "links", "footnotes"]

MESSAGE_PREFIX = "report."


def report_translator(language: Language, citation_format: CitationFormat = "numbers") -> Translator:
    """Return a function that formats fixed texts by key.

    The key "cite" gives a citation in the given format; no other text depends on it.
    """

    def translate(key: str, /, **blanks: object) -> str:
        text_key = f"cite.{citation_format}" if key == "cite" and citation_format != "numbers" else key
        return message(MESSAGE_PREFIX + text_key, language, **blanks)

    return translate


def has_report_text(key: str) -> bool:
    """Return whether there is a fixed text for a key."""
    return has_message(MESSAGE_PREFIX + key)
