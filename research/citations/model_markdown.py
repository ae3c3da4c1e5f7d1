"""Conversion of a model's Markdown to cited spans, and of cited spans to a tree.

Model output is untrusted. A citation counts only if its handle or address belongs to a gathered
source. Anything else that looks like a citation or a link is removed, and its span is marked. Trees
are not rendered here, and claims are not judged.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline.state_inline import Delimiter, StateInline
from markdown_it.token import Token

from research.citations.formulas import FORMULA_PLACEHOLDER, FormulaStore
from research.citations.mark_normalization import normalize_marks
from research.citations.numbering import NumberedSpan
from research.citations.placement import CITE_PLACEHOLDER as _MARK
from research.citations.placement import FIRST_CITE_PLACEHOLDER as _FIRST
from research.citations.placement import place_citations
from research.citations.reference_resolution import KnownSources, Meaning, ResolvedText, resolve_references
from research.citations.styles.source_lists import SOURCE_WORDS
from research.core.records import PassageReference, Span, normalise_query
from research.core.text.sentences import join_lines
from research.core.text.tokenizer import HAN_RANGES
from research.core.urls import url_identity

Node = str | dict[str, Any]

# Private characters have no meaning of their own and are removed from outside text. Here each one
# of planes 15 and 16 is the placeholder of one citation.
_PRIVATE_CHARS = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
_DIRECTION_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_CARRIAGE_RETURN = re.compile(r"\r\n?")


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which JSON may contain, so that the text can be encoded as UTF-8."""
    return _SURROGATES.sub("\ufffd", text)


def strip_direction_controls(text: str) -> str:
    """Remove embeddings, overrides and isolates, which change the direction of other text.

    An unclosed one would reorder the text behind it: a citation, a price, the next sentence.
    Letters keep their direction without them. The direction marks U+200E and U+200F stay.
    """
    return _DIRECTION_CONTROLS.sub("", text)


_MARKUP_CHAR = re.compile(r"[^\w\s，。；：！？、“”‘’（）《》.,;:'\"()%+=/-]|_")


def escape_table_cell(text: str) -> str:
    """Escape a text for a cell of a Markdown table: one line without active markup."""
    return _MARKUP_CHAR.sub(lambda match: f"&#{ord(match[0])};", " ".join(text.split()))


def _sanitize(text: str) -> str:
    """Remove characters that cannot be stored, forge a placeholder or change the text direction."""
    return strip_direction_controls(_PRIVATE_CHARS.sub("", replace_surrogates(_CARRIAGE_RETURN.sub("\n", text))))


# --- Markdown as it is read here ------------------------------------------------------------------

_WIDE_CHAR = re.compile(rf"[{HAN_RANGES}\u3000-\u303f\u3040-\u30ff\uac00-\ud7af\uff00-\uffef“”‘’…—]")


def _neighbours(text: str, start: int, end: int) -> tuple[str, str]:
    """Return the characters beside a range, ignoring citations there."""
    before = re.sub(f"{_MARK}+$", "", text[max(0, start - 20) : start])[-1:] or " "
    after = re.sub(f"^{_MARK}+", "", text[end : end + 20])[:1] or " "
    return before, after


def is_punctuation(char: str) -> bool:
    """Return whether a character is punctuation in the sense of CommonMark, including symbols."""
    return unicodedata.category(char)[0] in "PS"


def _emphasis_flanks(before: str, after: str) -> tuple[bool, bool]:
    """Return whether a run of * or _ may open, and whether it may close, emphasis.

    CommonMark's rule expects spaces between words and would leave the stars of **门票：**60元 as they
    are; here a wide character needs no space beside it.
    """
    wide = bool(_WIDE_CHAR.match(before)), bool(_WIDE_CHAR.match(after))
    marks = is_punctuation(before), is_punctuation(after)
    gap = before.isspace(), after.isspace()
    opens = not gap[1] and (wide[1] or not marks[1] or gap[0] or marks[0] or wide[0])
    closes = not gap[0] and (wide[0] or not marks[0] or gap[1] or marks[1] or wide[1])
    return opens, closes


