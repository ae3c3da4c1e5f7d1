"""What a model has written, without what is no part of its answer."""

from __future__ import annotations

import re

# The tags between which local models write their thoughts. One between backticks is spoken of.
_OPENS = ("<think>", "<thinking>", "[think]", "◁think▷")
_OPEN = re.compile(rf"(?<!`)(?:{'|'.join(map(re.escape, _OPENS))})(?!`)", re.I)
_CLOSE = re.compile(r"(?<!`)(?:</think(?:ing)?>|\[/think\]|◁/think▷)(?!`)\s*", re.I)


def spoken(text: str) -> str:
    """A text, or as much of one as there is yet, without the thoughts before it. Some templates open
    them themselves, so that only their end is heard: all up to it goes.
    """
    text = sound(text)
    while True:
        opened, closed = _begins(text), _CLOSE.search(text)
        if closed is None or not (opened or _lone(text, closed)):
            return "" if opened else text
        text = text[closed.end() :]
        if not (_begins(text) or _CLOSE.match(text)):
            return text


def _begins(text: str) -> bool:
    """Whether it begins with thoughts, or with what may become their tag."""
    start = text.lstrip()
    low = start[: max(map(len, _OPENS))].lower()
    return bool(_OPEN.match(start)) or any(low and tag.startswith(low) for tag in _OPENS)


def _lone(text: str, closed: re.Match[str]) -> bool:
    return not _OPEN.search(text, 0, closed.start())


def sound(text: str) -> str:
    """Text without a byte order mark at its beginning, and without halves of surrogate pairs, which
    JSON can smuggle in and nothing can store: those that belong together are joined, others become
    U+FFFD, and one at the very end is waited for.
    """
    if text.isascii():
        return text
    if "\ud800" <= text[-1] <= "\udbff":
        text = text[:-1]
    text = text.removeprefix("\ufeff")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
