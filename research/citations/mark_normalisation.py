"""Conversion of the unusual citation marks of some models, such as [cite: 1] or $^{[1]}$, to [1].

A line that names the source of the text above it becomes a mark at the end of that text. Sources are
not looked up here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from research.citations.styles.source_lists import SOURCE_WORDS

_HANDLE = r"[@＠] ?[0-9a-f]{4,8}(?![0-9a-z])"
_NUMBERS = r"\^?\d{1,3}(?:\s*[,;、，；–-]\s*\^?\d{1,3}){0,20}"
_INLINE_CODE = r"(?P<ticks>(?<!`)`+(?!`))(?:[^\n]|\n(?![ \t]*\n))+?(?<!`)(?P=ticks)(?!`)"
_DECORATED_MARK = re.compile(
    rf"{_INLINE_CODE}"
    r"|(?P<start>\[cite_start\] ?)|⁽(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})⁾"
    rf"|\[\s*cite:\s*(?P<cite>{_NUMBERS})\s*\]"
    rf"|\[\[\s*(?P<double>{_NUMBERS})\s*\]\](?![(\[:])"
    rf"|\$\s?\^\s?\{{?\s?\\?\[\s*(?P<power>{_NUMBERS}|{_HANDLE}(?:[\s,;、，；]{{1,3}}{_HANDLE}){{0,9}})\s*\\?\]\s?\}}?\s?\$"
    r"|【\s*\^(?P<caret>\d{1,3})\^?\s*】|\[(?P<foot>\^\d{1,3})\^\]"
    r"|\[\s*<a\s[^<>\n]{0,200}?href=[\"']?(?P<href>https?://[^\s\"'<>]{1,2000})[^<>\n]{0,200}>\s*(?P<linked>\d{1,3})\s*</a>\s*\]"
    rf"|\[REF\]\s*\[?(?P<ref>{_NUMBERS})\]?\s*\[/REF\]"
    rf"|<ref\b[^<>\n/]{{0,60}}>\s*(?:\[?(?P<tag>{_NUMBERS})\]?|(?P<url>https?://[^\s<>]{{1,2000}}))\s*</ref>",
    re.IGNORECASE,
)
# Handles with words between or behind them: @3fa9 and @77aa, @3fa9†L1-L3, @3fa9: "tall"; in TeX.
_WORDED_MARK = re.compile(
    rf"{_INLINE_CODE}|[\[［【]\s*(?P<inner>{_HANDLE}[^\[\]［］【】\n]{{1,200}})[\]］】]"
    r"|\\cite[a-z]{0,10}\*?\{\s*(?P<tex>[@＠]?[0-9a-f]{4,8}(?:\s*,\s*[@＠]?[0-9a-f]{4,8}){0,9})\s*\}",
    re.IGNORECASE,
)
_IGNORABLE_WORDS = re.compile(r"(?:[\s,;、，；|/&–-]|and|和|与|及)*(?:[†^:：·|–—.。-].*|\Z)", re.IGNORECASE | re.DOTALL)
_UNDERSCORE_MARK = re.compile(r"\[\s*(ref|web|doc|source|src|cite|result)[_-](\d{1,3})\s*\]", re.IGNORECASE)
# A source in brackets or on a line of its own, given only as links.
_SOURCE_LABEL = rf"(?:资料|信息|数据|參考|参考|图片)?(?:{SOURCE_WORDS}|來源|出处|出處)"
_LINK = r"(?:\[[^\[\]\n]{0,300}\]\(\s*<?https?://(?:[^\s()<>]|\([^\s()<>]*\)){1,2000}>?\s*\)|<?https?://[^\s<>()（）\[\]，。；]{1,2000}>?)"
_CREDIT_IN_BRACKETS = re.compile(
    rf"[(（\[［【]\s*{_SOURCE_LABEL}\s*[:：]\s*({_LINK}(?:[\s,;，；、]{{1,3}}{_LINK}){{0,9}})\s*[)）\]］】]",
    re.IGNORECASE,
)
_CREDIT_LINE = re.compile(
    rf"[ \t>]*(?:[-*+•–—][ \t]+)?[*_(（]{{0,3}}{_SOURCE_LABEL}[*_]{{0,2}}\s?[:：][*_]{{0,2}}\s*({_LINK})[*_)）.。]{{0,4}}\s*",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://(?:[^\s()<>\[\]]|\([^\s()<>]*\))+")
_STANDARD_MARK = re.compile(rf"[\[［【]\s*{_NUMBERS}\s*[\]］】]|[¹²³⁴⁵⁶⁷⁸⁹]|\[\^|<sup\b")
_PROSE_LINE = re.compile(r"[ \t>]*(?![ \t>|#`~]|[-*_=]{3,}\s*$)\S.*[^\s:：|].*")


def normalise_marks(text: str) -> str:
    """Replace unusual citation marks in a text without fenced code. Inline code stays as it is."""
    text = _DECORATED_MARK.sub(_replace_decorated, _WORDED_MARK.sub(_strip_words, text))
    if len({match[1].lower() for match in _UNDERSCORE_MARK.finditer(text)}) == 1:
        text = _UNDERSCORE_MARK.sub(r"[\2]", text)
    text = "\n".join(_join_credit_lines(text.split("\n"), has_source_list=_STANDARD_MARK.search(text) is not None))
    return _CREDIT_IN_BRACKETS.sub(lambda match: _bracket_addresses(match[1]), text)


def _replace_decorated(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind in (None, "ticks"):
        return match[0]
    if kind == "raised":
        return match["raised"]
    target = f"({match['href']})" if match["href"] else ""
    return "" if kind == "start" else f"[{match[str(kind)]}]{target}"


def _strip_words(match: re.Match[str]) -> str:
    """Reduce the content of brackets to its handles, unless its other words carry information."""
    if tex := match["tex"]:
        return "[" + ", ".join("@" + key.strip(" @＠") for key in tex.split(",")) + "]"
    inner = match["inner"] or ""
    handles = re.findall(_HANDLE, inner, re.IGNORECASE)
    other_words = re.split(_HANDLE, inner, flags=re.IGNORECASE)[1:]
    is_ignorable = all(_IGNORABLE_WORDS.fullmatch(words) for words in other_words)
    return f"[{', '.join(handles)}]" if handles and is_ignorable else match[0]


def _bracket_addresses(links: str) -> str:
    """Return the addresses of links, each in brackets."""
    return "".join(f"[{address}]" for address in _ADDRESS.findall(links))


def _join_credit_lines(lines: list[str], *, has_source_list: bool) -> Iterator[str]:
    """Yield the lines, with each line that only names a source appended to the line above it.

    If `has_source_list`, the marks of the text may point to a list of sources. Then the last line,
    and a line below a mark, stay unchanged, because they may belong to that list.
    """
    end = max((at for at, line in enumerate(lines) if line.strip()), default=0) if has_source_list else -1
    last: str | None = None
    for at, line in enumerate(lines):
        credit = _CREDIT_LINE.fullmatch(line) if last and at != end else None
        if credit and last and _PROSE_LINE.fullmatch(last) and not (has_source_list and _STANDARD_MARK.search(last)):
            last += " " + _bracket_addresses(credit[1])
            continue
        if last is not None:
            yield last
        last = line
    if last is not None:
        yield last
