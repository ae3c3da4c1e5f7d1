"""Citations that point into a list of sources within the text itself: numbers, footnotes, labels,
names.

A model that was asked to cite by handles may use another style that it has learned: [1] or ¹ in the
text and the addresses at the end. Where an entry of its list names a gathered source, the marks
that point to the entry become citations of that source, and the list is removed, because the
program adds its own. All other marks are removed as well and leave a sentence without a source.
This module knows Markdown and the gathered sources; `research.citations.styles` defines marks and
lists.
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

from research.citations.styles.addresses import identity
from research.citations.styles.lists import NAMES, Entry, Lists, Sources, begins, named
from research.citations.styles.marks import Mark, Marks, numbers_in
from research.citations.styles.parsing import ParsedReport
from research.core.records import Cite, normalised
from research.core.text.words import HAN

# Meaning of a mark: a source, no source, or one that a list not yet written may name.
Meaning = Cite | None | Literal["pending"]
Put = Callable[[Iterable[Meaning]], str]

_HANDLE = re.compile(r"[@＠]\s?([0-9a-f]{4,8})(?![0-9a-z])", re.IGNORECASE)
_TOKEN = re.compile(r"[【\[［]\s*(\d{1,3})(?::\d{1,3})?\s*†")
# Labels that search tools give to sources for models: S1, web:2, doc_3.
_KIND = r"(?:S|web|doc(?:ument)?|(?:search[ _]?)?result|snippet|passage|chunk|src|source|note|注释?)[ _:#-]?"
_WORD = rf"(?:参考资料|参考文献|资料来源|信息来源|注释?|{NAMES}) ?[:：]? ?#?"
_NEXT = r"\s*(?:[,;、，；&|–~-]|and|和|与|及)\s*"
_LABELLED = re.compile(
    rf"[\[［【〔]\s*{_KIND}\d{{1,3}}(?:{_NEXT}(?:{_KIND})?\d{{1,3}})*\s*[\]］】〕]"
    rf"|[(（]\s*(?:see |cf\. |参见|见)?{_WORD}\[?\d{{1,3}}(?:{_NEXT}(?:{_WORD})?\d{{1,3}})*\]?\s*[)）]",
    re.IGNORECASE,
)
# A number with a position or a word beside it; a time or a ratio unless the list has the number.
_PLACED = re.compile(
    r"[\[［【]\s*(?:see |cf\. |参见|见)?(\d{1,3})(?:\s*[:：]\s*\d{1,4}(?:\s*[–-]\s*\d{1,4})?)?\s*[\]］】]",
    re.IGNORECASE,
)
# A source referred to by its number: Source 2, 来源2. In contrast, 资料3份 is a count.
_CALLED = re.compile(
    r"(?<!\w)((?:Source|Reference|Ref\.) ?|(?:来源|文献|资料) ?)[\[［【]?(\d{1,3})[\]］】]?(?!\.?\d|\s?[篇份个條条种種项項本部件%])"
    rf"|(?<=[{HAN}])((?:来源|文献|资料) ?)[\[［【]?(\d{{1,3}})[\]］】]?(?!\.?\d|\s?[篇份个條条种種项項本部件%])"
)
_CREDITED = re.compile(
    rf"[(（\[［【]\s*(?:{NAMES})\s*[:：]\s*([^()（）\[\]［］【】\n]{{2,200}})[)）\]］】]",
    re.IGNORECASE,
)
# Text before a raised number that is no exponent: a word, or the end of a sentence or quotation.
_RAISED = re.compile(rf"(?:[{HAN}.,;:!?。，；：！？”’」』》\"'%]|[^\W\d_]{{3}})[*_ ]{{0,2}}$")
_SUPERSCRIPT = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹①-⑳^>]")

# A list written on one line: its entries, each with an address or a handle.
_REACHED = re.compile(r"https?://|(?<![\w@/.-])www\.|[@＠]\s?[0-9a-f]{4}", re.IGNORECASE)
_ENTRY = re.compile(
    rf"(?:^|(?<=[\s;；,，。、:：]))(?:[\[［【]\s*(?:(?:{NAMES}) ?[:：] ?|{_KIND})?\^?\d{{1,3}}(?:†[^\]］】\n]*)?[\]］】][:：]?|[¹²³⁴⁵⁶⁷⁸⁹]{{1,3}}|\^\d{{1,3}}\^)(?=\s*\S)",
    re.IGNORECASE,
)
_INTRO = re.compile(
    rf"[ \t]*[^\n]{{0,60}}(?:{NAMES}|links?|链接)[^\n]{{0,20}}[:：][ \t*_]*", re.IGNORECASE
)
_NOTES = re.compile(
    r"\W*(?:(?:foot|end)?notes?|remarks?|[脚尾备附]?注[释釋]?|備註|註[釋解]?)\W*", re.IGNORECASE
)
_RULES = re.compile(r"(?:\n[ \t]*(?:-[ \t]*|\*[ \t]*|_[ \t]*){3,})+\s*\Z")
_BARE = re.compile(
    r"(?<![\w./@-])((?:[a-z0-9-]+\.)+[a-z]{2,}/[^\s<>()（）\[\]，。；]*)", re.IGNORECASE
)
_DATE = re.compile(
    r" (?:(?:accessed|retrieved|published|updated|访问\w*|发布\w*) )?(?:(?:1[5-9]|20)\d\d(?: \d{1,2}){0,2}|undated)$"
)
_PARAGRAPH = re.compile(
    r"^[ \t>]*([\[［【](\d{1,3})[\]］】])(?=[ \t]*[^\s:：(\[［【])", re.MULTILINE
)
_STOPPED = re.compile(r"[.。!！?？][\"”’」』)）]*\s*$")
_NUMBER = re.compile(r"[\^\d\s,;、&+–—-]+")


class Gathered(NamedTuple):
    """Sources that may be cited, by handle, by identity of their address, and by `normalised`
    title."""

    handles: Mapping[str, Cite]
    urls: Mapping[str, Cite]
    titles: Mapping[str, Cite] = {}

    def named(self, entry: Entry) -> tuple[Cite, ...]:
        """Return the sources that an entry of a list refers to by handle or address, or else by
        title."""
        keys = _HANDLE.findall(unicodedata.normalize("NFKC", entry.text))
        found = [self.handles.get(key.lower()) for key in keys]
        found += [self.urls.get(identity(url)) for url in entry.urls]
        if not entry.urls:  # some leave out the scheme
            bare = _BARE.findall(entry.text)
            found += [self.urls.get(identity(f"https://{address}")) for address in bare]
        if not any(found) and not entry.urls:
            label = rf"^\D{{0,12}}?0*{re.escape(normalised(entry.id))}(?!\d) ?" if entry.id else "^"
            found = [self.titled(re.sub(label, "", normalised(entry.text)))]
        return tuple(dict.fromkeys(cite for cite in found if cite))

    def titled(self, name: str) -> Cite | None:
        """Return the source with a title; the given name may end in a date."""
        name = normalised(name)
        return self.titles.get(name) or self.titles.get(_DATE.sub("", name))


class Resolved(NamedTuple):
    """A text whose own list of sources is removed and whose marks are placeholders, with the
    sources of each number of that list."""

    text: str
    numbers: Mapping[str, tuple[Cite, ...]] = {}

    def meant(self, content: str) -> list[Cite | None]:
        """Return the sources of the numbers within brackets; [None] if no list of the text has
        these numbers."""
        known = numbers_in(content) if _NUMBER.fullmatch(content) else []
        cites = [cite for number in known for cite in self.numbers.get(number, (None,))]
        return list(dict.fromkeys(cites)) or [None]


def resolve(text: str, gathered: Gathered, put: Put, *, awaited: bool = False) -> Resolved:
    """Replace the marks that point into the text's own list of sources, and remove that list.

    `put` makes the placeholder for the meanings of a mark. With `awaited` the text is still being
    written and its list may follow: lines that look like the beginning of a list are left out, and
    a mark without a known source is "pending".
    """
    return _Resolver(_in_lines(text), gathered, put, awaited=awaited).resolved()


def _in_lines(text: str) -> str:
    """Return the text with each entry of a list of sources on a line of its own."""
    reading = ParsedReport(text)
    kinds = [line.kind for line in reading.lines]
    last = max((at for at, kind in enumerate(kinds) if kind != "blank"), default=0)
    lines = zip(reading.raw.split("\n"), kinds, strict=True)
    return "\n".join(
        line if kind == "code" else _entries(line, last=at == last)
        for at, (line, kind) in enumerate(lines)
    )


def _entries(line: str, *, last: bool) -> str:
    if not _REACHED.search(line):
        return line
    starts = [match.start() for match in _ENTRY.finditer(line)]
    head = line[: starts[0]] if starts else line.partition(":")[0].partition("：")[0]
    titled = bool(head.strip()) and named(head) is not None
    if starts and (titled or (len(starts) > 1 and not head.strip(" \t>*-"))):
        parts = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
    elif titled and last and not starts:
        rest = line[len(head) :].lstrip(":： *_")
        parts = [
            f"- {part}" for part in re.split(r"[;；、]\s*|,\s+|，|\s+(?=https?:|\[@)", rest) if part
        ]
    else:
        return line
    if not all(_REACHED.search(part) for part in parts):
        return line
    return "\n".join([*([head.strip(" \t:：*_") + ":"] if titled else []), *parts])


@dataclass
class _Resolver:
    """Resolution of the marks of one text."""

    text: str
    gathered: Gathered
    put: Put
    awaited: bool = False
    _cited: set[int] = field(default_factory=set)  # `id()` of each entry that a mark cites

    def __post_init__(self) -> None:
        self._reading = ParsedReport(self.text)
        self._lists = Lists(self._reading)
        self._marks = Marks(self._reading, self._lists)
        self._means: dict[int, tuple[Cite, ...]] = {}
        self._sources = [
            found for found in self._lists.lists if not found.further and not self._remarks(found)
        ]
        self._none: Meaning = "pending" if self.awaited else None
        self._points = False  # whether any mark is of a style that needs a list
        self._resolves = False  # whether anything outside the list is cited

    def resolved(self) -> Resolved:
        changes = [*self._changes()]
        gone = self._gone()
        kept = [c for c in changes if self._reading.line(c[0]) not in gone]
        lines = self._reading.lines
        removed = [(lines[n - 1].start, lines[n - 1].end + 1, "") for n in gone]
        out, at = [], 0
        for start, end, new in sorted([*kept, *removed]):
            if start >= at:
                out += [self.text[at:start], new]
                at = end
        text = "".join(out) + self.text[at:]
        if gone:
            text = _RULES.sub("", text.rstrip())
        return Resolved(text, self._numbers())

    def _numbers(self) -> dict[str, tuple[Cite, ...]]:
        entries = [e for found in self._sources for e in found.entries if e.sort == "number"]
        entries += [
            e for e in (*self._lists.definitions, *self._lists.footnotes) if e.id.isdecimal()
        ]
        out: dict[str, tuple[Cite, ...]] = {}
        for entry in entries:
            key, meant = str(int(entry.id)), self._meant(entry)
            out[key] = meant if out.get(key, meant) == meant else ()
        return {key: cites for key, cites in out.items() if cites}

    def _meant(self, entry: Entry) -> tuple[Cite, ...]:
        if id(entry) not in self._means:
            self._means[id(entry)] = self.gathered.named(entry)
        return self._means[id(entry)]

    # Marks

    def _changes(self) -> Iterator[tuple[int, int, str]]:
        """Yield the start and end of each mark, with the text that replaces it."""
        at = 0
        found = [*self._styled(), *self._written(), *self._tagged(), *self._no_marks()]
        for start, end, new in sorted(found):
            if start >= at:
                at = end
                yield start, end, new

    def _styled(self) -> Iterator[tuple[int, int, str]]:
        marks = sorted(self._marks.all, key=lambda mark: (mark.start, mark.end))
        for (start, end), group in groupby(marks, key=lambda mark: (mark.start, mark.end)):
            own = list(group)
            found = [meant for mark in own for meant in self._meaning(mark)]
            if not found:
                continue
            words = self.text[start:end] if own[0].sort == "author" else ""
            if self.text[start - 1 : start + 1] in ("\\[", "[i") and own[0].style != "references":
                start -= 1
            if self.text[start] == ">" and self.text[end - 1] == "<":  # <sup>1</sup>
                start, end = start + 1, end - 1
            elif self.text[start - 1 : start] in ("(", "（") and self.text[start].isdecimal():
                start, end = start - 1, end + 1
            elif own[0].style == "references":  # [words][1]
                words = self.text[start + 1 : end].partition("]")[0]
            yield start, end, words + self.put(dict.fromkeys(found))

    def _meaning(self, mark: Mark) -> Sequence[Meaning]:
        """Return the meanings of a mark; nothing if it is no citation, or if it has an address or a
        gathered handle that names its source."""
        if mark.sort in ("number", "footnote", "label") and not mark.soft:
            self._points = True
        if mark.sort == "number":
            return () if mark.url else self._number(mark)
        if mark.sort == "footnote" and mark.id[:1] in ("@", "＠"):
            return ()
        if mark.sort == "footnote":
            return self._of(self._apart.get(("footnote", mark.id), ())) or [self._none]
        if mark.sort == "link":
            entries = [e for e in self._apart.get(("link", mark.id), ()) if _leads(e)]
            return (self._of(entries) or [self._none]) if entries else ()
        if mark.sort == "label":
            return self._label(mark.id) or [self._none]
        if mark.sort == "key":
            latex = self.text.startswith("\\", mark.start)
            known = mark.id.lower() in self.gathered.handles
            return () if known else self._label(mark.id) or ([self._none] if latex else ())
        if mark.sort == "author":
            return self._author(mark)
        if mark.style == "tokens":
            token = _TOKEN.match(mark.id)
            number = (
                token[1] if token else next(iter(re.findall(r"\d{1,3}(?=\s*\]$)", mark.id)), "")
            )
            return self._of(self._numbered(number, mark.start)) or [self._none]
        return ()

    def _number(self, mark: Mark) -> Sequence[Meaning]:
        entries = self._numbered(mark.id, mark.start)
        raised = _SUPERSCRIPT.search(self.text[mark.start : mark.end])
        fallen = mark.style == "superscripts" and not raised and mark.end - mark.start < 4
        if fallen and not self._bracketed(mark):
            return ()
        if cites := self._of(entries):
            return cites
        before = self.text[max(0, mark.start - 12) : mark.start]
        before = re.sub(r"\s*<sup[^<>]*$", "", before)
        if mark.soft and not entries and not (raised and _RAISED.search(before)):
            return ()
        return [self._none]

    def _bracketed(self, mark: Mark) -> bool:
        """Return whether a number is in round brackets and ends its clause, sentence or line."""
        around = self.text[mark.start - 1 : mark.start], self.text[mark.end : mark.end + 1]
        behind = re.match(r"\s*(?:[.,;。，；]|\n|$)", self.text[mark.end + 1 :])
        return around in (("(", ")"), ("（", "）")) and behind is not None

    def _numbered(self, number: str, at: int) -> list[Entry]:
        """Return the entries with a number, from the next list below the position, or else from the
        last list."""
        number = str(int(number)) if number else ""
        if places := self._index.get(number):
            below = bisect_left(places, self._reading.line(at), key=lambda place: place[0])
            return places[min(below, len(places) - 1)][1]
        return self._ordered[int(number) - 1 : int(number)] if number.strip("0") else []

    @cached_property
    def _apart(self) -> dict[tuple[str, str], list[Entry]]:
        """Footnotes and link definitions of the text, by sort and key."""
        out: dict[tuple[str, str], list[Entry]] = {}
        for entry in (*self._lists.definitions, *self._lists.footnotes):
            out.setdefault((entry.sort, entry.id), []).append(entry)
        return out

    @cached_property
    def _index(self) -> dict[str, list[tuple[int, list[Entry]]]]:
        """For each number, its entries in each list that has it, with the first line of that
        list."""
        apart = [e for e in (*self._lists.definitions, *self._lists.footnotes) if e.id.isdecimal()]
        lists = [(found.line, found.entries) for found in self._sources]
        out: dict[str, list[tuple[int, list[Entry]]]] = {}
        for line, entries in sorted(lists, key=lambda one: one[0]):
            for entry in entries:
                if entry.sort == "number":
                    places = out.setdefault(entry.id, [])
                    if not places or places[-1][0] != line:
                        places.append((line, []))
                    places[-1][1].append(entry)
        others: dict[str, list[Entry]] = {}
        for entry in apart:
            others.setdefault(str(int(entry.id)), []).append(entry)
        return {**{key: [(0, own)] for key, own in others.items()}, **out}

    @cached_property
    def _ordered(self) -> list[Entry]:
        """Entries of an unnumbered list, if their count equals the highest number cited in the
        text."""
        numbers = [int(m.id) for m in self._marks.all if m.sort == "number" and not m.soft]
        for found in self._sources:
            plain = found.headed and all(entry.sort == "plain" for entry in found.entries)
            if plain and max(numbers, default=0) == len(found.entries):
                return found.entries if all(map(self._meant, found.entries)) else []
        return []

    def _of(self, entries: Iterable[Entry]) -> Sequence[Cite]:
        """Return the sources of entries that share a number; nothing if the entries have different
        sources."""
        own = list(entries)
        self._cited.update(map(id, own))
        meant = {self._meant(entry) for entry in own}
        cites = meant.pop() if len(meant) == 1 else ()
        self._resolves = self._resolves or bool(cites)
        return cites

    def _label(self, label: str) -> Sequence[Cite]:
        return self._of(self._labels_index.get(label.casefold(), ()))

    @cached_property
    def _labels_index(self) -> dict[str, list[Entry]]:
        out: dict[str, list[Entry]] = {}
        for entry in (e for found in self._sources for e in found.entries if e.sort == "label"):
            out.setdefault(entry.id.casefold(), []).append(entry)
        return out

    def _author(self, mark: Mark) -> Sequence[Meaning]:
        """Return the source cited by name and year, if exactly one entry of the lists contains
        both."""
        names, _, year = mark.id.rpartition("|")
        told = re.search(r"((?:[A-Z][\w’'-]+(?: et al\.?|,? (?:and|&) )?){1,3}) ?$", names)
        names = (told[1] if told else "") if names.startswith("\x00") else names
        words = re.findall(rf"[A-Z][^\W\d_][\w’'-]*|[{HAN}]{{2,4}}", names)
        dated = self._dated.get(year[:4], ()) if words else ()
        fits = [e for e in dated if year in e.text and all(word in e.text for word in words)]
        return (self._of(fits) or [self._none]) if len(fits) == 1 else ()

    @cached_property
    def _dated(self) -> dict[str, list[Entry]]:
        """Entries that a citation by name and year may refer to, by the years in their text."""
        out: dict[str, list[Entry]] = {}
        for entry in (e for s in self._sources for e in s.entries if e.sort != "label"):
            for year in set(re.findall(r"(?<!\d)(?:1[5-9]|20)\d\d", entry.text)):
                out.setdefault(year, []).append(entry)
        return out

    def _written(self) -> Iterator[tuple[int, int, str]]:
        """Yield the replacements of marks in words: (Source 1), [web:2], 来源3, (来源：title)."""
        plain = self._reading.plain
        for match in _LABELLED.finditer(plain):
            if self._listed(match.start()):
                continue
            found = self._labels(match[0], match.start())
            if any(found) or not re.match(r"[(（]\s*注", match[0]):  # a note may belong to the text
                yield *match.span(), self.put(dict.fromkeys(found))
        for match in _PLACED.finditer(plain):
            if self._listed(match.start()):
                continue
            cites = self._of(self._numbered(match[1], match.start()))
            if cites or self.awaited:
                yield *match.span(), self.put(cites or [self._none])
        for match in _CALLED.finditer(plain):
            word, number = match[1] or match[3], match[2] or match[4]
            entries = self._numbered(number, match.start())
            if entries and not self._listed(match.start()) and (cites := self._of(entries)):
                yield *match.span(), word.rstrip() + self.put(cites)
        for match in _CREDITED.finditer(plain):
            if not self._listed(match.start()) and (cite := self.gathered.titled(match[1])):
                self._resolves = True
                yield *match.span(), self.put([cite])

    def _labels(self, text: str, at: int) -> list[Meaning]:
        inner = text.strip("[］［]【】〔〕()（） ")
        found: list[Meaning] = []
        for part in re.split(r"[,;、，；&|]|and|和|与|及", inner):
            if cites := self._label(part.strip()):
                found += cites
                continue
            for number in numbers_in(part):
                found += self._of(self._numbered(number, at)) or [self._none]
        return found

    def _tagged(self) -> Iterator[tuple[int, int, str]]:
        """Yield the replacements of HTML links: their words with a citation."""
        for link in self._reading.tagged:
            words = self.text[slice(*link.words)]
            if link.url.startswith("#") or self._listed(link.start) or "\n" in words:
                continue
            cite = self.gathered.urls.get(identity(link.url))
            self._resolves = self._resolves or bool(cite)
            number = re.fullmatch(r"[\s\[\]\d]*", words)
            yield link.start, link.end, ("" if number else words) + self.put([cite])

    def _no_marks(self) -> Iterator[tuple[int, int, str]]:
        """Yield the replacements of bracketed numbers that are no citations.

        An index or an interval becomes code, and the numbers of paragraphs get round brackets.
        """
        for start, end in self._marks.others:
            inner = self.text[start + 1 : end - 1]
            alone = re.search(r"(?<![\w.])[a-z]$", self.text[max(0, start - 3) : start])
            sure = (
                not alone or re.match(r"\s*=", self.text[end : end + 9]) or "0" in inner.split(",")
            )
            if sure and _NUMBER.fullmatch(inner) and not re.search(r"\d{4}", inner):
                yield start, end, f"`{self.text[start:end]}`"
        run: list[re.Match[str]] = []
        for match in [*_PARAGRAPH.finditer(self._reading.plain), None]:
            if match and run and int(match[2]) == int(run[-1][2]) + 1:
                run.append(match)
                continue
            for one in run if len(run) > 1 else ():
                if not any(map(self._names, self._numbered(one[2], one.start()))):
                    yield one.start(1), one.end(1), f"({one[2]})"
            run = [match] if match else []

    def _names(self, entry: Entry) -> bool:
        """Return whether an entry refers to a gathered source or has a web address."""
        return bool(self._meant(entry)) or _leads(entry)

    def _listed(self, at: int) -> bool:
        return self._reading.line(at) in self._lists.taken

    # The list

    def _gone(self) -> set[int]:
        """Return the numbers of the lines to remove: lists of sources without other content, and
        their headings."""
        cites = self._resolves or self._cites_otherwise()
        gone: set[int] = set()
        for entry in (*self._lists.definitions, *self._lists.footnotes):
            cited = id(entry) in self._cited and self._means_source(entry, within=False)
            if cited or (cites and self._meant(entry)):
                gone |= self._lines_of(entry)
        for found in self._sources:
            gone |= self._lines_of_list(found, cites=cites)
        if self.awaited:
            gone |= self._begun(gone)
        return gone | self._introduced(gone)

    def _cites_otherwise(self) -> bool:
        """Return whether the text outside its lists cites a gathered source by a handle or an
        address."""
        lines = (line for line in self._reading.lines if line.number not in self._lists.taken)
        text = "\n".join(self._reading.text(line) for line in lines)
        if any(key.lower() in self.gathered.handles for key in _HANDLE.findall(text)):
            return True
        links = (link for link in self._reading.links if not self._listed(link.start))
        bare = (mark.url for mark in self._marks.all if mark.sort == "link" and mark.url)
        urls = (*(link.url for link in links), *bare)
        return any(self.gathered.urls.get(identity(url)) for url in urls)

    def _means_source(self, entry: Entry, *, within: bool) -> bool:
        """Return whether an entry names a source.

        An entry `within` a list under a heading counts without naming one, if it is cited or the
        text has marks that point to a list.
        """
        return self._names(entry) or (within and (id(entry) in self._cited or self._points))

    def _lines_of_list(self, found: Sources, *, cites: bool) -> set[int]:
        headed = self._reading.line(found.entries[0].start) != found.line
        cited = any(id(entry) in self._cited for entry in found.entries)
        cited = cited or (self._points and all(e.sort == "number" for e in found.entries))
        if self.awaited and headed and self._marks.all:
            sources = found.entries
        elif cited:
            within = headed and not self._notes(found)
            sources = [e for e in found.entries if self._means_source(e, within=within)]
        elif cites and all(self._is_entry(entry) for entry in found.entries):
            sources = found.entries
        else:
            return set()
        gone: set[int] = set().union(*map(self._lines_of, sources))
        if len(sources) == len(found.entries) and gone:  # remove headings and table rules as well
            lines = self._reading.lines[found.line - 1 : max(gone)]
            gone |= {line.number for line in lines if line.kind in ("heading", "row", "rule")}
            gone.add(found.line)
        return gone

    def _notes(self, found: Sources) -> bool:
        """Return whether the heading of a list announces notes, which may hold parts of the answer
        beside sources."""
        line = self._reading.lines[found.line - 1]
        return _NOTES.fullmatch(self.text[line.start : line.end]) is not None

    def _remarks(self, found: Sources) -> bool:
        """Return whether a list is headed as notes and contains no source."""
        return self._notes(found) and not any(map(self._names, found.entries))

    def _is_entry(self, entry: Entry) -> bool:
        """Return whether an entry without a mark pointing to it is an entry of a list of sources,
        rather than a sentence that cites a source."""
        begins_so = re.match(r"[\s\d.)*+>-]*[\[［【(（]?\s*[@＠]", entry.text)
        return bool(self._meant(entry)) and bool(
            entry.urls or begins_so or entry.sort != "plain" or not _HANDLE.search(entry.text)
        )

    def _lines_of(self, entry: Entry) -> set[int]:
        """Return the line numbers of an entry, without any complete sentence that follows it on an
        unindented line of its own."""
        first, last = self._reading.line(entry.start), self._reading.line(entry.end)
        out = {first}
        for line in self._reading.lines[first:last]:
            text = self.text[line.start : line.end]
            remark = not text.startswith((" ", "\t")) and _STOPPED.search(text)
            if not remark or _REACHED.search(text):
                out.add(line.number)
        return out

    def _introduced(self, gone: set[int]) -> set[int]:
        """Return the line numbers of headings and introductory words whose whole list is
        removed."""
        out: set[int] = set()
        below = False  # whether the next line that is not blank is removed
        for line in reversed(self._reading.lines):
            if line.kind == "blank" and line.number not in gone:
                continue
            if line.number in gone:
                below = True
                continue
            if below and (
                line.number in self._lists.empty or self._introduces(line.start, line.end)
            ):
                out.add(line.number)
            below = False
        return out

    def _introduces(self, start: int, end: int) -> bool:
        words = self.text[start:end]
        return _INTRO.fullmatch(words) is not None or named(words) is not None

    def _begun(self, gone: set[int]) -> set[int]:
        """Return the numbers of the last lines of a text that look like the beginning of a list of
        sources."""
        labels = " ".join(match[0] for match in _LABELLED.finditer(self._reading.plain))
        cited = {normalised(mark.id) for mark in self._marks.all} | set(numbers_in(labels))
        out: set[int] = set()
        passed: set[int] = set()  # lines that are entries if a heading above them is found
        for line in reversed(self._reading.lines):
            text = self.text[line.start : line.end]
            if not text.strip() or line.number in gone:
                continue
            titled = named(re.split("[:：]", text)[0]) == "name" or _INTRO.fullmatch(text)
            if (titled and cited) or (begins(text) and not passed | out):
                out |= passed | {line.number}
            elif not passed and self._is_next(text, cited):
                out.add(line.number)
            elif line.kind == "heading":
                break
            passed.add(line.number)
        return out

    def _is_next(self, text: str, cited: set[str]) -> bool:
        """Return whether a line begins with one of the marks cited in the text."""
        label = re.match(
            r"\s*[\[［【(^]?\^?\s*((?:\w{1,8}?[ _:-]?)?\d{1,3}|[¹²³⁴⁵⁶⁷⁸⁹]+)[\]］】)^:：]", text
        )
        raised = re.match(r"\s*([¹²³⁴⁵⁶⁷⁸⁹]+)", text)
        found = label or raised
        digits = re.search(r"\d+$", normalised(found[1])) if found else None
        return bool(digits and any(re.search(rf"(?<!\d){digits[0]}$", each) for each in cited))


def _leads(entry: Entry) -> bool:
    """Return whether an entry has a web address."""
    return any(url.lower().startswith(("http:", "https:", "www.")) for url in entry.urls)
