"""A model's judgement of the findings for a question or a section."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, model_validator


class Judgement(BaseModel):
    """Judgement of whether the material is sufficient, with what is missing."""

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


def has_nonempty_list(data: Mapping[str, Any]) -> bool:
    return any(isinstance(value, list) and value for value in data.values())
