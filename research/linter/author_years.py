"""Citations by name and year, compared with the entries of a report's lists of sources."""

from __future__ import annotations

import re
from collections.abc import Iterable

from research.citations.styles.citation_mark import TEXT_BEFORE_YEAR, CitationMark
from research.citations.styles.source_lists import ListEntry
from research.core.text.tokenizer import HAN_RANGES

YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d[a-z]?(?!\d)|n\. ?d\.|无日期")
# Authors before a year in brackets, and verbs behind it that only have authors as subjects.
_AUTHORS = re.compile(r"(?<![\w.-])[A-Z][^\W\d_][\w’'-]*(?P<more> et al\.?|,? (?:and|&) [A-Z][^\W\d_][\w’'-]*)?$")
_REPORTING_VERB = re.compile(
    r"\s+(?:find|found|argue|report|show|conclude|suggest|note|observe|estimate|claim|demonstrate|describe|propose|point)(?:s|ed|d)?\b"
)


class AuthorYears:
    """The entries of a report's lists by the years in their text."""

    def __init__(self, entries: Iterable[ListEntry]) -> None:
        self._entries_by_year: dict[str, list[ListEntry]] = {}
        for entry in entries:
            if entry.kind in ("plain", "number"):
                for year in set(YEAR.findall(entry.text)):
                    self._entries_by_year.setdefault(year, []).append(entry)
                    if len(year) == 5:
                        self._entries_by_year.setdefault(year[:4], []).append(entry)

    def find_entries(self, mark: CitationMark) -> list[ListEntry]:
        """Return the sources that a name and a year may refer to."""
        names, _, year = mark.id.rpartition("|")
        entries = self._entries_by_year.get(year, [])
        if not entries and len(year) == 5:
            entries = self._entries_by_year.get(year[:4], [])
        return [entry for entry in entries if _is_by_author(names, entry.text)]


def find_author(mark: CitationMark, text: str) -> str:
    """Return the author before a year in brackets, as in "Smith (2019) found", with the year; else ""."""
    before, _, year = mark.id.rpartition("|")
    names = _AUTHORS.search(before)
    if names and (names["more"] or _REPORTING_VERB.match(text, mark.end)):
        return f"{names[0]}, {year}"
    return ""


def _is_by_author(names: str, text: str) -> bool:
    """Return whether the text of an entry contains the first of the given names.

    After `TEXT_BEFORE_YEAR`, `names` are the text before the year, which ends in the names.
    """
    folded = text.casefold()
    if names.startswith(TEXT_BEFORE_YEAR):
        han = re.findall(f"[{HAN_RANGES}]{{2,}}$", re.sub(r"等人?\s*$", "", names))
        if han:
            return any(len(part) >= 2 and part in text for part in (han[0][-n:] for n in (2, 3, 4)))
        tail = re.split(r"[.;:!?。；]\s", names[1:])[-1]
        caps = [word for word in re.findall(r"[^\W\d_][\w’'-]+", tail)[-6:] if word[0].isupper()]
        head = folded[:120]
        return any(re.search(rf"(?<!\w){re.escape(word.casefold())}(?!\w)", head) for word in caps)
    if re.search(f"[{HAN_RANGES}]", names):
        first = re.split(r"等|和|与|、|，|,|\s", names.strip(' “”"《》'))[0]
        return first in text
    words = [word for word in re.findall(r"[^\W\d_][\w’'-]*", names) if len(word) > 1]
    words = [
        word for word in words if word.lower() not in ("the", "et", "al", "and", "van", "von", "de", "der", "la", "le")
    ] or words
    if not words:
        return False
    first = words[0].casefold().removesuffix("'s").removesuffix("’s")
    if re.search(rf"(?<!\w){re.escape(first)}(?!\w)", folded):
        return True
    initials = "".join(word[0] for word in re.findall(r"[A-Z][\w’'-]*", text[:200]))
    return words[0].isupper() and words[0] in initials
