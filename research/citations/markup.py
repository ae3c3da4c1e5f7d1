"""What a model wrote: its Markdown becomes cited spans, and cited spans become a tree.

Everything a model writes is hostile. A citation counts only if its handle or its address is one that
was gathered; whatever else looks like a citation or a link goes, and leaves a mark. Knows Markdown,
spans and numbers; draws nothing, and judges no claim.
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

from research.citations.dialects import usual
from research.citations.formulas import MASK, Formulas
from research.citations.numbering import NumberedSpan
from research.citations.placing import FIRST as _FIRST
from research.citations.placing import MARK as _MARK
from research.citations.placing import settled
from research.citations.references import Gathered, Meaning, Resolved, resolve
from research.citations.styles.lists import NAMES
from research.core.records import Cite, Span, normalised
from research.core.text.sentences import flowing
from research.core.text.words import HAN
from research.core.urls import url_identity

Node = str | dict[str, Any]

# Private characters have no meaning of their own: outside text is stripped of them, and here each
# of the planes 15 and 16 stands for one citation that was taken out of a text.
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_BREAKS = re.compile(r"\r\n?")


def encodable(text: str) -> str:
    """Text that UTF-8 can hold: JSON may smuggle in half of a surrogate pair."""
    return _SURROGATES.sub("\ufffd", text)


def undirected(text: str) -> str:
    """Text without what turns the direction of other text: embeddings, overrides and isolates.

    One that nothing closes would reorder what stands behind it: a citation, a price, the next
    sentence. Letters have their direction without them, and its marks (U+200E, U+200F) stay.
    """
    return _TURNS.sub("", text)


_ACTIVE = re.compile(r"[^\w\s，。；：！？、“”‘’（）《》.,;:'\"()%+=/-]|_")


def inert(text: str) -> str:
    """Text as it stands in a cell of a Markdown table: one line, of which nothing acts."""
    return _ACTIVE.sub(lambda match: f"&#{ord(match[0])};", " ".join(text.split()))


def _clean(text: str) -> str:
    """Text that can be stored and sent, that forges no placeholder and turns no other text round."""
    return undirected(_PRIVATE.sub("", encodable(_BREAKS.sub("\n", text))))


# --- Markdown as it is read here ------------------------------------------------------------------

_WIDE = re.compile(rf"[{HAN}\u3000-\u303f\u3040-\u30ff\uac00-\ud7af\uff00-\uffef“”‘’…—]")


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    """The characters beside a stretch, as if no citation stood there."""
    before = re.sub(f"{_MARK}+$", "", text[max(0, start - 20) : start])[-1:] or " "
    after = re.sub(f"^{_MARK}+", "", text[end : end + 20])[:1] or " "
    return before, after


def punctuation(char: str) -> bool:
    """Punctuation as CommonMark has it, symbols included."""
    return unicodedata.category(char)[0] in "PS"


def _flanks(before: str, after: str) -> tuple[bool, bool]:
    """Whether a run of * or _ may open and whether it may close emphasis, judged by its neighbours.

    CommonMark's rule, made for words between spaces, leaves the stars of **门票：**60元 as they are;
    here a wide character needs no space beside it.
    """
    wide = bool(_WIDE.match(before)), bool(_WIDE.match(after))
    marks = punctuation(before), punctuation(after)
    gap = before.isspace(), after.isspace()
    opens = not gap[1] and (wide[1] or not marks[1] or gap[0] or marks[0] or wide[0])
    closes = not gap[0] and (wide[0] or not marks[0] or gap[1] or marks[1] or wide[1])
    return opens, closes


def _emphasis(state: StateInline, silent: bool) -> bool:
    """The rule for * and _, with our own judgement of what may open and close."""
    marker = state.src[state.pos]
    if silent or marker not in "*_":
        return False
    end = state.pos
    while end < state.posMax and state.src[end] == marker:
        end += 1
    before, after = _around(state.src, state.pos, end)
    left, right = _flanks(before, after)
    within = marker == "*"
    opens = left and (within or not right or punctuation(before))
    closes = right and (within or not left or punctuation(after))
    for _ in range(end - state.pos):
        state.push("text", "", 0).content = marker
        at = len(state.tokens) - 1
        length = end - state.pos
        state.delimiters.append(Delimiter(ord(marker), length, at, -1, opens, closes))
    state.pos = end
    return True


def _reader() -> MarkdownIt:
    """Markdown without what acts or hides: no HTML, no image, no link definition.

    Entities are left to `_characters`: one of them could forge a placeholder. A line of dashes is a
    rule and never makes a heading of the paragraph above it, and code is fenced: neither is what a
    model means by dashes or by four spaces.
    """
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    reader.disable(["image", "html_inline", "html_block", "autolink", "reference", "entity"])
    reader.disable(["lheading", "code"])
    reader.inline.ruler.at("emphasis", _emphasis)
    return reader


_READER = _reader()
_BLOCKS = _reader().disable(["inline", "text_join"])
for _each in (_READER, _BLOCKS):
    _each.parse("*")  # a reader puts its rules in order at first use, which threads must not share


NO_TITLES: Mapping[str, Cite] = {}

# --- From a model's text to spans -----------------------------------------------------------------

_HEX = "[0-9a-fA-F]{4,8}"
_BETWEEN = r"[\s,;，；、|/&+]"
_HANDLES = rf"[@＠] ?{_HEX}(?:{_BETWEEN}*[@＠] ?{_HEX}|{_BETWEEN}+{_HEX})*(?![0-9a-zA-Z])"
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
_PAIRS = {"[": "]", "［": "］", "【": "】"}
_IN_CODE = re.compile(rf"(?<![\w)\]])[\[［【]\s*({_HANDLES})\s*[\]］】]")
_LOOSE = re.compile(
    rf"(?<![\w.@＠/-])[@＠]({_HEX})(?![\w@-])|[(（{{<]({_HEX})[)）}}>]", re.IGNORECASE
)
_TARGET = re.compile(
    r"\(\s*(?:<(?P<angled>[^<>\n]*)>|(?P<plain>(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))"
    r"(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?\s*\)"
)
# What brackets hold that is meant as a citation: keys such as @3fa9 or @smith2020, and what models
# learned elsewhere: numbers, footnotes, 4†source, id/0-1, 来源3.
_KEY = r"[A-Za-z0-9_.:-]{1,40}"
_MARKER = re.compile(rf"\^?@ ?{_KEY}(?:{_BETWEEN}*@ ?{_KEY}|{_BETWEEN}+{_HEX})*")
_NAMED = re.compile(
    rf"(?P<own>@ ?{_HEX})[ ,:-]+(?P<behind>.+)|(?P<before>.+?)[ ,:-]+(?P<other>@ ?{_HEX})"
)
_BARE_MARKER = re.compile(rf"{_HEX}(?:{_BETWEEN}+{_HEX})*")
_COUNT = r"\^?[0-9]{1,3}"
_PRETENCE = re.compile(
    rf"{_COUNT}(?: ?[-–—,;、&+ ] ?{_COUNT})*|\^[\w.-]{{1,40}}|[0-9]{{1,3}}(?::[0-9]+)?†.*"
    r"|(?:\S*/)?id/[0-9]+-[0-9]+|(?:sources?|refs?|来源|资料|文献) ?:?[0-9]{1,3}",
    re.IGNORECASE,
)
# What may stand before a handle within its brackets, and behind it: source: @3fa9, p. 3.
_CREDIT = re.compile(
    rf"^(?:\d{{1,3}}|see|via|handles?|{NAMES}|参见|见|出处|引自) ?:? ?(?=\^?@|[0-9a-f]{{4,8}}(?![\w.]))",
    re.IGNORECASE,
)
_LOCATED = re.compile(
    r"(?<=[0-9a-f]) ?[,:] ?(?:pp?\. ?[\d, -]+|§ ?[\d.]+|第 ?\d+ ?[页頁章节節条條段])$",
    re.IGNORECASE,
)
# Brackets of which nothing is left but citations, and tags that raise these.
_HUSK = re.compile(
    r"(?:[\[［【〔(（「『《〈{<]|<(?:sup|cite|citation|source)\b[^<>\n]{0,60}>|\^)[ \t]*"
    rf"(?:(?:see|cf\.|via|{NAMES}|参见|见|出处|引自)[ \t]*[:：]?[ \t]*)?"
    rf"{_MARK}(?:[ \t,;，；、]*{_MARK})*[ \t]*(?:[\]］】〕)）」』》〉}}>]|</(?:sup|cite|citation|source)>|\^)",
    re.IGNORECASE,
)
_NUMBER_LINK = re.compile(r"\[\s*(?:\\?\[)?(\d{1,3})(?:\\?\])?\s*\]\(")
_NOTE = re.compile(r"\^\[[^\[\]\n]{0,300}\]")  # a note within the text
_HUSKS = 3  # brackets within brackets
_LONGEST = 200  # characters; what brackets hold beyond that is no citation
_DEEPEST = 30  # brackets within brackets


def parse(
    text: str,
    handles: Mapping[str, Cite],
    urls: Mapping[str, Cite],
    titles: Mapping[str, Cite] = NO_TITLES,
    *,
    partial: bool = False,
    awaited: bool = False,
) -> tuple[Span, ...]:
    """A model's Markdown as spans; each ends where its citations stand.

    `handles` are the names under which the model was shown its sources, `urls` the gathered
    addresses by their identity, `titles` the gathered titles. Numbers and footnotes mean what a list
    of sources in the text says of them, and that list is taken out. Whatever else is meant as a
    citation or a link is taken out and makes its span `unsourced`. Punctuation after a citation goes
    before it, so that a sentence ends with its citations, and one before a sentence goes to its end.
    With `partial` the text has no end: what may yet become a citation, a link or a table there is left
    out. With `awaited` it is still being written, and a number that its list may yet explain is no
    claim without a source so far.
    """
    text = _shallow(_clean(text))
    text = _unwrapped(_steady(text) if partial else text, partial=partial).strip("\n")
    text = _AFTER_FENCE.sub(r"\1\n\2", text)
    scan, formulas = _Scan(handles, urls, titles, awaited=awaited), Formulas()
    text = "".join(
        block if fenced else formulas.hidden(usual(block)) for fenced, block in by_fences(text)
    )
    blocks = [
        scan.code(block) if fenced else scan.prose(block)
        for fenced, block in by_fences(scan.resolved(text).strip("\n"))
    ]
    return tuple(scan.spans(formulas.shown(settled("".join(blocks)).rstrip())))


class _Scan:
    """Takes the citations out of a text and leaves a placeholder for each."""

    def __init__(
        self,
        handles: Mapping[str, Cite],
        urls: Mapping[str, Cite],
        titles: Mapping[str, Cite],
        *,
        awaited: bool,
    ) -> None:
        self._handles = {handle.lower(): cite for handle, cite in handles.items()}
        self._urls, self._titles = urls, titles
        self._awaited = awaited
        self._taken: list[Meaning] = []  # None: it points at nothing that was gathered
        self._listed = Resolved("")
        self._series = False  # whether the numbers that are links count from 1: they are citations

    def resolved(self, text: str) -> str:
        """The text without a list of sources of its own and the marks that point into it."""
        gathered = Gathered(self._handles, self._urls, self._titles)
        numbers = {int(number) for number in _NUMBER_LINK.findall(text)}
        self._series = numbers == set(range(1, len(numbers) + 1))
        self._listed = resolve(text, gathered, self._put, awaited=self._awaited)
        return self._listed.text

    def _put(self, cites: Iterable[Meaning]) -> str:
        out = ""
        for cite in cites:
            out += chr(_FIRST + len(self._taken))
            self._taken.append(cite)
        return out

    def spans(self, text: str) -> Iterator[Span]:
        """The text cut where placeholders stand."""
        pieces = re.split(f"({_MARK}+)", text)
        for words, marks in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
            taken = [self._taken[ord(mark) - _FIRST] for mark in marks]
            cites = tuple(dict.fromkeys(cite for cite in taken if isinstance(cite, Cite)))
            if words or cites or None in taken:
                yield Span(kind="text", text=words, cites=cites, unsourced=None in taken)

    def code(self, text: str) -> str:
        """Code keeps everything but handles: [1] is an index there."""
        return _IN_CODE.sub(lambda match: self._put(self._known(match[1])), text)

    def _known(self, handles: str) -> list[Meaning]:
        return [self._handles.get(handle.lower()) for handle in re.findall(_HEX, handles)]

    def prose(self, text: str) -> str:
        """A stretch without fenced code. Brackets are matched from the inside out."""
        out: list[str] = []
        opened: list[int] = []  # where in `out` a bracket stands that nothing has closed yet
        at = 0
        while match := _TOKEN.search(text, at):
            out.append(text[at : match.start()])
            at = match.end()
            if match["open"]:
                opened.append(len(out))
                del opened[:-_DEEPEST]
                out.append(match["open"])
            elif match["close"]:
                at = self._closed(match["close"], out, opened, text, at)
            elif match["bare"]:
                at = self._address(match, out, text)
            else:
                if match["gap"]:
                    opened.clear()
                out.append(self._word(match))
        whole = _LOOSE.sub(self._loose, "".join(out) + text[at:])
        whole = _NOTE.sub(lambda note: "".join(re.findall(_MARK, note[0])) or note[0], whole)
        for _ in range(_HUSKS):
            whole = _HUSK.sub(lambda husk: "".join(re.findall(_MARK, husk[0])), whole)
        return whole

    def _loose(self, match: re.Match[str]) -> str:
        """A handle without brackets counts if it is known; else it is a word like any other."""
        cite = self._handles.get((match[1] or match[2]).lower())
        return self._put([cite]) if cite else match[0]

    def _word(self, match: re.Match[str]) -> str:
        """What takes the place of a token that stands for itself."""
        if match["code"]:
            inner = self.code(match["inner"])
            only = not re.sub(rf"{_MARK}|\s", "", inner)
            return inner.strip() if only else match["ticks"] + inner + match["ticks"]
        if match["note"]:
            return self._put(self._known(match["note"]))
        if match["auto"]:
            return self._put([self._urls.get(url_identity(match["auto"]))])
        return match[0]

    def _address(self, match: re.Match[str], out: list[str], text: str) -> int:
        """Takes out an address, with the brackets that hold nothing else; returns where it ends."""
        end, cite = self._extent(match["bare"])
        end += match.start("bare")
        lead = match["lead"] or ""
        around = re.compile(r"\s*[)）>]").match(text, end) if lead else None
        out.append(("" if around else lead) + self._put([cite]))
        return around.end() if around else end

    def _extent(self, run: str) -> tuple[int, Cite | None]:
        """How much of a run of characters is an address, and the source that it means."""
        whole = run if run.lower().startswith("http") else f"https://{run}"
        added = len(whole) - len(run)
        ascii_ = re.match(r"[\x21-\x7e]+", whole)
        ends = [whole, _untailed(whole), _untailed(ascii_[0] if ascii_ else whole)]
        for address in ends:
            if cite := self._urls.get(url_identity(address)):
                return len(address) - added, cite
        return len(ends[-1]) - added, None

    def _closed(self, mark: str, out: list[str], opened: list[int], text: str, at: int) -> int:
        """Decides what a pair of brackets was; returns where reading goes on."""
        closes = (n for n in reversed(range(len(opened))) if _PAIRS[out[opened[n]][-1]] == mark[-1])
        found = next(closes, None)
        if found is None:
            out.append(mark)
            return at
        start = opened[found]
        opener, inside = out[start], "".join(out[start + 1 :])
        target = _TARGET.match(text, at) if (opener[-1] + mark) == "[]" else None
        target = None if "\\" in opener else target
        meant = self._meant(inside, linked=target is not None)
        if target:
            more = re.match(r"[ \t]*[^\W_]", text[target.end() : target.end() + 40])
            apart = re.search(rf"(?:^|[\s{HAN}*_])$", "".join(out[max(0, start - 3) : start]))
            counts = bool(more and apart) and not self._series
            new, at = self._linked(opener, inside, meant, target, counts), target.end()
        elif meant:
            new = opener[: opener.startswith("!")] + self._put(meant)
            line = text[text.rfind("\n", 0, at) + 1 : at]
            if re.fullmatch(r"[ \t]*\[\^?\w+\]", line) and text.startswith(":", at):
                at += 1
        else:
            out.append(mark)
            del opened[found:]
            return at
        del opened[found:], out[start:]
        out.append(new)
        return at

    def _linked(
        self, opener: str, inside: str, meant: list[Meaning], target: re.Match[str], counts: bool
    ) -> str:
        """A link without its address; an image as the words that describe it.

        A number as the text of a link is a citation, unless it may be what the sentence `counts`.
        """
        handles = [cite for cite in meant if isinstance(cite, Cite)]
        if opener == "![" and not handles:
            return inside
        address = html.unescape(target["angled"] or target["plain"] or "").strip()
        cite = self._urls.get(url_identity(address))
        if handles or (meant and not counts) or _MARKER.fullmatch(_content(inside)):
            return opener[:-1] + self._put(handles or [cite])
        if cite:  # the link names its source: nothing that stood in its text was without one
            taken = {mark: self._taken[ord(mark) - _FIRST] for mark in re.findall(_MARK, inside)}
            inside = "".join(char for char in inside if taken.get(char, cite))
        return inside + self._put([cite])

    def _meant(self, inside: str, *, linked: bool) -> list[Meaning]:
        """Return the sources cited by the content of brackets; an empty list if it is no citation.

        For a `linked` number the result is [None], because the address of the link names the
        source.
        """
        content = _LOCATED.sub("", _CREDIT.sub("", _content(inside)))
        if _MARKER.fullmatch(content):
            keys = re.findall(_KEY, content)
            return [self._handles.get(key.lower()) for key in keys]
        if _BARE_MARKER.fullmatch(content) and re.search("[a-f]", content, re.IGNORECASE):
            known = self._known(content)
            return known if all(known) else []
        if named := _NAMED.fullmatch(content):  # a handle beside the title of a source
            words = normalised(named["before"] or named["behind"])
            return self._known(named["own"] or named["other"]) if words in self._titles else []
        if not _PRETENCE.fullmatch(content):
            return []
        found = [None] if linked else self._listed.meant(content)
        return ["pending" if self._awaited and cite is None else cite for cite in found]


def _content(inside: str) -> str:
    """What brackets hold, whatever dress it wears: no emphasis, width, entity or hidden character."""
    if len(inside) > _LONGEST or re.search(r"\n[ \t]*[^\s\d@,;，；、]", inside):
        return ""
    text = unicodedata.normalize("NFKC", html.unescape(_PRIVATE.sub("", inside)))
    text = "".join(c for c in text if c not in "*_~`\\" and unicodedata.category(c) != "Cf")
    return " ".join(text.split())


def _untailed(address: str) -> str:
    """An address without the punctuation of the sentence that it stands in."""
    while address:
        unpaired = address[-1] == ")" and address.count(")") > address.count("(")
        if not unpaired and address[-1] not in ".,;:!?'*_~":
            break
        address = address[:-1]
    return address


# A model closes a fence and cites on the same line, which leaves the fence open.
_AFTER_FENCE = re.compile(
    r"^([ \t>]*(?:`{3,}|~{3,}))[ \t]*((?:[\[［【(（][@＠^]?[\w@,;†:\- ]{1,60}[\]］】)）][ \t]*)+)$",
    re.MULTILINE,
)


_FRONT = re.compile(
    r"^[ \t]*(?:>|[-+*](?=[ \t>]|$)|[0-9]{1,9}[.)](?=[ \t>]|$))"
    r"(?:[ \t>]|[-+*](?=[ \t>]|$)|[0-9]{1,9}[.)](?=[ \t>]|$))*",
    re.MULTILINE,
)
_WIDEST = 18  # characters of marks and spaces at the front of a line: each may begin a level


def _shallow(text: str) -> str:
    """A text of which no line is in more quotations and lists than Markdown reads, which are 20.

    Beyond them it would lose all the rest of the text. Code is left as it is.
    """
    cut = _FRONT.sub(
        lambda front: front[0].expandtabs(4)[:_WIDEST] if len(front[0]) > _WIDEST / 4 else front[0],
        text,
    )
    if cut == text:
        return text
    fenced = _fenced(cut)
    pairs = enumerate(zip(text.split("\n"), cut.split("\n"), strict=True))
    return "\n".join(as_it_was if at in fenced else line for at, (as_it_was, line) in pairs)


def _fenced(text: str) -> set[int]:
    """The lines of fenced code."""
    fenced: set[int] = set()
    for token in _BLOCKS.parse(text):
        if token.type == "fence" and token.map:
            fenced.update(range(*token.map))
    return fenced


def by_fences(text: str) -> Iterator[tuple[bool, str]]:
    """The text in stretches of whole lines, and whether each is fenced code."""
    lines = text.split("\n")
    fenced = _fenced(text)
    numbered = list(enumerate(lines))
    for is_code, group in groupby(numbered, key=lambda item: item[0] in fenced):
        stretch = [line + "\n" * (at < len(lines) - 1) for at, line in group]
        yield is_code, "".join(stretch)


_WRAPPER = re.compile(r"\s*(`{3,}|~{3,})[ \t]*(?:markdown|md)?[ \t]*\n", re.IGNORECASE)
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*(.*)")


def _unwrapped(text: str, *, partial: bool) -> str:
    """The text without a fence around all of it."""
    opening = _WRAPPER.match(text)
    if not opening:
        return text
    lines = text[opening.end() :].rstrip().split("\n")
    inner = ""  # the fence that is open within the outer one
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
    return text[opening.end() :] if partial and named else text


# Text that is still being written


def _begun(*words: str) -> str:
    """A pattern of the beginnings of some words."""
    return "|".join("(?:".join(map(re.escape, word)) + ")?" * (len(word) - 1) for word in words)


# Words that stand before the number or the title of a source.
_CALLED = (
    "source", "sources", "reference", "references", "see source", "see @", "citation", "来源", "资料", "资料来源",
    "文献", "参考", "参考资料", "参考文献", "见来源", "参见来源",
)  # fmt: skip
_UNFINISHED = re.compile(
    rf"(?i:(?<!\w)(?:{_begun('https:/', 'citeturn')}|citeturn\w{{1,20}})|{_begun(':contentReference')}"
    rf"|(?:^|(?<=\n))[ \t]*(?:{_begun(*_CALLED)}) ?\d{{0,3}}"
    rf"|[(（]\s?(?:{_begun(*_CALLED)})?\s?[:：]?\s?[@＠\da-f ,;、，；–-]{{0,40}}"
    rf"|[(（]\s?(?:{NAMES}) ?[:：][^()（）\n]{{0,200}}"
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

_FENCES = re.compile(r"^[ \t>]*(?:```|~~~)", re.MULTILINE)
_TAIL = 2_500  # characters; a link that is longer shows while it is written


def _steady(text: str) -> str:
    """A text without what at its end may yet turn into something else."""
    for _ in range(3):  # a link in a list, behind stars: seldom more stand at one end
        settled, tail = text[:-_TAIL], text[-_TAIL:]
        text = settled + _UNFINISHED.sub("", tail)
    lines = text.rstrip("\n").split("\n")
    rows = 0
    while rows < len(lines) and lines[-1 - rows].lstrip().startswith("|"):
        rows += 1
    if rows == 1:  # a table shows as one from its second line on
        text = "\n".join(lines[:-1])
    if text.rpartition("\n")[2].count("**") % 2 and not len(_FENCES.findall(text)) % 2:
        text = text.rstrip() + "**"
    return text


# --- From spans to a tree -------------------------------------------------------------------------

TAGS = {  # the nodes of Markdown's tokens
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
_WITHIN = ("em", "strong", "s")
_NESTED = 5  # false numbers within false numbers that are taken out
_TOP = 3  # the level of an answer's highest heading: those above are the page's and the report's
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
_LANGUAGE = re.compile(
    r"[A-Za-z][A-Za-z0-9+#.-]{0,19}(?![^\s{,:])"
)  # such as python, c++, objective-c
_NUMBER = re.compile(rf"[\[［【]\s*{_COUNT}(?:\s*[-–—,;，、]\s*{_COUNT})*\s*[\]］】]")


def answer_tree(spans: Sequence[NumberedSpan]) -> list[Node]:
    """A run of text spans as blocks, for pages to draw with a fixed set of tags.

    Blocks are p, h (with `level`), ul, ol (with `start`), li, table, tr, th, td (with `align`), pre (with
    `language` if it names one),
    blockquote and hr; within them are em, strong, s, code, math (TeX; `display` if it stands by
    itself), br and strings. Each has its content in `c`. Where the citations of a span stand, or the mark that it has none, is a `cite` with the
    place of the span in `spans`; each is there exactly once.
    """
    return _Tree(spans).grown()


class _Tree:
    def __init__(self, spans: Sequence[NumberedSpan]) -> None:
        self._formulas = Formulas()
        self._text = "".join(
            block if fenced else self._formulas.hidden(block)
            for fenced, block in by_fences(_shallow(_with_placeholders(spans)))
        )
        self._begun = 0  # the line at which the paragraph begins that is read
        # In the order of the text; unlike a dict it is quick to look at after its first have gone.
        self._left = OrderedDict(
            (at, line)
            for line, words in enumerate(self._text.split("\n"))
            for at in _cites_in(words)
        )

    def grown(self) -> list[Node]:
        nodes: list[Node] = []
        for group in _roots(_READER.parse(self._text)):
            nodes += self._blocks(group)
            _, end = group[0].map or (0, 0)
            nodes += self._rest(self._before(end))
        nodes += self._rest(self._left)
        _shift_headings(nodes)
        return nodes

    def _rest(self, cites: Iterable[int]) -> list[Node]:
        """What Markdown has swallowed, as a paragraph behind the block."""
        found = [node for at in list(cites) for node in self._cite(at)]
        return [{"t": "p", "c": found}] if found else []

    def _before(self, end: int) -> list[int]:
        """The citations that stand before a line and are not placed yet."""
        return [at for at, line in takewhile(lambda left: left[1] < end, self._left.items())]

    def _lost(self, end: int) -> list[Node]:
        return [node for at in self._before(end) for node in self._cite(at)]

    def _until(self, text: str) -> list[int]:
        """The citations of a text, and those before them that Markdown has swallowed."""
        last = max(_cites_in(text), default=-1)
        return [*takewhile(lambda at: at <= last, self._left)]

    def _cite(self, at: int) -> list[Node]:
        """The node of a citation, behind those that its paragraph has swallowed before it."""
        before = takewhile(lambda left: left[0] < at, self._left.items())
        lost = [n for n, line in before if line >= self._begun]
        return [
            {"t": "cite", "span": n} for n in [*lost, at] if self._left.pop(n, None) is not None
        ]

    def _blocks(self, tokens: Iterable[Token]) -> list[Node]:
        root: list[Node] = []
        stack = [root]
        row = 0  # the line at which the row of a table ends
        for token in tokens:
            if token.type == "tr_close":  # a cell beyond the last column is not shown
                cell = stack[-1][-1]
                assert isinstance(cell, dict)
                cell["c"] += self._lost(row)
            if token.nesting < 0:
                stack.pop()
            elif token.nesting > 0:
                stack.append(opened(token, stack[-1]))
                row = token.map[1] if token.type == "tr_open" and token.map else row
            elif token.type == "inline":
                self._begun, end = token.map or (0, 0)
                stack[-1].extend(self._inline(token.children or []))
                if end > row:
                    stack[-1].extend(self._lost(end))
            elif token.type == "fence":
                stack[-1].append(_code(token))
                stack[-1].extend(self._rest(self._until(token.content)))
            elif token.type == "hr":
                stack[-1].append({"t": "hr", "c": []})
        return [node for node in root if not _is_empty(node)]

    def _inline(self, tokens: Iterable[Token]) -> list[Node]:
        root: list[Node] = []
        stack = [root]
        for token in tokens:
            if token.nesting < 0:
                stack.pop()
            elif token.nesting > 0:  # of a link only the text is left
                stack.append(opened(token, stack[-1]))
            elif token.type == "text":
                stack[-1].extend(self._strings(token.content))
            elif token.type == "code_inline":
                if content := _PRIVATE.sub("", self._formulas.shown(token.content)):
                    stack[-1].append({"t": "code", "c": [content]})
                stack[-1].extend(c for at in _cites_in(token.content) for c in self._cite(at))
            elif token.type == "hardbreak":
                stack[-1].append({"t": "br", "c": []})
            elif token.type == "softbreak":
                stack[-1].append("\n")
        return _honest(_joined(root))

    def _strings(self, text: str) -> Iterator[Node]:
        for piece in re.split(f"({_MARK}|{MASK})", text):
            if re.fullmatch(_MARK, piece):
                yield from self._cite(ord(piece) - _FIRST)
                continue
            if formula := self._formulas.get(piece):
                yield formula.node
                continue
            for at, words in enumerate(_BREAK.split(piece)):
                if at:
                    yield {"t": "br", "c": []}
                if words:
                    yield _characters(words)


def _code(token: Token) -> Node:
    """A block of code, with its language if it names one."""
    node: dict[str, Any] = {"t": "pre", "c": [_PRIVATE.sub("", token.content)]}
    found = _LANGUAGE.match(token.info.strip())
    return {**node, "language": found[0].lower()} if found else node


def _with_placeholders(spans: Sequence[NumberedSpan]) -> str:
    """The Markdown of the spans as one text. A span for another part begins a paragraph."""
    out = []
    part = spans[0].span.part if spans else ""
    for at, item in enumerate(spans):
        out.append("" if item.span.part == part else "\n\n")
        part = item.span.part
        out += [_clean(item.span.text), chr(_FIRST + at) * bool(item.numbers or item.unsourced)]
    return "".join(out)


def _cites_in(text: str) -> list[int]:
    return [ord(mark) - _FIRST for mark in re.findall(_MARK, text)]


def _roots(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    """The tokens of each outermost block."""
    group: list[Token] = []
    for token in tokens:
        group.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield group
            group = []


def opened(token: Token, parent: list[Node]) -> list[Node]:
    """Puts the node of an opening token into its parent; returns the list for its content.

    What has no node of its own (the paragraph of a dense list, a link, the head and the body of a
    table) has its content in the parent.
    """
    if token.type not in TAGS or token.hidden:
        return parent
    content: list[Node] = []
    node: dict[str, Any] = {"t": TAGS[token.type]}
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


def _characters(text: str) -> str:
    """The characters that a text stands for."""
    return _clean(_ENTITY.sub(lambda match: html.unescape(match[0]), text))


def _joined(nodes: list[Node]) -> list[Node]:
    """Neighbouring strings as one, in one line."""
    out: list[Node] = []
    for is_text, group in groupby(nodes, key=lambda node: isinstance(node, str)):
        if is_text:
            text = flowing("".join(str(node) for node in group))
            out += [text] if text else []
            continue
        for node in group:
            if isinstance(node, dict) and "c" in node and node["t"] not in ("code", "math"):
                node["c"] = _joined(node["c"])
            out.append(node)
    return out


def _honest(nodes: list[Node]) -> list[Node]:
    """Nodes without any number that looks like a citation, even across them, as [*1*] does."""
    leaves = [*_leaves(nodes)]
    for _ in range(_NESTED):
        kept = _NUMBER.sub(
            lambda found: "\ue000" * len(found[0]), "".join(content[at] for content, at in leaves)
        )
        start = 0
        for content, at in leaves:
            end = start + len(content[at])
            content[at] = kept[start:end].replace("\ue000", "")
            start = end
        if "\ue000" not in kept:
            break
    return [node for node in nodes if node != ""]


def _leaves(nodes: list[Any]) -> Iterator[tuple[list[Any], int]]:
    """Where the strings stand, with something in the place of code, breaks and citations."""
    for at, node in enumerate(nodes):
        if isinstance(node, str):
            yield nodes, at
        elif node["t"] in _WITHIN:
            yield from _leaves(node["c"])
        else:
            yield ["\0"], 0


def _walk(nodes: Iterable[Node]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        if isinstance(node, dict):
            yield node
            yield from _walk(node.get("c", ()))


def _shift_headings(nodes: list[Node]) -> None:
    headings = [node for node in _walk(nodes) if node["t"] == "h"]
    highest = min((node["level"] for node in headings), default=_TOP)
    for node in headings:
        node["level"] = min(6, _TOP + node["level"] - highest)
