"""Gathered sources that a text may cite, and the match of its own lists of sources with them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from research.citations.styles.source_lists import ListEntry
from research.citations.styles.web_addresses import address_key
from research.core.records import PassageReference, normalise_query

HANDLE = re.compile(r"[@＠]\s?([0-9a-f]{4,8})(?![0-9a-z])", re.IGNORECASE)
_SCHEMELESS_ADDRESS = re.compile(r"(?<![\w./@-])((?:[a-z0-9-]+\.)+[a-z]{2,}/[^\s<>()（）\[\]，。；]*)", re.IGNORECASE)
ADDRESS_OR_HANDLE = re.compile(r"https?://|(?<![\w@/.-])www\.|[@＠]\s?[0-9a-f]{4}", re.IGNORECASE)
_TRAILING_DATE = re.compile(
    r" (?:(?:accessed|retrieved|published|updated|访问\w*|发布\w*) )?(?:(?:1[5-9]|20)\d\d(?: \d{1,2}){0,2}|undated)$"
)


class KnownSources(NamedTuple):
    """Gathered sources by handle, by address identity, and by normalised title."""

    handles: Mapping[str, PassageReference]
    urls: Mapping[str, PassageReference]
    titles: Mapping[str, PassageReference] = {}

    def find_cites(self, entry: ListEntry) -> tuple[PassageReference, ...]:
        """Return the sources that an entry of a list refers to by handle or address, else by title."""
        keys = HANDLE.findall(unicodedata.normalize("NFKC", entry.text))
        cites = [self.handles.get(key.lower()) for key in keys]
        cites += [self.urls.get(address_key(url)) for url in entry.urls]
        if not entry.urls:  # the address may lack its scheme
            bare = _SCHEMELESS_ADDRESS.findall(entry.text)
            cites += [self.urls.get(address_key(f"https://{address}")) for address in bare]
        if not any(cites) and not entry.urls:
            label = rf"^\D{{0,12}}?0*{re.escape(normalise_query(entry.id))}(?!\d) ?" if entry.id else "^"
            cites = [self.find_by_title(re.sub(label, "", normalise_query(entry.text)))]
        return tuple(dict.fromkeys(cite for cite in cites if cite))

    def find_by_title(self, title: str) -> PassageReference | None:
        """Return the source with a title; the given name may end in a date."""
        title = normalise_query(title)
        return self.titles.get(title) or self.titles.get(_TRAILING_DATE.sub("", title))


@dataclass
class EntrySources:
    """The gathered sources of the entries in a text's lists.

    The resolver of marks and `cite` record here what the text cites; the removal of lists reads it.
    """

    known: KnownSources
    needs_list: bool = False  # True if a mark is of a style that needs a list
    has_citation: bool = False  # True if a mark outside the lists cites a gathered source
    _cited: set[int] = field(default_factory=set)  # `id()` of each entry that a mark cites
    _sources: dict[int, tuple[PassageReference, ...]] = field(default_factory=dict)

    def sources_of(self, entry: ListEntry) -> tuple[PassageReference, ...]:
        """Return the gathered sources that an entry refers to."""
        if id(entry) not in self._sources:
            self._sources[id(entry)] = self.known.find_cites(entry)
        return self._sources[id(entry)]

    def names_source(self, entry: ListEntry) -> bool:
        """Return whether an entry refers to a gathered source or has a web address."""
        return bool(self.sources_of(entry)) or has_web_address(entry)

    def is_cited(self, entry: ListEntry) -> bool:
        """Return whether a mark cites an entry."""
        return id(entry) in self._cited

    def cite(self, entries: Iterable[ListEntry]) -> Sequence[PassageReference]:
        """Record that a mark cites entries that share a number, and return their sources.

        Return nothing if the entries have different sources.
        """
        cited = list(entries)
        self._cited.update(map(id, cited))
        distinct = {self.sources_of(entry) for entry in cited}
        sources = distinct.pop() if len(distinct) == 1 else ()
        self.has_citation = self.has_citation or bool(sources)
        return sources


def has_web_address(entry: ListEntry) -> bool:
    """Return whether an entry has a web address."""
    return any(url.lower().startswith(("http:", "https:", "www.")) for url in entry.urls)
