"""Selection of the tables that a model is shown, for databases too large for a prompt.

The words of a question are compared with the names of tables and columns, with their comments and
with their known values; a word that few tables have weighs more than one that many have. Tables
that foreign keys link to the matches are added, because a statement has to join them, and so are
the tables of statements confirmed for similar questions. The other tables are listed by name as far
as space allows; a model can ask for them.

Only words are compared, not meanings: a Chinese question matches nothing in a table whose names and
comments are English. Then the tables that most others refer to are described, and the rest listed.
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
# Weights of a word by where it occurs.
_TABLE_WEIGHT, _COLUMN_WEIGHT, _COMMENT_WEIGHT, _VALUE_WEIGHT = 3.0, 1.5, 1.5, 2.0
_PREFIX_FACTOR = 0.5  # of that weight, for a word that only begins alike: cust, customer
_LINKED_FACTOR = 0.3  # of the weights of the two best tables that a table is linked to
_MAX_PATH_ENDS = 3  # best tables between which connecting tables are looked for
_MIN_PREFIX_LETTERS = 3  # letters of the shorter word in a prefix match


@dataclass(frozen=True, slots=True)
class TableSelection:
    """The tables chosen for a question.

    `described_tables` are described in full, `other_tables` listed by name; `description` is the
    text that a model is shown.
    """

    description: str
    described_tables: tuple[str, ...]
    other_tables: tuple[str, ...]

    @property
    def summary(self) -> str:
        """One line that names the described tables; "" if all are described."""
        number = len(self.described_tables)
        total = number + len(self.other_tables)
        return f"{number} / {total}: {', '.join(self.described_tables)}" if self.other_tables else ""


def select_tables(schema: Schema, question: str, confirmed_tables: Collection[str] = ()) -> TableSelection:
    """Select the tables for a question; all of them if their descriptions fit.

    `confirmed_tables` are the tables of statements that were confirmed for similar questions.
    """
    names = tuple(table.qualified_name for table in schema.tables)
    if len(description := schema.describe()) <= MAX_DESCRIPTION_CHARS:
        return TableSelection(description, names, ())
    terms = word_weights(question)
    chosen = rank_tables(schema.tables, question, confirmed_tables)[:MAX_TABLES]
    shown = tuple(table.qualified_name for table in chosen)
    others = tuple(sorted(set(names) - set(shown)))
    return TableSelection(f"{_describe_tables(chosen, terms)}\n{_list_names(others)}", shown, others)


def describe_named_tables(schema: Schema, text: str, excluded: Collection[str]) -> str:
    """Describe the tables that a text names, except those in `excluded`; "" if it names none."""
    words = set(re.findall(r"[\w.]+", text.lower())) | set(re.findall(r"\w+", text.lower()))
    tables = [
        table
        for table in schema.tables
        if table.qualified_name not in excluded and {table.qualified_name.lower(), table.name.lower()} & words
    ]
    return _describe_tables(tables[:MAX_TABLES], {})


def rank_tables(
    tables: Sequence[SchemaTable], question: str, confirmed_tables: Collection[str] = ()
) -> list[SchemaTable]:
    """Sort the tables by their relevance to a question, the most relevant first."""
    nested = (word for word in tokenize(question) if not is_stop_word(word))  # words within words
    terms = {**dict.fromkeys(nested, 0.25), **word_weights(question)}
    fields = {table.qualified_name: _weighted_words(table) for table in tables}
    table_counts = Counter(word for words in fields.values() for word in words)
    scores = dict.fromkeys(fields, 0.0)
    for term, weight in terms.items():
        rarity = log(1 + len(tables) / (1 + _table_count(term, table_counts)))
        for name, words in fields.items():
            scores[name] += weight * rarity * _match_weight(term, words)
    for table in tables:
        scores[table.qualified_name] += _value_weight(table, question)
    best = max(scores.values(), default=0.0) or 1.0
    for name in confirmed_tables:
        if name in scores:
            scores[name] += best
    links = _foreign_key_links(tables)
    link_scores = {
        name: _LINKED_FACTOR * sum(sorted((scores[linked] for linked in links[name]), reverse=True)[:2])
        for name in scores
    }
    order = sorted(
        tables,
        key=lambda t: (
            -(scores[t.qualified_name] + link_scores[t.qualified_name]),
            -len(links[t.qualified_name]),
            t.qualified_name,
        ),
    )
    first = [table.qualified_name for table in order[:_MAX_PATH_ENDS] if scores[table.qualified_name]]
    between = [name for start, end in combinations(first, 2) for name in _connecting_tables(start, end, links)]
    ranks = {name: rank for rank, name in enumerate(dict.fromkeys([*first, *between]))}
    return sorted(order, key=lambda table: ranks.get(table.qualified_name, len(order)))


def _connecting_tables(start: str, end: str, links: Mapping[str, set[str]]) -> list[str]:
    """Return the tables between two tables on a shortest path of links; [] if there are more than
    two."""
    paths = [[start]]
    for _ in range(3):
        paths = [[*path, neighbour] for path in paths for neighbour in sorted(links[path[-1]]) if neighbour not in path]
        if match := next((path for path in paths if path[-1] == end), None):
            return match[1:-1]
    return []


def _weighted_words(table: SchemaTable) -> dict[str, float]:
    """Map the words of a table's names and comments to their weights."""
    weights: dict[str, float] = {}
    texts = [(table.name, _TABLE_WEIGHT), (table.schema, _COMMENT_WEIGHT), (table.comment, _COMMENT_WEIGHT)]
    for column in table.columns:
        texts += [(column.name, _COLUMN_WEIGHT), (column.comment, _COMMENT_WEIGHT / 2)]
    for text, weight in texts:
        for word in tokenize(_split_identifier(text)):
            weights[word] = max(weights.get(word, 0.0), weight)
    return weights


