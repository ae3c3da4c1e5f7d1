"""Escaping of outside text for Markdown, so that it cannot start a link, image, tag or heading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote, urlsplit

from research.citations import formulas
from research.core.i18n import Translator
from research.core.text.control_chars import replace_surrogates, strip_direction_controls
from research.core.urls import canonical_url
from research.export.report_texts import has_report_text

# Characters with an effect anywhere. "~" is one: GitHub strikes out text between two of them, and
# 3~5天，10~20元 is ordinary Chinese. "!" is not: it needs a bracket, and brackets are escaped.
_ACTIVE_CHAR = re.compile(
    r"[\\`*\[\]|$~]"
    r"|(?<![A-Za-z0-9_])_+|_+(?![A-Za-z0-9_])"  # no effect within a word, as in snake_case
    r"|<(?=[A-Za-z/!?]|[\w.!#$%&'*+/=?^`{|}~-]*(?:@|$))"  # <1@b> is an address, even if cut
    r"|&(?=#?[A-Za-z0-9]*(;|$))"
    r"|(?<= )#(?=#*$)"  # would close a heading
    r"|%{2,}|={2,}"  # %%hides%% and ==marks== in Obsidian
)
_UNRENDERABLE = re.compile(f"\0|{formulas.FORMULA_PLACEHOLDER}")
# Characters with an effect only at the start of a block.
_BLOCK_START = re.compile(r"[#>=]|[-+](?=[ -]|$)")
_LIST_NUMBER = re.compile(r"([0-9]{1,9})([.)])(?= |$)")
LINE_BREAKS = re.compile(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")


def escape_markdown(text: str) -> str:
    """Escape text to one line of Markdown that renders as exactly that text.

    White space is collapsed. The result is safe at the start of a line, in a heading, a link's text
    or a table cell, and beside other text that is set off by a space or a mark such as ” or ;.
    Ordinary sentences are unchanged. NUL, half surrogate pairs and private-use characters, which
    mean something only in one font, become U+FFFD. Controls that turn the direction of the
    following text are removed.
    """
    return escape_line_start(escape_inline(" ".join(strip_direction_controls(text).split())))


def escape_keeping_formulas(text: str) -> str:
    """Escape text as `escape_markdown` does, but keep TeX formulas."""
    return next(escape_lines_keeping_formulas(" ".join(strip_direction_controls(text).split())), "")


def escape_lines_keeping_formulas(text: str) -> Iterator[str]:
    """Escape each non-empty line, keeping TeX formulas, which may span several lines."""
    store = formulas.FormulaStore()
    hidden = store.hide(strip_direction_controls(text))
    lines = (" ".join(line.split()) for line in LINE_BREAKS.split(hidden))
    return (_escape_line(line, store) for line in lines if line)


def _escape_line(line: str, store: formulas.FormulaStore) -> str:
    out = ""
    for part in store.split(line):
        if isinstance(part, str):
            piece, opens = escape_inline(part), False
        else:
            piece, opens = formulas.inline_markdown(part.tex), True
        out += " " * formulas.needs_space(out, piece, formula_follows=opens) + piece
    return escape_line_start(out)


def escape_inline(text: str) -> str:
    """Escape text within a line."""
    return _ACTIVE_CHAR.sub(backslash_match, _UNRENDERABLE.sub("\ufffd", replace_surrogates(text)))


def escape_line_start(line: str) -> str:
    """Escape a line so that it begins no heading, list, quotation or rule."""
    number = _LIST_NUMBER.match(line)
    if number:
        return f"{number[1]}\\{line[number.end(1) :]}"
    return f"\\{line}" if _BLOCK_START.match(line) else line


def backslash_match(match: re.Match[str]) -> str:
    """Put a backslash before each character of a match."""
    return "".join("\\" + char for char in match[0])


def markdown_link(text: str, url: str, *, keep_formulas: bool = False) -> str:
    """Return a Markdown link, or only the text if the address is not http(s).

    `keep_formulas` keeps TeX formulas in the text, and must not be used in a table cell.
    """
    address = canonical_url(url)
    label = (_link_label(text) if keep_formulas else escape_markdown(text)) or escape_markdown(address)
    return f"[{label}]({_link_destination(address)})" if address else label


def _link_label(text: str) -> str:
    """Escape the text of a link, keeping formulas unless one has a bracket, which could end the
    link.
    """
    store = formulas.FormulaStore()
    hidden = store.hide(strip_direction_controls(text))
    bracketed = any("[" in f.source_text or "]" in f.source_text for f in store.split(hidden) if not isinstance(f, str))
    return escape_markdown(text) if bracketed else escape_keeping_formulas(text)


def _link_destination(address: str) -> str:
    """Encode a canonical address so that nothing in it can end or change the link."""
    parts = urlsplit(address)
    origin = f"{parts.scheme}://{parts.netloc}"
    # "&" stays, but "&copy;" would be read as an entity: there the semicolon is encoded.
    rest = re.sub(r"(&#?[A-Za-z0-9]+);", r"\1%3B", address[len(origin) :])
    return origin + quote(rest, safe="/?#:@!&'+,;=%$-._~")


def bullet_list(lines: Iterable[str]) -> Iterator[str]:
    """Yield a list as one block; nothing for no lines."""
    block = "\n".join(f"- {line}" for line in lines)
    if block:
        yield block


def join_facts(facts: Iterable[str], translate: Translator) -> str:
    """Join the non-empty facts with semicolons."""
    return translate("semicolon").join(fact for fact in facts if fact)


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table as one block; nothing for no rows. Cells are Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if lines:
        yield "\n".join([f"| {' | '.join(headings)} |", f"| {' | '.join('---' for _ in headings)} |", *lines])


def service_label(source: str, translate: Translator) -> str:
    """Return the display name of a source, or its own name if it has none."""
    key = f"source.{source}"
    return escape_markdown(translate(key) if has_report_text(key) else source)
