"""The base class of the records, and helpers for their keys."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from datetime import date
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict

Date = date  # alias for classes with a field named date
Language = Literal["zh", "en"]


def fingerprint(*parts: str, digits: int = 12) -> str:
    """Return a short stable id of some strings in order, as `digits` hexadecimal digits."""
    digest = hashlib.blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=16)
    return digest.hexdigest()[:digits]


def normalise_query(query: str) -> str:
    """Normalise a query for comparison: NFKC, case-folded, only words and single spaces."""
    folded = unicodedata.normalize("NFKC", query).casefold()
    return re.sub(r"[\W_]+", " ", folded).strip()


class CheckedCopy(BaseModel):
    """Base of models whose copies can only be given values for their fields."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other values. Raises TypeError for a name that is no field."""
        if update and (unknown := update.keys() - type(self).model_fields.keys()):
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")
        return super().model_copy(update=update, deep=deep)


class Record(CheckedCopy):
    """Base of all records: frozen, without extra fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True)
