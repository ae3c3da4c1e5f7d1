"""Conversion of a model's Markdown to cited spans.

Model output is untrusted. A citation counts only if its handle or address belongs to a gathered
source. Anything else that looks like a citation or a link is removed, and its span is marked.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from research.citations.formulas import FormulaStore
from research.citations.known_sources import KnownSources
from research.citations.mark_normalisation import normalise_marks
from research.citations.markdown_parser import PRIVATE_CHARS, limit_nesting, sanitize, split_fences
from research.citations.placement import CITE_PLACEHOLDER, cite_placeholder, place_citations, placeholder_index
from research.citations.reference_resolution import Meaning, ResolvedText, resolve_references
from research.citations.styles.source_lists import SOURCE_WORDS
from research.citations.unfinished_text import trim_unfinished
from research.core.records import PassageReference, Span, normalise_query
from research.core.text.tokenizer import HAN_RANGES
from research.core.urls import trim_punctuation, url_identity

_HEX = "[0-9a-fA-F]{4,8}"
_SEPARATOR = r"[\s,;，；、|/&+]"
_HANDLES = rf"[@＠] ?{_HEX}(?:{_SEPARATOR}*[@＠] ?{_HEX}|{_SEPARATOR}+{_HEX})*(?![0-9a-zA-Z])"
_ADDRESS = r"(?:https?://|(?<![\w@/.-])www\.)[^\s<>\"“”‘’`|\\^{}（）【】［］「」『』《》，。；：！？、\[\]]+"
_TOKEN = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`)(?P<inner>(?:[^\n]|\n(?![ \t]*\n))+?)(?<!`)(?P=ticks)(?!`))"
    r"|(?P<escaped>\\[^\[\]\w\s])"
    r"|(?P<gap>\n[ \t]*(?=\n))"
    rf"|[(（]\s*(?P<note>{_HANDLES})\s*[)）]"
    r"|<(?P<auto>(?:https?|ftp)://[^\s<>]*)>"
    rf"|(?P<lead>[(（<]\s*)?(?P<bare>{_ADDRESS})"
    r"|(?P<open>!?\\?[\[［【])"
    r"|(?P<close>\\?[\]］】])",
    re.IGNORECASE,
)
_CLOSING_BRACKETS = {"[": "]", "［": "］", "【": "】"}
_HANDLES_IN_CODE = re.compile(rf"(?<![\w)\]])[\[［【]\s*({_HANDLES})\s*[\]］】]")
_UNBRACKETED_HANDLE = re.compile(rf"(?<![\w.@＠/-])[@＠]({_HEX})(?![\w@-])|[(（{{<]({_HEX})[)）}}>]", re.IGNORECASE)
_LINK_TARGET = re.compile(
    r"\(\s*(?:<(?P<angled>[^<>\n]*)>|(?P<plain>(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))"
    r"(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?\s*\)"
)
# Content of brackets that is meant as a citation: keys such as @3fa9 or @smith2020, and styles that
# models learned elsewhere: numbers, footnotes, 4†source, id/0-1, 来源3.
_CITATION_KEY = r"[A-Za-z0-9_.:-]{1,40}"
_KEY_MARKER = re.compile(rf"\^?@ ?{_CITATION_KEY}(?:{_SEPARATOR}*@ ?{_CITATION_KEY}|{_SEPARATOR}+{_HEX})*")
_HANDLE_WITH_TITLE = re.compile(rf"(?P<own>@ ?{_HEX})[ ,:-]+(?P<behind>.+)|(?P<before>.+?)[ ,:-]+(?P<other>@ ?{_HEX})")
_BARE_MARKER = re.compile(rf"{_HEX}(?:{_SEPARATOR}+{_HEX})*")
_MARK_NUMBER = r"\^?[0-9]{1,3}"
_FOREIGN_MARK = re.compile(
    rf"{_MARK_NUMBER}(?: ?[-–—,;、&+ ] ?{_MARK_NUMBER})*|\^[\w.-]{{1,40}}|[0-9]{{1,3}}(?::[0-9]+)?†.*"
    r"|(?:\S*/)?id/[0-9]+-[0-9]+|(?:sources?|refs?|来源|资料|文献) ?:?[0-9]{1,3}",
    re.IGNORECASE,
)
# Text that may stand before or behind a handle in its brackets: source: @3fa9, p. 3.
_CREDIT_PREFIX = re.compile(
    rf"^(?:\d{{1,3}}|see|via|handles?|{SOURCE_WORDS}|参见|见|出处|引自) ?:? ?(?=\^?@|[0-9a-f]{{4,8}}(?![\w.]))",
    re.IGNORECASE,
)
_LOCATOR_SUFFIX = re.compile(
    r"(?<=[0-9a-f]) ?[,:] ?(?:pp?\. ?[\d, -]+|§ ?[\d.]+|第 ?\d+ ?[页頁章节節条條段])$",
    re.IGNORECASE,
)
# Brackets that contain only citations, and tags that make these superscripts.
_EMPTY_BRACKETS = re.compile(
    r"(?:[\[［【〔(（「『《〈{<]|<(?:sup|cite|citation|source)\b[^<>\n]{0,60}>|\^)[ \t]*"
    rf"(?:(?:see|cf\.|via|{SOURCE_WORDS}|参见|见|出处|引自)[ \t]*[:：]?[ \t]*)?"
    rf"{CITE_PLACEHOLDER}(?:[ \t,;，；、]*{CITE_PLACEHOLDER})*[ \t]*(?:[\]］】〕)）」』》〉}}>]|</(?:sup|cite|citation|source)>|\^)",
    re.IGNORECASE,
)
_NUMBER_LINK = re.compile(r"\[\s*(?:\\?\[)?(\d{1,3})(?:\\?\])?\s*\]\(")
_INLINE_NOTE = re.compile(r"\^\[[^\[\]\n]{0,300}\]")  # a note within the text
_MAX_EMPTY_NESTING = 3  # passes that remove brackets around citations
_MAX_MARK_CHARS = 200  # longer content of brackets is no citation
_MAX_BRACKET_DEPTH = 30  # open brackets that are tracked


def parse_model_markdown(
    text: str,
    handles: Mapping[str, PassageReference],
    urls: Mapping[str, PassageReference],
    titles: Mapping[str, PassageReference] = MappingProxyType({}),
    *,
    is_partial: bool = False,
    is_list_pending: bool = False,
) -> tuple[Span, ...]:
    """Convert a model's Markdown to spans; each span ends where its citations stand.

    `handles` are the names under which the model was shown its sources, `urls` the gathered
    addresses by identity, and `titles` the gathered titles. Numbers and footnotes are resolved by
    the text's own list of sources, which is removed. Any other citation or link is removed and
    makes its span `unsourced`. Punctuation behind a citation moves in front of it, and a citation
    in front of a sentence moves to its end. If `is_partial`, the text may break off: a tail that
    may still become a citation, a link or a table is removed. If `is_list_pending`, the text is still
    being written, and a number that its list may explain later does not make a span `unsourced`.
    """
    text = limit_nesting(sanitize(text))
    text = _remove_outer_fence(trim_unfinished(text) if is_partial else text, is_partial=is_partial).strip("\n")
    text = _TEXT_AFTER_FENCE.sub(r"\1\n\2", text)
    scanner, formulas = _CitationScanner(handles, urls, titles, is_list_pending=is_list_pending), FormulaStore()
    text = "".join(block if fenced else formulas.hide(normalise_marks(block)) for fenced, block in split_fences(text))
    blocks = [
        scanner.scan_code(block) if fenced else scanner.scan_prose(block)
        for fenced, block in split_fences(scanner.resolve_list(text).strip("\n"))
    ]
    return tuple(scanner.build_spans(formulas.restore(place_citations("".join(blocks)).rstrip())))


class _CitationScanner:
    """Scanner that replaces the citations of a text by placeholders."""

    def __init__(
        self,
        handles: Mapping[str, PassageReference],
        urls: Mapping[str, PassageReference],
        titles: Mapping[str, PassageReference],
        *,
        is_list_pending: bool,
    ) -> None:
        self._handles = {handle.lower(): cite for handle, cite in handles.items()}
        self._urls, self._titles = urls, titles
        self._is_list_pending = is_list_pending
        self._citations: list[Meaning] = []  # None: not a gathered source
        self._resolved_list = ResolvedText("")
        self._numbers_are_citations = False  # True if the linked numbers are 1 to n

    def resolve_list(self, text: str) -> str:
        """Remove the text's own list of sources and replace the marks that point into it."""
        gathered = KnownSources(self._handles, self._urls, self._titles)
        numbers = {int(number) for number in _NUMBER_LINK.findall(text)}
        self._numbers_are_citations = numbers == set(range(1, len(numbers) + 1))
        self._resolved_list = resolve_references(
            text, gathered, self._add_placeholders, is_list_pending=self._is_list_pending
        )
        return self._resolved_list.text

    def _add_placeholders(self, cites: Iterable[Meaning]) -> str:
        out = ""
        for cite in cites:
            out += cite_placeholder(len(self._citations))
            self._citations.append(cite)
        return out

    def build_spans(self, text: str) -> Iterator[Span]:
        """Yield the spans of a text, cut at its placeholders."""
        pieces = re.split(f"({CITE_PLACEHOLDER}+)", text)
        for words, marks in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
            meanings = [self._citations[placeholder_index(mark)] for mark in marks]
            cites = tuple(dict.fromkeys(cite for cite in meanings if isinstance(cite, PassageReference)))
            if words or cites or None in meanings:
                yield Span(kind="text", text=words, references=cites, unsourced=None in meanings)

    def scan_code(self, text: str) -> str:
        """Replace handles in code; everything else stays, because [1] is an index there."""
        return _HANDLES_IN_CODE.sub(lambda match: self._add_placeholders(self._cites_of_handles(match[1])), text)

    def _cites_of_handles(self, handles: str) -> list[Meaning]:
        return [self._handles.get(handle.lower()) for handle in re.findall(_HEX, handles)]

    def scan_prose(self, text: str) -> str:
        """Replace the citations in text without fenced code, inner brackets first."""
        out: list[str] = []
        opened: list[int] = []  # indices in `out` of brackets that are still open
        at = 0
        while match := _TOKEN.search(text, at):
            out.append(text[at : match.start()])
            at = match.end()
            if match["open"]:
                opened.append(len(out))
                del opened[:-_MAX_BRACKET_DEPTH]
                out.append(match["open"])
            elif match["close"]:
                at = self._close_bracket(match["close"], out, opened, text, at)
            elif match["bare"]:
                at = self._replace_address(match, out, text)
            else:
                if match["gap"]:
                    opened.clear()
                out.append(self._replace_token(match))
        whole = _UNBRACKETED_HANDLE.sub(self._replace_unbracketed, "".join(out) + text[at:])
        whole = _INLINE_NOTE.sub(lambda note: "".join(re.findall(CITE_PLACEHOLDER, note[0])) or note[0], whole)
        for _ in range(_MAX_EMPTY_NESTING):
            whole = _EMPTY_BRACKETS.sub(lambda brackets: "".join(re.findall(CITE_PLACEHOLDER, brackets[0])), whole)
        return whole

    def _replace_unbracketed(self, match: re.Match[str]) -> str:
        """Replace a handle without brackets if it is known; otherwise it is an ordinary word."""
        cite = self._handles.get((match[1] or match[2]).lower())
        return self._add_placeholders([cite]) if cite else match[0]

    def _replace_token(self, match: re.Match[str]) -> str:
        """Return the replacement of a token that needs no closing bracket."""
        if match["code"]:
            inner = self.scan_code(match["inner"])
            only = not re.sub(rf"{CITE_PLACEHOLDER}|\s", "", inner)
            return inner.strip() if only else match["ticks"] + inner + match["ticks"]
        if match["note"]:
            return self._add_placeholders(self._cites_of_handles(match["note"]))
        if match["auto"]:
            return self._add_placeholders([self._urls.get(url_identity(match["auto"]))])
        return match[0]

    def _replace_address(self, match: re.Match[str], pieces: list[str], text: str) -> int:
        """Replace an address and brackets around only it; return the offset behind it."""
        end, cite = self._match_address(match["bare"])
        end += match.start("bare")
        lead = match["lead"] or ""
        around = re.compile(r"\s*[)）>]").match(text, end) if lead else None
        pieces.append(("" if around else lead) + self._add_placeholders([cite]))
        return around.end() if around else end

    def _match_address(self, text: str) -> tuple[int, PassageReference | None]:
        """Return the length of the address in a run of characters, and the source it refers to."""
        whole = text if text.lower().startswith("http") else f"https://{text}"
        added = len(whole) - len(text)
        ascii_ = re.match(r"[\x21-\x7e]+", whole)
        candidates = [whole, trim_punctuation(whole), trim_punctuation(ascii_[0] if ascii_ else whole)]
        for address in candidates:
            if cite := self._urls.get(url_identity(address)):
                return len(address) - added, cite
        return len(candidates[-1]) - added, None

    def _close_bracket(self, closing: str, pieces: list[str], open_brackets: list[int], text: str, offset: int) -> int:
        """Interpret a pair of brackets and return the offset at which scanning continues."""
        closes = (
            n
            for n in reversed(range(len(open_brackets)))
            if _CLOSING_BRACKETS[pieces[open_brackets[n]][-1]] == closing[-1]
        )
        index = next(closes, None)
        if index is None:
            pieces.append(closing)
            return offset
        start = open_brackets[index]
        opener, inside = pieces[start], "".join(pieces[start + 1 :])
        target = _LINK_TARGET.match(text, offset) if (opener[-1] + closing) == "[]" else None
        target = None if "\\" in opener else target
        meanings = self._meanings(inside, is_link=target is not None)
        if target:
            more = re.match(r"[ \t]*[^\W_]", text[target.end() : target.end() + 40])
            is_separate = re.search(rf"(?:^|[\s{HAN_RANGES}*_])$", "".join(pieces[max(0, start - 3) : start]))
            may_be_count = bool(more and is_separate) and not self._numbers_are_citations
            new, offset = self._replace_link(opener, inside, meanings, target, may_be_count), target.end()
        elif meanings:
            new = opener[: opener.startswith("!")] + self._add_placeholders(meanings)
            line = text[text.rfind("\n", 0, offset) + 1 : offset]
            if re.fullmatch(r"[ \t]*\[\^?\w+\]", line) and text.startswith(":", offset):
                offset += 1
        else:
            pieces.append(closing)
            del open_brackets[index:]
            return offset
        del open_brackets[index:], pieces[start:]
        pieces.append(new)
        return offset

    def _replace_link(
        self, opener: str, bracket_text: str, meanings: list[Meaning], target: re.Match[str], may_be_count: bool
    ) -> str:
        """Return the text of a link without its address, or the description of an image.

        A number as the text of a link is a citation, unless the sentence may use it to count
        (`may_be_count`).
        """
        handles = [cite for cite in meanings if isinstance(cite, PassageReference)]
        if opener == "![" and not handles:
            return bracket_text
        address = html.unescape(target["angled"] or target["plain"] or "").strip()
        cite = self._urls.get(url_identity(address))
        if handles or (meanings and not may_be_count) or _KEY_MARKER.fullmatch(_normalise_mark(bracket_text)):
            return opener[:-1] + self._add_placeholders(handles or [cite])
        if cite:  # the address names the source, so unsourced marks in the link text are dropped
            meaning_by_mark = {
                mark: self._citations[placeholder_index(mark)] for mark in re.findall(CITE_PLACEHOLDER, bracket_text)
            }
            bracket_text = "".join(char for char in bracket_text if meaning_by_mark.get(char, cite))
        return bracket_text + self._add_placeholders([cite])

    def _meanings(self, bracket_text: str, *, is_link: bool) -> list[Meaning]:
        """Return the sources cited by the content of brackets; an empty list if it is no citation.

        For the number of a link the result is [None], because the address of the link names the
        source.
        """
        content = _LOCATOR_SUFFIX.sub("", _CREDIT_PREFIX.sub("", _normalise_mark(bracket_text)))
        if _KEY_MARKER.fullmatch(content):
            keys = re.findall(_CITATION_KEY, content)
            return [self._handles.get(key.lower()) for key in keys]
        if _BARE_MARKER.fullmatch(content) and re.search("[a-f]", content, re.IGNORECASE):
            known = self._cites_of_handles(content)
            return known if all(known) else []
        if named := _HANDLE_WITH_TITLE.fullmatch(content):  # a handle beside the title of a source
            words = normalise_query(named["before"] or named["behind"])
            return self._cites_of_handles(named["own"] or named["other"]) if words in self._titles else []
        if not _FOREIGN_MARK.fullmatch(content):
            return []
        meanings = [None] if is_link else self._resolved_list.meanings_of(content)
        return ["pending" if self._is_list_pending and cite is None else cite for cite in meanings]


