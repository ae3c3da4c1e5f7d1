"""Types and parsers for the JSON that chat models return.

Excess is cut off rather than refused, as the call is paid for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from research.core.records import normalise_query

_T = TypeVar("_T", bound=BaseModel)


class OutputWithLists(BaseModel):
    """The output of a model with lists of texts in fields whose names depend on the run's sources."""

    model_config = ConfigDict(extra="allow")

    def text_list(self, field: str, max_items: int, max_chars: int) -> list[str]:
        """Return the distinct texts of a list, each on one line; [] if the field is missing or no list."""
        value = (self.model_extra or {}).get(field)
        unique: dict[str, str] = {}
        for text in value if isinstance(value, list) else []:
            line = one_line(text, max_chars)
            unique.setdefault(normalise_query(line), line)
        return [text for key, text in unique.items() if key][:max_items]


class Judgement(BaseModel):
    """Judgement of whether the material is sufficient for a question or a section."""

    is_sufficient: bool
    knowledge_gap: str = ""

    @model_validator(mode="before")
    @classmethod
    def _infer_insufficient(cls, data: Any) -> Any:
        """Treat output without a judgement as insufficient if it names a gap or new queries."""
        if not isinstance(data, dict) or data.get("is_sufficient") is not None:
            return data
        has_gap = bool(data.get("knowledge_gap")) or has_nonempty_list(data)
        return {**data, "is_sufficient": False} if has_gap else data

    @property
    def gap(self) -> str:
        """The knowledge gap on one line, cut to 600 characters."""
        return one_line(self.knowledge_gap, 600)


def has_nonempty_list(data: Mapping[str, Any]) -> bool:
    """Return whether any field is a list with items."""
    return any(isinstance(value, list) and value for value in data.values())


def parse_rows(rows: Sequence[object], output_type: type[_T]) -> list[_T]:
    """Parse the rows of a list; an invalid row is dropped and does not affect the others."""
    parsed = []
    for row in rows:
        try:
            parsed.append(output_type.model_validate(row))
        except ValidationError:
            continue
    return parsed


def one_line(text: object, max_chars: int | None = None) -> str:
    """Return a text on one line, cut to at most `max_chars` characters; "" for anything but text."""
    return " ".join(text.split())[:max_chars] if isinstance(text, str) else ""
