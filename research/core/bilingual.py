"""A text in both languages, for declarations that carry their own texts: settings, formats, events."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from research.core.records import Language


class Text(NamedTuple):
    """A text in English and in Chinese."""

    en: str
    zh: str

    def in_language(self, language: Language) -> str:
        """Return the text in a language."""
        return self.zh if language == "zh" else self.en
