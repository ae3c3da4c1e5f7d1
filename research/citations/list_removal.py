"""Removal of the lists of sources in a model's text, as the program adds a list of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from research.citations.known_sources import ADDRESS_OR_HANDLE, HANDLE, EntrySources
from research.citations.styles.citation_mark import CitationMark, parse_numbers
from research.citations.styles.parsed_report import ParsedReport
from research.citations.styles.source_lists import (
    LABELED_MARK,
    SOURCE_WORDS,
    ListEntry,
    SourceList,
    SourceLists,
    heading_kind,
    is_heading_prefix,
)
from research.citations.styles.web_addresses import address_key
from research.core.records import normalise_query

_LIST_INTRODUCTION = re.compile(
    rf"[ \t]*[^\n]{{0,60}}(?:{SOURCE_WORDS}|links?|链接)[^\n]{{0,20}}[:：][ \t*_]*", re.IGNORECASE
)
_NOTES_HEADING = re.compile(
    r"\W*(?:(?:foot|end)?notes?|remarks?|[脚尾备附]?注[释釋]?|備註|註[釋解]?)\W*", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.。!！?？][\"”’」』)）]*\s*$")


class ListRemoval:
    """Finds the lines of a text that only list its sources, or introduce such a list.

    `sources` are the lists that are no further reading. If `is_list_pending`, the text is still being
    written, and its last lines may be the beginning of a list.
    """

    def __init__(
        self,
        report: ParsedReport,
        lists: SourceLists,
        sources: Sequence[SourceList],
        marks: Sequence[CitationMark],
        entry_sources: EntrySources,
        *,
        is_list_pending: bool,
    ) -> None:
        self._report, self._lists, self._sources, self._marks = report, lists, sources, marks
        self._entry_sources, self._is_list_pending = entry_sources, is_list_pending

    def lines_to_remove(self) -> set[int]:
        """Return the numbers of the lines to remove: entries of lists of sources, and their headings."""
        cites = self._entry_sources.has_citation or self._cites_outside_lists()
        removed: set[int] = set()
        for entry in (*self._lists.definitions, *self._lists.footnotes):
            cited = self._entry_sources.is_cited(entry) and self._is_source_entry(entry, in_headed_list=False)
            if cited or (cites and self._entry_sources.sources_of(entry)):
                removed |= self._entry_lines(entry)
        for source_list in self._sources:
            removed |= self._list_lines(source_list, text_cites=cites)
        if self._is_list_pending:
            removed |= self._unfinished_list_lines(removed)
        return removed | self._introduction_lines(removed)

    def _cites_outside_lists(self) -> bool:
        """Return whether the text outside its lists cites a gathered source by handle or address."""
        lines = (line for line in self._report.lines if line.number not in self._lists.list_lines)
        text = "\n".join(self._report.line_text(line) for line in lines)
        if any(key.lower() in self._entry_sources.known.handles for key in HANDLE.findall(text)):
            return True
        links = (link for link in self._report.links if not self._lists.contains(link.start))
        bare = (mark.url for mark in self._marks if mark.kind == "link" and mark.url)
        urls = (*(link.url for link in links), *bare)
        return any(self._entry_sources.known.urls.get(address_key(url)) for url in urls)

    def _is_source_entry(self, entry: ListEntry, *, in_headed_list: bool) -> bool:
        """Return whether an entry names a source.

        An entry in a list under a heading (`in_headed_list`) counts without naming one, if it is
        cited or the text has marks that point to a list.
        """
        return self._entry_sources.names_source(entry) or (
            in_headed_list and (self._entry_sources.is_cited(entry) or self._entry_sources.needs_list)
        )

    def _list_lines(self, source_list: SourceList, *, text_cites: bool) -> set[int]:
        """Return the line numbers of the entries to remove, with the heading if all of them are removed.

        `text_cites` states whether the text outside the lists cites a gathered source.
        """
        has_heading = self._report.line_number(source_list.entries[0].start) != source_list.line
        is_cited = any(self._entry_sources.is_cited(entry) for entry in source_list.entries)
        is_cited = is_cited or (self._entry_sources.needs_list and all(e.kind == "number" for e in source_list.entries))
        if self._is_list_pending and has_heading and self._marks:
            sources = source_list.entries
        elif is_cited:
            in_headed_list = has_heading and not _is_headed_notes(source_list, self._report)
            sources = [e for e in source_list.entries if self._is_source_entry(e, in_headed_list=in_headed_list)]
        elif text_cites and all(self._is_uncited_entry(entry) for entry in source_list.entries):
            sources = source_list.entries
        else:
            return set()
        removed: set[int] = set().union(*map(self._entry_lines, sources))
        if len(sources) == len(source_list.entries) and removed:  # remove headings and table rules as well
            lines = self._report.lines[source_list.line - 1 : max(removed)]
            removed |= {line.number for line in lines if line.kind in ("heading", "row", "rule")}
            removed.add(source_list.line)
        return removed

    def _is_uncited_entry(self, entry: ListEntry) -> bool:
        """Return whether a line that no mark points to is an entry, not a sentence that cites a source."""
        begins_with_handle = re.match(r"[\s\d.)*+>-]*[\[［【(（]?\s*[@＠]", entry.text)
        return bool(self._entry_sources.sources_of(entry)) and bool(
            entry.urls or begins_with_handle or entry.kind != "plain" or not HANDLE.search(entry.text)
        )

    def _entry_lines(self, entry: ListEntry) -> set[int]:
        """Return the line numbers of an entry, without complete sentences on unindented lines below it."""
        first, last = self._report.line_number(entry.start), self._report.line_number(entry.end)
        out = {first}
        for line in self._report.lines[first:last]:
            text = self._report.source[line.start : line.end]
            remark = not text.startswith((" ", "\t")) and _SENTENCE_END.search(text)
            if not remark or ADDRESS_OR_HANDLE.search(text):
                out.add(line.number)
        return out

    def _introduction_lines(self, removed: set[int]) -> set[int]:
        """Return the line numbers of headings and introductory words whose whole list is removed."""
        out: set[int] = set()
        is_next_removed = False  # whether the next line that is not blank is removed
        for line in reversed(self._report.lines):
            if line.kind == "blank" and line.number not in removed:
                continue
            if line.number in removed:
                is_next_removed = True
                continue
            if is_next_removed and (
                line.number in self._lists.empty_headings or self._is_introduction(line.start, line.end)
            ):
                out.add(line.number)
            is_next_removed = False
        return out

    def _is_introduction(self, start: int, end: int) -> bool:
        words = self._report.source[start:end]
        return _LIST_INTRODUCTION.fullmatch(words) is not None or heading_kind(words) is not None

    def _unfinished_list_lines(self, removed: set[int]) -> set[int]:
        """Return the numbers of the last lines if they look like the beginning of a list of sources."""
        labels = " ".join(match[0] for match in LABELED_MARK.finditer(self._report.prose))
        cited = {normalise_query(mark.id) for mark in self._marks} | set(parse_numbers(labels))
        out: set[int] = set()
        passed: set[int] = set()  # lines that are entries if a heading above them is found
        for line in reversed(self._report.lines):
            text = self._report.source[line.start : line.end]
            if not text.strip() or line.number in removed:
                continue
            is_title = heading_kind(re.split("[:：]", text)[0]) == "name" or _LIST_INTRODUCTION.fullmatch(text)
            if (is_title and cited) or (is_heading_prefix(text) and not passed | out):
                out |= passed | {line.number}
            elif not passed and _begins_with_mark(text, cited):
                out.add(line.number)
            elif line.kind == "heading":
                break
            passed.add(line.number)
        return out


def has_only_remarks(source_list: SourceList, report: ParsedReport, entry_sources: EntrySources) -> bool:
    """Return whether a list is headed as notes and contains no source."""
    return _is_headed_notes(source_list, report) and not any(map(entry_sources.names_source, source_list.entries))


def _is_headed_notes(source_list: SourceList, report: ParsedReport) -> bool:
    """Return whether a list is headed as notes, which may contain parts of the answer besides sources."""
    line = report.lines[source_list.line - 1]
    return _NOTES_HEADING.fullmatch(report.source[line.start : line.end]) is not None


def _begins_with_mark(text: str, cited: set[str]) -> bool:
    """Return whether a line begins with one of the marks cited in the text."""
    label = re.match(r"\s*[\[［【(^]?\^?\s*((?:\w{1,8}?[ _:-]?)?\d{1,3}|[¹²³⁴⁵⁶⁷⁸⁹]+)[\]］】)^:：]", text)
    raised = re.match(r"\s*([¹²³⁴⁵⁶⁷⁸⁹]+)", text)
    match = label or raised
    digits = re.search(r"\d+$", normalise_query(match[1])) if match else None
    return bool(digits and any(re.search(rf"(?<!\d){digits[0]}$", mark) for mark in cited))
