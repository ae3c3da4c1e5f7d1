"""Refusals of statements: their kinds, messages and suggestions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from rapidfuzz import fuzz, process

from research.sources.database.allowlist import FUNCTION_NAMES, Dialect

RefusalKind = Literal["syntax", "statement", "table", "column", "function", "type", "operator", "limit"]
MAX_SUGGESTIONS = 3  # names that a refusal proposes
MIN_SIMILARITY = 60  # of 100: from here on a name is suggested
MIN_FUNCTION_SIMILARITY = 80  # higher, because names of functions are short

_REPLACEMENTS: dict[Dialect, dict[str, str]] = {
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


class RefusedError(ValueError):
    """A statement may not run. The message says what to write instead, as far as that is known."""

    def __init__(self, kind: RefusalKind, message: str, suggestions: Sequence[str] = ()) -> None:
        self.kind = kind
        self.suggestions = tuple(suggestions)
        self.message = f"{message} Did you mean {' or '.join(suggestions)}?" if suggestions else message
        super().__init__(self.message)


@dataclass(frozen=True, slots=True)
class StatementLimits:
    """Limits on the size of a statement. Real questions stay far below."""

    max_characters: int = 8_000
    max_tokens: int = 2_500
    max_depth: int = 60  # levels of the tree
    max_parentheses: int = 50  # nested parentheses
    max_joins: int = 8
    max_selects: int = 32
    max_ctes: int = 12
    max_branches: int = 16  # branches of a set operation
    max_values: int = 400  # values of one IN or VALUES
    max_series_rows: int = 400  # rows of a generated series
    max_literals: int = 800
    max_literal_characters: int = 500  # characters of one literal
    max_calls: int = 120
    max_sorts: int = 16  # DISTINCTs and sorting aggregates: each holds all values it has seen
    max_windows: int = 12
    max_grouping_sets: int = 16  # sets of one CUBE, ROLLUP or GROUPING SETS
    max_outputs: int = 100  # columns of a result
    max_offset: int = 1_000_000
    max_growth: int = 1_000  # factor by which REPLACE may lengthen a text
    max_quoting_calls: int = 8  # functions that quote their argument, which at worst doubles it
    max_width_characters: int = 1_000  # characters to which a text may be padded
    max_pattern_characters: int = 200  # characters of a regular expression
    max_repetitions: int = 200  # product of the repetition counts of a regular expression
    max_expansion: int = 2_000  # columns and parts, once each WITH part is inlined where it is used


DEFAULT_LIMITS = StatementLimits()


def check_limit(subject: str, count: int, maximum: int) -> None:
    """Raise RefusedError if a statement has more of something than allowed."""
    if count > maximum:
        raise RefusedError(
            "limit", f"The statement has {count} {subject}; at most {maximum} may be. Write a simpler one."
        )


def similar_names(name: str, known_names: Sequence[str], min_similarity: int = MIN_SIMILARITY) -> list[str]:
    """Return the known names that resemble a name, the most similar first."""
    matches = process.extract(name.lower(), known_names, scorer=fuzz.ratio, processor=str.lower, limit=MAX_SUGGESTIONS, score_cutoff=min_similarity)  # fmt: skip
    return [match[0] for match in matches]


def unknown_function(name: str, dialect: Dialect) -> RefusedError:
    """Create the refusal of a function, with the engine's replacement for it if there is one."""
    if replacement := _REPLACEMENTS[dialect].get(name):
        return RefusedError("function", f"The function {name}() is not allowed.", [replacement])
    suggestions = similar_names(name, sorted(FUNCTION_NAMES[dialect]), MIN_FUNCTION_SIMILARITY)
    return RefusedError("function", f"The function {name[:60]}() is not allowed.", suggestions)


@contextmanager
def convert_parser_errors() -> Iterator[None]:
    """Convert errors of the parser to refusals.

    sqlglot documents SqlglotError, but on text that is no SQL it also raises other errors.
    """
    try:
        yield
    except RefusedError:
        raise
    except (ValueError, TypeError, AttributeError, LookupError, AssertionError) as error:
        raise parser_refusal(error) from None


def parser_refusal(error: Exception) -> RefusedError:
    """Create the refusal of a statement that the parser could not read."""
    from sqlglot.errors import SqlglotError

    reason = "it is not understood."
    if isinstance(error, RecursionError):
        reason = "it is nested too deeply."
    elif isinstance(error, SqlglotError):
        reason = parser_message(str(error))
    return RefusedError("syntax", f"The statement cannot be read: {reason}")


def parser_message(message: str) -> str:
    """Return the first line of a parser's message, without its colour codes."""
    plain = re.sub(r"\x1b\[\d*m", "", message).strip()
    return plain.splitlines()[0][:200] if plain else "it is not understood."
