"""The lists of sources of a report: where they stand, and what each entry says.

Knows the usual headings in English and Chinese and the usual ways to number an entry. A list
without a heading is known by lines that begin with a number in brackets.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from research import data
from research.citations.styles.addresses import ADDRESS, trimmed
from research.citations.styles.parsing import Line, Link, ParsedReport
from research.core.text.numbers import NUMERAL

Sort = Literal["number", "footnote", "label", "plain", "link"]

_DECORATION = re.compile(
    r"^(?:[\s*_#>:：.、·•|【】\[\]〔〕]|\d{1,2}(?:\.\d{1,2}){0,3}[.、)）]?\s|"
    rf"[{NUMERAL}]{{1,3}}[、.．]"
    r"|[IVX]{1,5}\.\s|[A-Z]\.\s|附录?[:：])+"
)
_HEADLINE = re.compile(
    r"[ \t>]*(?:\*\*|__)?[^\n|]{1,60}?(?:[:：]\s*(?:\*\*|__)?|(?:\*\*|__)\s*[:：]?)\s*$"
)
_SUPERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
# What may stand before the number of a source.
NAMES = r"sources?|refs?\.?|references?|cite|citations?|来源|资料|文献|参考"
_LEAD = r"[ \t>|]*(?:[-*+•·‣▪][ \t]+)?(?:\*\*|__)?[ \t]*"
_NUMBERED = re.compile(
    _LEAD + r"(?:"
    rf"(?:\d{{1,3}}[.)][ \t]+)?[\[［【〔]\s*\[?\s*(?:(?:{NAMES})\s?[:：]\s?)?"
    r"\^?(?P<boxed>\d{1,4})\s*\]?\s*[\]］】〕]"
    r"|\\?\[?(?:Source|Note|Ref(?:erence)?|来源|资料|文献|注)[ \t]?#?\[?(?P<named>\d{1,3})\]?[ \t]?(?=[:：.\-–—\]|])"
    r"|(?P<dotted>\d{1,4})[ \t]?(?:\\?[.)、．）:：]|[ \t][-–—]|(?=[ \t]*\|))(?!\d)"
    r"|[(（](?P<round>\d{1,3})[)）]"
    r"|\^\[?(?P<caret>\d{1,3})\]?\^"
    r"|(?P<super>[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})"
    rf"|(?P<circled>[{_CIRCLED}])"
    r"|#(?P<hash>\d{1,3})\b"
    r"|\[(?P<linked>\d{1,3})[.)、:：]"
    r")",
    re.IGNORECASE,
)
_TAGGED = re.compile(r"[ \t]*(?:<ol\b[^<>]{0,200}>[ \t]*)?<li\b", re.IGNORECASE)
_BULLET = re.compile(r"[ \t>]*[-*+•·‣▪][ \t]+")
_LABEL = re.compile(
    _LEAD
    + r"(?:[\[［【〔](?P<box>@?[A-Za-z][\w.:+/-]{0,40})[\]］】〕](?!\()|(?P<at>@[A-Za-z][\w:.+/-]{1,60})(?=[:：\s]))"
)
_DEFINED = re.compile(r" {0,3}\[(\^?)([^\[\]\n]{1,100})\]:[ \t]*(.*)")
_ADDRESSED = re.compile(
    r"<?(?:[a-z][a-z0-9+.-]{1,20}:|www\.|/|#|\.{1,2}/)[^\s<>]*>?", re.IGNORECASE
)
_DEFINITION = re.compile(r"\s*(?:<[^<>\n]*>|\S+)(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?\s*")
# The end of an entry whose title stands before its address, and numbers that may mean such entries.
_ADDRESS_LAST = re.compile(r"\w.*(?:\s[\[<(]?|\]\()(?:https?://|www\.)\S+\s*$")
_CITES = re.compile(
    rf"[\[［【](?:[\^S]|(?:web|doc|{NAMES})[ _:：-]?)?\d{{1,3}}(?:\s*[,;、，；–-]\s*\d{{1,3}}){{0,20}}(?:[\]］】]|(?::\d{{1,3}})?†)|<sup\b|[¹²³]|[(（](?:{NAMES}) ?[:：]? ?\d",
    re.IGNORECASE,
)
_BIBTEX = re.compile(
    r"^[ \t]*@(?!comment|string|preamble)[a-z]{2,20}[ \t]*\{[ \t]*([^\s,{}]{1,100})[ \t]*,",
    re.I | re.M,
)
_FRONT_KEY = re.compile(r"^[ \t]*(?:-[ \t]*)?id:[ \t]*[\"']?([^\s\"']{1,100})", re.M)


@dataclass
class Entry:
    """A source as it is listed. `id` is its number, label or key; "" if it has none."""

    sort: Sort
    id: str
    line: int
    start: int
    end: int
    urls: list[str] = field(default_factory=list)
    text: str = ""
    form: str = ""


@dataclass
class Sources:
    """A list of sources: the entries, and the lines from the heading to the end."""

    line: int
    entries: list[Entry] = field(default_factory=list)
    further: bool = False
    grouped: bool = False
    headed: bool = True


class Lists:
    """All that a report lists or defines. `taken` are the lines that are no text of the report."""

    def __init__(self, reading: ParsedReport) -> None:
        self._reading = reading
        self._links: dict[int, list[Link]] = {}
        for link in reading.links:
            self._links.setdefault(reading.line(link.start), []).append(link)
        self.taken: set[int] = set()
        self.footnotes: list[Entry] = []
        self.definitions: list[Entry] = []
        self.lists: list[Sources] = []
        self.empty: list[int] = []  # headings with nothing below
        self._define()
        self._headed()
        if not any(found.entries and not found.further for found in self.lists):
            self._headless()
        self.keys = set(_BIBTEX.findall(reading.raw))
        self.outside = bool(re.search(r"^(?:bibliography|csl):", reading.front, re.M))
        if re.search(r"^references:", reading.front, re.M):
            self.keys |= set(_FRONT_KEY.findall(reading.front))

    # Definitions

    def _define(self) -> None:
        lines = self._reading.lines
        last: Entry | None = None
        for at, line in enumerate(lines):
            text = self._reading.text(line)
            match = _DEFINED.match(text) if line.kind in ("text", "item") else None
            entry = self._defined(match, line) if match else None
            if entry:
                last = entry
                self.taken.add(line.number)
            elif last and last.sort == "footnote" and (
                (line.kind == "blank" and at + 1 < len(lines) and self._indented(lines[at + 1]))
                or (self._indented(line) and line.kind != "blank")
                or (line.kind == "text" and lines[at - 1].kind != "blank")
            ):  # fmt: skip
                if line.kind != "blank":
                    self.taken.add(line.number)
                    self._extend(last, line)
            else:
                last = None

    def _indented(self, line: Line) -> bool:
        return (
            self._reading.raw[line.start : line.end].startswith(("  ", "\t"))
            and line.kind != "blank"
        )

    def _defined(self, match: re.Match[str], line: Line) -> Entry | None:
        key, rest = match[2].strip(), match[3]
        if match[1]:
            entry = self._entry("footnote", key, line)
            self.footnotes.append(entry)
            return entry
        if not (_ADDRESSED.match(rest) and _DEFINITION.fullmatch(rest)):
            return None
        entry = self._entry("link", key.casefold(), line)
        if not entry.urls:
            entry.urls = [rest.split()[0].strip("<>")]
        self.definitions.append(entry)
        return entry

    def _entry(self, sort: Sort, key: str, line: Line, form: str = "") -> Entry:
        entry = Entry(sort, key, line.number, line.start, line.start, form=form)
        self._extend(entry, line)
        return entry

    def _extend(self, entry: Entry, line: Line) -> None:
        text = self._reading.text(line)
        entry.end = line.end
        entry.text = f"{entry.text} {self._reading.raw[line.start : line.end]}".strip()
        links: list[Link] = self._links.get(line.number, [])
        urls = [link.url for link in links if not link.url.startswith("#")]
        covered = [(link.start, link.end) for link in links]
        for match in ADDRESS.finditer(text):
            at = line.start + match.start()
            if not any(start <= at < end for start, end in covered):
                urls.append(trimmed(match[0]))
        entry.urls += [url for url in urls if url not in entry.urls]

    # Lists under a heading

    def _headed(self) -> None:
        lines = self._reading.lines
        current: Sources | None = None
        level = 0
        for line in lines:
            if line.kind in ("code", "blank"):
                continue
            kind = self._headline(line)
            if kind is None and current and line.kind == "heading":
                if line.level > level:
                    current.grouped = True
                    self.taken.add(line.number)
                    continue
                self._kept(current)
                current = None
            elif kind is None and current and level == 7 and self._is_label(line):
                self._kept(current)
                current = None
            elif kind is not None and not (current and kind == "name" and level < line.level):
                self._kept(current)
                level = line.level or 7
                current = Sources(line.number, further=kind == "further")
                current.headed = kind != "weak"
                continue
            if current:
                self._listed(current, line)
        self._kept(current)

    def _kept(self, found: Sources | None) -> None:
        """A list is one if something is in it; below a weak heading, something with a number."""
        if found is None:
            return
        strong = found.headed or any(entry.sort == "number" for entry in found.entries)
        plain = [entry for entry in found.entries if entry.sort == "plain"]
        wordy = found.headed and plain and len(plain) == len(found.entries) and not any(
            entry.urls or re.search(r"\b(?:1[5-9]|20)\d\d|n\.d\.|《|“|\"|\*|\.(?:pdf|docx?|xlsx|csv|md)\b|[@＠][0-9a-f]{4}", entry.text) for entry in plain
        )  # fmt: skip
        if found.entries and strong and not wordy:
            self.lists.append(found)
            last = found.entries[-1].end
            self.taken.update(range(found.line, self._reading.line(last) + 1))
        elif not found.entries and found.headed and not found.further:
            self.empty.append(found.line)

    def _headline(self, line: Line) -> str | None:
        """Whether a line is the heading of a list: a name, a weak name, or one of more to read."""
        text = self._reading.text(line)
        if line.kind != "heading" and not self._is_label(line):
            return "name" if self._is_title(line) else None
        words = self._reading.title(line) if line.kind == "heading" else text
        return named(words)

    def _is_title(self, line: Line) -> bool:
        """Return whether a line names a list of sources, without being marked as a heading,
        directly above a numbered line."""
        if line.kind != "text" or named(self._reading.text(line)) != "name":
            return False
        below = next((n for n in self._reading.lines[line.number :] if n.kind != "blank"), None)
        return below is not None and self._numbered(below) is not None

    def _is_label(self, line: Line) -> bool:
        if line.kind not in ("text", "item") or line.end - line.start > 80:
            return False
        text = self._reading.text(line).strip()
        return _HEADLINE.fullmatch(text) is not None or (
            text.startswith("【") and text.endswith("】")
        )

    def _listed(self, current: Sources, line: Line) -> None:
        text = self._reading.text(line)
        if line.kind == "rule" or line.number in self.taken:
            return
        if line.kind == "row" and (
            re.fullmatch(r"[\s|:-]*", text) or self._is_head(line) or not re.search(r"\w", text)
        ):
            return
        entry = self._numbered(line) or self._labelled(line)
        if entry is None and _TAGGED.match(self._reading.raw[line.start : line.end]):
            count = sum(entry.form == "tagged" for entry in current.entries[-1:])
            number = int(current.entries[-1].id) + 1 if count else 1
            entry = self._entry("number", str(number), line, "tagged")
        if entry is None and (line.kind == "row" or _BULLET.match(text)):
            deep = len(text) - len(text.lstrip()) >= 2 and current.entries
            if deep and line.kind != "row":
                self._extend(current.entries[-1], line)
                return
            entry = self._entry("plain", "", line, form="bullet")
        if entry:
            current.entries.append(entry)
            return
        above = self._reading.lines[line.number - 2] if line.number > 1 else None
        goes_on = current.entries and (
            (above and above.kind not in ("blank", "rule")) or self._indented(line)
        )
        address = ADDRESS.match(text.strip())
        if goes_on or (address and current.entries and not current.entries[-1].urls):
            if current.entries[-1].sort == "plain" and current.entries[-1].urls and address:
                current.entries.append(self._entry("plain", "", line, form="text"))
            else:
                self._extend(current.entries[-1], line)
        elif not (current.entries and current.entries[-1].sort == "number"):
            current.entries.append(self._entry("plain", "", line, form="text"))

    def _is_head(self, line: Line) -> bool:
        """Whether a row is the head of its table: the line below is one of dashes."""
        below = self._reading.lines[line.number] if line.number < len(self._reading.lines) else None
        return (
            below is not None
            and re.fullmatch(r"[\s|:-]*-[\s|:-]*", self._reading.text(below)) is not None
        )

    def _numbered(self, line: Line) -> Entry | None:
        match = _NUMBERED.match(self._reading.text(line))
        if not match:
            return None
        form = str(match.lastgroup)
        number = match[form]
        if form == "circled":
            value = _CIRCLED.index(number) + 1
        else:
            value = int(unicodedata.normalize("NFKC", number.translate(_SUPERS)))
        return self._entry("number", str(value), line, form)

    def _labelled(self, line: Line) -> Entry | None:
        match = _LABEL.match(self._reading.text(line))
        if not match:
            return None
        return self._entry("label", (match["box"] or match["at"]).lstrip("@"), line, "label")

    # Lists without a heading

    def _headless(self) -> None:
        runs: list[list[tuple[Line, Entry]]] = [[]]
        ruled = False
        cites = _CITES.search(self._reading.raw) is not None
        for line in self._reading.lines:
            if line.kind in ("blank", "code") or line.number in self.taken:
                continue
            entry = None
            if line.kind in ("text", "item", "quote"):
                entry = self._numbered(line) or self._labelled(line)
            if entry and self._stands_alone(entry, ruled, cites):
                first = runs[-1][0][1] if runs[-1] else None
                if first and _place(entry) <= _place(first) and (
                    len(runs[-1]) > 1 or (entry.urls and not first.urls)
                ):  # fmt: skip
                    runs.append([])  # it begins anew: a list below numbered paragraphs
                runs[-1].append((line, entry))
            elif (
                runs[-1]
                and line.kind == "text"
                and self._reading.lines[line.number - 2].kind != "blank"
            ):
                self._extend(runs[-1][-1][1], line)
            else:
                runs.append([])
            ruled = line.kind == "rule" or (ruled and bool(runs[-1]))
        text_ends = [
            line.number for line in self._reading.lines if line.kind not in ("blank", "rule")
        ]
        bare = not any(entry.urls for run in runs for _, entry in run)
        for run in runs:
            numbers = [_place(entry) for _, entry in run]
            addressed = sum(bool(entry.urls) for _, entry in run)
            rising = len(run) >= 2 and numbers[0] <= 2 and len(set(numbers)) > 1
            last = bool(run) and self._reading.line(run[-1][1].end) >= text_ends[-1] - 3
            if run and (
                (addressed * 2 >= len(run) and (last or rising))
                or (rising and last and (addressed or bare))
            ):
                found = Sources(run[0][0].number, [entry for _, entry in run])
                self.lists.append(found)
                end = self._reading.line(run[-1][1].end)
                self.taken.update(range(found.line, end + 1))

    def _stands_alone(self, entry: Entry, ruled: bool, cites: bool) -> bool:
        """Return whether a line counts as an entry of a list of sources without a heading above
        it."""
        if entry.form in ("boxed", "caret", "super"):
            return True
        if entry.form in ("named", "label", "circled"):
            return bool(entry.urls) and _place(entry) > 0
        last = cites and _ADDRESS_LAST.search(entry.text)
        return bool(entry.form == "dotted" and entry.urls and (ruled or last))


def _place(entry: Entry) -> int:
    """The number of an entry, or of its label; 0 without one."""
    digits = re.search(r"\d+$", entry.id)
    return int(digits[0]) if digits else 0


@cache
def _headings() -> dict[str, str]:
    """The usual headings of lists, and what kind of list each announces (`data/source_lists.tsv`)."""
    return {heading: kind for kind, heading in data.rows("source_lists.tsv")}


def begins(words: str) -> bool:
    """Return whether the words are the heading of a list of sources, or the beginning of such a
    heading."""
    name = " ".join(_bare(words).lower().split())
    return bool(name) and any(heading.startswith(name) for heading in _headings())


def _bare(words: str) -> str:
    """A heading without its number, its marks and what is drawn beside it."""
    words = re.sub(r"[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f]", "", words)
    words = re.sub(r"\{[^{}]{0,80}\}\s*$", "", words)
    return _DECORATION.sub("", words).rstrip(" *_:：#】]）)|.")


def named(words: str) -> str | None:
    """Return the kind of list that a heading announces; None if it announces none."""
    words = _bare(words)
    for part in (
        words,
        *re.split(
            r"\s*[/(（|·\-–—&]\s*|\s+and\s+|(?<=[\u4e00-\u9fff])\s+(?=[A-Za-z])", words, maxsplit=1
        ),
    ):
        name = " ".join(part.replace("&", "and").lower().split()).strip(" *_:：")
        if name in (kinds := _headings()):
            return kinds[name]
        if part is not words and name:
            break
    return None