def _emphasis_rule(state: StateInline, silent: bool) -> bool:
    """Parser rule for * and _ that uses `_emphasis_flanks`."""
    marker = state.src[state.pos]
    if silent or marker not in "*_":
        return False
    end = state.pos
    while end < state.posMax and state.src[end] == marker:
        end += 1
    before, after = _neighbours(state.src, state.pos, end)
    left, right = _emphasis_flanks(before, after)
    within = marker == "*"
    opens = left and (within or not right or is_punctuation(before))
    closes = right and (within or not left or is_punctuation(after))
    for _ in range(end - state.pos):
        state.push("text", "", 0).content = marker
        at = len(state.tokens) - 1
        length = end - state.pos
        state.delimiters.append(Delimiter(ord(marker), length, at, -1, opens, closes))
    state.pos = end
    return True


def _build_parser() -> MarkdownIt:
    """Build a Markdown parser without active or hidden content: no HTML, images or link
    definitions.

    Entities are left to `_decode_entities`, because one could forge a placeholder. A line of dashes
    is a rule and never turns the paragraph above into a heading, and only fenced code is code:
    models do not mean headings by dashes or code by four spaces.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable(["image", "html_inline", "html_block", "autolink", "reference", "entity"])
    parser.disable(["lheading", "code"])
    parser.inline.ruler.at("emphasis", _emphasis_rule)
    return parser


_PARSER = _build_parser()
_BLOCK_PARSER = _build_parser().disable(["inline", "text_join"])
for _parser in (_PARSER, _BLOCK_PARSER):
    _parser.parse("*")  # a parser compiles its rules at first use, which is not thread-safe


NO_TITLES: Mapping[str, PassageReference] = {}

# --- From a model's text to spans -----------------------------------------------------------------

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
    rf"{_MARK}(?:[ \t,;，；、]*{_MARK})*[ \t]*(?:[\]］】〕)）」』》〉}}>]|</(?:sup|cite|citation|source)>|\^)",
    re.IGNORECASE,
)
_NUMBER_LINK = re.compile(r"\[\s*(?:\\?\[)?(\d{1,3})(?:\\?\])?\s*\]\(")
_INLINE_NOTE = re.compile(r"\^\[[^\[\]\n]{0,300}\]")  # a note within the text
_MAX_EMPTY_NESTING = 3  # brackets within brackets
_MAX_MARK_CHARS = 200  # longer content of brackets is no citation
_MAX_BRACKET_DEPTH = 30  # brackets within brackets


def parse_model_markdown(
    text: str,
    handles: Mapping[str, PassageReference],
    urls: Mapping[str, PassageReference],
    titles: Mapping[str, PassageReference] = NO_TITLES,
    *,
    is_partial: bool = False,
    list_pending: bool = False,
) -> tuple[Span, ...]:
    """Convert a model's Markdown to spans; each span ends where its citations stand.

    `handles` are the names under which the model was shown its sources, `urls` the gathered
    addresses by identity, and `titles` the gathered titles. Numbers and footnotes are resolved by
    the text's own list of sources, which is removed. Any other citation or link is removed and
    makes its span `unsourced`. Punctuation behind a citation moves in front of it, and a citation
    in front of a sentence moves to its end. If `is_partial`, the text may break off: a tail that
    may still become a citation, a link or a table is removed. If `list_pending`, the text is still
    being written, and a number that its list may explain later does not make a span `unsourced`.
    """
    text = _limit_nesting(_sanitize(text))
    text = _remove_outer_fence(_trim_unfinished(text) if is_partial else text, is_partial=is_partial).strip("\n")
    text = _TEXT_AFTER_FENCE.sub(r"\1\n\2", text)
    scanner, formulas = _CitationScanner(handles, urls, titles, list_pending=list_pending), FormulaStore()
    text = "".join(block if fenced else formulas.hide(normalize_marks(block)) for fenced, block in split_fences(text))
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
        list_pending: bool,
    ) -> None:
        self._handles = {handle.lower(): cite for handle, cite in handles.items()}
        self._urls, self._titles = urls, titles
        self._list_pending = list_pending
        self._citations: list[Meaning] = []  # None: not a gathered source
        self._resolved_list = ResolvedText("")
        self._numbers_are_citations = False  # whether linked numbers count from 1

    def resolve_list(self, text: str) -> str:
        """Remove the text's own list of sources and replace the marks that point into it."""
        gathered = KnownSources(self._handles, self._urls, self._titles)
        numbers = {int(number) for number in _NUMBER_LINK.findall(text)}
        self._numbers_are_citations = numbers == set(range(1, len(numbers) + 1))
        self._resolved_list = resolve_references(
            text, gathered, self._add_placeholders, list_pending=self._list_pending
        )
        return self._resolved_list.text

    def _add_placeholders(self, cites: Iterable[Meaning]) -> str:
        out = ""
        for cite in cites:
            out += chr(_FIRST + len(self._citations))
            self._citations.append(cite)
        return out

    def build_spans(self, text: str) -> Iterator[Span]:
        """Yield the spans of a text, cut at its placeholders."""
        pieces = re.split(f"({_MARK}+)", text)
        for words, marks in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
            meanings = [self._citations[ord(mark) - _FIRST] for mark in marks]
            cites = tuple(dict.fromkeys(cite for cite in meanings if isinstance(cite, PassageReference)))
            if words or cites or None in meanings:
                yield Span(kind="text", text=words, cites=cites, unsourced=None in meanings)

    def scan_code(self, text: str) -> str:
        """Replace handles in code; everything else stays, because [1] is an index there."""
        return _HANDLES_IN_CODE.sub(lambda match: self._add_placeholders(self._cites_of_handles(match[1])), text)

    def _cites_of_handles(self, handles: str) -> list[Meaning]:
        return [self._handles.get(handle.lower()) for handle in re.findall(_HEX, handles)]

    def scan_prose(self, text: str) -> str:
        """Replace the citations in text without fenced code, matching brackets from the inside
        out."""
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
        whole = _INLINE_NOTE.sub(lambda note: "".join(re.findall(_MARK, note[0])) or note[0], whole)
        for _ in range(_MAX_EMPTY_NESTING):
            whole = _EMPTY_BRACKETS.sub(lambda husk: "".join(re.findall(_MARK, husk[0])), whole)
        return whole

    def _replace_unbracketed(self, match: re.Match[str]) -> str:
        """Replace a handle without brackets if it is known; otherwise it is an ordinary word."""
        cite = self._handles.get((match[1] or match[2]).lower())
        return self._add_placeholders([cite]) if cite else match[0]

    def _replace_token(self, match: re.Match[str]) -> str:
        """Return the replacement of a token that needs no closing bracket."""
        if match["code"]:
            inner = self.scan_code(match["inner"])
            only = not re.sub(rf"{_MARK}|\s", "", inner)
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
        candidates = [whole, _trim_address(whole), _trim_address(ascii_[0] if ascii_ else whole)]
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
        if handles or (meanings and not may_be_count) or _KEY_MARKER.fullmatch(_normalize_mark(bracket_text)):
            return opener[:-1] + self._add_placeholders(handles or [cite])
        if cite:  # the address names the source, so unsourced marks in the link text are dropped
            meaning_by_mark = {mark: self._citations[ord(mark) - _FIRST] for mark in re.findall(_MARK, bracket_text)}
            bracket_text = "".join(char for char in bracket_text if meaning_by_mark.get(char, cite))
        return bracket_text + self._add_placeholders([cite])

    def _meanings(self, bracket_text: str, *, is_link: bool) -> list[Meaning]:
        """Return the sources cited by the content of brackets; an empty list if it is no citation.

        For the number of a link the result is [None], because the address of the link names the
        source.
        """
        content = _LOCATOR_SUFFIX.sub("", _CREDIT_PREFIX.sub("", _normalize_mark(bracket_text)))
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
        return ["pending" if self._list_pending and cite is None else cite for cite in meanings]


