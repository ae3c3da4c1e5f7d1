"""Parser of the lists of sources in a report and of their entries.

The usual English and Chinese headings, and the usual ways of numbering entries, are recognised. A
list without a heading is recognised by lines that begin with a number in brackets.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, cast

from research import data
from research.citations.styles.parsed_report import MarkdownLine, MarkdownLink, ParsedReport
from research.citations.styles.web_addresses import ADDRESS, trim_address
from research.core.text.numbers import HAN_NUMERALS

EntryKind = Literal["number", "footnote", "label", "plain", "link"]
# A list of cited sources; one whose heading may as well stand above remarks; one of further reading.
ListKind = Literal["name", "weak", "further"]

_DECORATION = re.compile(
    r"^(?:[\s*_#>:：.、·•|【】\[\]〔〕]|\d{1,2}(?:\.\d{1,2}){0,3}[.、)）]?\s|"
    rf"[{HAN_NUMERALS}]{{1,3}}[、.．]"
    r"|[IVX]{1,5}\.\s|[A-Z]\.\s|附录?[:：])+"
)
_LABEL_LINE = re.compile(r"[ \t>]*(?:\*\*|__)?[^\n|]{1,60}?(?:[:：]\s*(?:\*\*|__)?|(?:\*\*|__)\s*[:：]?)\s*$")
SUPERSCRIPT_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻˒·", "0123456789-,,")
CIRCLED_NUMBERS = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
# Words that may stand before the number of a source.
SOURCE_WORDS = r"sources?|refs?\.?|references?|cite|citations?|来源|资料|文献|参考"
# Labels of sources in the output of search tools: S1, web:2, doc_3.
TOOL_LABEL = r"(?:S|web|doc(?:ument)?|(?:search[ _]?)?result|snippet|passage|chunk|src|source|note|注释?)[ _:#-]?"
_SOURCE_WORD = rf"(?:参考资料|参考文献|资料来源|信息来源|注释?|{SOURCE_WORDS}) ?[:：]? ?#?"
_LIST_SEPARATOR = r"\s*(?:[,;、，；&|–~-]|and|和|与|及)\s*"
LABELED_MARK = re.compile(
    rf"[\[［【〔]\s*{TOOL_LABEL}\d{{1,3}}(?:{_LIST_SEPARATOR}(?:{TOOL_LABEL})?\d{{1,3}})*\s*[\]］】〕]"
    rf"|[(（]\s*(?:see |cf\. |参见|见)?{_SOURCE_WORD}\[?\d{{1,3}}(?:{_LIST_SEPARATOR}(?:{_SOURCE_WORD})?\d{{1,3}})*\]?\s*[)）]",
    re.IGNORECASE,
)
_LINE_PREFIX = r"[ \t>|]*(?:[-*+•·‣▪][ \t]+)?(?:\*\*|__)?[ \t]*"
_NUMBERED_ENTRY = re.compile(
    _LINE_PREFIX + r"(?:"
    rf"(?:\d{{1,3}}[.)][ \t]+)?[\[［【〔]\s*\[?\s*(?:(?:{SOURCE_WORDS})\s?[:：]\s?)?"
    r"\^?(?P<boxed>\d{1,4})\s*\]?\s*[\]］】〕]"
    r"|\\?\[?(?:Source|Note|Ref(?:erence)?|来源|资料|文献|注)[ \t]?#?\[?(?P<named>\d{1,3})\]?[ \t]?(?=[:：.\-–—\]|])"
    r"|(?P<dotted>\d{1,4})[ \t]?(?:\\?[.)、．）:：]|[ \t][-–—]|(?=[ \t]*\|))(?!\d)"
    r"|[(（](?P<round>\d{1,3})[)）]"
    r"|\^\[?(?P<caret>\d{1,3})\]?\^"
    r"|(?P<super>[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})"
    rf"|(?P<circled>[{CIRCLED_NUMBERS}])"
    r"|#(?P<hash>\d{1,3})\b"
    r"|\[(?P<linked>\d{1,3})[.)、:：]"
    r")",
    re.IGNORECASE,
)
_HTML_ITEM = re.compile(r"[ \t]*(?:<ol\b[^<>]{0,200}>[ \t]*)?<li\b", re.IGNORECASE)
_BULLET = re.compile(r"[ \t>]*[-*+•·‣▪][ \t]+")
_LABELED_ENTRY = re.compile(
    _LINE_PREFIX
    + r"(?:[\[［【〔](?P<box>@?[A-Za-z][\w.:+/-]{0,40})[\]］】〕](?!\()|(?P<at>@[A-Za-z][\w:.+/-]{1,60})(?=[:：\s]))"
)
_DEFINITION_LINE = re.compile(r" {0,3}\[(\^?)([^\[\]\n]{1,100})\]:[ \t]*(.*)")
_ADDRESS_START = re.compile(r"<?(?:[a-z][a-z0-9+.-]{1,20}:|www\.|/|#|\.{1,2}/)[^\s<>]*>?", re.IGNORECASE)
_DEFINITION_TARGET = re.compile(r"\s*(?:<[^<>\n]*>|\S+)(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?\s*")
# The end of an entry with its title before its address, and numbers that may cite such entries.
_ENDS_WITH_ADDRESS = re.compile(r"\w.*(?:\s[\[<(]?|\]\()(?:https?://|www\.)\S+\s*$")
_CITATION = re.compile(
    rf"[\[［【](?:[\^S]|(?:web|doc|{SOURCE_WORDS})[ _:：-]?)?\d{{1,3}}(?:\s*[,;、，；–-]\s*\d{{1,3}}){{0,20}}(?:[\]］】]|(?::\d{{1,3}})?†)|<sup\b|[¹²³]|[(（](?:{SOURCE_WORDS}) ?[:：]? ?\d",
    re.IGNORECASE,
)
_BIBTEX_KEY = re.compile(
    r"^[ \t]*@(?!comment|string|preamble)[a-z]{2,20}[ \t]*\{[ \t]*([^\s,{}]{1,100})[ \t]*,",
    re.I | re.M,
)
_FRONT_MATTER_KEY = re.compile(r"^[ \t]*(?:-[ \t]*)?id:[ \t]*[\"']?([^\s\"']{1,100})", re.M)


@dataclass
class ListEntry:
    """An entry of a list of sources; `id` is its number, label or key, or ""."""

    kind: EntryKind
    id: str
    line: int
    start: int
    end: int
    urls: list[str] = field(default_factory=list)
    text: str = ""
    number_form: str = ""


@dataclass
class SourceList:
    """A list of sources; `line` is the number of its first line."""

    line: int
    entries: list[ListEntry] = field(default_factory=list)
    is_further_reading: bool = False
    has_subheadings: bool = False
    has_heading: bool = True


class SourceLists:
    """All lists of sources, footnotes and link definitions of a report.

    `list_lines` are their line numbers; `keys` are the keys of BibTeX entries and of the front matter.
    """

    def __init__(self, report: ParsedReport) -> None:
        self._report = report
        self._links: dict[int, list[MarkdownLink]] = {}
        for link in report.links:
            self._links.setdefault(report.line_number(link.start), []).append(link)
        self.list_lines: set[int] = set()
        self.footnotes: list[ListEntry] = []
        self.definitions: list[ListEntry] = []
        self.lists: list[SourceList] = []
        self.empty_headings: list[int] = []  # headings of lists without entries
        self._find_definitions()
        self._find_headed_lists()
        if not any(source_list.entries and not source_list.is_further_reading for source_list in self.lists):
            self._find_unheaded_lists()
        self.keys = set(_BIBTEX_KEY.findall(report.source))
        self.has_external_bibliography = bool(re.search(r"^(?:bibliography|csl):", report.front_matter, re.M))
        if re.search(r"^references:", report.front_matter, re.M):
            self.keys |= set(_FRONT_MATTER_KEY.findall(report.front_matter))

    def contains(self, offset: int) -> bool:
        """Return whether an offset of the report is in a list or a definition."""
        return self._report.line_number(offset) in self.list_lines

    # Definitions

    def _find_definitions(self) -> None:
        lines = self._report.lines
        last: ListEntry | None = None
        for at, line in enumerate(lines):
            text = self._report.line_text(line)
            match = _DEFINITION_LINE.match(text) if line.kind in ("text", "item") else None
            entry = self._parse_definition(match, line) if match else None
            if entry:
                last = entry
                self.list_lines.add(line.number)
            elif (
                last
                and last.kind == "footnote"
                and (
                    (line.kind == "blank" and at + 1 < len(lines) and self._is_indented(lines[at + 1]))
                    or (self._is_indented(line) and line.kind != "blank")
                    or (line.kind == "text" and lines[at - 1].kind != "blank")
                )
            ):
                if line.kind != "blank":
                    self.list_lines.add(line.number)
                    self._extend_entry(last, line)
            else:
                last = None

    def _is_indented(self, line: MarkdownLine) -> bool:
        return self._report.source[line.start : line.end].startswith(("  ", "\t")) and line.kind != "blank"

    def _parse_definition(self, match: re.Match[str], line: MarkdownLine) -> ListEntry | None:
        key, rest = match[2].strip(), match[3]
        if match[1]:
            entry = self._make_entry("footnote", key, line)
            self.footnotes.append(entry)
            return entry
        if not (_ADDRESS_START.match(rest) and _DEFINITION_TARGET.fullmatch(rest)):
            return None
        entry = self._make_entry("link", key.casefold(), line)
        if not entry.urls:
            entry.urls = [rest.split()[0].strip("<>")]
        self.definitions.append(entry)
        return entry

    def _make_entry(self, kind: EntryKind, key: str, line: MarkdownLine, number_form: str = "") -> ListEntry:
        entry = ListEntry(kind, key, line.number, line.start, line.start, number_form=number_form)
        self._extend_entry(entry, line)
        return entry

    def _extend_entry(self, entry: ListEntry, line: MarkdownLine) -> None:
        text = self._report.line_text(line)
        entry.end = line.end
        entry.text = f"{entry.text} {self._report.source[line.start : line.end]}".strip()
        links: list[MarkdownLink] = self._links.get(line.number, [])
        urls = [link.url for link in links if not link.url.startswith("#")]
        covered = [(link.start, link.end) for link in links]
        for match in ADDRESS.finditer(text):
            at = line.start + match.start()
            if not any(start <= at < end for start, end in covered):
                urls.append(trim_address(match[0]))
        entry.urls += [url for url in urls if url not in entry.urls]

    # Lists under a heading

    def _find_headed_lists(self) -> None:
        lines = self._report.lines
        current: SourceList | None = None
        level = 0
        for line in lines:
            if line.kind in ("code", "blank"):
                continue
            kind = self._heading_kind(line)
            if kind is None and current and line.kind == "heading":
                if line.level > level:
                    current.has_subheadings = True
                    self.list_lines.add(line.number)
                    continue
                self._keep_list(current)
                current = None
            elif kind is None and current and level == 7 and self._is_label(line):
                self._keep_list(current)
                current = None
            elif kind is not None and not (current and kind == "name" and level < line.level):
                self._keep_list(current)
                level = line.level or 7
                current = SourceList(line.number, is_further_reading=kind == "further")
                current.has_heading = kind != "weak"
                continue
            if current:
                self._add_line(current, line)
        self._keep_list(current)

    def _keep_list(self, source_list: SourceList | None) -> None:
        """Keep a list that has entries; in a list of kind "weak", an entry must be numbered.

        Under any other heading, a list of plain entries without an address, a year or a title is
        dropped.
        """
        if source_list is None:
            return
        is_list = source_list.has_heading or any(entry.kind == "number" for entry in source_list.entries)
        plain = [entry for entry in source_list.entries if entry.kind == "plain"]
        is_prose = source_list.has_heading and plain and len(plain) == len(source_list.entries) and not any(
            entry.urls or re.search(r"\b(?:1[5-9]|20)\d\d|n\.d\.|《|“|\"|\*|\.(?:pdf|docx?|xlsx|csv|md)\b|[@＠][0-9a-f]{4}", entry.text) for entry in plain
        )  # fmt: skip
        if source_list.entries and is_list and not is_prose:
            self.lists.append(source_list)
            last = source_list.entries[-1].end
            self.list_lines.update(range(source_list.line, self._report.line_number(last) + 1))
        elif not source_list.entries and source_list.has_heading and not source_list.is_further_reading:
            self.empty_headings.append(source_list.line)

    def _heading_kind(self, line: MarkdownLine) -> ListKind | None:
        """Return the kind of list that a line announces as its heading, or None."""
        text = self._report.line_text(line)
        if line.kind != "heading" and not self._is_label(line):
            return "name" if self._is_title(line) else None
        words = self._report.heading_text(line) if line.kind == "heading" else text
        return heading_kind(words)

    def _is_title(self, line: MarkdownLine) -> bool:
        """Return whether a line of plain text above a numbered line is the heading of a list of sources."""
        if line.kind != "text" or heading_kind(self._report.line_text(line)) != "name":
            return False
        below = next((n for n in self._report.lines[line.number :] if n.kind != "blank"), None)
        return below is not None and self._parse_numbered(below) is not None

    def _is_label(self, line: MarkdownLine) -> bool:
        if line.kind not in ("text", "item") or line.end - line.start > 80:
            return False
        text = self._report.line_text(line).strip()
        return _LABEL_LINE.fullmatch(text) is not None or (text.startswith("【") and text.endswith("】"))

    def _add_line(self, source_list: SourceList, line: MarkdownLine) -> None:
        text = self._report.line_text(line)
        if line.kind == "rule" or line.number in self.list_lines:
            return
        if line.kind == "row" and (
            re.fullmatch(r"[\s|:-]*", text) or self._is_table_head(line) or not re.search(r"\w", text)
        ):
            return
        entry = self._parse_numbered(line) or self._parse_labeled(line)
        if entry is None and _HTML_ITEM.match(self._report.source[line.start : line.end]):
            count = sum(entry.number_form == "tagged" for entry in source_list.entries[-1:])
            number = int(source_list.entries[-1].id) + 1 if count else 1
            entry = self._make_entry("number", str(number), line, "tagged")
        if entry is None and (line.kind == "row" or _BULLET.match(text)):
            is_nested = len(text) - len(text.lstrip()) >= 2 and source_list.entries
            if is_nested and line.kind != "row":
                self._extend_entry(source_list.entries[-1], line)
                return
            entry = self._make_entry("plain", "", line, number_form="bullet")
        if entry:
            source_list.entries.append(entry)
            return
        above = self._report.lines[line.number - 2] if line.number > 1 else None
        continues_entry = source_list.entries and (
            (above and above.kind not in ("blank", "rule")) or self._is_indented(line)
        )
        address = ADDRESS.match(text.strip())
        if continues_entry or (address and source_list.entries and not source_list.entries[-1].urls):
            if source_list.entries[-1].kind == "plain" and source_list.entries[-1].urls and address:
                source_list.entries.append(self._make_entry("plain", "", line, number_form="text"))
            else:
                self._extend_entry(source_list.entries[-1], line)
        elif not (source_list.entries and source_list.entries[-1].kind == "number"):
            source_list.entries.append(self._make_entry("plain", "", line, number_form="text"))

    def _is_table_head(self, line: MarkdownLine) -> bool:
        """Return whether a row is the head of its table: the line below consists of dashes."""
        below = self._report.lines[line.number] if line.number < len(self._report.lines) else None
        return below is not None and re.fullmatch(r"[\s|:-]*-[\s|:-]*", self._report.line_text(below)) is not None

    def _parse_numbered(self, line: MarkdownLine) -> ListEntry | None:
        match = _NUMBERED_ENTRY.match(self._report.line_text(line))
        if not match:
            return None
        form = str(match.lastgroup)
        number = match[form]
        if form == "circled":
            value = CIRCLED_NUMBERS.index(number) + 1
        else:
            value = int(unicodedata.normalize("NFKC", number.translate(SUPERSCRIPT_DIGITS)))
        return self._make_entry("number", str(value), line, form)

    def _parse_labeled(self, line: MarkdownLine) -> ListEntry | None:
        match = _LABELED_ENTRY.match(self._report.line_text(line))
        if not match:
            return None
        return self._make_entry("label", (match["box"] or match["at"]).lstrip("@"), line, "label")

    # Lists without a heading

    def _find_unheaded_lists(self) -> None:
        runs: list[list[tuple[MarkdownLine, ListEntry]]] = [[]]
        ruled = False
        has_citations = _CITATION.search(self._report.source) is not None
        for line in self._report.lines:
            if line.kind in ("blank", "code") or line.number in self.list_lines:
                continue
            entry = None
            if line.kind in ("text", "item", "quote"):
                entry = self._parse_numbered(line) or self._parse_labeled(line)
            if entry and self._is_standalone_entry(entry, ruled, has_citations):
                first = runs[-1][0][1] if runs[-1] else None
                if (
                    first
                    and _entry_number(entry) <= _entry_number(first)
                    and (len(runs[-1]) > 1 or (entry.urls and not first.urls))
                ):
                    runs.append([])  # numbering restarts: a list below numbered paragraphs
                runs[-1].append((line, entry))
            elif runs[-1] and line.kind == "text" and self._report.lines[line.number - 2].kind != "blank":
                self._extend_entry(runs[-1][-1][1], line)
            else:
                runs.append([])
            ruled = line.kind == "rule" or (ruled and bool(runs[-1]))
        text_ends = [line.number for line in self._report.lines if line.kind not in ("blank", "rule")]
        has_no_address = not any(entry.urls for run in runs for _, entry in run)
        for run in runs:
            numbers = [_entry_number(entry) for _, entry in run]
            addressed = sum(bool(entry.urls) for _, entry in run)
            rising = len(run) >= 2 and numbers[0] <= 2 and len(set(numbers)) > 1
            is_last = bool(run) and self._report.line_number(run[-1][1].end) >= text_ends[-1] - 3
            if run and (
                (addressed * 2 >= len(run) and (is_last or rising))
                or (rising and is_last and (addressed or has_no_address))
            ):
                source_list = SourceList(run[0][0].number, [entry for _, entry in run])
                self.lists.append(source_list)
                end = self._report.line_number(run[-1][1].end)
                self.list_lines.update(range(source_list.line, end + 1))

    def _is_standalone_entry(self, entry: ListEntry, follows_rule: bool, text_has_citations: bool) -> bool:
        """Return whether a line counts as an entry of a list of sources without a heading."""
        if entry.number_form in ("boxed", "caret", "super"):
            return True
        if entry.number_form in ("named", "label", "circled"):
            return bool(entry.urls) and _entry_number(entry) > 0
        last = text_has_citations and _ENDS_WITH_ADDRESS.search(entry.text)
        return bool(entry.number_form == "dotted" and entry.urls and (follows_rule or last))


def _entry_number(entry: ListEntry) -> int:
    """Return the number in an entry's id; 0 without one."""
    digits = re.search(r"\d+$", entry.id)
    return int(digits[0]) if digits else 0


