"""Checks for flaws in the citations of a report.

Each check yields (kind, offset in the text, subject, conflicting item); messages are worded in
`flaw_kinds`. A check that cannot distinguish a defect from a writer's style yields nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

from research import data
from research.citations.styles.citation_mark import CitationMark
from research.citations.styles.marks import CitationMarks
from research.citations.styles.parsed_report import MarkdownLine, ParsedReport
from research.citations.styles.source_lists import ListEntry, SourceList, SourceLists
from research.citations.styles.web_addresses import address_key, find_problem
from research.core.text.numbers import HAN_NUMERALS
from research.core.text.tokenizer import HAN_RANGES

FlawTuple = tuple[str, int, str, str]

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
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d[a-z]?(?!\d)|n\. ?d\.|无日期")
# Authors before a year in brackets, and verbs behind it that only have authors as subjects.
_AUTHORS = re.compile(r"(?<![\w.-])[A-Z][^\W\d_][\w’'-]*(?P<more> et al\.?|,? (?:and|&) [A-Z][^\W\d_][\w’'-]*)?$")
_REPORTING_VERB = re.compile(
    r"\s+(?:find|found|argue|report|show|conclude|suggest|note|observe|estimate|claim|demonstrate|describe|propose|point)(?:s|ed|d)?\b"
)
_LATIN_WORD = re.compile(r"[^\W\d_]{2,}")


class LintChecks:
    """All checks of one report."""

    def __init__(self, report: ParsedReport, source_lists: SourceLists, citation_marks: CitationMarks) -> None:
        self._report, self._source_lists = report, source_lists
        self._citation_marks = citation_marks
        self.lists = [source_list for source_list in source_lists.lists if not source_list.is_further_reading]
        self._number_scopes = _build_number_scopes(self.lists)
        self.entries = [entry for source_list in self.lists for entry in source_list.entries]
        self._scope_end_lines = [scope[0] for scope in self._number_scopes]
        definitions = {str(int(e.id)): e for e in source_lists.definitions if e.id.isdecimal()}
        self._entries_by_number = [definitions | scope[1] for scope in self._number_scopes] or [definitions]
        self._known_keys = {e.id for e in self.entries if e.kind == "label"} | source_lists.keys
        self._footnote_ids = {entry.id for entry in source_lists.footnotes}
        self._entries_by_year = self._index_by_year()
        self._linked_addresses = {address_key(mark.url) for mark in citation_marks.marks if mark.url} - {""}
        self.counted_marks = [mark for mark in citation_marks.marks if self._is_counted(mark)]

    def _is_counted(self, mark: CitationMark) -> bool:
        if mark.kind == "author":
            return not mark.needs_entry or bool(self._entries_for_author(mark))
        if not mark.needs_entry:
            return True
        if mark.kind == "number":
            return mark.id in self._entries_by_number[self._scope_index(mark.start)]
        return mark.id in self._known_keys

    def find_flaws(self) -> Iterator[FlawTuple]:
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
        """Return the index of the number scope for an offset: the next list below it, or else
        the last."""
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
                for number, entry in numbers.items():
                    if number not in used and not self._is_linked(entry):
                        yield "unused", entry.start, f"[{number}]", ""
        if listed and not self.counted_marks:
            yield "uncited-list", self._line_start(self.lists[0].line), "", ""

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
        violations = self._order_violations(marks, numbers)
        for higher, mark_after in violations:
            yield "order", mark_after.start, f"[{mark_after.id}]", f"[{higher.id}]"

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

    def _order_violations(
        self, marks: list[CitationMark], numbers: dict[str, ListEntry]
    ) -> list[tuple[CitationMark, CitationMark]]:
        """Find the first number that is first cited after a higher one.

        Lists that are sorted alphabetically or grouped under subheadings are exempt.
        """
        entries = list(numbers.values())
        titles = [re.sub(r"^[\W\d_]+", "", entry.text).casefold() for entry in entries]
        alphabetical = len(titles) >= 4 and titles == sorted(titles)
        grouped = any(source_list.has_subheadings for source_list in self.lists)
        first: dict[str, CitationMark] = {}
        for mark in marks:
            if mark.id in numbers and self._report.lines[self._report.line_number(mark.start) - 1].kind != "row":
                first.setdefault(mark.id, mark)
        violations = []
        highest: CitationMark | None = None
        for mark in first.values():
            if highest is not None and int(mark.id) < int(highest.id):
                violations.append((highest, mark))
            elif highest is None or int(mark.id) > int(highest.id):
                highest = mark
        return [] if alphabetical or grouped else violations[:1]

    def _sequence_flaws(self, scope: int, used: set[str]) -> Iterator[FlawTuple]:
        """Check that the numbers of a list are unique, rising and without gaps."""
        seen: dict[int, ListEntry] = {}
        highest = 0
        entries = self._number_scopes[scope][2]
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
        missing_before: dict[int, list[int]] = {}
        lowest = min([1, *seen])
        for lower, upper in pairwise([lowest - 1, *sorted(seen)]):
            if 1 < upper - lower <= 1000:
                missing = [n for n in range(lower + 1, upper) if str(n) not in used]
                if missing:
                    missing_before[upper] = missing
        for value, missing in missing_before.items():
            yield "gap", seen[value].start, ", ".join(f"[{number}]" for number in missing[:5]), ""

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
                yield (
                    "dangling",
                    mark.start,
                    f"@{mark.id}" if mark.kind == "key" else f"[{mark.id}]",
                    "",
                )
        yield from _duplicate_id_flaws(labels, "[{}]")
        used = {mark.id for mark in cited}
        if used & {entry.id for entry in labels}:
            for entry in labels:
                if entry.id not in used and not self._is_linked(entry):
                    yield "unused", entry.start, f"[{entry.id}]", ""

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

    def _entries_for_author(self, mark: CitationMark) -> list[ListEntry]:
        """Return the sources that a name and a year may refer to."""
        names, _, year = mark.id.rpartition("|")
        return [entry for entry in self._entries_for_year(year) if _is_by_author(names, entry.text)]

    def _entries_for_year(self, year: str) -> list[ListEntry]:
        exact = self._entries_by_year.get(year, [])
        return exact if exact or len(year) != 5 else self._entries_by_year.get(year[:4], [])

    def _index_by_year(self) -> dict[str, list[ListEntry]]:
        entries_by_year: dict[str, list[ListEntry]] = {}
        for entry in self.entries:
            if entry.kind in ("plain", "number"):
                for year in set(_YEAR.findall(entry.text)):
                    entries_by_year.setdefault(year, []).append(entry)
                    if len(year) == 5:
                        entries_by_year.setdefault(year[:4], []).append(entry)
        return entries_by_year

    def _author_flaws(self) -> Iterator[FlawTuple]:
        listed = [entry for entry in self.entries if entry.kind == "plain"]
        marks = [mark for mark in self._citation_marks.marks if mark.kind == "author"]
        distinctive = [mark for mark in marks if not mark.needs_entry]
        dated = [entry for entry in listed if _YEAR.search(entry.text)]
        other_marks = [mark for mark in self.counted_marks if mark.kind in ("number", "footnote", "key", "link")]
        if not self.lists and not self._source_lists.footnotes and not other_marks and len(distinctive) >= 3:
            yield "no-list", distinctive[0].start, distinctive[0].id.replace("|", ", "), ""
        matched = {id(entry) for mark in marks for entry in self._entries_for_author(mark)}
        listed_marks = [mark for mark in distinctive if self._entries_for_author(mark)]
        if not listed_marks or not dated or (len(listed_marks) < 2 and len(matched) < len(listed)):
            return
        for mark in marks:
            if self._entries_for_author(mark):
                continue
            if mark.id.startswith("\x00"):
                if author := self._author_and_year(mark):
                    yield "dangling", mark.start, author, ""
            elif not mark.needs_entry:
                yield "dangling", mark.start, mark.id.replace("|", ", "), ""
        for entry in dated:
            if id(entry) not in matched and not self._is_linked(entry):
                yield "unused", entry.start, _entry_excerpt(entry), ""

    def _author_and_year(self, mark: CitationMark) -> str:
        """Return the author before a year in brackets: "Smith et al. (2019)", "Smith (2019)
        found"; or ""."""
        before, _, year = mark.id.rpartition("|")
        names = _AUTHORS.search(before)
        if names and (names["more"] or _REPORTING_VERB.match(self._report.prose, mark.end)):
            return f"{names[0]}, {year}"
        return ""

    # The entries and their addresses

    def _list_flaws(self) -> Iterator[FlawTuple]:
        for _, _, entries in self._number_scopes:
            yield from self._duplicate_address_flaws(entries, "[{}]")
        yield from self._duplicate_address_flaws(self._source_lists.footnotes, "[^{}]")
        labels = [entry for entry in self.entries if entry.kind == "label"]
        yield from self._duplicate_address_flaws(labels, "[{}]")
        defined = {str(int(e.id)) for e in self._source_lists.definitions if e.id.isdecimal()}
        for source_list in self.lists:
            entries = [entry for entry in source_list.entries if entry.kind in ("number", "label")]
            addressed = sum(bool(entry.urls) for entry in entries)
            for entry in entries:
                has_no_address = not entry.urls and entry.id not in defined
                if (
                    has_no_address
                    and addressed * 2 > len(entries) - 1
                    and addressed
                    and not _PRINT_SOURCE.search(entry.text)
                ):
                    yield "no-address", entry.start, f"[{entry.id}]", ""
        yield from self._unlinked_source_flaws()

    def _unlinked_source_flaws(self) -> Iterator[FlawTuple]:
        """Check a list that repeats the links of the text for sources, and links, that lack a
        counterpart."""
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
        listed += [
            entry
            for source_list in self._source_lists.lists
            if source_list.is_further_reading
            for entry in source_list.entries
        ]
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
                yield from _address_flaws(url, offset)

    def _malformed_flaws(self) -> Iterator[FlawTuple]:
        for mark in self._citation_marks.malformed:
            yield mark.kind, mark.start, self._report.source[mark.start : mark.end], ""

    # The text

    def _line_start(self, line_number: int) -> int:
        return self._report.line_starts[line_number - 1]

    def _uncited_paragraph_flaws(self) -> Iterator[FlawTuple]:
        """Check for long paragraphs full of figures without a citation where a reader expects
        one."""
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
            if below and all(
                cited_lines[line.number] and not _LATIN_WORD.search(self._text_without_brackets(line))
                for line in below[:1]
            ):
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


