"""Kinds of flaws, with severity and message."""

from __future__ import annotations

from typing import Literal

from research.core import i18n
from research.core.records import Language

Severity = Literal["error", "warning", "info"]

SEVERITY_BY_KIND: dict[str, Severity] = {
    "dangling": "error",
    "no-list": "error",
    "unused": "warning",
    "duplicate": "error",
    "same-url": "warning",
    "order": "warning",
    "gap": "warning",
    "placeholder": "error",
    "no-address": "warning",
    "bad-address": "error",
    "mismatch": "error",
    "unlisted": "warning",
    "uncited": "warning",
    "uncited-list": "warning",
    "broken-link": "error",
    "tracking": "info",
    "bare-address": "info",
    "in-heading": "info",
    "leading": "info",
    "inconsistent": "error",
}


def flaw_message(kind: str, subject: str, conflicting: str, language: Language) -> str:
    """Return the message about a flaw.

    Args:
        subject: the item with the flaw, such as "[3]".
        conflicting: the item that it conflicts with, or "".
    """
    return i18n.message(f"flaw.{kind}", language, what=subject, other=conflicting)
