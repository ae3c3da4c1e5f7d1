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

from research.core.text.words import idle, telling, tokens
from research.sources.database.schema import Schema, Table, described

MOST = 12  # tables that are described, where not all can be
ROOM = 24_000  # characters of descriptions
NAMES_ROOM = 6_000  # characters of the names of tables that are not described
_TABLE, _COLUMN, _COMMENT, _VALUE = 3.0, 1.5, 1.5, 2.0  # what a word is worth there
_PARTLY = 0.5  # of that, for a word that only begins alike: cust, customer
_TIED = 0.3  # of the worth of the two best tables that a table is tied to
_ENDS = 3  # tables between which the way is looked for
_SHORTEST = 3  # letters of a word of which the beginning counts


@dataclass(frozen=True, slots=True)
class Choice:
    """`described` are the tables that are told in full, `text` what a model is told; `others` are told
    by their names."""

    text: str
    described: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def told(self) -> str:
        """In a line, which tables were chosen; "" if they are all."""
        number = len(self.described)
        of = number + len(self.others)
        return f"{number} / {of}: {', '.join(self.described)}" if self.others else ""


def choose(schema: Schema, question: str, past: Collection[str] = ()) -> Choice:
    """The tables for a question; all, if there is room for them. `past` are the tables of statements that
    were right for questions like it."""
    names = tuple(table.called for table in schema.tables)
    if len(whole := schema.described()) <= ROOM:
        return Choice(whole, names, ())
    terms = telling(question)
    chosen = ranked(schema.tables, question, past)[:MOST]
    shown = tuple(table.called for table in chosen)
    others = tuple(sorted(set(names) - set(shown)))
    return Choice(f"{_fitted(chosen, terms)}\n{_listed(others)}", shown, others)


def more(schema: Schema, text: str, besides: Collection[str]) -> str:
    """The description of the tables that a text names, but for those `besides`; "" if it names none."""
    words = set(re.findall(r"[\w.]+", text.lower())) | set(re.findall(r"\w+", text.lower()))
    found = [
        table
        for table in schema.tables
        if table.called not in besides and {table.called.lower(), table.name.lower()} & words
    ]
    return _fitted(found[:MOST], {})


def ranked(tables: Sequence[Table], question: str, past: Collection[str] = ()) -> list[Table]:
    """The tables, those for a question first."""
    nested = (word for word in tokens(question) if not idle(word))  # words within words
    terms = {**dict.fromkeys(nested, 0.25), **telling(question)}
    fields = {table.called: _fields(table) for table in tables}
    spread = Counter(word for words in fields.values() for word in words)
    worth = dict.fromkeys(fields, 0.0)
    for term, weight in terms.items():
        rare = log(1 + len(tables) / (1 + _spread(term, spread)))
        for name, words in fields.items():
            worth[name] += weight * rare * _match(term, words)
    for table in tables:
        worth[table.called] += _values(table, question)
    best = max(worth.values(), default=0.0) or 1.0
    for name in past:
        if name in worth:
            worth[name] += best
    ties = _ties(tables)
    drawn = {name: _TIED * sum(sorted((worth[o] for o in ties[name]), reverse=True)[:2]) for name in worth}  # fmt: skip
    order = sorted(
        tables,
        key=lambda t: (-(worth[t.called] + drawn[t.called]), -len(ties[t.called]), t.called),
    )
    first = [table.called for table in order[:_ENDS] if worth[table.called]]
    between = [name for one, other in combinations(first, 2) for name in _way(one, other, ties)]
    place = {name: at for at, name in enumerate(dict.fromkeys([*first, *between]))}
    return sorted(order, key=lambda table: place.get(table.called, len(order)))


def _way(one: str, other: str, ties: Mapping[str, set[str]]) -> list[str]:
    """The tables that a statement has to go through from one to another, the fewest there are; none
    if they are more than two."""
    ways = [[one]]
    for _ in range(3):
        ways = [[*way, near] for way in ways for near in sorted(ties[way[-1]]) if near not in way]
        if found := next((way for way in ways if way[-1] == other), None):
            return found[1:-1]
    return []