def _normalize_mark(bracket_text: str) -> str:
    """Normalise the content of brackets: no emphasis, width variants, entities or hidden
    characters."""
    if len(bracket_text) > _MAX_MARK_CHARS or re.search(r"\n[ \t]*[^\s\d@,;，；、]", bracket_text):
        return ""
    text = unicodedata.normalize("NFKC", html.unescape(_PRIVATE_CHARS.sub("", bracket_text)))
    text = "".join(c for c in text if c not in "*_~`\\" and unicodedata.category(c) != "Cf")
    return " ".join(text.split())


def _trim_address(address: str) -> str:
    """Remove the punctuation of the sentence from the end of an address."""
    while address:
        unpaired = address[-1] == ")" and address.count(")") > address.count("(")
        if not unpaired and address[-1] not in ".,;:!?'*_~":
            break
        address = address[:-1]
    return address


# A citation on the line of a closing fence would leave the fence open.
_TEXT_AFTER_FENCE = re.compile(
    r"^([ \t>]*(?:`{3,}|~{3,}))[ \t]*((?:[\[［【(（][@＠^]?[\w@,;†:\- ]{1,60}[\]］】)）][ \t]*)+)$",
    re.MULTILINE,
)


_LINE_PREFIX = re.compile(
    r"^[ \t]*(?:>|[-+*](?=[ \t>]|$)|[0-9]{1,9}[.)](?=[ \t>]|$))"
    r"(?:[ \t>]|[-+*](?=[ \t>]|$)|[0-9]{1,9}[.)](?=[ \t>]|$))*",
    re.MULTILINE,
)
_MAX_PREFIX_CHARS = 18  # characters of a line prefix, each of which may begin a level