@cache
def _load_headings() -> dict[str, ListKind]:
    """Load the usual headings of lists, with the kind of list (`data/source_lists.tsv`)."""
    return {heading: cast(ListKind, kind) for kind, heading in data.rows("source_lists.tsv")}


def is_heading_prefix(words: str) -> bool:
    """Return whether the words are a heading of a list of sources, or the beginning of one."""
    name = " ".join(_strip_decoration(words).lower().split())
    return bool(name) and any(heading.startswith(name) for heading in _load_headings())


def _strip_decoration(words: str) -> str:
    """Remove numbering, marks and symbols from a heading."""
    words = re.sub(r"[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f]", "", words)
    words = re.sub(r"\{[^{}]{0,80}\}\s*$", "", words)
    return _DECORATION.sub("", words).rstrip(" *_:：#】]）)|.")


def heading_kind(words: str) -> ListKind | None:
    """Return the kind of list that a heading announces; None if it announces none."""
    words = _strip_decoration(words)
    for part in (
        words,
        *re.split(r"\s*[/(（|·\-–—&]\s*|\s+and\s+|(?<=[\u4e00-\u9fff])\s+(?=[A-Za-z])", words, maxsplit=1),
    ):
        name = " ".join(part.replace("&", "and").lower().split()).strip(" *_:：")
        if name in (kinds := _load_headings()):
            return kinds[name]
        if part is not words and name:
            break
    return None
