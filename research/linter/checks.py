"""Checks for flaws in the citations of a report.

Each check yields flaws as a `FlawTuple`; `flaw_kinds` turns them into messages. A check that cannot
distinguish a defect from a writer's style yields nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from research import data
from research.citations.styles.citation_mark import TEXT_BEFORE_YEAR, CitationMark
from research.citations.styles.marks import CitationMarks
from research.citations.styles.parsed_report import MarkdownLine, ParsedReport
from research.citations.styles.source_lists import ListEntry, SourceList, SourceLists
from research.citations.styles.web_addresses import address_key, find_address_problem
from research.core.text.numbers import HAN_NUMERALS
from research.core.text.tokenizer import HAN_RANGES
from research.linter.author_years import YEAR, AuthorYears, find_author

FlawTuple = tuple[str, int, str, str]  # kind, offset in the text, subject, conflicting item

_PRINT_SOURCE = re.compile(
    r"\bISBN\b|\bISSN\b|\bdoi\b|\b10\.\d{4,9}/|arXiv|PMID|PMC\d|\bRFC ?\d|\bISO(?:/IEC)? ?\d|\bIEEE\b|\bGB/?T? ?\d|\[[MJDCNRSPZ](?:/OL)?\]|\bpp?\. ?\d|\bvol\.|\bno\. ?\d|\d+ ?\(\d+\)[,:]|\b\d+:\d+|[Pp]ress\b|Publish|Verlag"
    r"|University Press|Journal|Proceedings|Conference|Transactions|出版|学报|年鉴|杂志|期刊|大学出版|第\s?\d+\s?[期卷版页]|《|访谈|内部|档案|文件|手稿|公报|白皮书"
    r"|interview|personal communication|internal|archive|manuscript|unpublished|dataset|\bed\.|\beds\.|edition|thesis|dissertation"
    r"|\.(?:pdf|docx?|xlsx?|pptx?|csv|md|txt|html?|json|epub)\b|\b(?:Act|Law|Directive|Regulation|Treaty|Statute)\b|ibid|op\. cit|同上",
    re.IGNORECASE,
)
_LOCATOR = re.compile(
    r"\bpp?\. ?[\dxvi]+|§+ ?[\d.]+|\bch(?:apter|\.) ?\d+|\bsec(?:tion|\.) ?[\d.]+|\btable [\w.]+|\bfig(?:ure|\.) ?[\d.]+|\bannex \w+|\bart(?:icle|\.) ?\d+|\bpara\.? ?\d+|\d{1,2}:\d\d|#page=\d+|第"
    rf"\s*[\d{HAN_NUMERALS}]+\s*"
    r"[页章节条款表卷期]|表\s*[\d-]+|附录\s*\w|#[\w%-]{2,}",
    re.IGNORECASE,
)
_EXEMPT_HEADING = re.compile(data.words("reports")["no sources needed"], re.I)
_OWN_STATEMENT = re.compile(rf"\b(?:{data.words('reports')['own en']})\b|{data.words('reports')['own']}", re.I)
_FIGURE = re.compile(
    rf"(?<![\w.])[$€£¥]?\d[\d,.]*\d?(?:\s?%)?(?![A-Za-z\d])|(?<=[{HAN_RANGES}])\d[\d,.]*|[{HAN_NUMERALS}]+(?:成|个百分点)|[{HAN_NUMERALS}]+[万亿]"
)
_SOURCE_LABEL = re.compile(
    r"[\s*_>(（【\[-]*(?:sources?|data|references?|citations?|via|来源|资料来源|数据来源|出处|引自|参考)\s*[*_]*\s*[:：]",
    re.IGNORECASE,
)
_LATIN_WORD = re.compile(r"[^\W\d_]{2,}")


class _NumberScope(NamedTuple):
    """A numbered list, in whose scope a number refers to its entries. Numbers may restart in another."""

    last_line: int
    entries_by_number: dict[str, ListEntry]
    entries: list[ListEntry]


class LintChecks:
    """All checks of one report."""

    def __init__(self, report: ParsedReport, source_lists: SourceLists, citation_marks: CitationMarks) -> None:
        self._report, self._source_lists = report, source_lists
        self._citation_marks = citation_marks
        self.lists = [source_list for source_list in source_lists.lists if not source_list.is_further_reading]
        self._number_scopes = _build_number_scopes(self.lists)
        self.entries = [entry for source_list in self.lists for entry in source_list.entries]
        self._scope_end_lines = [scope.last_line for scope in self._number_scopes]
        definitions = {str(int(e.id)): e for e in source_lists.definitions if e.id.isdecimal()}
        by_number = [definitions | scope.entries_by_number for scope in self._number_scopes]
        self._entries_by_number = by_number or [definitions]
        self._known_keys = {e.id for e in self.entries if e.kind == "label"} | source_lists.keys
        self._footnote_ids = {entry.id for entry in source_lists.footnotes}
        self._author_years = AuthorYears(self.entries)
        self._linked_addresses = {address_key(mark.url) for mark in citation_marks.marks if mark.url} - {""}
        self.counted_marks = [mark for mark in citation_marks.marks if self._is_counted(mark)]

    def _is_counted(self, mark: CitationMark) -> bool:
        if mark.kind == "author":
            return not mark.needs_entry or bool(self._author_years.find_entries(mark))
        if not mark.needs_entry:
            return True
        if mark.kind == "number":
            return mark.id in self._entries_by_number[self._scope_index(mark.start)]
        return mark.id in self._known_keys

    def find_flaws(self) -> Iterator[FlawTuple]:
        """Yield the flaws that all checks find, in no order."""
        yield from self._number_flaws()
        yield from self._footnote_flaws()
        yield from self._key_flaws()
        yield from self._author_flaws()
        yield from self._definition_flaws()
        yield from self._list_flaws()
        yield from self._address_flaws()
        yield from self._malformed_flaws()
        yield from self._uncited_paragraph_flaws()
        yield from self._placement_flaws()

    # Numbers

    def _scope_index(self, offset: int) -> int:
        """Return the index of the numbered list that a number at an offset refers to.

        That is the next list below the offset, else the last list.
        """
        line = self._report.line_number(offset)
        return min(bisect_left(self._scope_end_lines, line), max(len(self._scope_end_lines) - 1, 0))

    def _number_flaws(self) -> Iterator[FlawTuple]:
        by_scope: dict[int, list[CitationMark]] = {}
        for mark in self.counted_marks:
            if mark.kind == "number":
                by_scope.setdefault(self._scope_index(mark.start), []).append(mark)
        for scope, cited in by_scope.items():
            yield from self._reference_flaws(cited, self._entries_by_number[scope])
        listed = [entry for entry in self.entries if entry.kind == "number"]
        for scope, (_, numbers, _) in enumerate(self._number_scopes):
            used = {mark.id for mark in by_scope.get(scope, ())}
            yield from self._sequence_flaws(scope, used)
            is_certain = any(not mark.needs_entry for mark in by_scope.get(scope, ()))
            if is_certain and used & set(numbers):
                yield from self._unused_flaws(numbers.values(), used)
        if listed and not self.counted_marks:
            yield "uncited-list", self._line_start(self.lists[0].line), "", ""

    def _unused_flaws(self, entries: Iterable[ListEntry], used: set[str]) -> Iterator[FlawTuple]:
        """Yield a flaw for each entry that is neither cited by its id nor linked."""
        for entry in entries:
            if entry.id not in used and not self._is_linked(entry):
                yield "unused", entry.start, f"[{entry.id}]", ""

    def _is_linked(self, entry: ListEntry) -> bool:
        return any(address_key(url) in self._linked_addresses for url in entry.urls)

    def _reference_flaws(self, marks: list[CitationMark], numbers: dict[str, ListEntry]) -> Iterator[FlawTuple]:
        if not numbers:
            yield from self._unlisted_number_flaws(marks)
            return
        for mark in marks:
            entry = numbers.get(mark.id)
            if entry is None and mark.id not in self._footnote_ids:
                yield "dangling", mark.start, f"[{mark.id}]", ""
            elif entry and mark.url and entry.urls:
                listed = {address_key(url) for url in entry.urls} - {""}
                linked = address_key(mark.url)
                if linked and listed and linked not in listed:
                    yield "mismatch", mark.start, f"[{mark.id}]", entry.urls[0]
        if violation := self._find_order_violation(marks, numbers):
            higher, lower = violation
            yield "order", lower.start, f"[{lower.id}]", f"[{higher.id}]"

    def _unlisted_number_flaws(self, marks: list[CitationMark]) -> Iterator[FlawTuple]:
        """Check numbers without any list: each must be a link, always to the same address."""
        bare = [mark for mark in marks if not mark.url and mark.id not in self._footnote_ids]
        linked: dict[str, str] = {}
        number_by_key: dict[str, str] = {}
        for mark in marks:
            key = address_key(mark.url) if mark.url else ""
            if not key:
                continue
            if linked.setdefault(mark.id, key) != key:
                yield "mismatch", mark.start, f"[{mark.id}]", linked[mark.id]
            elif number_by_key.setdefault(key, mark.id) != mark.id:
                yield "same-url", mark.start, f"[{mark.id}]", f"[{number_by_key[key]}]"
        if bare and linked:
            for mark in bare:
                if mark.id not in linked:
                    yield "dangling", mark.start, f"[{mark.id}]", ""
        elif bare:
            yield "no-list", bare[0].start, f"[{bare[0].id}]", ""

    def _find_order_violation(
        self, marks: list[CitationMark], numbers: dict[str, ListEntry]
    ) -> tuple[CitationMark, CitationMark] | None:
        """Find the first number that is first cited after a higher one; return the higher one, too.

        Lists that are sorted alphabetically or grouped under subheadings are exempt.
        """
        titles = [re.sub(r"^[\W\d_]+", "", entry.text).casefold() for entry in numbers.values()]
        is_alphabetical = len(titles) >= 4 and titles == sorted(titles)
        if is_alphabetical or any(source_list.has_subheadings for source_list in self.lists):
            return None
        first: dict[str, CitationMark] = {}
        for mark in marks:
            if mark.id in numbers and self._report.lines[self._report.line_number(mark.start) - 1].kind != "row":
                first.setdefault(mark.id, mark)
        return next(((a, b) for a, b in pairwise(first.values()) if int(b.id) < int(a.id)), None)

    def _sequence_flaws(self, scope: int, used: set[str]) -> Iterator[FlawTuple]:
        """Check that the numbers of a list are unique, rising and without gaps."""
        seen: dict[int, ListEntry] = {}
        highest = 0
        entries = self._number_scopes[scope].entries
        values = [int(entry.id) for entry in entries]
        if len(values) > 1 and len(set(values)) == 1 and all(entry.number_form == "dotted" for entry in entries):
            return  # Markdown renders 1. 1. 1. as 1. 2. 3.
        for entry, value in zip(entries, values, strict=True):
            if value in seen:
                first = seen[value]
                yield "duplicate", entry.start, f"[{value}]", str(first.line)
                continue
            if value < highest:
                yield "order", entry.start, f"[{value}]", f"[{highest}]"
            seen[value] = entry
            highest = max(highest, value)
        for lower, upper in pairwise([min([1, *seen]) - 1, *sorted(seen)]):
            missing = [n for n in range(lower + 1, upper) if str(n) not in used] if upper - lower <= 1000 else []
            if missing:
                yield "gap", seen[upper].start, ", ".join(f"[{number}]" for number in missing[:5]), ""

    # Footnotes, keys, definitions

    def _footnote_flaws(self) -> Iterator[FlawTuple]:
        notes = {entry.id: entry for entry in reversed(self._source_lists.footnotes)}
        cited = [mark for mark in self.counted_marks if mark.kind == "footnote"]
        nested = {
            key.strip()
            for entry in self._source_lists.footnotes
            for key in re.findall(r"(?<!^)\[\^([^\[\]\n]{1,80})\](?!:)", entry.text)
        }
        if cited and not notes:
            yield "no-list", cited[0].start, f"[^{cited[0].id}]", ""
            return
        for mark in cited:
            if mark.id not in notes:
                yield "dangling", mark.start, f"[^{mark.id}]", ""
        used = {mark.id for mark in self.counted_marks if mark.kind in ("footnote", "number")} | nested
        yield from _duplicate_id_flaws(self._source_lists.footnotes, "[^{}]")
        for key, entry in notes.items():
            if key not in used:
                yield "unused", entry.start, f"[^{key}]", ""

    def _key_flaws(self) -> Iterator[FlawTuple]:
        labels = [entry for entry in self.entries if entry.kind == "label"]
        known = self._known_keys
        cited = [mark for mark in self.counted_marks if mark.kind in ("key", "label")]
        keys = [mark for mark in cited if mark.kind == "key"]
        if keys and not known:
            empty = self._source_lists.empty_headings or self._source_lists.has_external_bibliography or self.lists
            if not empty:
                yield "no-list", keys[0].start, f"@{keys[0].id}", ""
            return
        for mark in cited:
            if mark.id not in known and not self._source_lists.has_external_bibliography:
                yield "dangling", mark.start, f"@{mark.id}" if mark.kind == "key" else f"[{mark.id}]", ""
        yield from _duplicate_id_flaws(labels, "[{}]")
        used = {mark.id for mark in cited}
        if used & {entry.id for entry in labels}:
            yield from self._unused_flaws(labels, used)

    def _definition_flaws(self) -> Iterator[FlawTuple]:
        """Check definitions of reference links: [id]: https://…"""
        definitions = self._source_lists.definitions
        known = {entry.id: entry for entry in reversed(definitions)}
        used = {mark.id for mark in self._citation_marks.marks if mark.id}
        for mark in self.counted_marks:
            if mark.kind == "link" and mark.id and mark.id not in known:
                yield "dangling", mark.start, f"[{mark.id}]", ""
        yield from _duplicate_id_flaws(definitions, "[{}]")
        text = self._report.prose
        bracketed = {
            " ".join(text[pair.start + 1 : pair.end - 1].split()).casefold()
            for pair in self._report.brackets
            if pair.end - pair.start <= 200 and text[pair.end : pair.end + 1] != ":"
        }
        listed = {entry.id for entry in self.entries}
        for key, entry in known.items():
            number = str(int(key)) if key.isdecimal() else key
            if not any(name in group for name in (key, number) for group in (used, listed, bracketed)):
                yield "unused", entry.start, f"[{key}]", ""
        numbered = [entry for entry in definitions if entry.id.isdecimal()]
        if numbered and not any(entry.kind == "number" for entry in self.entries):
            yield from self._duplicate_address_flaws(numbered, "[{}]")

    # Names and years

    def _author_flaws(self) -> Iterator[FlawTuple]:
        listed = [entry for entry in self.entries if entry.kind == "plain"]
        marks = [mark for mark in self._citation_marks.marks if mark.kind == "author"]
        distinctive = [mark for mark in marks if not mark.needs_entry]
        dated = [entry for entry in listed if YEAR.search(entry.text)]
        other_marks = [mark for mark in self.counted_marks if mark.kind in ("number", "footnote", "key", "link")]
        if not self.lists and not self._source_lists.footnotes and not other_marks and len(distinctive) >= 3:
            yield "no-list", distinctive[0].start, distinctive[0].id.replace("|", ", "), ""
        matched = {id(entry) for mark in marks for entry in self._author_years.find_entries(mark)}
        listed_marks = [mark for mark in distinctive if self._author_years.find_entries(mark)]
        if not listed_marks or not dated or (len(listed_marks) < 2 and len(matched) < len(listed)):
            return
        for mark in marks:
            if self._author_years.find_entries(mark):
                continue
            if mark.id.startswith(TEXT_BEFORE_YEAR):
                if author := find_author(mark, self._report.prose):
                    yield "dangling", mark.start, author, ""
            elif not mark.needs_entry:
                yield "dangling", mark.start, mark.id.replace("|", ", "), ""
        for entry in dated:
            if id(entry) not in matched and not self._is_linked(entry):
                yield "unused", entry.start, _entry_excerpt(entry), ""

    # The entries and their addresses

    def _list_flaws(self) -> Iterator[FlawTuple]:
        for scope in self._number_scopes:
            yield from self._duplicate_address_flaws(scope.entries, "[{}]")
        yield from self._duplicate_address_flaws(self._source_lists.footnotes, "[^{}]")
        labels = [entry for entry in self.entries if entry.kind == "label"]
        yield from self._duplicate_address_flaws(labels, "[{}]")
        defined = {str(int(e.id)) for e in self._source_lists.definitions if e.id.isdecimal()}
        for source_list in self.lists:
            entries = [entry for entry in source_list.entries if entry.kind in ("number", "label")]
            addressed = sum(bool(entry.urls) for entry in entries)
            if not addressed or addressed * 2 < len(entries):
                continue
            for entry in entries:
                if not entry.urls and entry.id not in defined and not _PRINT_SOURCE.search(entry.text):
                    yield "no-address", entry.start, f"[{entry.id}]", ""
        yield from self._unlinked_source_flaws()

    def _unlinked_source_flaws(self) -> Iterator[FlawTuple]:
        """Check a list that repeats the links of the text: neither may have sources that the other lacks."""
        if any(mark.kind not in ("link", "note") for mark in self.counted_marks):
            return
        listed = [entry for entry in self.entries if entry.kind == "plain" and entry.urls]
        used = sum(self._is_linked(entry) for entry in listed)
        if used >= 2 and used * 10 >= len(listed) * 6:
            for entry in listed:
                if not self._is_linked(entry):
                    yield "unused", entry.start, _entry_excerpt(entry), ""
        listed_keys = {address_key(url) for entry in self.entries for url in entry.urls}
        if used and used * 2 >= len(listed):
            for mark in self.counted_marks:
                key = address_key(mark.url) if mark.kind == "link" else ""
                if key and key not in listed_keys:
                    yield "unlisted", mark.start, mark.url, ""

    def _duplicate_address_flaws(self, entries: Iterable[ListEntry], label_format: str) -> Iterator[FlawTuple]:
        seen: dict[str, ListEntry] = {}
        for entry in entries:
            key = address_key(entry.urls[0]) if entry.urls else ""
            if not key:
                continue
            first = seen.setdefault(key, entry)
            if first is not entry and first.id != entry.id and _locators(first) == _locators(entry):
                yield "same-url", entry.start, label_format.format(entry.id), label_format.format(first.id)

    def _address_flaws(self) -> Iterator[FlawTuple]:
        listed = [*self.entries, *self._source_lists.footnotes, *self._source_lists.definitions]
        further = (source_list for source_list in self._source_lists.lists if source_list.is_further_reading)
        listed += [entry for source_list in further for entry in source_list.entries]
        addresses = [
            (url, max(entry.start, self._report.source.find(url, entry.start, entry.end)))
            for entry in listed
            for url in entry.urls
        ]
        addresses += [(link.url, link.start) for link in self._citation_marks.links]
        addresses += [(mark.url, mark.start) for mark in self._citation_marks.marks if mark.url]
        seen: set[tuple[int, str]] = set()
        for url, offset in addresses:
            if (location := (self._report.line_number(offset), url)) not in seen:
                seen.add(location)
                if kind := find_address_problem(url):
                    yield kind, offset, (url if len(url) <= 80 else url[:79] + "…") or "( )", ""

    def _malformed_flaws(self) -> Iterator[FlawTuple]:
        for mark in self._citation_marks.malformed:
            yield mark.kind, mark.start, self._report.source[mark.start : mark.end], ""

    # The text

    def _line_start(self, line_number: int) -> int:
        return self._report.line_starts[line_number - 1]

    def _uncited_paragraph_flaws(self) -> Iterator[FlawTuple]:
        """Check for long paragraphs with several figures and no citation, where a reader expects one."""
        cited_lines = Counter(self._report.line_number(mark.start) for mark in self._citation_marks.marks)
        for malformed_mark in self._citation_marks.malformed:
            cited_lines[self._report.line_number(malformed_mark.start)] += 1
        for block, headings, below in _iter_paragraphs(self._report, self._source_lists.list_lines):
            if any(cited_lines[line.number] for line in block) or not headings:
                continue
            if any(_EXEMPT_HEADING.search(heading) for heading in headings[1:] or headings):
                continue
            text = " ".join(self._report.line_text(line).strip() for line in block)
            if text.rstrip().endswith((":", "：")) or _OWN_STATEMENT.search(text) or _SOURCE_LABEL.match(text):
                continue
            if text.startswith("*") and text.rstrip().endswith("*") and text.count("*") <= 4:
                continue
            if any(_SOURCE_LABEL.match(self._report.line_text(line)) for line in below):
                continue
            if below and cited_lines[below[0].number] and not _LATIN_WORD.search(self._text_without_brackets(below[0])):
                continue
            han = len(re.findall(f"[{HAN_RANGES}]", text))
            is_long = han >= 60 or len(text) - han >= 240
            figures = _FIGURE.findall(text)
            without_years = [figure for figure in figures if not re.fullmatch(r"(?:1\d|20)\d\d", figure)]
            if is_long and len(figures) >= 3 and len(without_years) >= 2:
                yield "uncited", block[0].start, "", ""

    def _text_without_brackets(self, line: MarkdownLine) -> str:
        text = self._report.line_text(line)
        return re.sub(r"[\[［【〔][^\[\]]{0,80}[\]］】〕]|\([^()]{0,300}\)", "", text)

    def _placement_flaws(self) -> Iterator[FlawTuple]:
        for mark in self.counted_marks:
            if mark.kind not in ("number", "footnote", "key"):
                continue
            line = self._report.lines[self._report.line_number(mark.start) - 1]
            excerpt = self._report.source[mark.start : mark.end]
            if line.kind == "heading":
                yield "in-heading", mark.start, excerpt, ""
            elif line.kind != "row":
                before = self._report.prose[max(line.start, mark.start - 21) : mark.start]
                is_first = re.fullmatch(r"[\s>*_+\d.)-]{0,20}", before)
                above = self._report.lines[line.number - 2].kind if line.number > 1 else "blank"
                following = self._report.prose[mark.end : mark.end + 40].strip(" \n[]0123456789,.;。")
                if is_first and above in ("blank", "heading", "rule") and following:
                    yield "leading", mark.start, excerpt, ""