def _limit_nesting(text: str) -> str:
    """Limit the nesting of quotations and lists to the 20 levels that the parser reads.

    Deeper nesting would lose the rest of the text. Code stays unchanged.
    """
    limited = _LINE_PREFIX.sub(
        lambda front: front[0].expandtabs(4)[:_MAX_PREFIX_CHARS] if len(front[0]) > _MAX_PREFIX_CHARS / 4 else front[0],
        text,
    )
    if limited == text:
        return text
    fenced = _fenced_lines(limited)
    pairs = enumerate(zip(text.split("\n"), limited.split("\n"), strict=True))
    return "\n".join(original if at in fenced else line for at, (original, line) in pairs)


def _fenced_lines(text: str) -> set[int]:
    """Return the indices of the lines of fenced code."""
    fenced: set[int] = set()
    for token in _BLOCK_PARSER.parse(text):
        if token.type == "fence" and token.map:
            fenced.update(range(*token.map))
    return fenced


def split_fences(text: str) -> Iterator[tuple[bool, str]]:
    """Split the text into ranges of whole lines, each with a flag that is true for fenced code."""
    lines = text.split("\n")
    fenced = _fenced_lines(text)
    numbered = list(enumerate(lines))
    for is_code, group in groupby(numbered, key=lambda item: item[0] in fenced):
        stretch = [line + "\n" * (at < len(lines) - 1) for at, line in group]
        yield is_code, "".join(stretch)


_OUTER_FENCE = re.compile(r"\s*(`{3,}|~{3,})[ \t]*(?:markdown|md)?[ \t]*\n", re.IGNORECASE)
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*(.*)")


def _remove_outer_fence(text: str, *, is_partial: bool) -> str:
    """Remove a fence around the whole text."""
    opening = _OUTER_FENCE.match(text)
    if not opening:
        return text
    lines = text[opening.end() :].rstrip().split("\n")
    inner = ""  # the open fence inside the outer one
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


# Text that is still being written


def _prefix_pattern(*words: str) -> str:
    """Build a pattern for the non-empty prefixes of words."""
    return "|".join("(?:".join(map(re.escape, word)) + ")?" * (len(word) - 1) for word in words)


# Words before the number or the title of a source.
_SOURCE_WORDS = (
    "source", "sources", "reference", "references", "see source", "see @", "citation", "来源", "资料", "资料来源",
    "文献", "参考", "参考资料", "参考文献", "见来源", "参见来源",
)  # fmt: skip
_UNFINISHED_TAIL = re.compile(
    rf"(?i:(?<!\w)(?:{_prefix_pattern('https:/', 'citeturn')}|citeturn\w{{1,20}})|{_prefix_pattern(':contentReference')}"
    rf"|(?:^|(?<=\n))[ \t]*(?:{_prefix_pattern(*_SOURCE_WORDS)}) ?\d{{0,3}}"
    rf"|[(（]\s?(?:{_prefix_pattern(*_SOURCE_WORDS)})?\s?[:：]?\s?[@＠\da-f ,;、，；–-]{{0,40}}"
    rf"|[(（]\s?(?:{SOURCE_WORDS}) ?[:：][^()（）\n]{{0,200}}"
    r"|<sup\b[^<>\n]{0,60}>(?:(?!</sup>)[^\n]){0,200}|<ref\b[^<>\n]{0,60}(?:>(?:(?!</ref>)[^\n]){0,2000})?|<a\s[^<>\n]{0,300}>(?:(?!</a>)[^\n]){0,200}"
    r"|<a\s+(?:href|class|id|rel|target|title)\b[^<>\n]{0,300}|<sup\b[^<>\n]{0,60}|</?[a-z]{0,3}"
    r"|\^[\[(\d, –-]{0,20}|\$(?:\^[^$\n]{0,60})?|⁽[⁰¹²³⁴⁵⁶⁷⁸⁹]{0,3})\Z"
    r"|(?:!?\\?[\[［【〔][^\[\]［］【】〔〕\n]{0,200}"
    r"|!?\[(?![@＠^])[^\[\]\n]{0,200}\](?:\([^()\s]{0,2000})?"
    r"|[(（]\s?[@＠][0-9a-fA-F@＠,;，；、 ]{0,60}"
    r"|<?(?:https?:/|www\.)[^\s>]{0,2000}"
    r"|(?:^|(?<=\n))[ \t]*(?:[#>|:+=-][#>|:+= \t-]*|[0-9]{1,9}[.)]?[ \t]*)"
    r"|[*_~`]+)\Z"
)

