"""Removal of an incomplete citation, link or table at the end of a text that is still being written."""

from __future__ import annotations

import re

from research.citations.styles.source_lists import SOURCE_WORDS


def _prefix_pattern(*words: str) -> str:
    """Build a pattern for the non-empty prefixes of words."""
    return "|".join("(?:".join(map(re.escape, word)) + ")?" * (len(word) - 1) for word in words)


# Words before the number or the title of a source.
_WORDS_BEFORE_SOURCE = (
    "source", "sources", "reference", "references", "see source", "see @", "citation", "来源", "资料", "资料来源",
    "文献", "参考", "参考资料", "参考文献", "见来源", "参见来源",
)  # fmt: skip
_UNFINISHED_TAIL = re.compile(
    rf"(?i:(?<!\w)(?:{_prefix_pattern('https:/', 'citeturn')}|citeturn\w{{1,20}})|{_prefix_pattern(':contentReference')}"
    rf"|(?:^|(?<=\n))[ \t]*(?:{_prefix_pattern(*_WORDS_BEFORE_SOURCE)}) ?\d{{0,3}}"
    rf"|[(（]\s?(?:{_prefix_pattern(*_WORDS_BEFORE_SOURCE)})?\s?[:：]?\s?[@＠\da-f ,;、，；–-]{{0,40}}"
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
_TAIL_CHARS = 2_500  # the part that is searched; a longer link is visible while it is written


def trim_unfinished(text: str) -> str:
    """Remove an end that may become a citation, a link, markup or a table; close open bold text."""
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
