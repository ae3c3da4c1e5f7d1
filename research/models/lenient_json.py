"""Parser for JSON as models write it: inside prose and fences, with comments, trailing commas,
other quotes, Python's constants and line breaks within strings.

Only unambiguous input is read. Brackets have to balance and every string has to end: truncated JSON
is never completed, as libraries that repair JSON do, since half a plan would pass for a plan.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

# A list starts JSON only with an object in it: prose has brackets of its own.
_START = re.compile(r"\{|\[\s*\{")
# A JSON string to its end or the end of the text, or a bracket.
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
_CONSTANTS = {"true": "true", "false": "false", "null": "null", "none": "null", "undefined": "null"}
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_ESCAPE = re.compile(r'\\(?:(?P<known>["\\/bfnrt]|u[0-9a-fA-F]{4})|(?P<other>.))', re.S)
_OPENING_BRACKETS = {"}": "{", "]": "["}


def parse_strict(text: str) -> list[Any]:
    """Return the outermost objects, and lists of objects, of correct JSON in a text as Python
    values. If the whole text is JSON, return its value. Nothing within or behind an unclosed one is
    returned."""
    return _load(text) or _scan(text, _read_strict)


def parse_lenient(text: str) -> list[Any]:
    """Return the objects and lists of objects in a text, also of loosely written JSON."""
    return _scan(text, _read_lenient)


def parse_single(text: str) -> Any:
    """Return the one object or list in a text; None if there is none, or several."""
    values = parse_strict(text) or parse_lenient(text)
    return values[0] if len(values) == 1 else None


def _load(text: str) -> list[Any]:
    """Return the value of a JSON text (also JSON within a JSON string) as a list; [] if invalid."""
    try:
        value = json.loads(text, strict=False)
        return [json.loads(value, strict=False) if isinstance(value, str) else value]
    except (ValueError, RecursionError):
        return []


def _scan(text: str, read_piece: Callable[[str, int], tuple[str, int]]) -> list[Any]:
    values: list[Any] = []
    start = _START.search(text)
    while start:
        piece, end = read_piece(text, start.start())
        if not end:
            break
        values += _load(piece)
        start = _START.search(text, end)
    return values


def _read_strict(text: str, start: int) -> tuple[str, int]:
    """Return the piece from an opening bracket to its closing one, and its end; 0 if unclosed."""
    depth = 0
    for step in _BRACKETS[text[start]].finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(step[0], 0)
        if depth == 0:
            return text[start : step.end()], step.end()
    return "", 0


def _read_lenient(text: str, start: int) -> tuple[str, int]:
    """Return a loosely written piece rewritten as JSON, and its end; 0 if it is unclosed.

    A piece with a word that is meaningless in JSON becomes invalid, and the search goes on behind
    it.
    """
    output: list[str] = []
    open_brackets: list[str] = []
    previous_kind = ""
    for kind, piece, end in _tokenize(text, start):
        if kind == "text":
            output.append(_normalise_string(piece))
        elif kind == "word":
            output.append(_normalise_word(piece))
        elif piece in "{[":
            open_brackets.append(piece)
            output.append(piece)
        elif piece in _OPENING_BRACKETS:
            if not open_brackets or open_brackets.pop() != _OPENING_BRACKETS[piece]:
                return "", 0
            if output[-1] == ",":
                output.pop()
            output.append(piece)
            if not open_brackets:
                return "".join(output), end
        else:
            if piece == ":" and previous_kind == "word":
                output[-1] = json.dumps(output[-1].lstrip("\0"))  # an unquoted key
            output.append(piece)
        previous_kind = kind
    return "", 0


def _tokenize(text: str, start: int) -> Iterator[tuple[str, str, int]]:
    """Yield the kind, text and end of each JSON token, without white space and comments."""
    while (match := _TOKEN.match(text, start)) and match.end() > start:
        start = match.end()
        if match.lastgroup and match.lastgroup != "space":
            yield match.lastgroup, _ASCII_MARKS.get(match[0], match[0]), start


def _normalise_word(word: str) -> str:
    """Return a constant or number as in JSON; put a NUL, invalid in JSON, before others."""
    constant = _CONSTANTS.get(word.lower())
    return constant or (word if _NUMBER.fullmatch(word) else "\0" + word)


def _normalise_string(text: str) -> str:
    """Return a string in JSON's quotes. Escapes unknown to JSON are literal."""

    def replacement(escape: re.Match[str]) -> str:
        if escape["known"]:
            return escape[0]
        return "'" if escape["other"] == "'" else "\\\\" + escape["other"]

    inner = _ESCAPE.sub(replacement, text[1:-1])
    if text[0] != '"':
        inner = re.sub(r'(\\.)|"', lambda found: found[1] or '\\"', inner, flags=re.S)
    return f'"{inner}"'
