"""Access to JSON from outside, whose values may be of any type."""

from __future__ import annotations

from typing import Any


def keep_objects(value: object) -> list[dict[str, Any]]:
    """Return the objects of a JSON list; [] for any other value."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def as_object(value: object) -> dict[str, Any]:
    """Return a JSON value that is an object; {} for any other value."""
    return value if isinstance(value, dict) else {}
