"""Which tables a model is told of, where a database has more than a prompt can hold.

The words of a question are compared with the names of tables and columns, with their comments and with
the values that are known of them; a word that few tables have tells more than one that many have. What
foreign keys tie to tables that were found is drawn in, for a statement has to join them, and so are the
tables of statements that were right for questions like this one. The others are told by their names, as
far as there is room: a model can ask for them.

Knows words, no meanings: a Chinese question finds nothing in a table whose names and comments are
English. Then the tables that most others refer to are told, and the names of the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log

from research.core.text.tokenizer import is_stop_word, tokenize, word_weights
from research.sources.database.schema import Schema, SchemaTable, describe_table

MAX_TABLES = 12  # tables that are described, where not all can be
MAX_DESCRIPTION_CHARS = 24_000  # characters of descriptions
MAX_NAMES_CHARS = 6_000  # characters of the names of tables that are not described
_TABLE_WEIGHT, _COLUMN_WEIGHT, _COMMENT_WEIGHT, _VALUE_WEIGHT = 3.0, 1.5, 1.5, 2.0  # what a word is worth there
_PREFIX_FACTOR = 0.5  # of that, for a word that only begins alike: cust, customer
_LINKED_FACTOR = 0.3  # of the worth of the two best tables that a table is tied to
_MAX_PATH_ENDS = 3  # tables between which the way is looked for
_MIN_PREFIX_LETTERS = 3  # letters of a word of which the beginning counts


@dataclass(frozen=True, slots=True)
class TableSelection:
    """`described` are the tables that are told in full, `text` what a model is told; `others` are told
    by their names."""

    description: str
    described_tables: tuple[str, ...]
    other_tables: tuple[str, ...]

    @property
    def summary(self) -> str:
        """In a line, which tables were chosen; "" if they are all."""
        number = len(self.described_tables)
        of = number + len(self.other_tables)
        return f"{number} / {of}: {', '.join(self.described_tables)}" if self.other_tables else ""


def select_tables(schema: Schema, question: str, past_tables: Collection[str] = ()) -> TableSelection:
    """The tables for a question; all, if there is room for them. `past` are the tables of statements that
    were right for questions like it."""
    names = tuple(table.qualified_name for table in schema.tables)
    if len(whole := schema.describe()) <= MAX_DESCRIPTION_CHARS:
        return TableSelection(whole, names, ())
    terms = word_weights(question)
    chosen = rank_tables(schema.tables, question, past_tables)[:MAX_TABLES]
    shown = tuple(table.qualified_name for table in chosen)
    others = tuple(sorted(set(names) - set(shown)))
    return TableSelection(f"{_describe_tables(chosen, terms)}\n{_list_names(others)}", shown, others)


def describe_named_tables(schema: Schema, text: str, excluded: Collection[str]) -> str:
    """The description of the tables that a text names, but for those `besides`; "" if it names none."""
    words = set(re.findall(r"[\w.]+", text.lower())) | set(re.findall(r"\w+", text.lower()))
    found = [
        table
        for table in schema.tables
        if table.qualified_name not in excluded and {table.qualified_name.lower(), table.name.lower()} & words
    ]
    return _describe_tables(found[:MAX_TABLES], {})


def rank_tables(tables: Sequence[SchemaTable], question: str, past_tables: Collection[str] = ()) -> list[SchemaTable]:
    """The tables, those for a question first."""
    nested = (word for word in tokenize(question) if not is_stop_word(word))  # words within words
    terms = {**dict.fromkeys(nested, 0.25), **word_weights(question)}
    fields = {table.qualified_name: _weighted_words(table) for table in tables}
    spread = Counter(word for words in fields.values() for word in words)
    worth = dict.fromkeys(fields, 0.0)
    for term, weight in terms.items():
        rare = log(1 + len(tables) / (1 + _table_count(term, spread)))
        for name, words in fields.items():
            worth[name] += weight * rare * _match_weight(term, words)
    for table in tables:
        worth[table.qualified_name] += _value_weight(table, question)
    best = max(worth.values(), default=0.0) or 1.0
    for name in past_tables:
        if name in worth:
            worth[name] += best
    ties = _foreign_key_links(tables)
    drawn = {name: _LINKED_FACTOR * sum(sorted((worth[o] for o in ties[name]), reverse=True)[:2]) for name in worth}  # fmt: skip
    order = sorted(
        tables,
        key=lambda t: (
            -(worth[t.qualified_name] + drawn[t.qualified_name]),
            -len(ties[t.qualified_name]),
            t.qualified_name,
        ),
    )
    first = [table.qualified_name for table in order[:_MAX_PATH_ENDS] if worth[table.qualified_name]]
    between = [name for one, other in combinations(first, 2) for name in _connecting_tables(one, other, ties)]
    place = {name: at for at, name in enumerate(dict.fromkeys([*first, *between]))}
    return sorted(order, key=lambda table: place.get(table.qualified_name, len(order)))


def _connecting_tables(one: str, other: str, links: Mapping[str, set[str]]) -> list[str]:
    """The tables that a statement has to go through from one to another, the fewest there are; none
    if they are more than two."""
    ways = [[one]]
    for _ in range(3):
        ways = [[*way, near] for way in ways for near in sorted(links[way[-1]]) if near not in way]
        if found := next((way for way in ways if way[-1] == other), None):
            return found[1:-1]
    return []


def _weighted_words(table: SchemaTable) -> dict[str, float]:
    """The words of a table, with what each is worth."""
    found: dict[str, float] = {}
    texts = [(table.name, _TABLE_WEIGHT), (table.schema, _COMMENT_WEIGHT), (table.comment, _COMMENT_WEIGHT)]
    for column in table.columns:
        texts += [(column.name, _COLUMN_WEIGHT), (column.comment, _COMMENT_WEIGHT / 2)]
    for text, value in texts:
        for word in tokenize(_split_identifier(text)):
            found[word] = max(found.get(word, 0.0), value)
    return found


def _split_identifier(name: str) -> str:
    """A name with its words apart: order_items, orderItems and OrderItems2 are two words each."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[a-zA-Z])(?=\d)|_+", " ", name)


