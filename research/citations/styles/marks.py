"""Parser of the citations in the text of a report, in any style.

Malformed citations are recorded too. Whether a cited source exists is not checked here.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from research import data
from research.citations.styles.citation_mark import (
    LOCATOR,
    TEXT_BEFORE_YEAR,
    CitationMark,
    MalformedMark,
    MarkStyle,
    parse_numbers,
)
from research.citations.styles.parsed_report import BracketPair, MarkdownLink, ParsedReport
from research.citations.styles.source_lists import SOURCE_WORDS, SourceLists
from research.citations.styles.superscripts import SuperscriptFinder
from research.citations.styles.web_addresses import ADDRESS, PROMPT_ID, trim_address

_MARK_NUMBER = r"\^?\d{1,4}"
_NUMBER_LIST = re.compile(
    rf"\s*(?:(?:{SOURCE_WORDS}) ?[:：]?#? ?)?{_MARK_NUMBER}"
    rf"(?:\s*(?:[,;、，；&|+]|and|和|–|—|-|to|至|~)\s*{_MARK_NUMBER})*"
    rf"(?:{LOCATOR})?\s*",
    re.IGNORECASE,
)
_CITE_PREFIX = re.compile(r"\s*cite: ?", re.IGNORECASE)
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
_BEFORE_INTERVAL = re.compile(
    r"(?:\b(?:intervals?|ranges?|between|scale|CI|bounds?|domain|within|bracket|coordinates?|vector|array|list|tuple|index|indices|shape|dims?)(?: (?:of|is|was|from|in|to|the))?|∈|=|区间|范围|之间|取值|坐标|数组|向量|列表|索引)\s*[:：(（]?\s*$",
    re.IGNORECASE,
)
_MEMBERSHIP_SIGN = re.compile(r"[∈∉⊂⊆]\s*$")
_BEFORE_ARRAY = re.compile(r"(?:array|list|index|vector|=|数组|列表|索引)\s*$")
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
    """Citations of a report's text in order, malformed citations, and bracketed numbers of other kinds."""

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
        self._covered_spans: list[tuple[int, int]] = []
        marks = [*self._find_tokens(), *self._find_links(), *self._find_brackets()]
        marks += self._marks_between(sorted(marks, key=lambda mark: mark.start))
        self._covered_spans.sort()
        spans = self._merged_spans()
        for mark in (
            *SuperscriptFinder(report, lists, self._entry_numbers).find(
                has_bracketed_numbers=any(mark.kind == "number" for mark in marks)
            ),
            *self._find_author_years(),
            *self._find_keys(),
            *self._find_bare_addresses(),
        ):
            if not _is_within(spans, mark.start):
                marks.append(mark)
        self.marks = sorted(marks, key=lambda mark: (mark.start, mark.end))
        self.malformed = [m for m in self.malformed if m.kind != "bare-address" or not _is_within(spans, m.start)]

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

    # Tokens of search tools, which cite nothing

    def _find_tokens(self) -> Iterator[CitationMark]:
        for match in _TOOL_TOKEN.finditer(self._text):
            if not self._lists.contains(match.start()) and match[0].strip("[]") not in self._entry_labels:
                self._covered_spans.append(match.span())
                self.malformed.append(MalformedMark("placeholder", *match.span()))
                yield CitationMark("note", match[0], *match.span(), "tokens")
        self._token_spans = sorted(self._covered_spans)

    # Links

    def _find_links(self) -> Iterator[CitationMark]:
        last_end = 0
        for link in self.links:
            if link.start < last_end or _is_within(self._token_spans, link.start):
                continue  # inside another link or a token
            last_end = link.end
            self._covered_spans.append((link.start, link.end))
            yield from self._parse_link(link, self._text[slice(*link.text_span)])

    def _parse_link(self, link: MarkdownLink, words: str) -> Iterator[CitationMark]:
        content = re.sub(r"[\[\]［］【】\s*_~`^]", "", words)
        is_fragment = link.url.startswith("#")
        if re.fullmatch(r"\d{1,3}", content):
            needs_entry = is_fragment and "[" not in words and "^" not in self._text[link.start - 1 : link.start + 2]
            span, url = (link.start, link.end), "" if is_fragment else link.url
            yield CitationMark("number", str(int(content)), *span, "numbered", url, needs_entry=needs_entry)
        elif PROMPT_ID.fullmatch(link.url):
            yield CitationMark("note", link.url, link.start, link.end, "tokens")
        elif not is_fragment and link.url and not link.url.lower().startswith(("mailto:", "tel:")):
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
            return self._parse_number(bracket, inside, behind), end
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
        """Return whether bracketed numbers are an index, an interval or a year. Some have no source."""
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
        if self._entry_labels and _LABEL.fullmatch(words) and before.strip() and self._resembles_label(words):
            return [CitationMark("label", words, bracket.start, bracket.end, "labels")]
        parts = [part.strip() for part in re.split("[,;，；、]", words)]
        if len(parts) > 1 and all(part in self._entry_labels or self._resembles_label(part) for part in parts):
            return [CitationMark("label", part, bracket.start, bracket.end, "labels") for part in parts]
        if bracket.opener == "[" and len(words) <= 120 and (cite := match_author_year(words)):
            key = f"{cite['names']}|{cite['year']}"
            return [CitationMark("author", key, bracket.start, bracket.end, "author-year", needs_entry=True)]
        return []

    def _resembles_label(self, label: str) -> bool:
        """Return whether a label has the form of those in the lists: S7 resembles S1 and S2."""
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
        """Return whether the round bracket around a link's address is not closed: [text](https://a.org."""
        opened = bracket.opener == "[" and _UNCLOSED_TARGET.match(self._text, bracket.end)
        return bool(opened) and not self._report.match_target(bracket.end)

    # Names and keys

    def _find_author_years(self) -> Iterator[CitationMark]:
        for match in _PARENTHESES.finditer(self._text):
            if self._lists.contains(match.start()) or not re.search(r"\d{4}|n\. ?d\.|无日期|in press", match[1]):
                continue
            for part in re.split("[;；]", match[1]):
                cite = match_author_year(" ".join(part.split()))
                if cite:
                    is_distinctive = bool(re.search(r"et al|&|\band\b|等", cite["names"]) or cite["comma"].strip())
                    for year in (cite["year"], *re.findall(_YEARS, cite["more"])):
                        key = f"{cite['names'].strip()}|{year}"
                        yield CitationMark("author", key, *match.span(), "author-year", needs_entry=not is_distinctive)
        for match in _YEAR_IN_PARENTHESES.finditer(self._text):
            if not self._lists.contains(match.start()):
                before = self._text[max(0, match.start() - 80) : match.start()].replace("\n", " ")
                key = f"{TEXT_BEFORE_YEAR}{before.strip()}|{match[1]}"
                yield CitationMark("author", key, *match.span(), "author-year", needs_entry=True)

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


def _label_stem(label: str) -> str:
    return re.sub(r"\d.*", "", label)


def _is_within(spans: list[tuple[int, int]], offset: int) -> bool:
    """Return whether an offset lies in one of the sorted, disjoint spans."""
    index = bisect_right(spans, offset, key=lambda span: span[1])
    return index < len(spans) and spans[index][0] <= offset
