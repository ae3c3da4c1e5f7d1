"""Parser of the citations in the text of a report, in any style.

Malformed citations are recorded too. Whether a cited source exists is not checked here.
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
from research.citations.styles.parsed_report import BracketPair, MarkdownLink, ParsedReport
from research.citations.styles.source_lists import SOURCE_WORDS, SourceLists
from research.citations.styles.web_addresses import ADDRESS, PROMPT_ID, trim_address
from research.core.text.tokenizer import HAN_RANGES

MarkKind = Literal["number", "footnote", "label", "key", "link", "author", "note"]
MarkStyle = Literal[
    "numbered", "footnotes", "links", "author-year", "superscripts", "brackets", "keys", "labels",
    "references", "tokens",
]  # fmt: skip


@dataclass(frozen=True)
class CitationMark:
    """A citation: its target, its range in the text, and its style.

    A mark that `needs_entry` counts only if its target exists: x² is no citation.
    """

    kind: MarkKind
    id: str
    start: int
    end: int
    style: MarkStyle
    url: str = ""
    needs_entry: bool = False


@dataclass(frozen=True)
class MalformedMark:
    """Text in the place of a citation that is not a valid one."""

    kind: Literal["placeholder", "broken-link", "bare-address"]
    start: int
    end: int


_LOCATOR = r"\s*[,:，：]\s*(?:pp?\.?|§+|(?:ch|sec|th|lem|fig|tab|eq|app|art|par|cor|prop|def)[a-z]{0,8}\.?|第)\s*[\w\s.,–-]{1,20}"
_MARK_NUMBER = r"\^?\d{1,4}"
_NUMBER_LIST = re.compile(
    rf"\s*(?:(?:{SOURCE_WORDS}) ?[:：]?#? ?)?{_MARK_NUMBER}"
    rf"(?:\s*(?:[,;、，；&|+]|and|和|–|—|-|to|至|~)\s*{_MARK_NUMBER})*"
    rf"(?:{_LOCATOR})?\s*",
    re.IGNORECASE,
)
_CITE_PREFIX = re.compile(r"\s*cite: ?", re.IGNORECASE)
_RANGE = re.compile(r"(\d{1,4})\s*(?:–|—|-|to|至|~)\s*\^?(\d{1,4})")
_KEY_LIST = re.compile(
    r"-?@[\w][\w:.#$%&+?<>~/-]{0,100}(?:[^\[\]@;]{0,100})(?:;\s*[^\[\]@;]{0,60}-?@[\w][\w:.#$%&+?<>~/-]{0,100}[^\[\]@;]{0,100})*"
)
# Keys of figures, tables, equations and sections, which look like sources in Quarto and
# pandoc-crossref.
_CROSS_REFERENCE_PREFIX = r"(?:fig|tbl?|tab|eqn?|sec|lst|alg|thm|lem|cor|pr[po]|cnj|def|exm|exr|sol|rem)[:-]"
_KEY = re.compile(rf"@(?!{_CROSS_REFERENCE_PREFIX})([\w][\w:.#$%&+?~/-]{{0,100}}(?<![:.,?]))")
_BARE_KEY = re.compile(rf"(?<![\w@./\[-])@(?!{_CROSS_REFERENCE_PREFIX})([A-Za-z][A-Za-z-]{{1,40}}\d{{2,4}}[a-z]?)\b")
_LATEX_CITE = re.compile(
    r"\\(?:cite[a-zA-Z]{0,12}|parencite|textcite|autocite|footcite)\*?(?:\[[^\[\]\n]{0,60}\]){0,2}\{([^{}\n]{1,300})\}"
)
_LABEL = re.compile(r"[A-Za-z][\w.:+-]{0,30}\d[\w.-]{0,6}|[A-Z]{2,6}[\w+-]{0,10}")
_PLACEHOLDER = re.compile(data.words("reports")["placeholders"], re.I)
_TOOL_TOKEN = re.compile(
    r"[【\[]\s*\d{1,3}(?::\d{1,3})?\s*†[^】\]\n]{0,200}[】\]]"
    r"|(?:cite|navlist|i)?turn\d{1,3}(?:search|news|view|fetch|file|image|academia|reddit|forecast|finance|sports)\d{1,3}(?:turn\d{1,3}[a-z]{1,12}\d{1,3}){0,20}"
    r"|:contentReference\[oaicite:\d{1,3}\](?:\{index=\d{1,3}\})?|\[?oai_citation[:：]\d{1,3}[^\s\[\]]{0,200}\]?"
    r"|(?<![\w/.])(?:\[|\()?id/\d{1,3}-\d{1,3}\b(?:\]|\))?|\[cite_start\]|\[cite_end\]|<\|?cite[^<>\n]{0,60}>"
    r"|\[\s*(?:web|doc|search_result|result|snippet|passage|chunk|document)[_ :-]\d{1,3}\s*\]",
    re.IGNORECASE,
)
_UNCLOSED_LINK = re.compile(r"\[[^\[\]()\n]{1,200}\((?:https?://|www\.)[^\s()]{1,2000}\)")
_UNCLOSED_TARGET = re.compile(r"\(\s*<?(?:https?:/|www\.)")
_SPACED_TARGET = re.compile(r"[ \t]{1,3}\((?:https?://|www\.)[^\s()]{1,2000}\)")
_CARET_NUMBER = re.compile(r"\^\s*[\[(]?\s*(\d{1,3}(?:\s*[,，–-]\s*\d{1,3}){0,20})\s*[\])]?\s*\^")
# Superscripts that became plain digits: "in 2021.4 By then", or the last cell of a row.
_FLATTENED_SUPERSCRIPT = re.compile(
    rf"(?<=[^\W\d][.,;!?”\"’)。，；！？）])(\d{{1,2}}(?:,\d{{1,2}}){{0,9}})(?=\s|$)|(?<=\d{{4}}[.,;])(\d{{1,2}})(?=\s[A-Z])|(?<=[\s.。，,{HAN_RANGES}])[(（](\d{{1,2}}(?:[,，、–-] ?\d{{1,2}}){{0,9}})[)）](?=[\s.,;。，；]|$)|\|[ \t]*(\d{{1,2}}(?:, ?\d{{1,2}}){{0,9}})[ \t]*\|?[ \t]*$",
    re.MULTILINE,
)
_SUPERSCRIPT = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}(?:[⁻˒,，·.][⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}){0,20}")
_UNIT_POWER_STOP = re.compile(r"[²³]\.(?=[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2}(?:$|[,，]))")
_SUPERSCRIPT_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻˒·", "0123456789-,,")
_CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
# A circled number behind a word and before a stop; elsewhere it may count the items of a sentence.
_CIRCLED_BEFORE_STOP = re.compile(rf"[\w”’」』》)）%][{_CIRCLED}]+(?:[，。；！？、,.;!?]|\s*$)", re.MULTILINE)
# Text that may have an exponent: a unit, a symbol, a function, a number.
_BEFORE_EXPONENT = re.compile(
    r"(?:^|[^A-Za-z])(?:[a-zA-Zµμ]m?|ft|in|yd|mi|ha|dam|kg|lb|k?Wh?|kPa|Pa|Hz|mol|eV|CO|min|sec|sinh?|cosh?|tanh?|cot|log|exp)$"
    r"|[\d₀-₉|‖}米里方尺℃°\u0370-\u03ff]$"
)
_BEFORE_INTERVAL = re.compile(
    r"(?:\b(?:intervals?|ranges?|between|scale|CI|bounds?|domain|within|bracket|coordinates?|vector|array|list|tuple|index|indices|shape|dims?)(?: (?:of|is|was|from|in|to|the))?|∈|=|区间|范围|之间|取值|坐标|数组|向量|列表|索引)\s*[:：(（]?\s*$",
    re.IGNORECASE,
)
_MEMBERSHIP_SIGN = re.compile(r"[∈∉⊂⊆]\s*$")
_BEFORE_ARRAY = re.compile(r"(?:array|list|index|vector|=|数组|列表|索引)\s*$")
# A unit or a product behind a figure or a sign: 5 mW², E=mc².
_UNIT_SYMBOL = re.compile(r"(?:\d ?|[=+*/·×] ?|\()[A-Za-zµμ]{2,3}$")
# Text before an index in code that is not marked as code: x, user_names, rows.
_BEFORE_INDEX = re.compile(
    r"(?:(?<![\w.])[a-z]|[A-Za-z0-9]_\w*[A-Za-z0-9]|\b(?:arr|array|args|argv|vec|idx|buf|xs|ys|nums|rows|cols|columns|items|keys|cells|stack|queue|buffer|nodes|elements|matrix|tmp|ptr|df|str|self\.\w+))$",
    re.ASCII,
)
_PARENTHESES = re.compile(r"[(（]((?:[^()（）\n]|\n(?![ \t]*\n)){3,240})[)）]")
_YEARS = r"(?:(?:1[5-9]|20)\d\d[a-z]?|n\. ?d\.|无日期|in press|forthcoming)"
_AUTHOR_YEAR = re.compile(
    rf"(?:(?:see|see also|cf\.|e\.g\.,?|compare|also|as cited in|cited in|参见|见|详见|参阅)\s+)?(?P<names>\D*?)(?P<comma>\s*[,，]\s*|\s+)(?P<year>{_YEARS})"
    rf"(?P<more>(?:\s*[,，]\s*{_YEARS}){{0,5}})(?:\s*[,:，：]\s*.{{1,40}})?",
)
_NAME_PARTICLES = frozenset(data.words("reports")["within names"].split("|"))
_YEAR_IN_PARENTHESES = re.compile(r"[(（]((?:1[5-9]|20)\d\d[a-z]?|n\.d\.)(?:[,:，：]\s?[^()（）\n]{1,30})?[)）]")
_NOT_AUTHOR = re.compile(rf"(?:{data.words('reports')['before a year']})\b\.?", re.I)


class CitationMarks:
    """Citations of a report's text in order, malformed marks, and bracketed numbers of other
    kinds."""

    def __init__(self, report: ParsedReport, lists: SourceLists) -> None:
        self._report, self._lists = report, lists
        self._text = report.prose
        self._definition_ids = {entry.id for entry in lists.definitions}
        self._entry_labels = {e.id for source_list in lists.lists for e in source_list.entries if e.kind == "label"}
        self._entry_labels |= lists.keys
        self._entry_numbers = {
            entry.id for source_list in lists.lists for entry in source_list.entries if entry.kind == "number"
        } | {entry.id for entry in lists.definitions if entry.id.isdecimal()}
        self._footnote_ids = {entry.id for entry in lists.footnotes}
        stems = [_label_stem(label) for label in self._entry_labels if re.search(r"\d", label)]
        self._label_stems = {stem for stem, times in Counter(stems).items() if stem and times >= 2}
        self.malformed: list[MalformedMark] = []
        self.other_numbers: list[tuple[int, int]] = []  # bracketed indices or intervals
        self.links = [link for link in report.links if not self._lists.contains(link.start)]
        marks: list[CitationMark] = []
        self._covered_spans: list[tuple[int, int]] = []
        for mark in (*self._find_tokens(), *self._find_links(), *self._find_brackets()):
            marks.append(mark)
        marks += self._marks_between(sorted(marks, key=lambda mark: mark.start))
        self._bracket_marks = tuple(marks)
        self._covered_spans.sort()
        spans = self._merged_spans()
        for mark in (
            *self._find_superscripts(),
            *self._find_author_years(),
            *self._find_keys(),
            *self._find_bare_addresses(),
        ):
            if not _is_within(spans, mark.start):
                marks.append(mark)
        self.marks = sorted(marks, key=lambda mark: (mark.start, mark.end))
        self.malformed = [
            malformed_mark
            for malformed_mark in self.malformed
            if malformed_mark.kind != "bare-address" or not _is_within(spans, malformed_mark.start)
        ]

    def _marks_between(self, marks: list[CitationMark]) -> Iterator[CitationMark]:
        """Yield the sources inside a range from one bracket to another: [3]–[5] also cites [4]."""
        for first, second in pairwise(mark for mark in marks if mark.kind == "number"):
            gap = self._text[first.end : second.start]
            if len(gap) <= 4 and re.fullmatch(r"[-~]| ?[–—] ?| ?(?:to|至|到) ?", gap):
                for number in range(int(first.id) + 1, min(int(second.id), int(first.id) + 50)):
                    if str(number) in self._entry_numbers:
                        yield CitationMark("number", str(number), first.end, second.start, first.style)

    def _merged_spans(self) -> list[tuple[int, int]]:
        merged: list[tuple[int, int]] = []
        for start, end in self._covered_spans:
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    # What only looks like a citation

    def _find_tokens(self) -> Iterator[CitationMark]:
        for match in _TOOL_TOKEN.finditer(self._text):
            if not self._lists.contains(match.start()) and match[0].strip("[]") not in self._entry_labels:
                self._covered_spans.append(match.span())
                self.malformed.append(MalformedMark("placeholder", *match.span()))
                yield CitationMark("note", match[0], *match.span(), "tokens")
        spans = sorted(self._covered_spans)
        self._token_spans = spans

    # Links

    def _find_links(self) -> Iterator[CitationMark]:
        ends: list[int] = []
        tokens = self._token_spans
        for link in self.links:
            if ends and link.start < ends[-1]:
                continue  # inside another link
            words = self._text[slice(*link.text_span)]
            if _is_within(tokens, link.start):
                continue
            ends.append(link.end)
            self._covered_spans.append((link.start, link.end))
            yield from self._parse_link(link, words)

    def _parse_link(self, link: MarkdownLink, words: str) -> Iterator[CitationMark]:
        content = re.sub(r"[\[\]［］【】\s*_~`^]", "", words)
        sharp = link.url.startswith("#")
        if re.fullmatch(r"\d{1,3}", content) and not (sharp and content == words == ""):
            yield CitationMark(
                "number",
                str(int(content)),
                link.start,
                link.end,
                "numbered",
                "" if sharp else link.url,
                needs_entry=sharp and "[" not in words and "^" not in self._text[link.start - 1 : link.start + 2],
            )
        elif PROMPT_ID.fullmatch(link.url):
            yield CitationMark("note", link.url, link.start, link.end, "tokens")
        elif not sharp and link.url and not link.url.lower().startswith(("mailto:", "tel:")):
            yield CitationMark("link", "", link.start, link.end, "links", link.url)

    # Brackets

    def _find_brackets(self) -> Iterator[CitationMark]:
        skip = -1
        links = {link.start: link.end for link in self._report.links}
        pairs = {pair.start: pair for pair in self._report.brackets}
        tokens = self._token_spans
        for pair in self._report.brackets:
            if pair.start in links:
                skip = max(skip, links[pair.start])
            if pair.start < skip or _is_within(tokens, pair.start):
                continue
            if self._lists.contains(pair.start):
                if self._is_unclosed_link(pair):
                    self.malformed.append(MalformedMark("broken-link", pair.start, pair.end))
                continue
            marks, end = self._parse_bracket(pair, pairs)
            if not marks and self._covered_spans[-1:] == [(pair.start, end)]:
                skip = max(skip, end)  # neither a broken link nor its content is a citation
            if marks:
                self._covered_spans.append((pair.start, end))
                skip = max(skip, end)
            yield from marks
        for at in self._report.unclosed_brackets:
            if not self._lists.contains(at) and _UNCLOSED_LINK.match(self._text, at):
                self.malformed.append(MalformedMark("broken-link", at, at + 1))

    def _parse_bracket(self, bracket: BracketPair, pairs: dict[int, BracketPair]) -> tuple[list[CitationMark], int]:
        inside = self._text[bracket.start + 1 : bracket.end - 1]
        behind = self._text[bracket.end : bracket.end + 12]
        start, end = bracket.start, bracket.end
        if self._is_broken_link(bracket, inside):
            self.malformed.append(MalformedMark("broken-link", start, end))
            self._covered_spans.append((start, end))
            return [], end
        if (inside.startswith("^") and not _NUMBER_LIST.fullmatch(inside)) or re.fullmatch(r"\^\d{1,4}", inside):
            return self._parse_footnote(inside[1:].strip(), start, end), end
        if "@" in inside and _KEY_LIST.search(inside) and not re.search(r"\w@\w+\.\w", inside):
            return [CitationMark("key", key, start, end, "keys") for key in _KEY.findall(inside)], end
        if len(inside) <= 200 and (_NUMBER_LIST.fullmatch(_CITE_PREFIX.sub("", inside)) and "\n\n" not in inside):
            if marks := self._parse_number(bracket, inside, behind):
                return marks, end
            return [], end
        second = pairs.get(end) if bracket.opener == "[" and behind.startswith("[") else None
        if second and (marks := self._parse_reference_link(bracket, second, inside)):
            return marks, second.end
        key = " ".join(inside.split()).casefold()
        if key in self._definition_ids and bracket.opener == "[":
            return [CitationMark("link", key, start, end, "references")], end
        return self._parse_worded_bracket(bracket, inside), end

    def _parse_footnote(self, key: str, start: int, end: int) -> list[CitationMark]:
        if key.isdecimal() and not self._footnote_ids and self._entry_numbers:
            return [CitationMark("number", str(int(key)), start, end, "numbered")]
        if re.search(r"\s", key) and key not in self._footnote_ids:
            return [CitationMark("note", "", start, end, "footnotes")]  # an inline note
        return [CitationMark("footnote", key, start, end, "footnotes")]

    def _parse_number(self, bracket: BracketPair, bracket_text: str, following: str) -> list[CitationMark]:
        numbers = parse_numbers(bracket_text)
        line = self._text[max(0, bracket.start - 40) : bracket.start].rpartition("\n")[2]
        has_label = re.match(r"\s*[^\W\d]", bracket_text) is not None
        known = [number for number in numbers if number in self._entry_numbers]
        if not numbers or (bracket.opener != "[" and not line.strip() and not has_label and not known):
            return []
        is_matrix = "," in bracket_text and ";" in bracket_text
        is_set = _MEMBERSHIP_SIGN.search(line) is not None and len(numbers) > 1
        if not has_label and (
            is_matrix or is_set or (len(known) < len(numbers) and self._is_not_citation(bracket, numbers, following))
        ):
            self.other_numbers.append((bracket.start, bracket.end))
            return []
        style: MarkStyle = "numbered" if bracket.opener == "[" else "brackets"
        return [CitationMark("number", number, bracket.start, bracket.end, style) for number in dict.fromkeys(numbers)]

    def _is_not_citation(self, bracket: BracketPair, numbers: list[str], following: str) -> bool:
        """Return whether numbers, some without a source, are an index, an interval or a year."""
        line = self._text[max(0, bracket.start - 40) : bracket.start].rpartition("\n")[2]
        if "0" in numbers or any(len(n) == 4 and n not in self._entry_numbers for n in numbers):
            return True
        if _BEFORE_INTERVAL.search(line) and (len(numbers) > 1 or _BEFORE_ARRAY.search(line)):
            return True
        without_indices = re.sub(r"(?:\[\d+\])+$", "", line)
        indexed = bracket.opener == "[" and _BEFORE_INDEX.search(without_indices)
        return bool(indexed or re.match(r"[ \t]*[-+*/]?=[ \t]*\S", following))

    def _parse_reference_link(self, bracket: BracketPair, second: BracketPair, bracket_text: str) -> list[CitationMark]:
        """Parse a link of the form [text][id]."""
        other = self._text[second.start + 1 : second.end - 1]
        key = " ".join((other.strip() or bracket_text).split()).casefold()
        if key in self._definition_ids:
            return [CitationMark("link", key, bracket.start, second.end, "references")]
        words = re.search(r"[^\W\d]{2}", bracket_text) and re.fullmatch(r"[\w .:-]{1,60}", key)
        if not words or key.isdecimal() or bracket_text.startswith(("^", "@")) or not other.strip():
            return []
        if self._definition_ids and not _PLACEHOLDER.fullmatch(key) and key != "sic":
            return [CitationMark("link", key, bracket.start, second.end, "references")]
        return []

    def _parse_worded_bracket(self, bracket: BracketPair, bracket_text: str) -> list[CitationMark]:
        words = unicodedata.normalize("NFKC", bracket_text).strip(" *_")
        before = self._text[max(0, bracket.start - 100) : bracket.start].rpartition("\n")[2]
        if words in self._entry_labels:
            return [CitationMark("label", words, bracket.start, bracket.end, "labels")]
        if _PLACEHOLDER.fullmatch(words) and (
            before.strip()
            or (bracket.opener == "[" and re.search("needed|cite|todo|tbd|待|需|缺|insert|add", words, re.I))
        ):
            if re.fullmatch(r"[\s>*+-]*", before) and re.fullmatch(r"[xX]{2,}", words):
                return []
            self.malformed.append(MalformedMark("placeholder", bracket.start, bracket.end))
            return [CitationMark("note", words, bracket.start, bracket.end, "tokens")]
        if self._entry_labels and _LABEL.fullmatch(words) and before.strip() and self._is_like_label(words):
            return [CitationMark("label", words, bracket.start, bracket.end, "labels")]
        parts = [part.strip() for part in re.split("[,;，；、]", words)]
        if len(parts) > 1 and all(part in self._entry_labels or self._is_like_label(part) for part in parts):
            return [CitationMark("label", part, bracket.start, bracket.end, "labels") for part in parts]
        if bracket.opener == "[" and len(words) <= 120 and (cite := match_author_year(words)):
            return [
                CitationMark(
                    "author",
                    f"{cite['names']}|{cite['year']}",
                    bracket.start,
                    bracket.end,
                    "author-year",
                    needs_entry=True,
                )
            ]
        return []

    def _is_like_label(self, label: str) -> bool:
        """Return whether a label resembles those of the list: S7 resembles S1 and S2."""
        return bool(re.search(r"\d", label)) and _label_stem(label) in self._label_stems

    def _is_broken_link(self, bracket: BracketPair, bracket_text: str) -> bool:
        text, end = self._text, bracket.end
        if bracket.opener != "[" or not bracket_text.strip() or (bracket.start and text[bracket.start - 1] == "!"):
            return False
        if text.startswith("(", end) and not self._report.match_target(end):
            return self._is_unclosed_link(bracket)
        spaced = _SPACED_TARGET.match(text, end)
        if spaced and re.search(r"[^\W\d]", bracket_text):
            return True
        return bool(
            re.match(r"(?:https?://|www\.)\S+$", bracket_text) and bracket.start and text[bracket.start - 1] in ")）"
        )

    def _is_unclosed_link(self, bracket: BracketPair) -> bool:
        """Return whether the address behind a bracket is never closed: [text](https://a.org."""
        opened = bracket.opener == "[" and _UNCLOSED_TARGET.match(self._text, bracket.end)
        return bool(opened) and not self._report.match_target(bracket.end)

    # Superscripts, names and keys

    def _find_superscripts(self) -> Iterator[CitationMark]:
        yield from self._find_carets()
        if self._entry_numbers and not any(mark.kind == "number" for mark in self._bracket_marks):
            yield from self._find_flattened_superscripts()
        yield from self._find_raised_digits()
        if any(entry.number_form == "circled" for source_list in self._lists.lists for entry in source_list.entries):
            yield from self._find_circled()

    def _find_carets(self) -> Iterator[CitationMark]:
        """Yield numbers raised by carets or tags."""
        for match in _CARET_NUMBER.finditer(self._text):
            is_tag = self._report.source[match.end() - 1] == "<"
            end = match.end() + (len("</sup>") - 1 if is_tag else 0)
            has_bracket = "[" in match[0]
            if not self._lists.contains(match.start()):
                for number in parse_numbers(match[1]):
                    if has_bracket or not self._is_exponent(number, match.start(), end):
                        needs_entry = not self._entry_numbers and not has_bracket
                        yield CitationMark("number", number, *match.span(), "superscripts", needs_entry=needs_entry)

    def _find_flattened_superscripts(self) -> Iterator[CitationMark]:
        """Yield numbers that were superscripts before the formatting was lost."""
        for match in _FLATTENED_SUPERSCRIPT.finditer(self._text):
            if not self._lists.contains(match.start()):
                group = match.lastindex or 0
                for number in parse_numbers(match[group]):
                    yield CitationMark("number", number, *match.span(group), "superscripts", needs_entry=True)

    def _find_raised_digits(self) -> Iterator[CitationMark]:
        """Yield superscript digits that are no exponents."""
        for match in _SUPERSCRIPT.finditer(self._text):
            if unit := _UNIT_POWER_STOP.match(match[0]):
                if self._ends_sentence(match.start(), match.end()):
                    begin = match.start() + unit.end()
                    for number in parse_numbers(match[0][unit.end() :].translate(_SUPERSCRIPT_DIGITS)):
                        yield CitationMark("number", number, begin, match.end(), "superscripts", needs_entry=True)
                continue
            decimal = "." in match[0]
            blank = not self._text[max(0, match.start() - 12) : match.start()].strip()
            if self._lists.contains(match.start()) or decimal or blank:
                continue
            for number in parse_numbers(match[0].translate(_SUPERSCRIPT_DIGITS)):
                if not self._is_exponent(number, *match.span()):
                    needs_entry = not self._entry_numbers
                    yield CitationMark("number", number, *match.span(), "superscripts", needs_entry=needs_entry)

    def _find_circled(self) -> Iterator[CitationMark]:
        for match in re.finditer(f"[{_CIRCLED}]", self._text):
            if not self._lists.contains(match.start()):
                number = str(_CIRCLED.index(match[0]) + 1)
                needs_entry = not _CIRCLED_BEFORE_STOP.match(self._text, max(0, match.start() - 1))
                yield CitationMark("number", number, *match.span(), "superscripts", needs_entry=needs_entry)

    def _ends_sentence(self, start: int, end: int) -> bool:
        """Return whether a unit's power precedes the full stop of a sentence: 393 m³.¹ The."""
        unit = _BEFORE_EXPONENT.search(self._text[max(0, start - 12) : start])
        return unit is not None and re.match(rf"\s*$|\s+[A-Z{HAN_RANGES}]", self._text[end : end + 3]) is not None

    def _is_exponent(self, number: str, start: int, end: int) -> bool:
        """Return whether a superscript is a power, a charge or an isotope: m², (a+b)⁹, Ca²⁺,
        ¹³C."""
        text = self._text
        before = text[max(0, start - 12) : start].rstrip(" ")
        behind = text[end : end + 1]
        known = number in self._entry_numbers
        # ¹ is never an exponent.
        first = number == "1" and (re.search(f"[{HAN_RANGES}]$", before) or (known and not before[-1:].isdecimal()))
        if (_BEFORE_EXPONENT.search(before) and not first) or before.endswith(("⁻", "⁺", "^")):
            return True
        if re.match(r"[⁻⁺ᵃ-ᵿⁿ]", behind) or (number != "1" and _UNIT_SYMBOL.search(before)):
            return True
        if re.match(r"[A-Za-z\u0370-\u03ff]", behind):
            return not (known and re.search(r"[.,;:!?)”\"’]$", before))
        return not known and (not before or before.endswith((")", "]")))

    def _find_author_years(self) -> Iterator[CitationMark]:
        for match in _PARENTHESES.finditer(self._text):
            if self._lists.contains(match.start()) or not re.search(r"\d{4}|n\. ?d\.|无日期|in press", match[1]):
                continue
            for part in re.split("[;；]", match[1]):
                cite = match_author_year(" ".join(part.split()))
                if cite:
                    is_distinctive = bool(re.search(r"et al|&|\band\b|等", cite["names"]) or cite["comma"].strip())
                    for year in (cite["year"], *re.findall(_YEARS, cite["more"])):
                        yield CitationMark(
                            "author",
                            f"{cite['names'].strip()}|{year}",
                            *match.span(),
                            "author-year",
                            needs_entry=not is_distinctive,
                        )
        for match in _YEAR_IN_PARENTHESES.finditer(self._text):
            if not self._lists.contains(match.start()):
                before = self._text[max(0, match.start() - 80) : match.start()].replace("\n", " ")
                yield CitationMark(
                    "author",
                    f"\x00{before.strip()}|{match[1]}",
                    *match.span(),
                    "author-year",
                    needs_entry=True,
                )

    def _find_keys(self) -> Iterator[CitationMark]:
        for match in _LATEX_CITE.finditer(self._text):
            if not self._lists.contains(match.start()):
                for key in match[1].split(","):
                    yield CitationMark("key", key.strip(), *match.span(), "keys")
        for match in _BARE_KEY.finditer(self._text):
            if not self._lists.contains(match.start()):
                yield CitationMark("key", match[1], *match.span(), "keys", needs_entry=True)

    def _find_bare_addresses(self) -> Iterator[CitationMark]:
        for match in ADDRESS.finditer(self._text):
            address = trim_address(match[0])
            web = address.lower().startswith(("http", "www"))
            if self._lists.contains(match.start()) or not web:
                continue
            start, end = match.start(), match.start() + len(address)
            if self._text[start - 1 : start] != "<":
                self.malformed.append(MalformedMark("bare-address", start, end))
            yield CitationMark("link", "", start, end, "links", address)


def match_author_year(text: str) -> re.Match[str] | None:
    """Match names and a year: (Smith & Lee, 2020) names a source, (March 2020) does not."""
    cite = _AUTHOR_YEAR.fullmatch(text.strip())
    if not cite:
        return None
    names = cite["names"].strip('“”"*_ ')
    if not names or len(names) > 100 or _NOT_AUTHOR.match(names):
        return None
    words = re.findall(r"[^\W\d_][\w’'-]*", names)
    if not words or len(words) > 14:
        return None
    are_names = all(word[0].isupper() or word.lower() in _NAME_PARTICLES or not word.isascii() for word in words)
    return cite if are_names else None


def parse_numbers(text: str) -> list[str]:
    """Return the numbers in a citation; 1-3 stands for three numbers."""
    text = re.sub(rf"{_LOCATOR}\s*$", "", unicodedata.normalize("NFKC", text), flags=re.IGNORECASE)
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


def _label_stem(label: str) -> str:
    return re.sub(r"\d.*", "", label)


def _is_within(spans: list[tuple[int, int]], offset: int) -> bool:
    """Return whether an offset lies in one of the sorted, disjoint spans."""
    low, high = 0, len(spans)
    while low < high:
        middle = (low + high) // 2
        if spans[middle][1] <= offset:
            low = middle + 1
        else:
            high = middle
    return low < len(spans) and spans[low][0] <= offset