def _build_number_scopes(source_lists: list[SourceList]) -> list[tuple[int, dict[str, ListEntry], list[ListEntry]]]:
    """Return for each numbered list its last line, entries by number, and entries.

    Lists that continue the numbering of the list above are merged with it.
    """
    scopes: list[tuple[int, dict[str, ListEntry], list[ListEntry]]] = []
    for source_list in source_lists:
        numbered = [entry for entry in source_list.entries if entry.kind == "number"]
        if not numbered:
            continue
        by_number: dict[str, ListEntry] = {}
        for entry in numbered:
            by_number.setdefault(entry.id, entry)
        restarts = scopes and len(set(by_number) & set(scopes[-1][1])) * 2 >= min(len(by_number), len(scopes[-1][1]))
        if scopes and not restarts:
            _, numbers, entries = scopes.pop()
            scopes.append((numbered[-1].line, numbers | by_number, [*entries, *numbered]))
        else:
            scopes.append((numbered[-1].line, by_number, numbered))
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


def _is_by_author(names: str, text: str) -> bool:
    r"""Return whether an entry is by the first of the given names.

    If `names` begins with \x00, the text before the year follows instead of names.
    """
    folded = text.casefold()
    if names.startswith("\x00"):
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


def _address_flaws(url: str, offset: int) -> Iterator[FlawTuple]:
    if kind := find_problem(url):
        yield kind, offset, (url if len(url) <= 80 else url[:79] + "…") or "( )", ""


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