def _split_identifier(name: str) -> str:
    """Separate the words of a name: order_items and orderItems become two words each."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[a-zA-Z])(?=\d)|_+", " ", name)


def _match_weight(term: str, words: Mapping[str, float]) -> float:
    """Return the weight of a term in a table: that of the same word, else a share of the weight of a
    similar word (see `_words_match`), else 0."""
    if term in words:
        return words[term]
    return max((_PREFIX_FACTOR * value for word, value in words.items() if _words_match(term, word)), default=0.0)


def _words_match(term: str, word: str) -> bool:
    """Return whether one word begins with the other, or a long one contains it."""
    short, long = sorted((term, word), key=len)
    if term.isascii() and word.isascii():
        return len(short) >= _MIN_PREFIX_LETTERS and (long.startswith(short) or (len(short) > 4 and short in long))
    return len(short) > 1 and short in long


def _table_count(term: str, table_counts: Mapping[str, int]) -> int:
    """Return in how many tables a word occurs."""
    return table_counts.get(term, 0) or max(
        (n for word, n in table_counts.items() if _words_match(term, word)), default=0
    )


def _value_weight(table: SchemaTable, question: str) -> float:
    """Return the weight of a table's values that a question names."""
    text = question.lower()
    named = {v for column in table.columns for v in column.values if len(v) > 1 and v.lower() in text}
    return _VALUE_WEIGHT * min(len(named), 2)


def _foreign_key_links(tables: Sequence[SchemaTable]) -> dict[str, set[str]]:
    """Map each table to the tables that foreign keys link it to, in either direction."""
    links: dict[str, set[str]] = {table.qualified_name: set() for table in tables}
    for table in tables:
        for column in table.columns:
            target = column.reference.rpartition(".")[0]
            if target in links and target != table.qualified_name:
                links[table.qualified_name].add(target)
                links[target].add(table.qualified_name)
    return links


# Descriptions for the model


def _describe_tables(tables: Sequence[SchemaTable], terms: Mapping[str, float]) -> str:
    """Describe tables, each cut to its share of the space."""
    if not tables:
        return ""
    share = MAX_DESCRIPTION_CHARS // len(tables)
    return "\n".join("\n".join(_describe_shortened(table, share, terms)) for table in tables)


def _describe_shortened(table: SchemaTable, max_characters: int, terms: Mapping[str, float]) -> Iterator[str]:
    """Yield the lines of a table, cut to a length.

    Values are left out first, then columns that the question does not name.
    """
    lines = describe_table(table)
    if sum(map(len, lines)) > max_characters:
        lines = describe_table(table, includes_values=False)
    if sum(map(len, lines)) <= max_characters:
        yield from lines
        return
    is_relevant = [
        column.is_key
        or bool(column.reference)
        or any(term in tokenize(_split_identifier(column.name)) for term in terms)
        for column in table.columns
    ]
    order = sorted(range(len(is_relevant)), key=lambda index: not is_relevant[index])
    shown, remaining = set[int](), max_characters - len(lines[0]) - 40
    for index in order:
        remaining -= len(lines[index + 1]) + 1
        if remaining >= 0:
            shown.add(index)
    yield lines[0]
    yield from (lines[index + 1] for index in sorted(shown))
    yield f"  (columns that are left out here: {len(is_relevant) - len(shown)})"


def _list_names(names: Sequence[str]) -> str:
    """List the names of tables that are not described, as far as there is space."""
    listed: list[str] = []
    remaining = MAX_NAMES_CHARS
    for name in names:
        remaining -= len(name) + 2
        if remaining < 0:
            break
        listed.append(" ".join(name.split()))
    suffix = f", and {len(names) - len(listed)} more" if len(listed) < len(names) else ""
    return f"Tables that are not described here ({len(names)}): {', '.join(listed)}{suffix}"
