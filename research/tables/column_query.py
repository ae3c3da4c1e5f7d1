"""The search terms of a table column: the words, the kind of figure and the qualifiers that it asks for.

Attributes that columns ask for are in `data/columns.tsv`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from research.citations.qualifiers import has_clashing_qualifiers, qualifiers_in
from research.core.records import Column, ColumnType
from research.core.text.attributes import Attribute, load_attributes
from research.core.text.lexicon import lexicon_entries
from research.core.text.quantities import fold_text
from research.core.text.tokenizer import STOP_WORDS, has_han, stem
from research.core.text.units import Unit
from research.tables.cell_words import DATE_BOUNDS, HAN_RUN, WORD, word_pattern
from research.tables.units import find_unit, unit_family

CONTEXT_WORD_WEIGHT = 5.0  # of a context word, such as the row's name
QUESTION_WORD_WEIGHT = 0.5  # of a word that only the column's question has
HAN_CHARACTER_WEIGHT = 0.3  # of a single Han character; a pair weighs 1
DEFAULT_QUALIFIERS = frozenset(("adult", "total"))  # qualifiers that are meant by default
_DEFAULT_VISITOR = frozenset(("adult",))  # the visitor whose ticket is meant by default
# How a date limits a state, by the name of the column's attribute.
_BOUND_BY_ATTRIBUTE = {"begins": "since", "ends": "until", "as of": "as of"}


@dataclass(frozen=True)
class ColumnQuery:
    """The search terms of a column.

    `word_weights` pairs words with weights. `kind` is the unit family of its figures, None if
    unknown. `qualifiers` are keys of `qualifiers.tsv`. `date_bound` is since, until or as of for a
    column that asks for the date that limits a state, else "".
    """

    word_weights: tuple[tuple[str, float], ...]
    context_terms: tuple[str, ...]
    attribute: Attribute | None
    kind: str | None
    unit: Unit | None
    qualifiers: frozenset[str]
    date_bound: str


@lru_cache(1_000)
def build_column_query(column: Column, context_words: tuple[str, ...]) -> ColumnQuery:
    """Return the search terms of a column; `context_words`, such as the row's name, weigh most."""
    name, question = fold_text(column.name), fold_text(f"{column.question} {column.hint}")
    unit = find_unit(column.unit) if column.unit else None
    attribute = _find_attribute(name, column.type) or _find_attribute(question, column.type)
    kind = (
        unit_family(unit.kind)
        if unit
        else unit_family(attribute.kind)
        if attribute and attribute.kind != "clause"
        else None
    )
    weights: dict[str, float] = {}
    for words, weight in (
        (context_words, CONTEXT_WORD_WEIGHT),
        ([name], 1.0),
        ([question], QUESTION_WORD_WEIGHT),
        (_related_words(name, attribute), QUESTION_WORD_WEIGHT),
    ):
        for word in words:
            for term, share in _weighted_terms(fold_text(word)):
                weights[term] = max(weights.get(term, 0.0), weight * share)
    qualifiers = qualifiers_in(f"{name} {question}")
    attribute_bound = _BOUND_BY_ATTRIBUTE.get(attribute.name if attribute else "", "")
    date_bound = attribute_bound or next(
        (bound for bound in DATE_BOUNDS if word_pattern(f"{bound} before").search(name)), ""
    )
    if attribute and attribute.name == "ticket" and not has_clashing_qualifiers(qualifiers, _DEFAULT_VISITOR):
        qualifiers |= _DEFAULT_VISITOR
    context_terms = tuple(term for word in context_words for term, _ in _weighted_terms(fold_text(word)))
    return ColumnQuery(tuple(weights.items()), context_terms, attribute, kind, unit, qualifiers, date_bound)


def _find_attribute(folded: str, column_type: ColumnType) -> Attribute | None:
    """Return the attribute named last in a text, or last before "of" if an attribute stands there.

    Of several at the same end the longest wins; a specific attribute precedes the general one of
    its kind, which has the kind's name.
    """
    head, _, rest = folded.partition(" of ")
    matches = [
        (attribute.name != attribute.kind, end, end - start, attribute)
        for attribute in load_attributes()
        if {"date": "date", "clause": "text"}.get(attribute.kind, "number") == column_type
        for start, end in attribute.find_spans(head)
    ]
    if not matches and rest:
        return _find_attribute(rest, column_type)
    return max(matches, key=lambda f: f[:3])[3] if matches else None


def _related_words(name: str, attribute: Attribute | None) -> Iterator[str]:
    """Yield synonyms of the words of a column's name.

    There are none for an attribute with figures. For the date of an event, only the other words of
    the name have any.
    """
    if attribute is None:
        yield from _find_synonyms(name)
    elif attribute.kind == "date" and (rest := attribute.en.sub(" ", attribute.zh.sub(" ", name)).strip()):
        others = [other for other in load_attributes() if other.kind == "date" and other.name != attribute.name]
        yield from (
            word for word in _find_synonyms(rest) if not any(any(other_date.find_spans(word)) for other_date in others)
        )


def _find_synonyms(folded: str) -> Iterator[str]:
    """Yield all spellings of the lexicon entries that a name mentions."""
    name_terms = {term for term, _ in _weighted_terms(folded)}
    for entry in lexicon_entries("ask"):
        spellings = [fold_text(word) for word in (*entry.zh, *entry.en) if word not in entry.question_words]
        if any(
            word in folded if has_han(word) else {t for t, _ in _weighted_terms(word)} <= name_terms
            for word in spellings
        ):
            yield from spellings


def _weighted_terms(folded: str) -> Iterator[tuple[str, float]]:
    """Yield terms for comparing texts: English stems, single Han characters and pairs."""
    for run in HAN_RUN.findall(folded):
        if len(run) == 1:
            yield run, 1.0
            continue
        yield from ((run[i : i + 2], 1.0) for i in range(len(run) - 1))
        yield from ((char, HAN_CHARACTER_WEIGHT) for char in run if char not in STOP_WORDS)
    for word in WORD.findall(HAN_RUN.sub(" ", folded)):
        if word not in STOP_WORDS and len(word) > 1:
            yield stem(word), 1.0


def count_words(folded: str) -> float:
    """Count the words of a text; two Han characters count as one word."""
    han = sum(map(len, HAN_RUN.findall(folded)))
    return len(WORD.findall(HAN_RUN.sub(" ", folded))) + han / 2
