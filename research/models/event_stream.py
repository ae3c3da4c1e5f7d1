"""Event streams as servers send them, made such that the libraries of the models can read them.

google-genai takes every line for JSON: a comment, an `event:` or a `[DONE]` breaks it. OpenAI's stumbles
over `data: null` and drops the event behind a byte order mark, and LangChain drops an event whose delta
is null or absent together with the end that it tells.
Where `[DONE]` follows a text for whose end no reason was given, it is the reason. The format:
https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from __future__ import annotations

import codecs
import re
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

CONTENT_TYPE = "text/event-stream"
# The events that end a stream of each wire.
END_EVENTS = {
    "openai": b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n',
    "gemini": b'data: {"candidates": [{"finishReason": "STOP"}]}\n',
}
_NON_DATA_LINE = re.compile(rb":|(?:event|id|retry)\s*(?::|\Z)")
_DATA_LINE = re.compile(rb"data:\s*(.*)", re.S)
_FINISH_REASON = re.compile(rb'(?<!\\)"finish_?[rR]eason"\s*:\s*"[^"]')
_FINISH_WITHOUT_DELTA = re.compile(rb'(?<!\\)("finish_reason"\s*:\s*"[^"])')
_NULL_DELTA = re.compile(rb'(?<!\\)"delta"(\s*:\s*)null')


async def normalise_events(chunks: AsyncIterable[bytes], protocol: str) -> AsyncIterator[bytes]:
    """Yield the lines of an event stream without those that say nothing, `data` in its usual spelling."""
    left, ended, first = b"", False, True
    async for chunk in chunks:
        *lines, left = (left + chunk).split(b"\n")
        if lines and first:
            lines[0], first = lines[0].removeprefix(codecs.BOM_UTF8), False
        out = bytearray()
        for line in lines:
            plain, ended = _normalise_line(line, protocol, ended)
            out += plain
        if out:
            yield bytes(out)
    if left:
        yield _normalise_line(left, protocol, ended)[0]


def _normalise_line(line: bytes, protocol: str, has_ended: bool) -> tuple[bytes, bool]:
    """A line as it is passed on, and whether the text has ended with it."""
    found = _DATA_LINE.match(line)
    if not found:
        return (b"" if _NON_DATA_LINE.match(line) else line + b"\n"), has_ended
    data = found[1].strip()
    if data in (b"", b"null"):
        return b"", has_ended
    if data.startswith(b"[DONE]"):
        if not has_ended:
            return END_EVENTS[protocol], True
        return (b"" if protocol == "gemini" else line + b"\n"), True
    if protocol == "openai" and b'"delta"' not in data:
        data = _FINISH_WITHOUT_DELTA.sub(rb'"delta": {}, \1', data)
    has_ended = has_ended or bool(_FINISH_REASON.search(data))
    return b"data: " + _NULL_DELTA.sub(rb'"delta"\1{}', data) + b"\n", has_ended


class NormalisedContent:
    """The body of a response over aiohttp whose chunks are those of a regular event stream."""

    def __init__(self, content: Any) -> None:
        self._content = content

    def iter_any(self) -> AsyncIterator[bytes]:
        return normalise_events(self._content.iter_any(), "gemini")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)
