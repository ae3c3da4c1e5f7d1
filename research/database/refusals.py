"""How a statement is refused: the kind of the reason, a message, and what may have been meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from rapidfuzz import fuzz, process

from research.database.allowed import NAMES, Dialect

Kind = Literal["syntax", "statement", "table", "column", "function", "type", "operator", "limit"]
NEAR = 3  # names that a refusal proposes
ALIKE = 60  # of 100: from here on a name is near
FUNCTIONS_ALIKE = 80  # names of functions are short

_INSTEAD: dict[Dialect, dict[str, str]] = {
    "sqlite": {
        "now": "current_timestamp", "to_char": "strftime", "date_trunc": "strftime",
        "timestamp_trunc": "strftime", "extract": "strftime", "year": "strftime",
        "month": "strftime", "left": "substr", "right": "substr", "datediff": "julianday",
        "concat": "||", "concat_ws": "||", "regexp_like": "REGEXP", "lpad": "printf", "rpad": "printf",
        "array_agg": "json_group_array", "json_agg": "json_group_array",
    },
    "postgres": {
        "strftime": "to_char", "julianday": "age", "date": "date_trunc", "datetime": "date_trunc",
        "instr": "position", "ifnull": "coalesce", "printf": "format",
        "group_concat": "string_agg", "json_group_array": "json_agg", "json_extract": "->>",
        "year": "extract", "month": "extract",
    },
    "duckdb": {
        "to_char": "strftime", "to_date": "strptime", "julianday": "epoch", "datetime": "date_trunc",
        "regexp_like": "LIKE", "regexp_matches": "LIKE", "printf": "round", "format": "round",
        "list": "string_agg", "array_agg": "string_agg", "json_group_array": "string_agg",
    },
}  # fmt: skip


class Refused(ValueError):
    """A statement that may not run. The message says what to write instead, as far as that is known."""

    def __init__(self, kind: Kind, message: str, near: Sequence[str] = ()) -> None:
        self.kind = kind
        self.near = tuple(near)
        self.message = f"{message} Did you mean {' or '.join(near)}?" if near else message
        super().__init__(self.message)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large a statement may be. Real questions stay far below."""

    characters: int = 8_000
    tokens: int = 2_500
    depth: int = 60  # of the tree
    parentheses: int = 50  # one in another
    joins: int = 8
    selects: int = 32
    ctes: int = 12
    branches: int = 16  # of a set operation
    values: int = 400  # of one IN or VALUES
    series: int = 400  # rows of a series that is counted out
    literals: int = 800
    literal: int = 500  # characters of one
    calls: int = 120
    sorts: int = 16  # DISTINCTs and aggregates that sort: each keeps what it has seen
    windows: int = 12
    sets: int = 16  # of one CUBE, ROLLUP or GROUPING SETS
    outputs: int = 100  # columns of a result
    offset: int = 1_000_000
    growth: int = 1_000  # how many times longer REPLACE may make a text
    quoting: int = 8  # functions that quote what they are given, which doubles it at worst
    width: int = 1_000  # characters to which a text may be filled up
    pattern: int = 200  # characters of a regular expression
    repeated: int = 200  # how often a regular expression may say that something comes again
    expansion: int = 2_000  # columns and parts, once each WITH part is written out where it is used


BOUNDS = Bounds()


def within(what: str, number: int, most: int) -> None:
    """Refuses a statement that has more of something than it may."""
    if number > most:
        raise Refused("limit", f"The statement has {number} {what}; at most {most} may be. Write a simpler one.")  # fmt: skip


def alike(name: str, known: Sequence[str], least: int = ALIKE) -> list[str]:
    """Known names that are like this one, the most alike first."""
    hits = process.extract(name.lower(), known, scorer=fuzz.ratio, processor=str.lower, limit=NEAR, score_cutoff=least)  # fmt: skip
    return [hit[0] for hit in hits]


def no_function(name: str, dialect: Dialect) -> Refused:
    """The refusal of a function, with what this engine has instead."""
    if other := _INSTEAD[dialect].get(name):
        return Refused("function", f"The function {name}() is not allowed.", [other])
    near = alike(name, sorted(NAMES[dialect]), FUNCTIONS_ALIKE)
    return Refused("function", f"The function {name[:60]}() is not allowed.", near)


@contextmanager
def parsing() -> Iterator[None]:
    """sqlglot promises SqlglotError; on text that is no SQL it also breaks in other ways."""
    try:
        yield
    except Refused:
        raise
    except (ValueError, TypeError, AttributeError, LookupError, AssertionError) as error:
        raise unread(error) from None


def unread(error: Exception) -> Refused:
    """The refusal of a statement that the parser could not read."""
    from sqlglot.errors import SqlglotError

    told = "it is not understood."
    if isinstance(error, RecursionError):
        told = "it is nested too deeply."
    elif isinstance(error, SqlglotError):
        told = first_line(str(error))
    return Refused("syntax", f"The statement cannot be read: {told}")


def first_line(message: str) -> str:
    """The first line of an error of the parser, without the colours that it underlines with."""
    plain = re.sub(r"\x1b\[\d*m", "", message).strip()
    return plain.splitlines()[0][:200] if plain else "it is not understood."