def _normalise_mark(bracket_text: str) -> str:
    """Normalise the content of brackets: no emphasis, width variants, entities or hidden characters."""
    if len(bracket_text) > _MAX_MARK_CHARS or re.search(r"\n[ \t]*[^\s\d@,;，；、]", bracket_text):
        return ""
    text = unicodedata.normalize("NFKC", html.unescape(PRIVATE_CHARS.sub("", bracket_text)))
    text = "".join(c for c in text if c not in "*_~`\\" and unicodedata.category(c) != "Cf")
    return " ".join(text.split())


# A citation on the line of a closing fence would leave the fence open.
_TEXT_AFTER_FENCE = re.compile(
    r"^([ \t>]*(?:`{3,}|~{3,}))[ \t]*((?:[\[［【(（][@＠^]?[\w@,;†:\- ]{1,60}[\]］】)）][ \t]*)+)$",
    re.MULTILINE,
)


_OUTER_FENCE = re.compile(r"\s*(`{3,}|~{3,})[ \t]*(?:markdown|md)?[ \t]*\n", re.IGNORECASE)
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*(.*)")


def _remove_outer_fence(text: str, *, is_partial: bool) -> str:
    """Remove a fence around the whole text."""
    opening = _OUTER_FENCE.match(text)
    if not opening:
        return text
    lines = text[opening.end() :].rstrip().split("\n")
    inner = ""  # the fence that is open inside the outer one
    for at, line in enumerate(lines):
        fence = _FENCE.match(line)
        if not fence:
            continue
        if inner:
            closes = not fence[2] and fence[1].startswith(inner)
            inner = "" if closes else inner
        elif fence[2]:
            inner = fence[1]
        elif fence[1].startswith(opening[1]):
            return "\n".join(lines[:at]) if at == len(lines) - 1 else text
    named = opening[0].strip() != opening[1]
    return text[opening.end() :] if is_partial and named else text
