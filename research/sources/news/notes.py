"""What is said of a search for news, in the language of who asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from research.core.i18n import message
from research.core.records import Language


@dataclass(frozen=True)
class Note:
    """A note by its name, with what it tells of."""

    name: str
    values: tuple[tuple[str, object], ...] = ()

    def said(self, tongue: Language) -> str:
        return message(f"note.{self.name}", tongue, **dict(self.values))


def noted(name: str, **values: object) -> Note:
    return Note(name, tuple(values.items()))


def joined(notes: Iterable[Note], tongue: Language) -> str:
    """Several notes as one text."""
    return message("mark.semicolon", tongue).join(note.said(tongue) for note in notes)