def _match_weight(term: str, words: Mapping[str, float]) -> float:
    if term in words:
        return words[term]
    return max((_PREFIX_FACTOR * value for word, value in words.items() if _words_match(term, word)), default=0.0)  # fmt: skip


def _words_match(term: str, word: str) -> bool:
    """Whether one word begins with the other, or a long name has it in it."""
    short, long = sorted((term, word), key=len)
    if term.isascii() and word.isascii():
        return len(short) >= _MIN_PREFIX_LETTERS and (long.startswith(short) or (len(short) > 4 and short in long))  # fmt: skip
    return len(short) > 1 and short in long


def _table_count(term: str, table_counts: Mapping[str, int]) -> int:
    """In how many tables a word is."""
    return table_counts.get(term, 0) or max((n for word, n in table_counts.items() if _words_match(term, word)), default=0)  # fmt: skip


def _value_weight(table: SchemaTable, question: str) -> float:
    """What the values of a table are worth that a question names."""
    asked = question.lower()
    named = {v for column in table.columns for v in column.values if len(v) > 1 and v.lower() in asked}  # fmt: skip
    return _VALUE_WEIGHT * min(len(named), 2)


def _foreign_key_links(tables: Sequence[SchemaTable]) -> dict[str, set[str]]:
    """For each table those that a foreign key ties it to, either way."""
    ties: dict[str, set[str]] = {table.qualified_name: set() for table in tables}
    for table in tables:
        for column in table.columns:
            other = column.reference.rpartition(".")[0]
            if other in ties and other != table.qualified_name:
                ties[table.qualified_name].add(other)
                ties[other].add(table.qualified_name)
    return ties


# What is told of them


def _describe_tables(tables: Sequence[SchemaTable], terms: Mapping[str, float]) -> str:
    """The descriptions of tables, each cut to its share of the room."""
    if not tables:
        return ""
    share = MAX_DESCRIPTION_CHARS // len(tables)
    return "\n".join("\n".join(_describe_shortened(table, share, terms)) for table in tables)


def _describe_shortened(table: SchemaTable, max_characters: int, terms: Mapping[str, float]) -> Iterator[str]:
    """The lines of a table: without its values if they are too many, and then without the columns that a
    question does not name."""
    lines = describe_table(table)
    if sum(map(len, lines)) > max_characters:
        lines = describe_table(table, includes_values=False)
    if sum(map(len, lines)) <= max_characters:
        yield from lines
        return
    wanted = [column.is_key or bool(column.reference) or any(term in tokenize(_split_identifier(column.name)) for term in terms) for column in table.columns]  # fmt: skip
    order = sorted(range(len(wanted)), key=lambda at: not wanted[at])
    kept, room = set[int](), max_characters - len(lines[0]) - 40
    for at in order:
        room -= len(lines[at + 1]) + 1
        if room >= 0:
            kept.add(at)
    yield lines[0]
    yield from (lines[at + 1] for at in sorted(kept))
    yield f"  (columns that are left out here: {len(wanted) - len(kept)})"


def _list_names(names: Sequence[str]) -> str:
    """The names of tables that are not described, as far as there is room for them."""
    told: list[str] = []
    room = MAX_NAMES_CHARS
    for name in names:
        room -= len(name) + 2
        if room < 0:
            break
        told.append(" ".join(name.split()))
    left = f", and {len(names) - len(told)} more" if len(told) < len(names) else ""
    return f"Tables that are not described here ({len(names)}): {', '.join(told)}{left}"
