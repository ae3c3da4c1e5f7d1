"""Normalisation of servers' event streams for the libraries of the models.

google-genai parses every line as JSON: a comment, an `event:` or a `[DONE]` breaks it. OpenAI's
library fails on `data: null` and drops the event after a byte order mark, and LangChain drops an
event whose delta is null or absent together with its finish reason. Where `[DONE]` follows a text
without a finish reason, a finish event is inserted. The format:
https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from __future__ import annotations

import codecs
import re
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

CONTENT_TYPE = "text/event-stream"
# Events that end a stream, by protocol.
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
    """Yield the lines of an event stream without empty ones, `data` in its usual spelling."""
    remainder, ended, is_first = b"", False, True
    async for chunk in chunks:
        *lines, remainder = (remainder + chunk).split(b"\n")
        if lines and is_first:
            lines[0], is_first = lines[0].removeprefix(codecs.BOM_UTF8), False
        output = bytearray()
        for line in lines:
            normalised, ended = _normalise_line(line, protocol, ended)
            output += normalised
        if output:
            yield bytes(output)
    if remainder:
        yield _normalise_line(remainder, protocol, ended)[0]


def _normalise_line(line: bytes, protocol: str, has_ended: bool) -> tuple[bytes, bool]:
    """Return the normalised line, and whether the text has ended with it."""
    match = _DATA_LINE.match(line)
    if not match:
        return (b"" if _NON_DATA_LINE.match(line) else line + b"\n"), has_ended
    data = match[1].strip()
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
    """Body of an aiohttp response that normalises its event stream."""

    def __init__(self, content: Any) -> None:
        self._content = content

    def iter_any(self) -> AsyncIterator[bytes]:
        return normalise_events(self._content.iter_any(), "gemini")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)
