"""Resolution of citations that point into the text's own list of sources.

A model that should cite by handles may use another style that it has learned: [1] or ¹ in the text
and the addresses at the end. If an entry of its list names a gathered source, the marks that point
to the entry become citations of that source, and the list is removed, because the program adds its
own. Other marks are removed too and leave a sentence without a source. Marks and lists are parsed
by `research.citations.styles`.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Literal, NamedTuple

from research.citations.styles.marks import CitationMark, CitationMarks, parse_numbers
from research.citations.styles.parsed_report import ParsedReport
from research.citations.styles.source_lists import (
    SOURCE_WORDS,
    ListEntry,
    SourceList,
    SourceLists,
    heading_kind,
    is_heading_prefix,
)
from research.citations.styles.web_addresses import address_key
from research.core.records import PassageReference, normalise_query
from research.core.text.tokenizer import HAN_RANGES

# Meaning of a mark: a source, no source, or one that a list not yet written may name.
Meaning = PassageReference | None | Literal["pending"]
PlaceholderFactory = Callable[[Iterable[Meaning]], str]

_HANDLE = re.compile(r"[@＠]\s?([0-9a-f]{4,8})(?![0-9a-z])", re.IGNORECASE)
_TOOL_TOKEN = re.compile(r"[【\[［]\s*(\d{1,3})(?::\d{1,3})?\s*†")
# Labels of sources in the output of search tools: S1, web:2, doc_3.
_TOOL_LABEL = r"(?:S|web|doc(?:ument)?|(?:search[ _]?)?result|snippet|passage|chunk|src|source|note|注释?)[ _:#-]?"
_SOURCE_WORD = rf"(?:参考资料|参考文献|资料来源|信息来源|注释?|{SOURCE_WORDS}) ?[:：]? ?#?"
_LIST_SEPARATOR = r"\s*(?:[,;、，；&|–~-]|and|和|与|及)\s*"
_LABELED_MARK = re.compile(
    rf"[\[［【〔]\s*{_TOOL_LABEL}\d{{1,3}}(?:{_LIST_SEPARATOR}(?:{_TOOL_LABEL})?\d{{1,3}})*\s*[\]］】〕]"
    rf"|[(（]\s*(?:see |cf\. |参见|见)?{_SOURCE_WORD}\[?\d{{1,3}}(?:{_LIST_SEPARATOR}(?:{_SOURCE_WORD})?\d{{1,3}})*\]?\s*[)）]",
    re.IGNORECASE,
)
# A number with a position or a word beside it; a time or a ratio unless the list has the number.
_LOCATED_MARK = re.compile(
    r"[\[［【]\s*(?:see |cf\. |参见|见)?(\d{1,3})(?:\s*[:：]\s*\d{1,4}(?:\s*[–-]\s*\d{1,4})?)?\s*[\]］】]",
    re.IGNORECASE,
)
# A source referred to by its number: Source 2, 来源2. In contrast, 资料3份 is a count.
_NUMBERED_SOURCE = re.compile(
    r"(?<!\w)((?:Source|Reference|Ref\.) ?|(?:来源|文献|资料) ?)[\[［【]?(\d{1,3})[\]］】]?(?!\.?\d|\s?[篇份个條条种種项項本部件%])"
    rf"|(?<=[{HAN_RANGES}])((?:来源|文献|资料) ?)[\[［【]?(\d{{1,3}})[\]］】]?(?!\.?\d|\s?[篇份个條条种種项項本部件%])"
)
_CREDITED_TITLE = re.compile(
    rf"[(（\[［【]\s*(?:{SOURCE_WORDS})\s*[:：]\s*([^()（）\[\]［］【】\n]{{2,200}})[)）\]］】]",
    re.IGNORECASE,
)
# Text before a raised number that is no exponent: a word, or the end of a sentence or quotation.
_BEFORE_SUPERSCRIPT = re.compile(rf"(?:[{HAN_RANGES}.,;:!?。，；：！？”’」』》\"'%]|[^\W\d_]{{3}})[*_ ]{{0,2}}$")
_SUPERSCRIPT = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹①-⑳^>]")

# A list written on one line: its entries, each with an address or a handle.
_ADDRESS_OR_HANDLE = re.compile(r"https?://|(?<![\w@/.-])www\.|[@＠]\s?[0-9a-f]{4}", re.IGNORECASE)
_ENTRY_START = re.compile(
    rf"(?:^|(?<=[\s;；,，。、:：]))(?:[\[［【]\s*(?:(?:{SOURCE_WORDS}) ?[:：] ?|{_TOOL_LABEL})?\^?\d{{1,3}}(?:†[^\]］】\n]*)?[\]］】][:：]?|[¹²³⁴⁵⁶⁷⁸⁹]{{1,3}}|\^\d{{1,3}}\^)(?=\s*\S)",
    re.IGNORECASE,
)
_LIST_INTRODUCTION = re.compile(
    rf"[ \t]*[^\n]{{0,60}}(?:{SOURCE_WORDS}|links?|链接)[^\n]{{0,20}}[:：][ \t*_]*", re.IGNORECASE
)
_NOTES_HEADING = re.compile(
    r"\W*(?:(?:foot|end)?notes?|remarks?|[脚尾备附]?注[释釋]?|備註|註[釋解]?)\W*", re.IGNORECASE
)
_TRAILING_RULES = re.compile(r"(?:\n[ \t]*(?:-[ \t]*|\*[ \t]*|_[ \t]*){3,})+\s*\Z")
_SCHEMELESS_ADDRESS = re.compile(r"(?<![\w./@-])((?:[a-z0-9-]+\.)+[a-z]{2,}/[^\s<>()（）\[\]，。；]*)", re.IGNORECASE)
_TRAILING_DATE = re.compile(
    r" (?:(?:accessed|retrieved|published|updated|访问\w*|发布\w*) )?(?:(?:1[5-9]|20)\d\d(?: \d{1,2}){0,2}|undated)$"
)
_NUMBERED_PARAGRAPH = re.compile(r"^[ \t>]*([\[［【](\d{1,3})[\]］】])(?=[ \t]*[^\s:：(\[［【])", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.。!！?？][\"”’」』)）]*\s*$")
_NUMBER_LIST = re.compile(r"[\^\d\s,;、&+–—-]+")


class KnownSources(NamedTuple):
    """Sources that may be cited, by handle, by address identity, and by normalised title."""

    handles: Mapping[str, PassageReference]
    urls: Mapping[str, PassageReference]
    titles: Mapping[str, PassageReference] = {}

    def find_cites(self, entry: ListEntry) -> tuple[PassageReference, ...]:
        """Return the sources that an entry of a list refers to by handle or address, or else by
        title."""
        keys = _HANDLE.findall(unicodedata.normalize("NFKC", entry.text))
        cites = [self.handles.get(key.lower()) for key in keys]
        cites += [self.urls.get(address_key(url)) for url in entry.urls]
        if not entry.urls:  # some leave out the scheme
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


class ResolvedText(NamedTuple):
    """A text whose own list of sources is removed and whose marks are placeholders, with the
    sources of each number of that list."""

    text: str
    numbers: Mapping[str, tuple[PassageReference, ...]] = {}

    def meanings_of(self, content: str) -> list[PassageReference | None]:
        """Return the sources of the numbers within brackets; [None] if no list of the text has
        these numbers."""
        known = parse_numbers(content) if _NUMBER_LIST.fullmatch(content) else []
        cites = [cite for number in known for cite in self.numbers.get(number, (None,))]
        return list(dict.fromkeys(cites)) or [None]


def resolve_references(
    text: str, known: KnownSources, make_placeholder: PlaceholderFactory, *, list_pending: bool = False
) -> ResolvedText:
    """Replace the marks that point into the text's own list of sources, and remove that list.

    `make_placeholder` returns the placeholder for the meanings of a mark. If `list_pending`, the
    text is still being written and its list may follow: lines that look like the beginning of a
    list are removed, and a mark without a known source is "pending".
    """
    return _Resolver(_split_inline_lists(text), known, make_placeholder, list_pending=list_pending).resolve()


def _split_inline_lists(text: str) -> str:
    """Return the text with each entry of a list of sources on a line of its own."""
    report = ParsedReport(text)
    kinds = [line.kind for line in report.lines]
    last = max((at for at, kind in enumerate(kinds) if kind != "blank"), default=0)
    lines = zip(report.source.split("\n"), kinds, strict=True)
    return "\n".join(
        line if kind == "code" else _split_entries(line, is_last=at == last) for at, (line, kind) in enumerate(lines)
    )


def _split_entries(line: str, *, is_last: bool) -> str:
    if not _ADDRESS_OR_HANDLE.search(line):
        return line
    starts = [match.start() for match in _ENTRY_START.finditer(line)]
    head = line[: starts[0]] if starts else line.partition(":")[0].partition("：")[0]
    titled = bool(head.strip()) and heading_kind(head) is not None
    if starts and (titled or (len(starts) > 1 and not head.strip(" \t>*-"))):
        parts = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
    elif titled and is_last and not starts:
        rest = line[len(head) :].lstrip(":： *_")
        parts = [f"- {part}" for part in re.split(r"[;；、]\s*|,\s+|，|\s+(?=https?:|\[@)", rest) if part]
    else:
        return line
    if not all(_ADDRESS_OR_HANDLE.search(part) for part in parts):
        return line
    return "\n".join([*([head.strip(" \t:：*_") + ":"] if titled else []), *parts])


@dataclass
class _Resolver:
    """Resolution of the marks of one text."""

    text: str
    known: KnownSources
    make_placeholder: PlaceholderFactory
    list_pending: bool = False
    _cited_entries: set[int] = field(default_factory=set)  # `id()` of each entry that a mark cites

    def __post_init__(self) -> None:
        self._report = ParsedReport(self.text)
        self._lists = SourceLists(self._report)
        self._marks = CitationMarks(self._report, self._lists)
        self._cites_by_entry: dict[int, tuple[PassageReference, ...]] = {}
        self._sources = [
            source_list
            for source_list in self._lists.lists
            if not source_list.is_further_reading and not self._has_only_remarks(source_list)
        ]
        self._unknown: Meaning = "pending" if self.list_pending else None
        self._needs_list = False  # whether any mark is of a style that needs a list
        self._has_citation = False  # whether anything outside the list is cited

    def resolve(self) -> ResolvedText:
        changes = [*self._replacements()]
        removed_lines = self._lines_to_remove()
        kept_changes = [c for c in changes if self._report.line_number(c[0]) not in removed_lines]
        lines = self._report.lines
        removed = [(lines[n - 1].start, lines[n - 1].end + 1, "") for n in removed_lines]
        pieces, at = [], 0
        for start, end, new in sorted([*kept_changes, *removed]):
            if start >= at:
                pieces += [self.text[at:start], new]
                at = end
        text = "".join(pieces) + self.text[at:]
        if removed_lines:
            text = _TRAILING_RULES.sub("", text.rstrip())
        return ResolvedText(text, self._cites_by_number())

    def _cites_by_number(self) -> dict[str, tuple[PassageReference, ...]]:
        entries = [e for source_list in self._sources for e in source_list.entries if e.kind == "number"]
        entries += [e for e in (*self._lists.definitions, *self._lists.footnotes) if e.id.isdecimal()]
        out: dict[str, tuple[PassageReference, ...]] = {}
        for entry in entries:
            key, meant = str(int(entry.id)), self._cites_of_entry(entry)
            out[key] = meant if out.get(key, meant) == meant else ()
        return {key: cites for key, cites in out.items() if cites}

    def _cites_of_entry(self, entry: ListEntry) -> tuple[PassageReference, ...]:
        if id(entry) not in self._cites_by_entry:
            self._cites_by_entry[id(entry)] = self.known.find_cites(entry)
        return self._cites_by_entry[id(entry)]

    # Marks

    def _replacements(self) -> Iterator[tuple[int, int, str]]:
        """Yield the start and end of each mark, with the text that replaces it."""
        at = 0
        replacements = [
            *self._styled_replacements(),
            *self._worded_replacements(),
            *self._html_replacements(),
            *self._non_citation_replacements(),
        ]
        for start, end, new in sorted(replacements):
            if start >= at:
                at = end
                yield start, end, new

    def _styled_replacements(self) -> Iterator[tuple[int, int, str]]:
        marks = sorted(self._marks.marks, key=lambda mark: (mark.start, mark.end))
        for (start, end), group in groupby(marks, key=lambda mark: (mark.start, mark.end)):
            group_marks = list(group)
            meanings = [meant for mark in group_marks for meant in self._mark_meanings(mark)]
            if not meanings:
                continue
            words = self.text[start:end] if group_marks[0].kind == "author" else ""
            if self.text[start - 1 : start + 1] in ("\\[", "[i") and group_marks[0].style != "references":
                start -= 1
            if self.text[start] == ">" and self.text[end - 1] == "<":  # <sup>1</sup>
                start, end = start + 1, end - 1
            elif self.text[start - 1 : start] in ("(", "（") and self.text[start].isdecimal():
                start, end = start - 1, end + 1
            elif group_marks[0].style == "references":  # [words][1]
                words = self.text[start + 1 : end].partition("]")[0]
            yield start, end, words + self.make_placeholder(dict.fromkeys(meanings))

    def _mark_meanings(self, mark: CitationMark) -> Sequence[Meaning]:
        """Return the meanings of a mark; nothing if it is no citation, or if it has an address or a
        gathered handle that names its source."""
        if mark.kind in ("number", "footnote", "label") and not mark.needs_entry:
            self._needs_list = True
        if mark.kind == "number":
            return () if mark.url else self._number_meanings(mark)
        if mark.kind == "footnote" and mark.id[:1] in ("@", "＠"):
            return ()
        if mark.kind == "footnote":
            return self._shared_cites(self._definitions_by_key.get(("footnote", mark.id), ())) or [self._unknown]
        if mark.kind == "link":
            entries = [e for e in self._definitions_by_key.get(("link", mark.id), ()) if _has_web_address(e)]
            return (self._shared_cites(entries) or [self._unknown]) if entries else ()
        if mark.kind == "label":
            return self._cites_of_label(mark.id) or [self._unknown]
        if mark.kind == "key":
            latex = self.text.startswith("\\", mark.start)
            known = mark.id.lower() in self.known.handles
            return () if known else self._cites_of_label(mark.id) or ([self._unknown] if latex else ())
        if mark.kind == "author":
            return self._author_meanings(mark)
        if mark.style == "tokens":
            token = _TOOL_TOKEN.match(mark.id)
            number = token[1] if token else next(iter(re.findall(r"\d{1,3}(?=\s*\]$)", mark.id)), "")
            return self._shared_cites(self._entries_with_number(number, mark.start)) or [self._unknown]
        return ()

    def _number_meanings(self, mark: CitationMark) -> Sequence[Meaning]:
        entries = self._entries_with_number(mark.id, mark.start)
        raised = _SUPERSCRIPT.search(self.text[mark.start : mark.end])
        is_flattened = mark.style == "superscripts" and not raised and mark.end - mark.start < 4
        if is_flattened and not self._is_parenthesized(mark):
            return ()
        if cites := self._shared_cites(entries):
            return cites
        before = self.text[max(0, mark.start - 12) : mark.start]
        before = re.sub(r"\s*<sup[^<>]*$", "", before)
        if mark.needs_entry and not entries and not (raised and _BEFORE_SUPERSCRIPT.search(before)):
            return ()
        return [self._unknown]

    def _is_parenthesized(self, mark: CitationMark) -> bool:
        """Return whether a number is in round brackets and ends its clause, sentence or line."""
        around = self.text[mark.start - 1 : mark.start], self.text[mark.end : mark.end + 1]
        behind = re.match(r"\s*(?:[.,;。，；]|\n|$)", self.text[mark.end + 1 :])
        return around in (("(", ")"), ("（", "）")) and behind is not None

    def _entries_with_number(self, number: str, offset: int) -> list[ListEntry]:
        """Return the entries with a number, from the next list below the position, or else from the
        last list."""
        number = str(int(number)) if number else ""
        if places := self._entries_by_number.get(number):
            below = bisect_left(places, self._report.line_number(offset), key=lambda place: place[0])
            return places[min(below, len(places) - 1)][1]
        return self._unnumbered_entries[int(number) - 1 : int(number)] if number.strip("0") else []

    @cached_property
    def _definitions_by_key(self) -> dict[tuple[str, str], list[ListEntry]]:
        """Footnotes and link definitions of the text, by sort and key."""
        out: dict[tuple[str, str], list[ListEntry]] = {}
        for entry in (*self._lists.definitions, *self._lists.footnotes):
            out.setdefault((entry.kind, entry.id), []).append(entry)
        return out

    @cached_property
    def _entries_by_number(self) -> dict[str, list[tuple[int, list[ListEntry]]]]:
        """For each number, its entries in each list that has it, with the first line of that
        list."""
        apart = [e for e in (*self._lists.definitions, *self._lists.footnotes) if e.id.isdecimal()]
        lists = [(source_list.line, source_list.entries) for source_list in self._sources]
        out: dict[str, list[tuple[int, list[ListEntry]]]] = {}
        for line, entries in sorted(lists, key=lambda one: one[0]):
            for entry in entries:
                if entry.kind == "number":
                    places = out.setdefault(entry.id, [])
                    if not places or places[-1][0] != line:
                        places.append((line, []))
                    places[-1][1].append(entry)
        defined: dict[str, list[ListEntry]] = {}
        for entry in apart:
            defined.setdefault(str(int(entry.id)), []).append(entry)
        return {**{key: [(0, entries_of_key)] for key, entries_of_key in defined.items()}, **out}

    @cached_property
    def _unnumbered_entries(self) -> list[ListEntry]:
        """Entries of an unnumbered list, if their count equals the highest number cited in the
        text."""
        numbers = [int(m.id) for m in self._marks.marks if m.kind == "number" and not m.needs_entry]
        for source_list in self._sources:
            is_plain = source_list.has_heading and all(entry.kind == "plain" for entry in source_list.entries)
            if is_plain and max(numbers, default=0) == len(source_list.entries):
                return source_list.entries if all(map(self._cites_of_entry, source_list.entries)) else []
        return []

    def _shared_cites(self, entries: Iterable[ListEntry]) -> Sequence[PassageReference]:
        """Return the sources of entries that share a number; nothing if the entries have different
        sources."""
        entry_list = list(entries)
        self._cited_entries.update(map(id, entry_list))
        distinct = {self._cites_of_entry(entry) for entry in entry_list}
        cites = distinct.pop() if len(distinct) == 1 else ()
        self._has_citation = self._has_citation or bool(cites)
        return cites

    def _cites_of_label(self, label: str) -> Sequence[PassageReference]:
        return self._shared_cites(self._entries_by_label.get(label.casefold(), ()))

    @cached_property
    def _entries_by_label(self) -> dict[str, list[ListEntry]]:
        out: dict[str, list[ListEntry]] = {}
        for entry in (e for source_list in self._sources for e in source_list.entries if e.kind == "label"):
            out.setdefault(entry.id.casefold(), []).append(entry)
        return out

    def _author_meanings(self, mark: CitationMark) -> Sequence[Meaning]:
        """Return the source cited by name and year, if exactly one entry of the lists contains
        both."""
        names, _, year = mark.id.rpartition("|")
        author_match = re.search(r"((?:[A-Z][\w’'-]+(?: et al\.?|,? (?:and|&) )?){1,3}) ?$", names)
        names = (author_match[1] if author_match else "") if names.startswith("\x00") else names
        words = re.findall(rf"[A-Z][^\W\d_][\w’'-]*|[{HAN_RANGES}]{{2,4}}", names)
        dated = self._entries_by_year.get(year[:4], ()) if words else ()
        matches = [e for e in dated if year in e.text and all(word in e.text for word in words)]
        return (self._shared_cites(matches) or [self._unknown]) if len(matches) == 1 else ()

    @cached_property
    def _entries_by_year(self) -> dict[str, list[ListEntry]]:
        """Entries that a citation by name and year may refer to, by the years in their text."""
        out: dict[str, list[ListEntry]] = {}
        for entry in (e for s in self._sources for e in s.entries if e.kind != "label"):
            for year in set(re.findall(r"(?<!\d)(?:1[5-9]|20)\d\d", entry.text)):
                out.setdefault(year, []).append(entry)
        return out

    def _worded_replacements(self) -> Iterator[tuple[int, int, str]]:
        """Yield the replacements of marks in words: (Source 1), [web:2], 来源3, (来源：title)."""
        plain = self._report.prose
        for match in _LABELED_MARK.finditer(plain):
            if self._is_in_list(match.start()):
                continue
            meanings = self._label_meanings(match[0], match.start())
            if any(meanings) or not re.match(r"[(（]\s*注", match[0]):  # a note may belong to the text
                yield *match.span(), self.make_placeholder(dict.fromkeys(meanings))
        for match in _LOCATED_MARK.finditer(plain):
            if self._is_in_list(match.start()):
                continue
            cites = self._shared_cites(self._entries_with_number(match[1], match.start()))
            if cites or self.list_pending:
                yield *match.span(), self.make_placeholder(cites or [self._unknown])
        for match in _NUMBERED_SOURCE.finditer(plain):
            word, number = match[1] or match[3], match[2] or match[4]
            entries = self._entries_with_number(number, match.start())
            if entries and not self._is_in_list(match.start()) and (cites := self._shared_cites(entries)):
                yield *match.span(), word.rstrip() + self.make_placeholder(cites)
        for match in _CREDITED_TITLE.finditer(plain):
            if not self._is_in_list(match.start()) and (cite := self.known.find_by_title(match[1])):
                self._has_citation = True
                yield *match.span(), self.make_placeholder([cite])

    def _label_meanings(self, text: str, offset: int) -> list[Meaning]:
        inner = text.strip("[］［]【】〔〕()（） ")
        meanings: list[Meaning] = []
        for part in re.split(r"[,;、，；&|]|and|和|与|及", inner):
            if cites := self._cites_of_label(part.strip()):
                meanings += cites
                continue
            for number in parse_numbers(part):
                meanings += self._shared_cites(self._entries_with_number(number, offset)) or [self._unknown]
        return meanings

    def _html_replacements(self) -> Iterator[tuple[int, int, str]]:
        """Yield the replacements of HTML links: their words with a citation."""
        for link in self._report.html_links:
            words = self.text[slice(*link.text_span)]
            if link.url.startswith("#") or self._is_in_list(link.start) or "\n" in words:
                continue
            cite = self.known.urls.get(address_key(link.url))
            self._has_citation = self._has_citation or bool(cite)
            number = re.fullmatch(r"[\s\[\]\d]*", words)
            yield link.start, link.end, ("" if number else words) + self.make_placeholder([cite])

    def _non_citation_replacements(self) -> Iterator[tuple[int, int, str]]:
        """Yield the replacements of bracketed numbers that are no citations.

        An index or an interval becomes code, and the numbers of paragraphs get round brackets.
        """
        for start, end in self._marks.other_numbers:
            inner = self.text[start + 1 : end - 1]
            is_single_letter = re.search(r"(?<![\w.])[a-z]$", self.text[max(0, start - 3) : start])
            is_certain = not is_single_letter or re.match(r"\s*=", self.text[end : end + 9]) or "0" in inner.split(",")
            if is_certain and _NUMBER_LIST.fullmatch(inner) and not re.search(r"\d{4}", inner):
                yield start, end, f"`{self.text[start:end]}`"
        run: list[re.Match[str]] = []
        for match in [*_NUMBERED_PARAGRAPH.finditer(self._report.prose), None]:
            if match and run and int(match[2]) == int(run[-1][2]) + 1:
                run.append(match)
                continue
            for paragraph in run if len(run) > 1 else ():
                if not any(map(self._names_source, self._entries_with_number(paragraph[2], paragraph.start()))):
                    yield paragraph.start(1), paragraph.end(1), f"({paragraph[2]})"
            run = [match] if match else []

    def _names_source(self, entry: ListEntry) -> bool:
        """Return whether an entry refers to a gathered source or has a web address."""
        return bool(self._cites_of_entry(entry)) or _has_web_address(entry)

    def _is_in_list(self, offset: int) -> bool:
        return self._report.line_number(offset) in self._lists.list_lines

    # The list

    def _lines_to_remove(self) -> set[int]:
        """Return the numbers of the lines to remove: lists of sources without other content, and
        their headings."""
        cites = self._has_citation or self._cites_outside_lists()
        removed: set[int] = set()
        for entry in (*self._lists.definitions, *self._lists.footnotes):
            cited = id(entry) in self._cited_entries and self._is_source_entry(entry, in_headed_list=False)
            if cited or (cites and self._cites_of_entry(entry)):
                removed |= self._entry_lines(entry)
        for source_list in self._sources:
            removed |= self._list_lines(source_list, text_cites=cites)
        if self.list_pending:
            removed |= self._unfinished_list_lines(removed)
        return removed | self._introduction_lines(removed)

    def _cites_outside_lists(self) -> bool:
        """Return whether the text outside its lists cites a gathered source by a handle or an
        address."""
        lines = (line for line in self._report.lines if line.number not in self._lists.list_lines)
        text = "\n".join(self._report.line_text(line) for line in lines)
        if any(key.lower() in self.known.handles for key in _HANDLE.findall(text)):
            return True
        links = (link for link in self._report.links if not self._is_in_list(link.start))
        bare = (mark.url for mark in self._marks.marks if mark.kind == "link" and mark.url)
        urls = (*(link.url for link in links), *bare)
        return any(self.known.urls.get(address_key(url)) for url in urls)

    def _is_source_entry(self, entry: ListEntry, *, in_headed_list: bool) -> bool:
        """Return whether an entry names a source.

        An entry in a list under a heading (`in_headed_list`) counts without naming one, if it is
        cited or the text has marks that point to a list.
        """
        return self._names_source(entry) or (in_headed_list and (id(entry) in self._cited_entries or self._needs_list))

    def _list_lines(self, source_list: SourceList, *, text_cites: bool) -> set[int]:
        headed = self._report.line_number(source_list.entries[0].start) != source_list.line
        cited = any(id(entry) in self._cited_entries for entry in source_list.entries)
        cited = cited or (self._needs_list and all(e.kind == "number" for e in source_list.entries))
        if self.list_pending and headed and self._marks.marks:
            sources = source_list.entries
        elif cited:
            within = headed and not self._is_headed_notes(source_list)
            sources = [e for e in source_list.entries if self._is_source_entry(e, in_headed_list=within)]
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

    def _is_headed_notes(self, source_list: SourceList) -> bool:
        """Return whether the heading of a list announces notes, which may hold parts of the answer
        beside sources."""
        line = self._report.lines[source_list.line - 1]
        return _NOTES_HEADING.fullmatch(self.text[line.start : line.end]) is not None

    def _has_only_remarks(self, source_list: SourceList) -> bool:
        """Return whether a list is headed as notes and contains no source."""
        return self._is_headed_notes(source_list) and not any(map(self._names_source, source_list.entries))

    def _is_uncited_entry(self, entry: ListEntry) -> bool:
        """Return whether an entry without a mark pointing to it is an entry of a list of sources,
        rather than a sentence that cites a source."""
        begins_so = re.match(r"[\s\d.)*+>-]*[\[［【(（]?\s*[@＠]", entry.text)
        return bool(self._cites_of_entry(entry)) and bool(
            entry.urls or begins_so or entry.kind != "plain" or not _HANDLE.search(entry.text)
        )

    def _entry_lines(self, entry: ListEntry) -> set[int]:
        """Return the line numbers of an entry, without any complete sentence that follows it on an
        unindented line of its own."""
        first, last = self._report.line_number(entry.start), self._report.line_number(entry.end)
        out = {first}
        for line in self._report.lines[first:last]:
            text = self.text[line.start : line.end]
            remark = not text.startswith((" ", "\t")) and _SENTENCE_END.search(text)
            if not remark or _ADDRESS_OR_HANDLE.search(text):
                out.add(line.number)
        return out

    def _introduction_lines(self, removed: set[int]) -> set[int]:
        """Return the line numbers of headings and introductory words whose whole list is
        removed."""
        out: set[int] = set()
        below = False  # whether the next line that is not blank is removed
        for line in reversed(self._report.lines):
            if line.kind == "blank" and line.number not in removed:
                continue
            if line.number in removed:
                below = True
                continue
            if below and (line.number in self._lists.empty_headings or self._is_introduction(line.start, line.end)):
                out.add(line.number)
            below = False
        return out

    def _is_introduction(self, start: int, end: int) -> bool:
        words = self.text[start:end]
        return _LIST_INTRODUCTION.fullmatch(words) is not None or heading_kind(words) is not None

    def _unfinished_list_lines(self, removed: set[int]) -> set[int]:
        """Return the numbers of the last lines of a text that look like the beginning of a list of
        sources."""
        labels = " ".join(match[0] for match in _LABELED_MARK.finditer(self._report.prose))
        cited = {normalise_query(mark.id) for mark in self._marks.marks} | set(parse_numbers(labels))
        out: set[int] = set()
        passed: set[int] = set()  # lines that are entries if a heading above them is found
        for line in reversed(self._report.lines):
            text = self.text[line.start : line.end]
            if not text.strip() or line.number in removed:
                continue
            titled = heading_kind(re.split("[:：]", text)[0]) == "name" or _LIST_INTRODUCTION.fullmatch(text)
            if (titled and cited) or (is_heading_prefix(text) and not passed | out):
                out |= passed | {line.number}
            elif not passed and self._begins_with_mark(text, cited):
                out.add(line.number)
            elif line.kind == "heading":
                break
            passed.add(line.number)
        return out

    def _begins_with_mark(self, text: str, cited: set[str]) -> bool:
        """Return whether a line begins with one of the marks cited in the text."""
        label = re.match(r"\s*[\[［【(^]?\^?\s*((?:\w{1,8}?[ _:-]?)?\d{1,3}|[¹²³⁴⁵⁶⁷⁸⁹]+)[\]］】)^:：]", text)
        raised = re.match(r"\s*([¹²³⁴⁵⁶⁷⁸⁹]+)", text)
        match = label or raised
        digits = re.search(r"\d+$", normalise_query(match[1])) if match else None
        return bool(digits and any(re.search(rf"(?<!\d){digits[0]}$", each) for each in cited))


def _has_web_address(entry: ListEntry) -> bool:
    """Return whether an entry has a web address."""
    return any(url.lower().startswith(("http:", "https:", "www.")) for url in entry.urls)