_FENCE_LINE = re.compile(r"^[ \t>]*(?:```|~~~)", re.MULTILINE)
_TAIL_CHARS = 2_500  # characters; a longer link is visible while it is written


def _trim_unfinished(text: str) -> str:
    """Remove the end of a text that may still become something else, and close open bold text."""
    for _ in range(3):  # for example a link in a list, behind stars; deeper combinations are rare
        head, tail = text[:-_TAIL_CHARS], text[-_TAIL_CHARS:]
        text = head + _UNFINISHED_TAIL.sub("", tail)
    lines = text.rstrip("\n").split("\n")
    rows = 0
    while rows < len(lines) and lines[-1 - rows].lstrip().startswith("|"):
        rows += 1
    if rows == 1:  # a table is recognisable from its second line on
        text = "\n".join(lines[:-1])
    if text.rpartition("\n")[2].count("**") % 2 and not len(_FENCE_LINE.findall(text)) % 2:
        text = text.rstrip() + "**"
    return text


# --- From spans to a tree -------------------------------------------------------------------------

TAG_BY_TOKEN = {  # node tags by Markdown token
    "paragraph_open": "p",
    "heading_open": "h",
    "bullet_list_open": "ul",
    "ordered_list_open": "ol",
    "list_item_open": "li",
    "blockquote_open": "blockquote",
    "table_open": "table",
    "tr_open": "tr",
    "th_open": "th",
    "td_open": "td",
    "em_open": "em",
    "strong_open": "strong",
    "s_open": "s",
}
_EMPHASIS_TAGS = ("em", "strong", "s")
_MAX_NESTED_NUMBERS = 5  # passes over nested false numbers
_TOP_HEADING_LEVEL = 3  # levels above belong to the page and the report
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_BR_TAG = re.compile(r"<br ?/?>", re.IGNORECASE)
_CODE_LANGUAGE = re.compile(r"[A-Za-z][A-Za-z0-9+#.-]{0,19}(?![^\s{,:])")  # such as python, c++, objective-c
_BRACKETED_NUMBER = re.compile(rf"[\[［【]\s*{_MARK_NUMBER}(?:\s*[-–—,;，、]\s*{_MARK_NUMBER})*\s*[\]］】]")


def build_answer_tree(spans: Sequence[NumberedSpan]) -> list[Node]:
    """Build the tree of a run of text spans, which pages draw with a fixed set of tags.

    Blocks are p, h (with `level`), ul, ol (with `start`), li, table, tr, th, td (with `align`), pre
    (with `language` if given), blockquote and hr. Inline nodes are em, strong, s, code, math (TeX,
    with `display`), br and strings. The content is in `c`. Where the citations of a span stand, or
    the mark that it has none, there is a `cite` whose `span` is the index of the span; each occurs
    exactly once.
    """
    return _TreeBuilder(spans).build()