def _fields(table: Table) -> dict[str, float]:
    """The words of a table, with what each is worth."""
    found: dict[str, float] = {}
    texts = [(table.name, _TABLE), (table.schema, _COMMENT), (table.comment, _COMMENT)]
    for column in table.columns:
        texts += [(column.name, _COLUMN), (column.comment, _COMMENT / 2)]
    for text, value in texts:
        for word in tokens(_parted(text)):
            found[word] = max(found.get(word, 0.0), value)
    return found


def _parted(name: str) -> str:
    """A name with its words apart: order_items, orderItems and OrderItems2 are two words each."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[a-zA-Z])(?=\d)|_+", " ", name)


def _match(term: str, words: Mapping[str, float]) -> float:
    if term in words:
        return words[term]
    return max((_PARTLY * value for word, value in words.items() if _alike(term, word)), default=0.0)  # fmt: skip


def _alike(term: str, word: str) -> bool:
    """Whether one word begins with the other, or a long name has it in it."""
    short, long = sorted((term, word), key=len)
    if term.isascii() and word.isascii():
        return len(short) >= _SHORTEST and (long.startswith(short) or (len(short) > 4 and short in long))  # fmt: skip
    return len(short) > 1 and short in long


def _spread(term: str, spread: Mapping[str, int]) -> int:
    """In how many tables a word is."""
    return spread.get(term, 0) or max((n for word, n in spread.items() if _alike(term, word)), default=0)  # fmt: skip


def _values(table: Table, question: str) -> float:
    """What the values of a table are worth that a question names."""
    asked = question.lower()
    named = {v for column in table.columns for v in column.values if len(v) > 1 and v.lower() in asked}  # fmt: skip
    return _VALUE * min(len(named), 2)


def _ties(tables: Sequence[Table]) -> dict[str, set[str]]:
    """For each table those that a foreign key ties it to, either way."""
    ties: dict[str, set[str]] = {table.called: set() for table in tables}
    for table in tables:
        for column in table.columns:
            other = column.refers.rpartition(".")[0]
            if other in ties and other != table.called:
                ties[table.called].add(other)
                ties[other].add(table.called)
    return ties


# What is told of them


def _fitted(tables: Sequence[Table], terms: Mapping[str, float]) -> str:
    """The descriptions of tables, each cut to its share of the room."""
    if not tables:
        return ""
    share = ROOM // len(tables)
    return "\n".join("\n".join(_cut(table, share, terms)) for table in tables)


def _cut(table: Table, share: int, terms: Mapping[str, float]) -> Iterator[str]:
    """The lines of a table: without its values if they are too many, and then without the columns that a
    question does not name."""
    lines = described(table)
    if sum(map(len, lines)) > share:
        lines = described(table, values=False)
    if sum(map(len, lines)) <= share:
        yield from lines
        return
    wanted = [column.key or bool(column.refers) or any(term in tokens(_parted(column.name)) for term in terms) for column in table.columns]  # fmt: skip
    order = sorted(range(len(wanted)), key=lambda at: not wanted[at])
    kept, room = set[int](), share - len(lines[0]) - 40
    for at in order:
        room -= len(lines[at + 1]) + 1
        if room >= 0:
            kept.add(at)
    yield lines[0]
    yield from (lines[at + 1] for at in sorted(kept))
    yield f"  (columns that are left out here: {len(wanted) - len(kept)})"


def _listed(names: Sequence[str]) -> str:
    """The names of tables that are not described, as far as there is room for them."""
    told: list[str] = []
    room = NAMES_ROOM
    for name in names:
        room -= len(name) + 2
        if room < 0:
            break
        told.append(" ".join(name.split()))
    left = f", and {len(names) - len(told)} more" if len(told) < len(names) else ""
    return f"Tables that are not described here ({len(names)}): {', '.join(told)}{left}"
