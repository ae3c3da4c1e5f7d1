"""The citations in the text of a report, in whatever style they are written.

Finds what is meant as a citation and what only pretends to be one. Whether a source stands behind
it is not known here.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from research import data
from research.citations.styles.addresses import ADDRESS, FALSE_ID, trimmed
from research.citations.styles.lists import NAMES, Lists
from research.citations.styles.parsing import Bracket, Link, ParsedReport
from research.core.text.words import HAN

Sort = Literal["number", "footnote", "label", "key", "link", "author", "note"]
Style = Literal[
    "numbered", "footnotes", "links", "author-year", "superscripts", "brackets", "keys", "labels",
    "references", "tokens",
]  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """A citation: what it points to, where it stands, and how it is written.

    `soft` ones count only if what they point to is there: x² is no citation.
    """

    sort: Sort
    id: str
    start: int
    end: int
    style: Style
    url: str = ""
    soft: bool = False


@dataclass(frozen=True)
class Oddity:
    """What is no citation but stands in the place of one."""

    kind: Literal["placeholder", "broken-link", "bare-address"]
    start: int
    end: int


_LOCATED = r"\s*[,:，：]\s*(?:pp?\.?|§+|(?:ch|sec|th|lem|fig|tab|eq|app|art|par|cor|prop|def)[a-z]{0,8}\.?|第)\s*[\w\s.,–-]{1,20}"
_DIGITS = r"\^?\d{1,4}"
_NUMBERS = re.compile(
    rf"\s*(?:(?:{NAMES}) ?[:：]?#? ?)?{_DIGITS}"
    rf"(?:\s*(?:[,;、，；&|+]|and|和|–|—|-|to|至|~)\s*{_DIGITS})*"
    rf"(?:{_LOCATED})?\s*",
    re.IGNORECASE,
)
_CITED = re.compile(r"\s*cite: ?", re.IGNORECASE)
_RANGE = re.compile(r"(\d{1,4})\s*(?:–|—|-|to|至|~)\s*\^?(\d{1,4})")
_KEYS = re.compile(
    r"-?@[\w][\w:.#$%&+?<>~/-]{0,100}(?:[^\[\]@;]{0,100})(?:;\s*[^\[\]@;]{0,60}-?@[\w][\w:.#$%&+?<>~/-]{0,100}[^\[\]@;]{0,100})*"
)
# Keys of figures, tables, equations and sections, which Quarto and pandoc-crossref write like sources.
_WITHIN = r"(?:fig|tbl?|tab|eqn?|sec|lst|alg|thm|lem|cor|pr[po]|cnj|def|exm|exr|sol|rem)[:-]"
_KEY = re.compile(rf"@(?!{_WITHIN})([\w][\w:.#$%&+?~/-]{{0,100}}(?<![:.,?]))")
_BARE_KEY = re.compile(
    rf"(?<![\w@./\[-])@(?!{_WITHIN})([A-Za-z][A-Za-z-]{{1,40}}\d{{2,4}}[a-z]?)\b"
)
_LATEX = re.compile(
    r"\\(?:cite[a-zA-Z]{0,12}|parencite|textcite|autocite|footcite)\*?(?:\[[^\[\]\n]{0,60}\]){0,2}\{([^{}\n]{1,300})\}"
)
_LABEL = re.compile(r"[A-Za-z][\w.:+-]{0,30}\d[\w.-]{0,6}|[A-Z]{2,6}[\w+-]{0,10}")
_PLACEHOLDER = re.compile(data.words("reports")["placeholders"], re.I)
_TOKENS = re.compile(
    r"[【\[]\s*\d{1,3}(?::\d{1,3})?\s*†[^】\]\n]{0,200}[】\]]"
    r"|(?:cite|navlist|i)?turn\d{1,3}(?:search|news|view|fetch|file|image|academia|reddit|forecast|finance|sports)\d{1,3}(?:turn\d{1,3}[a-z]{1,12}\d{1,3}){0,20}"
    r"|:contentReference\[oaicite:\d{1,3}\](?:\{index=\d{1,3}\})?|\[?oai_citation[:：]\d{1,3}[^\s\[\]]{0,200}\]?"
    r"|(?<![\w/.])(?:\[|\()?id/\d{1,3}-\d{1,3}\b(?:\]|\))?|\[cite_start\]|\[cite_end\]|<\|?cite[^<>\n]{0,60}>"
    r"|\[\s*(?:web|doc|search_result|result|snippet|passage|chunk|document)[_ :-]\d{1,3}\s*\]",
    re.IGNORECASE,
)
_UNCLOSED = re.compile(r"\[[^\[\]()\n]{1,200}\((?:https?://|www\.)[^\s()]{1,2000}\)")
_HALF = re.compile(r"\(\s*<?(?:https?:/|www\.)")
_SPACED = re.compile(r"[ \t]{1,3}\((?:https?://|www\.)[^\s()]{1,2000}\)")
_CARET = re.compile(r"\^\s*[\[(]?\s*(\d{1,3}(?:\s*[,，–-]\s*\d{1,3}){0,20})\s*[\])]?\s*\^")
# Superscripts that have lost their height: "in 2021.4 By then", or the last cell of a row.
_BARE = re.compile(
    rf"(?<=[^\W\d][.,;!?”\"’)。，；！？）])(\d{{1,2}}(?:,\d{{1,2}}){{0,9}})(?=\s|$)|(?<=\d{{4}}[.,;])(\d{{1,2}})(?=\s[A-Z])|(?<=[\s.。，,{HAN}])[(（](\d{{1,2}}(?:[,，、–-] ?\d{{1,2}}){{0,9}})[)）](?=[\s.,;。，；]|$)|\|[ \t]*(\d{{1,2}}(?:, ?\d{{1,2}}){{0,9}})[ \t]*\|?[ \t]*$",
    re.MULTILINE,
)
_SUPER = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}(?:[⁻˒,，·.][⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}){0,20}")
_UNIT_STOP = re.compile(r"[²³]\.(?=[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2}(?:$|[,，]))")
_SUPERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻˒·", "0123456789-,,")
_CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
# A circled number behind a word and before a stop; elsewhere it may count the items of a sentence.
_BEHIND = re.compile(rf"[\w”’」』》)）%][{_CIRCLED}]+(?:[，。；！？、,.;!?]|\s*$)", re.MULTILINE)
# What has an exponent: a unit, a symbol, a function, a number.
_POWERED = re.compile(
    r"(?:^|[^A-Za-z])(?:[a-zA-Zµμ]m?|ft|in|yd|mi|ha|dam|kg|lb|k?Wh?|kPa|Pa|Hz|mol|eV|CO|min|sec|sinh?|cosh?|tanh?|cot|log|exp)$"
    r"|[\d₀-₉|‖}米里方尺℃°\u0370-\u03ff]$"
)
_INTERVAL = re.compile(
    r"(?:\b(?:intervals?|ranges?|between|scale|CI|bounds?|domain|within|bracket|coordinates?|vector|array|list|tuple|index|indices|shape|dims?)(?: (?:of|is|was|from|in|to|the))?|∈|=|区间|范围|之间|取值|坐标|数组|向量|列表|索引)\s*[:：(（]?\s*$",
    re.IGNORECASE,
)
_MEMBER = re.compile(r"[∈∉⊂⊆]\s*$")
_ARRAY = re.compile(r"(?:array|list|index|vector|=|数组|列表|索引)\s*$")
# A unit or a product behind a figure or a sign: 5 mW², E=mc².
_SYMBOL = re.compile(r"(?:\d ?|[=+*/·×] ?|\()[A-Za-zµμ]{2,3}$")
# What stands before an index where nobody marked the code as such: x, user_names, rows.
_INDEXED = re.compile(
    r"(?:(?<![\w.])[a-z]|[A-Za-z0-9]_\w*[A-Za-z0-9]|\b(?:arr|array|args|argv|vec|idx|buf|xs|ys|nums|rows|cols|columns|items|keys|cells|stack|queue|buffer|nodes|elements|matrix|tmp|ptr|df|str|self\.\w+))$",
    re.ASCII,
)
_PAREN = re.compile(r"[(（]((?:[^()（）\n]|\n(?![ \t]*\n)){3,240})[)）]")
_YEARS = r"(?:(?:1[5-9]|20)\d\d[a-z]?|n\. ?d\.|无日期|in press|forthcoming)"
_CITE = re.compile(
    rf"(?:(?:see|see also|cf\.|e\.g\.,?|compare|also|as cited in|cited in|参见|见|详见|参阅)\s+)?(?P<names>\D*?)(?P<comma>\s*[,，]\s*|\s+)(?P<year>{_YEARS})"
    rf"(?P<more>(?:\s*[,，]\s*{_YEARS}){{0,5}})(?:\s*[,:，：]\s*.{{1,40}})?",
)
_SMALL = frozenset(data.words("reports")["within names"].split("|"))
_TOLD = re.compile(r"[(（]((?:1[5-9]|20)\d\d[a-z]?|n\.d\.)(?:[,:，：]\s?[^()（）\n]{1,30})?[)）]")
_NO_NAME = re.compile(rf"(?:{data.words('reports')['before a year']})\b\.?", re.I)


class Marks:
    """The citations of a report's text, in order, and what stands where one should."""

    def __init__(self, reading: ParsedReport, lists: Lists) -> None:
        self._reading, self._lists = reading, lists
        self._text = reading.plain
        self._defined = {entry.id for entry in lists.definitions}
        self._labels = {e.id for found in lists.lists for e in found.entries if e.sort == "label"}
        self._labels |= lists.keys
        self._numbers = {
            entry.id for found in lists.lists for entry in found.entries if entry.sort == "number"
        } | {entry.id for entry in lists.definitions if entry.id.isdecimal()}
        self._notes = {entry.id for entry in lists.footnotes}
        stems = [_stem(label) for label in self._labels if re.search(r"\d", label)]
        self._stems = {stem for stem, times in Counter(stems).items() if stem and times >= 2}
        self.oddities: list[Oddity] = []
        self.others: list[tuple[int, int]] = []  # numbers in brackets that are indices or intervals
        self.links = [link for link in reading.links if not self._listed(link.start)]
        found: list[Mark] = []
        self._covered: list[tuple[int, int]] = []
        for mark in (*self._tokens(), *self._linked(), *self._bracketed()):
            found.append(mark)
        found += self._between(sorted(found, key=lambda mark: mark.start))
        self._boxed = tuple(found)
        self._covered.sort()
        spans = self._merged()
        for mark in (*self._raised(), *self._worded(), *self._keyed(), *self._bare()):
            if not _within(spans, mark.start):
                found.append(mark)
        self.all = sorted(found, key=lambda mark: (mark.start, mark.end))
        self.oddities = [
            odd
            for odd in self.oddities
            if odd.kind != "bare-address" or not _within(spans, odd.start)
        ]

    def _between(self, marks: list[Mark]) -> Iterator[Mark]:
        """The sources that a range from one bracket to another leaves out: [3]–[5] cites [4] too."""
        for one, other in pairwise(mark for mark in marks if mark.sort == "number"):
            gap = self._text[one.end : other.start]
            if len(gap) <= 4 and re.fullmatch(r"[-~]| ?[–—] ?| ?(?:to|至|到) ?", gap):
                for number in range(int(one.id) + 1, min(int(other.id), int(one.id) + 50)):
                    if str(number) in self._numbers:
                        yield Mark("number", str(number), one.end, other.start, one.style)

    def _listed(self, at: int) -> bool:
        return self._reading.line(at) in self._lists.taken

    def _merged(self) -> list[tuple[int, int]]:
        out: list[tuple[int, int]] = []
        for start, end in self._covered:
            if out and start < out[-1][1]:
                out[-1] = (out[-1][0], max(end, out[-1][1]))
            else:
                out.append((start, end))
        return out

    # What only looks like a citation

    def _tokens(self) -> Iterator[Mark]:
        for match in _TOKENS.finditer(self._text):
            if not self._listed(match.start()) and match[0].strip("[]") not in self._labels:
                self._covered.append(match.span())
                self.oddities.append(Oddity("placeholder", *match.span()))
                yield Mark("note", match[0], *match.span(), "tokens")
        spans = sorted(self._covered)
        self._token_spans = spans

    # Links

    def _linked(self) -> Iterator[Mark]:
        ends: list[int] = []
        tokens = self._token_spans
        for link in self.links:
            if ends and link.start < ends[-1]:
                continue  # within another
            words = self._text[slice(*link.words)]
            if _within(tokens, link.start):
                continue
            ends.append(link.end)
            self._covered.append((link.start, link.end))
            yield from self._link(link, words)

    def _link(self, link: Link, words: str) -> Iterator[Mark]:
        content = re.sub(r"[\[\]［］【】\s*_~`^]", "", words)
        sharp = link.url.startswith("#")
        if re.fullmatch(r"\d{1,3}", content) and not (sharp and content == words == ""):
            yield Mark(
                "number", str(int(content)), link.start, link.end, "numbered", "" if sharp else link.url,
                soft=sharp and "[" not in words and "^" not in self._text[link.start - 1 : link.start + 2],
            )  # fmt: skip
        elif FALSE_ID.fullmatch(link.url):
            yield Mark("note", link.url, link.start, link.end, "tokens")
        elif not sharp and link.url and not link.url.lower().startswith(("mailto:", "tel:")):
            yield Mark("link", "", link.start, link.end, "links", link.url)

    # Brackets

    def _bracketed(self) -> Iterator[Mark]:
        skip = -1
        links = {link.start: link.end for link in self._reading.links}
        pairs = {pair.start: pair for pair in self._reading.brackets}
        tokens = self._token_spans
        for pair in self._reading.brackets:
            if pair.start in links:
                skip = max(skip, links[pair.start])
            if pair.start < skip or _within(tokens, pair.start):
                continue
            if self._listed(pair.start):
                if self._half(pair):
                    self.oddities.append(Oddity("broken-link", pair.start, pair.end))
                continue
            marks, end = self._pair(pair, pairs)
            if not marks and self._covered[-1:] == [(pair.start, end)]:
                skip = max(skip, end)  # a broken link is no citation, nor what stands within it
            if marks:
                self._covered.append((pair.start, end))
                skip = max(skip, end)
            yield from marks
        for at in self._reading.loose:
            if not self._listed(at) and _UNCLOSED.match(self._text, at):
                self.oddities.append(Oddity("broken-link", at, at + 1))

    def _pair(self, pair: Bracket, pairs: dict[int, Bracket]) -> tuple[list[Mark], int]:
        inside = self._text[pair.start + 1 : pair.end - 1]
        behind = self._text[pair.end : pair.end + 12]
        start, end = pair.start, pair.end
        if self._broken(pair, inside):
            self.oddities.append(Oddity("broken-link", start, end))
            self._covered.append((start, end))
            return [], end
        if (inside.startswith("^") and not _NUMBERS.fullmatch(inside)) or re.fullmatch(
            r"\^\d{1,4}", inside
        ):
            return self._footnote(inside[1:].strip(), start, end), end
        if "@" in inside and _KEYS.search(inside) and not re.search(r"\w@\w+\.\w", inside):
            return [Mark("key", key, start, end, "keys") for key in _KEY.findall(inside)], end
        if len(inside) <= 200 and (
            _NUMBERS.fullmatch(_CITED.sub("", inside)) and "\n\n" not in inside
        ):
            if found := self._number(pair, inside, behind):
                return found, end
            return [], end
        second = pairs.get(end) if pair.opener == "[" and behind.startswith("[") else None
        if second and (found := self._referring(pair, second, inside)):
            return found, second.end
        key = " ".join(inside.split()).casefold()
        if key in self._defined and pair.opener == "[":
            return [Mark("link", key, start, end, "references")], end
        return self._worded_bracket(pair, inside), end

    def _footnote(self, key: str, start: int, end: int) -> list[Mark]:
        if key.isdecimal() and not self._notes and self._numbers:
            return [Mark("number", str(int(key)), start, end, "numbered")]
        if re.search(r"\s", key) and key not in self._notes:
            return [Mark("note", "", start, end, "footnotes")]  # a note within the text
        return [Mark("footnote", key, start, end, "footnotes")]

    def _number(self, pair: Bracket, inside: str, behind: str) -> list[Mark]:
        numbers = numbers_in(inside)
        line = self._text[max(0, pair.start - 40) : pair.start].rpartition("\n")[2]
        named = re.match(r"\s*[^\W\d]", inside) is not None
        known = [number for number in numbers if number in self._numbers]
        if not numbers or (pair.opener != "[" and not line.strip() and not named and not known):
            return []
        matrix = "," in inside and ";" in inside
        member = _MEMBER.search(line) is not None and len(numbers) > 1
        if not named and (
            matrix
            or member
            or (len(known) < len(numbers) and self._is_other(pair, numbers, behind))
        ):
            self.others.append((pair.start, pair.end))
            return []
        style: Style = "numbered" if pair.opener == "[" else "brackets"
        return [
            Mark("number", number, pair.start, pair.end, style) for number in dict.fromkeys(numbers)
        ]

    def _is_other(self, pair: Bracket, numbers: list[str], behind: str) -> bool:
        """Whether numbers that not all have a source are an index, an interval or a year."""
        line = self._text[max(0, pair.start - 40) : pair.start].rpartition("\n")[2]
        if "0" in numbers or any(len(n) == 4 and n not in self._numbers for n in numbers):
            return True
        if _INTERVAL.search(line) and (len(numbers) > 1 or _ARRAY.search(line)):
            return True
        array = re.sub(r"(?:\[\d+\])+$", "", line)
        indexed = pair.opener == "[" and _INDEXED.search(array)
        return bool(indexed or re.match(r"[ \t]*[-+*/]?=[ \t]*\S", behind))

    def _referring(self, pair: Bracket, second: Bracket, inside: str) -> list[Mark]:
        """A link of the form [text][id]."""
        other = self._text[second.start + 1 : second.end - 1]
        key = " ".join((other.strip() or inside).split()).casefold()
        if key in self._defined:
            return [Mark("link", key, pair.start, second.end, "references")]
        words = re.search(r"[^\W\d]{2}", inside) and re.fullmatch(r"[\w .:-]{1,60}", key)
        if not words or key.isdecimal() or inside.startswith(("^", "@")) or not other.strip():
            return []
        if self._defined and not _PLACEHOLDER.fullmatch(key) and key != "sic":
            return [Mark("link", key, pair.start, second.end, "references")]
        return []

    def _worded_bracket(self, pair: Bracket, inside: str) -> list[Mark]:
        words = unicodedata.normalize("NFKC", inside).strip(" *_")
        before = self._text[max(0, pair.start - 100) : pair.start].rpartition("\n")[2]
        if words in self._labels:
            return [Mark("label", words, pair.start, pair.end, "labels")]
        if _PLACEHOLDER.fullmatch(words) and (
            before.strip()
            or (
                pair.opener == "["
                and re.search("needed|cite|todo|tbd|待|需|缺|insert|add", words, re.I)
            )
        ):
            if re.fullmatch(r"[\s>*+-]*", before) and re.fullmatch(r"[xX]{2,}", words):
                return []
            self.oddities.append(Oddity("placeholder", pair.start, pair.end))
            return [Mark("note", words, pair.start, pair.end, "tokens")]
        if self._labels and _LABEL.fullmatch(words) and before.strip() and self._alike(words):
            return [Mark("label", words, pair.start, pair.end, "labels")]
        parts = [part.strip() for part in re.split("[,;，；、]", words)]
        if len(parts) > 1 and all(part in self._labels or self._alike(part) for part in parts):
            return [Mark("label", part, pair.start, pair.end, "labels") for part in parts]
        if pair.opener == "[" and len(words) <= 120 and (cite := authored(words)):
            return [
                Mark(
                    "author",
                    f"{cite['names']}|{cite['year']}",
                    pair.start,
                    pair.end,
                    "author-year",
                    soft=True,
                )
            ]
        return []

    def _alike(self, label: str) -> bool:
        """Whether a label is made like those of the list: S7 like S1 and S2."""
        return bool(re.search(r"\d", label)) and _stem(label) in self._stems

    def _broken(self, pair: Bracket, inside: str) -> bool:
        text, end = self._text, pair.end
        if pair.opener != "[" or not inside.strip() or (pair.start and text[pair.start - 1] == "!"):
            return False
        if text.startswith("(", end) and not self._reading.target(end):
            return self._half(pair)
        spaced = _SPACED.match(text, end)
        if spaced and re.search(r"[^\W\d]", inside):
            return True
        return bool(
            re.match(r"(?:https?://|www\.)\S+$", inside)
            and pair.start
            and text[pair.start - 1] in ")）"
        )

    def _half(self, pair: Bracket) -> bool:
        """Whether the address behind a bracket is never closed: [text](https://a.org."""
        opened = pair.opener == "[" and _HALF.match(self._text, pair.end)
        return bool(opened) and not self._reading.target(pair.end)

    # Superscripts, names and keys

    def _raised(self) -> Iterator[Mark]:
        yield from self._carets()
        if self._numbers and not any(mark.sort == "number" for mark in self._boxed):
            yield from self._fallen()
        yield from self._superscripts()
        if any(entry.form == "circled" for found in self._lists.lists for entry in found.entries):
            yield from self._circled()

    def _carets(self) -> Iterator[Mark]:
        """Numbers raised by carets or tags."""
        for match in _CARET.finditer(self._text):
            tag = self._reading.raw[match.end() - 1] == "<"
            end = match.end() + (len("</sup>") - 1 if tag else 0)
            boxed = "[" in match[0]
            if not self._listed(match.start()):
                for number in numbers_in(match[1]):
                    if boxed or not self._is_exponent(number, match.start(), end):
                        soft = not self._numbers and not boxed
                        yield Mark("number", number, *match.span(), "superscripts", soft=soft)

    def _fallen(self) -> Iterator[Mark]:
        """Superscripts that have lost their height."""
        for match in _BARE.finditer(self._text):
            if not self._listed(match.start()):
                group = match.lastindex or 0
                for number in numbers_in(match[group]):
                    yield Mark("number", number, *match.span(group), "superscripts", soft=True)

    def _superscripts(self) -> Iterator[Mark]:
        """Raised digits, but for powers."""
        for match in _SUPER.finditer(self._text):
            if unit := _UNIT_STOP.match(match[0]):
                if self._ends_sentence(match.start(), match.end()):
                    begin = match.start() + unit.end()
                    for number in numbers_in(match[0][unit.end() :].translate(_SUPERS)):
                        yield Mark("number", number, begin, match.end(), "superscripts", soft=True)
                continue
            decimal = "." in match[0]
            blank = not self._text[max(0, match.start() - 12) : match.start()].strip()
            if self._listed(match.start()) or decimal or blank:
                continue
            for number in numbers_in(match[0].translate(_SUPERS)):
                if not self._is_exponent(number, *match.span()):
                    soft = not self._numbers
                    yield Mark("number", number, *match.span(), "superscripts", soft=soft)

    def _circled(self) -> Iterator[Mark]:
        for match in re.finditer(f"[{_CIRCLED}]", self._text):
            if not self._listed(match.start()):
                number = str(_CIRCLED.index(match[0]) + 1)
                soft = not _BEHIND.match(self._text, max(0, match.start() - 1))
                yield Mark("number", number, *match.span(), "superscripts", soft=soft)

    def _ends_sentence(self, power: int, end: int) -> bool:
        """Whether a power is that of a unit and its stop that of a sentence: 393 m³.¹ The."""
        unit = _POWERED.search(self._text[max(0, power - 12) : power])
        return (
            unit is not None
            and re.match(rf"\s*$|\s+[A-Z{HAN}]", self._text[end : end + 3]) is not None
        )

    def _is_exponent(self, number: str, start: int, end: int) -> bool:
        """Whether a superscript is a power, a charge or an isotope: m², (a+b)⁹, Ca²⁺, ¹³C."""
        text = self._text
        before = text[max(0, start - 12) : start].rstrip(" ")
        behind = text[end : end + 1]
        known = number in self._numbers
        # No power is written ¹.
        first = number == "1" and (
            re.search(f"[{HAN}]$", before) or (known and not before[-1:].isdecimal())
        )
        if (_POWERED.search(before) and not first) or before.endswith(("⁻", "⁺", "^")):
            return True
        if re.match(r"[⁻⁺ᵃ-ᵿⁿ]", behind) or (number != "1" and _SYMBOL.search(before)):
            return True
        if re.match(r"[A-Za-z\u0370-\u03ff]", behind):
            return not (known and re.search(r"[.,;:!?)”\"’]$", before))
        return not known and (not before or before.endswith((")", "]")))

    def _worded(self) -> Iterator[Mark]:
        for match in _PAREN.finditer(self._text):
            if self._listed(match.start()) or not re.search(
                r"\d{4}|n\. ?d\.|无日期|in press", match[1]
            ):
                continue
            for part in re.split("[;；]", match[1]):
                cite = authored(" ".join(part.split()))
                if cite:
                    strong = bool(
                        re.search(r"et al|&|\band\b|等", cite["names"]) or cite["comma"].strip()
                    )
                    for year in (cite["year"], *re.findall(_YEARS, cite["more"])):
                        yield Mark(
                            "author",
                            f"{cite['names'].strip()}|{year}",
                            *match.span(),
                            "author-year",
                            soft=not strong,
                        )
        for match in _TOLD.finditer(self._text):
            if not self._listed(match.start()):
                before = self._text[max(0, match.start() - 80) : match.start()].replace("\n", " ")
                yield Mark(
                    "author",
                    f"\x00{before.strip()}|{match[1]}",
                    *match.span(),
                    "author-year",
                    soft=True,
                )

    def _keyed(self) -> Iterator[Mark]:
        for match in _LATEX.finditer(self._text):
            if not self._listed(match.start()):
                for key in match[1].split(","):
                    yield Mark("key", key.strip(), *match.span(), "keys")
        for match in _BARE_KEY.finditer(self._text):
            if not self._listed(match.start()):
                yield Mark("key", match[1], *match.span(), "keys", soft=True)

    def _bare(self) -> Iterator[Mark]:
        for match in ADDRESS.finditer(self._text):
            address = trimmed(match[0])
            web = address.lower().startswith(("http", "www"))
            if self._listed(match.start()) or not web:
                continue
            start, end = match.start(), match.start() + len(address)
            if self._text[start - 1 : start] != "<":
                self.oddities.append(Oddity("bare-address", start, end))
            yield Mark("link", "", start, end, "links", address)


