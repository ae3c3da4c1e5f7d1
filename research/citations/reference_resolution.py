"""Resolution of citations that point into the text's own list of sources.

A model that should cite by handles may use another style that it has learned: [1] or ¹ in the text
and the addresses at the end. If an entry of its list names a gathered source, the marks that point
to the entry become citations of that source, and the list is removed, because the program adds its
own. Other marks are removed too and leave a sentence without a source. Marks and lists are parsed
by `research.citations.styles`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Literal, NamedTuple, TypeVar

from research.citations.known_sources import ADDRESS_OR_HANDLE, EntrySources, KnownSources, has_web_address
from research.citations.list_removal import ListRemoval, has_only_remarks
from research.citations.styles.citation_mark import TEXT_BEFORE_YEAR, CitationMark, parse_numbers
from research.citations.styles.marks import CitationMarks
from research.citations.styles.parsed_report import ParsedReport
from research.citations.styles.source_lists import (
    LABELED_MARK,
    SOURCE_WORDS,
    TOOL_LABEL,
    ListEntry,
    SourceLists,
    heading_kind,
)
from research.citations.styles.web_addresses import address_key
from research.core.records import PassageReference
from research.core.text.tokenizer import HAN_RANGES

# Meaning of a mark: a source, no source, or one that a list not yet written may name.
Meaning = PassageReference | None | Literal["pending"]
PlaceholderFactory = Callable[[Iterable[Meaning]], str]

_TOOL_TOKEN = re.compile(r"[【\[［]\s*(\d{1,3})(?::\d{1,3})?\s*†")
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

# A list written on one line.
_ENTRY_START = re.compile(
    rf"(?:^|(?<=[\s;；,，。、:：]))(?:[\[［【]\s*(?:(?:{SOURCE_WORDS}) ?[:：] ?|{TOOL_LABEL})?\^?\d{{1,3}}(?:†[^\]］】\n]*)?[\]］】][:：]?|[¹²³⁴⁵⁶⁷⁸⁹]{{1,3}}|\^\d{{1,3}}\^)(?=\s*\S)",
    re.IGNORECASE,
)
_TRAILING_RULES = re.compile(r"(?:\n[ \t]*(?:-[ \t]*|\*[ \t]*|_[ \t]*){3,})+\s*\Z")
_NUMBERED_PARAGRAPH = re.compile(r"^[ \t>]*([\[［【](\d{1,3})[\]］】])(?=[ \t]*[^\s:：(\[［【])", re.MULTILINE)
_NUMBER_LIST = re.compile(r"[\^\d\s,;、&+–—-]+")


class ResolvedText(NamedTuple):
    """A text without its own list of sources, with placeholders in place of the marks that point to it.

    `numbers` maps each number of the removed list to its sources.
    """

    text: str
    numbers: Mapping[str, tuple[PassageReference, ...]] = {}

    def meanings_of(self, content: str) -> list[PassageReference | None]:
        """Return the sources of the numbers within brackets; [None] if no list had these numbers."""
        known = parse_numbers(content) if _NUMBER_LIST.fullmatch(content) else []
        cites = [cite for number in known for cite in self.numbers.get(number, (None,))]
        return list(dict.fromkeys(cites)) or [None]


def resolve_references(
    text: str, known: KnownSources, make_placeholder: PlaceholderFactory, *, is_list_pending: bool = False
) -> ResolvedText:
    """Replace the marks that point into the text's own list of sources, and remove that list.

    `make_placeholder` returns the placeholder for the meanings of a mark. If `is_list_pending`, the
    text is still being written and its list may follow: lines that look like the beginning of a
    list are removed, and a mark without a known source is "pending".
    """
    return _Resolver(_split_inline_lists(text), known, make_placeholder, is_list_pending=is_list_pending).resolve()


def _split_inline_lists(text: str) -> str:
    """Put each entry of a list of sources that is written on one line on a line of its own."""
    report = ParsedReport(text)
    kinds = [line.kind for line in report.lines]
    last = max((at for at, kind in enumerate(kinds) if kind != "blank"), default=0)
    lines = zip(report.source.split("\n"), kinds, strict=True)
    return "\n".join(
        line if kind == "code" else _split_entries(line, is_last=at == last) for at, (line, kind) in enumerate(lines)
    )


def _split_entries(line: str, *, is_last: bool) -> str:
    if not ADDRESS_OR_HANDLE.search(line):
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
    if not all(ADDRESS_OR_HANDLE.search(part) for part in parts):
        return line
    return "\n".join([*([head.strip(" \t:：*_") + ":"] if titled else []), *parts])


class _Resolver:
    """Resolution of the marks of one text."""

    def __init__(
        self, text: str, known: KnownSources, make_placeholder: PlaceholderFactory, *, is_list_pending: bool
    ) -> None:
        self.text, self.known, self.make_placeholder, self.is_list_pending = (
            text,
            known,
            make_placeholder,
            is_list_pending,
        )
        self._report = ParsedReport(text)
        self._lists = SourceLists(self._report)
        self._marks = CitationMarks(self._report, self._lists)
        self._entry_sources = EntrySources(self.known)
        self._sources = [
            source_list
            for source_list in self._lists.lists
            if not source_list.is_further_reading
            and not has_only_remarks(source_list, self._report, self._entry_sources)
        ]
        self._unknown: Meaning = "pending" if self.is_list_pending else None

    def resolve(self) -> ResolvedText:
        changes = [*self._replacements()]
        args = self._report, self._lists, self._sources, self._marks.marks, self._entry_sources
        removed_lines = ListRemoval(*args, is_list_pending=self.is_list_pending).lines_to_remove()
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

    @property
    def _listed_entries(self) -> list[ListEntry]:
        return [entry for source_list in self._sources for entry in source_list.entries]

    @property
    def _defined_entries(self) -> list[ListEntry]:
        return [*self._lists.definitions, *self._lists.footnotes]

    def _cites_by_number(self) -> dict[str, tuple[PassageReference, ...]]:
        entries = [entry for entry in self._listed_entries if entry.kind == "number"]
        entries += [entry for entry in self._defined_entries if entry.id.isdecimal()]
        out: dict[str, tuple[PassageReference, ...]] = {}
        for entry in entries:
            key, cites = str(int(entry.id)), self._entry_sources.sources_of(entry)
            out[key] = cites if out.get(key, cites) == cites else ()
        return {key: cites for key, cites in out.items() if cites}

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
            meanings = [meaning for mark in group_marks for meaning in self._mark_meanings(mark)]
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
        """Return the meanings of a mark.

        Return nothing if it is no citation, or if it names its source by an address or a handle,
        which is resolved elsewhere.
        """
        if mark.kind in ("number", "footnote", "label") and not mark.needs_entry:
            self._entry_sources.needs_list = True
        if mark.kind == "number":
            return () if mark.url else self._number_meanings(mark)
        if mark.kind == "footnote" and mark.id[:1] in ("@", "＠"):
            return ()
        if mark.kind == "footnote":
            return self._entry_sources.cite(self._definitions_by_key.get(("footnote", mark.id), ())) or [self._unknown]
        if mark.kind == "link":
            entries = [e for e in self._definitions_by_key.get(("link", mark.id), ()) if has_web_address(e)]
            return (self._entry_sources.cite(entries) or [self._unknown]) if entries else ()
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
            return self._entry_sources.cite(self._entries_with_number(number, mark.start)) or [self._unknown]
        return ()

    def _number_meanings(self, mark: CitationMark) -> Sequence[Meaning]:
        entries = self._entries_with_number(mark.id, mark.start)
        raised = _SUPERSCRIPT.search(self.text[mark.start : mark.end])
        is_flattened = mark.style == "superscripts" and not raised and mark.end - mark.start < 4
        if is_flattened and not self._is_parenthesized(mark):
            return ()
        if cites := self._entry_sources.cite(entries):
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
        """Return the entries with a number, from the next list below the offset, else from the last list."""
        number = str(int(number)) if number else ""
        if places := self._entries_by_number.get(number):
            below = bisect_left(places, self._report.line_number(offset), key=lambda listed: listed[0])
            return places[min(below, len(places) - 1)][1]
        return self._unnumbered_entries[int(number) - 1 : int(number)] if number.strip("0") else []

    @cached_property
    def _definitions_by_key(self) -> Mapping[tuple[str, str], list[ListEntry]]:
        """Footnotes and link definitions of the text, by kind and key."""
        return _group_entries(((entry.kind, entry.id), entry) for entry in self._defined_entries)

    @cached_property
    def _entries_by_number(self) -> dict[str, list[tuple[int, list[ListEntry]]]]:
        """The entries of each number: for each list that has the number, its first line and the entries."""
        defined = _group_entries((str(int(e.id)), e) for e in self._defined_entries if e.id.isdecimal())
        places = {key: [(0, entries)] for key, entries in defined.items()}
        listed: dict[str, list[tuple[int, list[ListEntry]]]] = {}
        for source_list in sorted(self._sources, key=lambda source_list: source_list.line):
            numbered = _group_entries((entry.id, entry) for entry in source_list.entries if entry.kind == "number")
            for key, entries in numbered.items():
                listed.setdefault(key, []).append((source_list.line, entries))
        return {**places, **listed}

    @cached_property
    def _unnumbered_entries(self) -> list[ListEntry]:
        """Entries of an unnumbered list that has as many entries as the highest number cited."""
        numbers = [int(m.id) for m in self._marks.marks if m.kind == "number" and not m.needs_entry]
        for source_list in self._sources:
            is_plain = source_list.has_heading and all(entry.kind == "plain" for entry in source_list.entries)
            if is_plain and max(numbers, default=0) == len(source_list.entries):
                return source_list.entries if all(map(self._entry_sources.sources_of, source_list.entries)) else []
        return []

    def _cites_of_label(self, label: str) -> Sequence[PassageReference]:
        return self._entry_sources.cite(self._entries_by_label.get(label.casefold(), ()))

    @cached_property
    def _entries_by_label(self) -> Mapping[str, list[ListEntry]]:
        return _group_entries((entry.id.casefold(), entry) for entry in self._listed_entries if entry.kind == "label")

    def _author_meanings(self, mark: CitationMark) -> Sequence[Meaning]:
        """Return the source cited by name and year, if exactly one entry of the lists contains both."""
        names, _, year = mark.id.rpartition("|")
        author_match = re.search(r"((?:[A-Z][\w’'-]+(?: et al\.?|,? (?:and|&) )?){1,3}) ?$", names)
        names = (author_match[1] if author_match else "") if names.startswith(TEXT_BEFORE_YEAR) else names
        words = re.findall(rf"[A-Z][^\W\d_][\w’'-]*|[{HAN_RANGES}]{{2,4}}", names)
        dated = self._entries_by_year.get(year[:4], ()) if words else ()
        matches = [e for e in dated if year in e.text and all(word in e.text for word in words)]
        return (self._entry_sources.cite(matches) or [self._unknown]) if len(matches) == 1 else ()

    @cached_property
    def _entries_by_year(self) -> Mapping[str, list[ListEntry]]:
        """Entries that a citation by name and year may refer to, by the years in their text."""
        return _group_entries(
            (year, entry)
            for entry in self._listed_entries
            if entry.kind != "label"
            for year in set(re.findall(r"(?<!\d)(?:1[5-9]|20)\d\d", entry.text))
        )

    def _worded_replacements(self) -> Iterator[tuple[int, int, str]]:
        """Yield the replacements of marks in words: (Source 1), [web:2], 来源3, (来源：title)."""
        plain = self._report.prose
        for match in LABELED_MARK.finditer(plain):
            if self._lists.contains(match.start()):
                continue
            meanings = self._label_meanings(match[0], match.start())
            if any(meanings) or not re.match(r"[(（]\s*注", match[0]):  # a note may belong to the text
                yield *match.span(), self.make_placeholder(dict.fromkeys(meanings))
        for match in _LOCATED_MARK.finditer(plain):
            if self._lists.contains(match.start()):
                continue
            cites = self._entry_sources.cite(self._entries_with_number(match[1], match.start()))
            if cites or self.is_list_pending:
                yield *match.span(), self.make_placeholder(cites or [self._unknown])
        for match in _NUMBERED_SOURCE.finditer(plain):
            word, number = match[1] or match[3], match[2] or match[4]
            entries = self._entries_with_number(number, match.start())
            if entries and not self._lists.contains(match.start()) and (cites := self._entry_sources.cite(entries)):
                yield *match.span(), word.rstrip() + self.make_placeholder(cites)
        for match in _CREDITED_TITLE.finditer(plain):
            if not self._lists.contains(match.start()) and (cite := self.known.find_by_title(match[1])):
                self._entry_sources.has_citation = True
                yield *match.span(), self.make_placeholder([cite])

    def _label_meanings(self, text: str, offset: int) -> list[Meaning]:
        inner = text.strip("[］［]【】〔〕()（） ")
        meanings: list[Meaning] = []
        for part in re.split(r"[,;、，；&|]|and|和|与|及", inner):
            if cites := self._cites_of_label(part.strip()):
                meanings += cites
                continue
            for number in parse_numbers(part):
                meanings += self._entry_sources.cite(self._entries_with_number(number, offset)) or [self._unknown]
        return meanings

    def _html_replacements(self) -> Iterator[tuple[int, int, str]]:
        """Yield the replacements of HTML links: their words with a citation."""
        for link in self._report.html_links:
            words = self.text[slice(*link.text_span)]
            if link.url.startswith("#") or self._lists.contains(link.start) or "\n" in words:
                continue
            cite = self.known.urls.get(address_key(link.url))
            self._entry_sources.has_citation = self._entry_sources.has_citation or bool(cite)
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
                if not any(
                    map(self._entry_sources.names_source, self._entries_with_number(paragraph[2], paragraph.start()))
                ):
                    yield paragraph.start(1), paragraph.end(1), f"({paragraph[2]})"
            run = [match] if match else []


_K = TypeVar("_K")


def _group_entries(keyed: Iterable[tuple[_K, ListEntry]]) -> Mapping[_K, list[ListEntry]]:
    """Group pairs of key and entry by key, in order."""
    groups: dict[_K, list[ListEntry]] = {}
    for key, entry in keyed:
        groups.setdefault(key, []).append(entry)
    return groups
