"""A citation in the text of a report, and the numbers in it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

MarkKind = Literal["number", "footnote", "label", "key", "link", "author", "note"]
MarkStyle = Literal[
    "numbered", "footnotes", "links", "author-year", "superscripts", "brackets", "keys", "labels",
    "references", "tokens",
]  # fmt: skip

TEXT_BEFORE_YEAR = "\x00"


@dataclass(frozen=True)
class CitationMark:
    """A citation: its target, its range in the text, and its style.

    `id` is the number, label or key of the target; "" for a plain link. For an author it is
    "names|year", with `TEXT_BEFORE_YEAR` and the text before the year if only the year is in brackets.
    A mark that `needs_entry` counts only if a list has an entry for it: x² is no citation.
    """

    kind: MarkKind
    id: str
    start: int
    end: int
    style: MarkStyle
    url: str = ""
    needs_entry: bool = False


@dataclass(frozen=True)
class MalformedMark:
    """Text in the place of a citation that is not a valid one."""

    kind: Literal["placeholder", "broken-link", "bare-address"]
    start: int
    end: int


LOCATOR = r"\s*[,:，：]\s*(?:pp?\.?|§+|(?:ch|sec|th|lem|fig|tab|eq|app|art|par|cor|prop|def)[a-z]{0,8}\.?|第)\s*[\w\s.,–-]{1,20}"
_RANGE = re.compile(r"(\d{1,4})\s*(?:–|—|-|to|至|~)\s*\^?(\d{1,4})")


def parse_numbers(text: str) -> list[str]:
    """Return the numbers in a citation; 1-3 stands for three numbers."""
    text = re.sub(rf"{LOCATOR}\s*$", "", unicodedata.normalize("NFKC", text), flags=re.IGNORECASE)
    out: list[str] = []
    at = 0
    for match in re.finditer(r"\d{1,4}", text):
        if match.start() < at:
            continue
        span = _RANGE.match(text, match.start())
        first, last = (int(span[1]), int(span[2])) if span else (int(match[0]), int(match[0]))
        if span and 0 < last - first <= 50:
            out += [str(number) for number in range(first, last + 1)]
            at = span.end()
        else:
            out.append(str(int(match[0])))
    return out