class _TreeBuilder:
    def __init__(self, spans: Sequence[NumberedSpan]) -> None:
        self._formulas = FormulaStore()
        self._text = "".join(
            block if fenced else self._formulas.hide(block)
            for fenced, block in split_fences(_limit_nesting(_with_placeholders(spans)))
        )
        self._paragraph_line = 0  # first line of the current paragraph
        # Ordered by position; unlike a dict, it stays fast after its first items are removed.
        self._unplaced = OrderedDict(
            (at, line) for line, words in enumerate(self._text.split("\n")) for at in _span_indices(words)
        )

    def build(self) -> list[Node]:
        nodes: list[Node] = []
        for group in _outermost_blocks(_PARSER.parse(self._text)):
            nodes += self._build_blocks(group)
            _, end = group[0].map or (0, 0)
            nodes += self._trailing_paragraph(self._unplaced_before(end))
        nodes += self._trailing_paragraph(self._unplaced)
        _shift_headings(nodes)
        return nodes

    def _trailing_paragraph(self, cites: Iterable[int]) -> list[Node]:
        """Return citations that the parser dropped as a paragraph behind the block."""
        nodes = [node for at in list(cites) for node in self._cite_nodes(at)]
        return [{"t": "p", "c": nodes}] if nodes else []

    def _unplaced_before(self, end_line: int) -> list[int]:
        """Return the citations before a line that are not placed yet."""
        return [at for at, line in takewhile(lambda left: left[1] < end_line, self._unplaced.items())]

    def _cites_before(self, end_line: int) -> list[Node]:
        return [node for at in self._unplaced_before(end_line) for node in self._cite_nodes(at)]

    def _cites_up_to(self, text: str) -> list[int]:
        """Return the citations of a text, and earlier ones that the parser dropped."""
        last = max(_span_indices(text), default=-1)
        return [*takewhile(lambda at: at <= last, self._unplaced)]

    def _cite_nodes(self, span_index: int) -> list[Node]:
        """Return the node of a citation, after the nodes of earlier citations dropped from its
        paragraph."""
        before = takewhile(lambda left: left[0] < span_index, self._unplaced.items())
        lost = [n for n, line in before if line >= self._paragraph_line]
        return [{"t": "cite", "span": n} for n in [*lost, span_index] if self._unplaced.pop(n, None) is not None]

    def _build_blocks(self, tokens: Iterable[Token]) -> list[Node]:
        root: list[Node] = []
        stack = [root]
        row = 0  # end line of the current table row
        for token in tokens:
            if token.type == "tr_close":  # a cell beyond the last column is not shown
                cell = stack[-1][-1]
                assert isinstance(cell, dict)
                cell["c"] += self._cites_before(row)
            if token.nesting < 0:
                stack.pop()
            elif token.nesting > 0:
                stack.append(open_node(token, stack[-1]))
                row = token.map[1] if token.type == "tr_open" and token.map else row
            elif token.type == "inline":
                self._paragraph_line, end = token.map or (0, 0)
                stack[-1].extend(self._build_inline(token.children or []))
                if end > row:
                    stack[-1].extend(self._cites_before(end))
            elif token.type == "fence":
                stack[-1].append(_code_node(token))
                stack[-1].extend(self._trailing_paragraph(self._cites_up_to(token.content)))
            elif token.type == "hr":
                stack[-1].append({"t": "hr", "c": []})
        return [node for node in root if not _is_empty(node)]

    def _build_inline(self, tokens: Iterable[Token]) -> list[Node]:
        root: list[Node] = []
        stack = [root]
        for token in tokens:
            if token.nesting < 0:
                stack.pop()
            elif token.nesting > 0:  # only the text of a link is kept
                stack.append(open_node(token, stack[-1]))
            elif token.type == "text":
                stack[-1].extend(self._build_text(token.content))
            elif token.type == "code_inline":
                if content := _PRIVATE_CHARS.sub("", self._formulas.restore(token.content)):
                    stack[-1].append({"t": "code", "c": [content]})
                stack[-1].extend(c for at in _span_indices(token.content) for c in self._cite_nodes(at))
            elif token.type == "hardbreak":
                stack[-1].append({"t": "br", "c": []})
            elif token.type == "softbreak":
                stack[-1].append("\n")
        return _remove_false_numbers(_merge_strings(root))

    def _build_text(self, text: str) -> Iterator[Node]:
        for piece in re.split(f"({_MARK}|{FORMULA_PLACEHOLDER})", text):
            if re.fullmatch(_MARK, piece):
                yield from self._cite_nodes(ord(piece) - _FIRST)
                continue
            if formula := self._formulas.get(piece):
                yield formula.to_node
                continue
            for at, words in enumerate(_BR_TAG.split(piece)):
                if at:
                    yield {"t": "br", "c": []}
                if words:
                    yield _decode_entities(words)


