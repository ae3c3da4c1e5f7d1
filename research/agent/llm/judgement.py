"""A model's judgement of what was found, of a question or of a section."""

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
        """Take what names a gap or new queries and leaves the judgement out for an insufficient one."""
        if not isinstance(data, dict) or data.get("is_sufficient") is not None:
            return data
        lacks = bool(data.get("knowledge_gap")) or has_nonempty_list(data)
        return {**data, "is_sufficient": False} if lacks else data


def has_nonempty_list(data: Mapping[str, Any]) -> bool:
    return any(isinstance(value, list) and value for value in data.values())
