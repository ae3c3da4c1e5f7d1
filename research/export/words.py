"""The fixed words of an exported report: those of the catalogue that begin with `report.`."""

from __future__ import annotations

from typing import Literal

from research.core.i18n import Say, has_message, message
from research.core.records import Language

# How Markdown cites: [1]; a link to the list of sources; or [^1], whose note is the source.
Citations = Literal["numbers", "links", "footnotes"]

PREFIX = "report."


def speaker(language: Language, citations: Citations = "numbers") -> Say:
    """A function that gives a fixed text by its key, with its blanks filled in, and citations so."""

    def say(key: str, /, **blanks: object) -> str:
        own = f"cite.{citations}" if key == "cite" and citations != "numbers" else key
        return message(PREFIX + own, language, **blanks)

    return say


def known(key: str) -> bool:
    """Whether there is a fixed text for a key."""
    return has_message(PREFIX + key)