def _code_node(token: Token) -> Node:
    """Return the node of a code block, with its language if given."""
    node: dict[str, Any] = {"t": "pre", "c": [_PRIVATE_CHARS.sub("", token.content)]}
    language = _CODE_LANGUAGE.match(token.info.strip())
    return {**node, "language": language[0].lower()} if language else node


def _with_placeholders(spans: Sequence[NumberedSpan]) -> str:
    """Join the Markdown of the spans, with placeholders; a span of another part begins a
    paragraph."""
    out = []
    part = spans[0].span.part if spans else ""
    for at, item in enumerate(spans):
        out.append("" if item.span.part == part else "\n\n")
        part = item.span.part
        out += [_sanitize(item.span.text), chr(_FIRST + at) * bool(item.numbers or item.unsourced)]
    return "".join(out)


def _span_indices(text: str) -> list[int]:
    return [ord(mark) - _FIRST for mark in re.findall(_MARK, text)]


def _outermost_blocks(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each outermost block."""
    group: list[Token] = []
    for token in tokens:
        group.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield group
            group = []


def open_node(token: Token, parent: list[Node]) -> list[Node]:
    """Add the node of an opening token to its parent; return the list for its content.

    Tokens without a node (the paragraph of a tight list, a link, head and body of a table) put
    their content into the parent.
    """
    if token.type not in TAG_BY_TOKEN or token.hidden:
        return parent
    content: list[Node] = []
    node: dict[str, Any] = {"t": TAG_BY_TOKEN[token.type]}
    if node["t"] == "h":
        node["level"] = int(token.tag[1:])
    if token.attrGet("start") is not None:
        node["start"] = token.attrGet("start")
    if align := str(token.attrGet("style") or ""):
        node["align"] = align.removeprefix("text-align:")
    parent.append({**node, "c": content})
    return content


def _is_empty(node: Node) -> bool:
    return isinstance(node, dict) and node["t"] in ("p", "h") and not node["c"]


def _decode_entities(text: str) -> str:
    """Decode the HTML entities of a text."""
    return _sanitize(_ENTITY.sub(lambda match: html.unescape(match[0]), text))


def _merge_strings(nodes: list[Node]) -> list[Node]:
    """Merge adjacent strings and join their lines."""
    out: list[Node] = []
    for is_text, group in groupby(nodes, key=lambda node: isinstance(node, str)):
        if is_text:
            text = join_lines("".join(str(node) for node in group))
            out += [text] if text else []
            continue
        for node in group:
            if isinstance(node, dict) and "c" in node and node["t"] not in ("code", "math"):
                node["c"] = _merge_strings(node["c"])
            out.append(node)
    return out


def _remove_false_numbers(nodes: list[Node]) -> list[Node]:
    """Remove numbers that look like citations, even across nodes, as in [*1*]."""
    leaves = [*_string_slots(nodes)]
    for _ in range(_MAX_NESTED_NUMBERS):
        cleaned = _BRACKETED_NUMBER.sub(
            lambda found: "\ue000" * len(found[0]), "".join(content[at] for content, at in leaves)
        )
        start = 0
        for content, at in leaves:
            end = start + len(content[at])
            content[at] = cleaned[start:end].replace("\ue000", "")
            start = end
        if "\ue000" not in cleaned:
            break
    return [node for node in nodes if node != ""]


def _string_slots(nodes: list[Any]) -> Iterator[tuple[list[Any], int]]:
    """Yield the position of each string, with a separator for code, breaks and citations."""
    for at, node in enumerate(nodes):
        if isinstance(node, str):
            yield nodes, at
        elif node["t"] in _EMPHASIS_TAGS:
            yield from _string_slots(node["c"])
        else:
            yield ["\0"], 0


def _walk(nodes: Iterable[Node]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        if isinstance(node, dict):
            yield node
            yield from _walk(node.get("c", ()))


def _shift_headings(nodes: list[Node]) -> None:
    headings = [node for node in _walk(nodes) if node["t"] == "h"]
    highest = min((node["level"] for node in headings), default=_TOP_HEADING_LEVEL)
    for node in headings:
        node["level"] = min(6, _TOP_HEADING_LEVEL + node["level"] - highest)