def _build_number_scopes(source_lists: list[SourceList]) -> list[_NumberScope]:
    """Return the scopes of numbers. Lists that continue the numbering of the list above are merged with it."""
    scopes: list[_NumberScope] = []
    for source_list in source_lists:
        numbered = [entry for entry in source_list.entries if entry.kind == "number"]
        if not numbered:
            continue
        by_number: dict[str, ListEntry] = {}
        for entry in numbered:
            by_number.setdefault(entry.id, entry)
        above = scopes[-1].entries_by_number if scopes else {}
        restarts = len(set(by_number) & set(above)) * 2 >= min(len(by_number), len(above))
        if scopes and not restarts:
            merged_entries = [*scopes.pop().entries, *numbered]
            scopes.append(_NumberScope(numbered[-1].line, above | by_number, merged_entries))
        else:
            scopes.append(_NumberScope(numbered[-1].line, by_number, numbered))
    return scopes


def _duplicate_id_flaws(entries: Iterable[ListEntry], label_format: str) -> Iterator[FlawTuple]:
    seen: dict[str, ListEntry] = {}
    for entry in entries:
        first = seen.setdefault(entry.id, entry)
        if first is not entry:
            yield "duplicate", entry.start, label_format.format(entry.id), str(first.line)


def _locators(entry: ListEntry) -> list[str]:
    return sorted({match.lower() for match in _LOCATOR.findall(entry.text)})


def _entry_excerpt(entry: ListEntry) -> str:
    words = re.sub(r"^[\W_]+", "", entry.text)
    return words if len(words) <= 40 else words[:39] + "…"


def _iter_paragraphs(
    report: ParsedReport, list_lines: set[int]
) -> Iterator[tuple[list[MarkdownLine], list[str], list[MarkdownLine]]]:
    """Yield each paragraph with the headings above it and the next two lines that are not blank."""
    headings: list[tuple[int, str]] = []
    block: list[MarkdownLine] = []
    lines = report.lines
    for line in [*lines, MarkdownLine(len(lines) + 1, 0, 0, "blank")]:
        if line.kind == "text" and line.number not in list_lines:
            block.append(line)
            continue
        if block:
            last = block[-1].number
            below = [following for following in lines[last : last + 4] if following.kind != "blank"][:2]
            yield block, [title for _, title in headings], below
            block = []
        if line.kind == "heading":
            while headings and headings[-1][0] >= line.level:
                headings.pop()
            headings.append((line.level, report.heading_text(line)))
