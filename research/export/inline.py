"""Markdown in which text from outside reads as itself: it can start no link, image, tag or heading."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote, urlsplit

from research.citations import formulas
from research.citations.markup import encodable, undirected
from research.core.i18n import Say
from research.core.urls import canonical_url

# What acts wherever it stands. "~" is among them: GitHub strikes out from one "~" to the next, and
# 3~5天，10~20元 is ordinary Chinese. "!" is not: it acts only before a bracket, and none is left.
_ACTIVE = re.compile(
    r"[\\`*\[\]|$~]"
    r"|(?<![A-Za-z0-9_])_+|_+(?![A-Za-z0-9_])"  # within a word, as in snake_case, it does nothing
    r"|<(?=[A-Za-z/!?]|[\w.!#$%&'*+/=?^`{|}~-]*(?:@|$))"  # <1@b> is an address, wherever it is cut
    r"|&(?=#?[A-Za-z0-9]*(;|$))"
    r"|(?<= )#(?=#*$)"  # would close a heading
    r"|%{2,}|={2,}"  # %%hides%% and ==marks== in Obsidian
)
_UNSHOWN = re.compile(f"\0|{formulas.MASK}")
# What acts only at the start of a block.
_LEADING = re.compile(r"[#>=]|[-+](?=[ -]|$)")
_LEADING_NUMBER = re.compile(r"([0-9]{1,9})([.)])(?= |$)")
BREAKS = re.compile(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")


def escape(text: str) -> str:
    """Markdown that renders as exactly `text`, on one line, white space collapsed.

    Safe at the start of a line, in a heading, a link's text or a table cell, and beside other text
    that is set off by a space or by a mark such as ” or ;. Ordinary sentences come out as they are.
    What cannot be rendered becomes U+FFFD: NUL, half a surrogate pair, and private characters, which
    mean something only in one font. What would turn the direction of the text behind it is left out.
    """
    return at_start(inactive(" ".join(undirected(text).split())))


def quoted(text: str) -> str:
    """As `escape`, but formulas in TeX stay formulas."""
    return next(quoted_lines(" ".join(undirected(text).split())), "")


def quoted_lines(text: str) -> Iterator[str]:
    """Each line of a text that is not empty, as `quoted`; a formula may go over several."""
    found = formulas.Formulas()
    hidden = found.hidden(undirected(text))
    lines = (" ".join(line.split()) for line in BREAKS.split(hidden))
    return (_quoted(line, found) for line in lines if line)


def _quoted(line: str, found: formulas.Formulas) -> str:
    out = ""
    for part in found.parts(line):
        if isinstance(part, str):
            piece, opens = inactive(part), False
        else:
            piece, opens = formulas.inline(part.tex), True
        out += " " * formulas.touch(out, piece, opens=opens) + piece
    return at_start(out)


def inactive(text: str) -> str:
    """Text within a line in which nothing acts."""
    return _ACTIVE.sub(backslashed, _UNSHOWN.sub("\ufffd", encodable(text)))


def at_start(line: str) -> str:
    """A line that begins no heading, list, quotation or rule."""
    head = _LEADING_NUMBER.match(line)
    if head:
        return f"{head[1]}\\{line[head.end(1) :]}"
    return f"\\{line}" if _LEADING.match(line) else line


def backslashed(match: re.Match[str]) -> str:
    return "".join("\\" + char for char in match[0])


def link(text: str, url: str, *, maths: bool = False) -> str:
    """A Markdown link, or only the text if the address is not http(s). With `maths` formulas in the text
    stay formulas; not so in the cell of a table."""
    address = canonical_url(url)
    label = (_label(text) if maths else escape(text)) or escape(address)
    return f"[{label}]({_destination(address)})" if address else label


def _label(text: str) -> str:
    """Text of a link; formulas stay formulas but for those with a bracket, which could end it."""
    found = formulas.Formulas()
    hidden = found.hidden(undirected(text))
    bracketed = any(
        "[" in f.source or "]" in f.source for f in found.parts(hidden) if not isinstance(f, str)
    )
    return escape(text) if bracketed else quoted(text)


def _destination(address: str) -> str:
    """A canonical address as a link destination that nothing in it can end or change."""
    parts = urlsplit(address)
    origin = f"{parts.scheme}://{parts.netloc}"
    # "&" stays, but "&copy;" would be read as an entity: there the semicolon is encoded.
    rest = re.sub(r"(&#?[A-Za-z0-9]+);", r"\1%3B", address[len(origin) :])
    return origin + quote(rest, safe="/?#:@!&'+,;=%$-._~")


def bullets(lines: Iterable[str]) -> Iterator[str]:
    """A list as one block; nothing for no lines."""
    block = "\n".join(f"- {line}" for line in lines)
    if block:
        yield block


def joined(facts: Iterable[str], say: Say) -> str:
    return say("semicolon").join(fact for fact in facts if fact)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table as one block; nothing for no rows. Cells are Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if lines:
        yield "\n".join(
            [f"| {' | '.join(head)} |", f"| {' | '.join('---' for _ in head)} |", *lines]
        )
