"""Parser for the Markdown of models, which is untrusted: no HTML, images or link definitions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline.state_inline import Delimiter, StateInline

from research.citations.placement import CITE_PLACEHOLDER
from research.core.text.control_chars import replace_surrogates, strip_direction_controls
from research.core.text.tokenizer import HAN_RANGES

Node = str | dict[str, Any]  # of an answer's tree

# Private characters have no meaning of their own and are removed from outside text. Here each one
# of planes 15 and 16 is the placeholder of one citation.
PRIVATE_CHARS = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
_CARRIAGE_RETURN = re.compile(r"\r\n?")
_MARKUP_CHAR = re.compile(r"[^\w\s，。；：！？、“”‘’（）《》.,;:'\"()%+=/-]|_")


def escape_table_cell(text: str) -> str:
    """Escape a text for a cell of a Markdown table: one line without active markup."""
    return _MARKUP_CHAR.sub(lambda match: f"&#{ord(match[0])};", " ".join(text.split()))


def sanitize(text: str) -> str:
    """Remove characters that cannot be stored, forge a placeholder or change the text direction."""
    return strip_direction_controls(PRIVATE_CHARS.sub("", replace_surrogates(_CARRIAGE_RETURN.sub("\n", text))))


_WIDE_CHAR = re.compile(rf"[{HAN_RANGES}\u3000-\u303f\u3040-\u30ff\uac00-\ud7af\uff00-\uffef“”‘’…—]")


def _neighbours(text: str, start: int, end: int) -> tuple[str, str]:
    """Return the characters beside a range, ignoring citations there."""
    before = re.sub(f"{CITE_PLACEHOLDER}+$", "", text[max(0, start - 20) : start])[-1:] or " "
    after = re.sub(f"^{CITE_PLACEHOLDER}+", "", text[end : end + 20])[:1] or " "
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


PARSER = _build_parser()
_BLOCK_PARSER = _build_parser().disable(["inline", "text_join"])
for _parser in (PARSER, _BLOCK_PARSER):
    _parser.parse("*")  # a parser compiles its rules at first use, which is not thread-safe


_LINE_PREFIX = re.compile(
    r"^[ \t]*(?:>|[-+*](?=[ \t>]|$)|[0-9]{1,9}[.)](?=[ \t>]|$))"
    r"(?:[ \t>]|[-+*](?=[ \t>]|$)|[0-9]{1,9}[.)](?=[ \t>]|$))*",
    re.MULTILINE,
)
_MAX_PREFIX_CHARS = 18  # characters of a line prefix, each of which may begin a level


def limit_nesting(text: str) -> str:
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
        block_lines = [line + "\n" * (at < len(lines) - 1) for at, line in group]
        yield is_code, "".join(block_lines)
