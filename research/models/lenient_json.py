"""JSON as models write it: in prose and fences, with comments, trailing commas, quotes of other kinds,
Python's constants and line breaks within texts.

What is read here has one reading only. Brackets have to balance and every text has to end: JSON that broke
off is never completed, since half a plan would pass for a plan. Libraries that repair JSON complete it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

# A list counts as the beginning of JSON only with an object in it: prose has brackets of its own.
_START = re.compile(r"\{|\[\s*\{")
# A text within JSON, to its end or that of all, or a bracket.
_STRING = r'"(?:[^"\\]|\\.|\\\Z)*(?:"|\Z)'
_BRACKETS = {
    "{": re.compile(_STRING + r"|[{}]", re.S),
    "[": re.compile(_STRING + r"|[\[\]]", re.S),
}
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|\#[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[“”„][^“”„]*[“”]|[‘’][^‘’]*[‘’])
    |(?P<mark>[{}\[\],:，：])
    |(?P<word>[^\s"'“”„‘’{}\[\],:，：]+)""",
    re.S | re.X,
)
_ASCII_MARKS = {"，": ",", "：": ":"}
_CONSTANTS = {
    "true": "true", "false": "false", "null": "null", "none": "null", "undefined": "null",
}  # fmt: skip
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_ESCAPE = re.compile(r'\\(?:(?P<known>["\\/bfnrt]|u[0-9a-fA-F]{4})|(?P<other>.))', re.S)
_OPENING_BRACKETS = {"}": "{", "]": "["}


def parse_strict(text: str) -> list[Any]:
    """Return the objects, and the lists of objects, that are correct JSON in a text and stand in no other
    of them, as Python values; of JSON alone, the value that it is. Nothing is returned from within or
    behind one that does not end.
    """
    return _load(text) or _scan(text, _read_strict)


def parse_lenient(text: str) -> list[Any]:
    """Return the same of JSON that may be written loosely."""
    return _scan(text, _read_lenient)


def parse_single(text: str) -> Any:
    """Return the object or list that a text has in it; None if there is none, or several."""
    found = parse_strict(text) or parse_lenient(text)
    return found[0] if len(found) == 1 else None


def _load(text: str) -> list[Any]:
    """The value that a text is as it stands, also if it is JSON within a JSON text; [] if it is none."""
    try:
        value = json.loads(text, strict=False)
        return [json.loads(value, strict=False) if isinstance(value, str) else value]
    except (ValueError, RecursionError):
        return []


def _scan(text: str, read_piece: Callable[[str, int], tuple[str, int]]) -> list[Any]:
    found: list[Any] = []
    start = _START.search(text)
    while start:
        piece, end = read_piece(text, start.start())
        if not end:
            break
        found += _load(piece)
        start = _START.search(text, end)
    return found


def _read_strict(text: str, start: int) -> tuple[str, int]:
    """A piece of a text that begins with a bracket, up to where that is closed; its end is 0 if it is not."""
    depth = 0
    for step in _BRACKETS[text[start]].finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(step[0], 0)
        if depth == 0:
            return text[start : step.end()], step.end()
    return "", 0


def _read_lenient(text: str, start: int) -> tuple[str, int]:
    """The same of a piece that is written loosely, rewritten as JSON. One with a word that has no meaning
    in JSON is none: the search goes on behind it."""
    out: list[str] = []
    opened: list[str] = []
    before = ""
    for kind, piece, end in _tokenize(text, start):
        if kind == "text":
            out.append(_normalise_string(piece))
        elif kind == "word":
            out.append(_normalise_word(piece))
        elif piece in "{[":
            opened.append(piece)
            out.append(piece)
        elif piece in _OPENING_BRACKETS:
            if not opened or opened.pop() != _OPENING_BRACKETS[piece]:
                return "", 0
            if out[-1] == ",":
                out.pop()
            out.append(piece)
            if not opened:
                return "".join(out), end
        else:
            if piece == ":" and before == "word":
                out[-1] = json.dumps(out[-1].lstrip("\0"))  # a name without quotes
            out.append(piece)
        before = kind
    return "", 0


def _tokenize(text: str, start: int) -> Iterator[tuple[str, str, int]]:
    """The tokens of JSON without what stands between them, each with its kind and its end."""
    while (found := _TOKEN.match(text, start)) and found.end() > start:
        start = found.end()
        if found.lastgroup and found.lastgroup != "space":
            yield found.lastgroup, _ASCII_MARKS.get(found[0], found[0]), start


def _normalise_word(word: str) -> str:
    """A constant or a number as JSON has it; another word behind a NUL, which no JSON has."""
    known = _CONSTANTS.get(word.lower())
    return known or (word if _NUMBER.fullmatch(word) else "\0" + word)


def _normalise_string(text: str) -> str:
    """A text in JSON's quotes. Escapes that JSON has not, as of Markdown and formulas, are characters."""

    def kept(escape: re.Match[str]) -> str:
        if escape["known"]:
            return escape[0]
        return "'" if escape["other"] == "'" else "\\\\" + escape["other"]

    inner = _ESCAPE.sub(kept, text[1:-1])
    if text[0] != '"':
        inner = re.sub(r'(\\.)|"', lambda found: found[1] or '\\"', inner, flags=re.S)
    return f'"{inner}"'
