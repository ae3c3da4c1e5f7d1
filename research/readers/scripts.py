"""Raised and lowered characters of documents as plain text: 10⁶, CO₂, 2½, and notes apart from figures."""

from __future__ import annotations

import re
from typing import Any

_RAISED = str.maketrans("0123456789+-−–=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-−–=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎")
_FRACTIONS = {"1/2": "½", "1/3": "⅓", "2/3": "⅔", "1/4": "¼", "3/4": "¾", "1/5": "⅕", "1/8": "⅛", "3/8": "⅜", "5/8": "⅝", "7/8": "⅞"}  # fmt: skip
_EXPONENT = re.compile(r"[+\-−–]?\d{1,3}|[+\-−–]|n")
_ORDINAL = re.compile(r"st|nd|rd|th|er|re|e|ème|o|a", re.IGNORECASE)
_NOTE = re.compile(r"[\[(（【]?\s*(?:\d{1,3}(?:\s*[,–-]\s*\d{1,3})*|[a-z]|[*†‡§¶]+)\s*[\])）】]?")
# An exponent follows a base: a short number, a symbol of one to three letters (km, a unit or variable), or ).
_BASE = re.compile(r"(?:(?<![\w.,])\d{1,2}|(?<![^\W\d_])[^\W\d_]{1,3}|[)\]])\Z")


def raised_text(text: str, before: str, *, is_link: bool = False) -> str:
    """Return the plain form of a superscript after the text `before`.

    An exponent becomes raised digits, the mark of a note stands apart in brackets, an ordinal ending
    joins its number, and anything else stays as it is.
    """
    text = " ".join(text.split())
    is_note = is_link or text[:1] in "[(（【*†‡§¶" if text else False
    if not is_note and _ORDINAL.fullmatch(text) and before[-1:].isdigit():
        return text
    if not is_note and _EXPONENT.fullmatch(text) and _BASE.search(before):
        return text.translate(_RAISED)
    if _NOTE.fullmatch(text):
        return f" [{text.strip('[](（）【】 ')}]"
    return text


def lowered_text(text: str) -> str:
    """Return the plain form of a subscript: lowered digits and signs, anything else as it is."""
    text = " ".join(text.split())
    return text.translate(_LOWERED) if re.fullmatch(r"[0-9+\-−–=()]+", text) else text


def flatten_scripts(root: Any) -> None:
    """Replace the <sup> and <sub> elements of a page by their plain forms."""
    for element in [*root.iter("sup", "sub")]:
        if element.getparent() is None:
            continue
        text, before, rest = element.text_content(), _text_before(element), element.tail or ""
        follower = element.getnext()
        if element.tag == "sub":
            plain = lowered_text(text)
        elif rest.strip() in ("/", "⁄") and follower is not None and follower.tag == "sub":
            fraction = f"{text.strip()}/{follower.text_content().strip()}"
            plain = _FRACTIONS.get(fraction, f" {fraction}" if before[-1:].isdigit() else fraction)
            rest = follower.tail or ""
            follower.tail = None
            follower.drop_tree()
        else:
            plain = raised_text(text, before, is_link=element.find(".//a") is not None)
        element.tail = plain + rest
        element.drop_tree()


def _text_before(element: Any) -> str:
    """Return the end of the text that precedes an element within its parent."""
    previous = element.getprevious()
    if previous is None:
        return (element.getparent().text or "")[-20:]
    return (previous.tail or previous.text_content() or "")[-20:]