def authored(part: str) -> re.Match[str] | None:
    """A name and a year: (Smith & Lee, 2020) names a source, (March 2020) names none."""
    cite = _CITE.fullmatch(part.strip())
    if not cite:
        return None
    names = cite["names"].strip('“”"*_ ')
    if not names or len(names) > 100 or _NO_NAME.match(names):
        return None
    words = re.findall(r"[^\W\d_][\w’'-]*", names)
    if not words or len(words) > 14:
        return None
    fit = all(word[0].isupper() or word.lower() in _SMALL or not word.isascii() for word in words)
    return cite if fit else None


def numbers_in(text: str) -> list[str]:
    """The numbers that a citation names; 1-3 names three."""
    text = re.sub(rf"{_LOCATED}\s*$", "", unicodedata.normalize("NFKC", text), flags=re.IGNORECASE)
    out: list[str] = []
    at = 0
    for match in re.finditer(r"\d{1,4}", text):
        if match.start() < at:
            continue
        span = _RANGE.match(text, match.start())
        first, last = (int(span[1]), int(span[2])) if span else (int(match[0]), int(match[0]))
        if span and 0 < last - first <= 50:
            out += [str(number) for number in range(first, last + 1)]
            at = span.end()
        else:
            out.append(str(int(match[0])))
    return out


def _stem(label: str) -> str:
    return re.sub(r"\d.*", "", label)


def _within(spans: list[tuple[int, int]], at: int) -> bool:
    """Whether a place lies in one of some stretches, which are in order and apart."""
    low, high = 0, len(spans)
    while low < high:
        middle = (low + high) // 2
        if spans[middle][1] <= at:
            low = middle + 1
        else:
            high = middle
    return low < len(spans) and spans[low][0] <= at
