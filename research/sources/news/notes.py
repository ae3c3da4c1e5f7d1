"""Notes on a news search, rendered in the user's language."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from research.core.i18n import message
from research.core.records import Language


@dataclass(frozen=True)
class Note:
    """A note by its message key, with its values."""

    message_key: str
    values: tuple[tuple[str, object], ...] = ()

    def render(self, language: Language) -> str:
        """Return the text of the note."""
        return message(f"note.{self.message_key}", language, **dict(self.values))


def make_note(message_key: str, **values: object) -> Note:
    """Return a note for the message `note.KEY` and its values."""
    return Note(message_key, tuple(values.items()))


def join_notes(notes: Iterable[Note], language: Language) -> str:
    """Render several notes as one text."""
    return message("mark.semicolon", language).join(note.render(language) for note in notes)
