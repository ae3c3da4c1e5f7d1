"""Extraction of the answer that a sentence gives to a yes-or-no column."""

from __future__ import annotations

import re
from functools import lru_cache

from research import data
from research.citations.qualifiers import qualifier_group, qualifiers_in
from research.core.records import CellValue, Column
from research.core.text.lexicon import lexicon_entries
from research.core.text.quantities import fold_text
from research.core.text.segment import cut
from research.core.text.tokenizer import has_han, stem
from research.tables.cell_words import HAN_RUN, WORD, shorten_value, split_alternatives, word_pattern
from research.tables.column_query import DEFAULT_QUALIFIERS, ColumnQuery, build_column_query
from research.tables.figure_choice import SentenceMatch


def extract_yes_or_no(text: str, column: Column) -> CellValue | None:
    """Return the answer that a sentence gives to a yes-or-no column.

    Return None if it gives none, or if two of its clauses answer differently.
    """
    folded = fold_text(text).strip(" .。!！")
    for name in ("yes", "no"):
        if folded in split_alternatives(data.words("cells")[name]):
            return CellValue(type="yes or no", text=text.strip(), yes=name == "yes")
    modal, topic = _parse_question(column)
    query = build_column_query(column, ())
    answers = [
        (start, end, yes)
        for start, end in SentenceMatch(text, query).clauses
        if (yes := _read_answer(fold_text(text)[start:end], modal, topic)) is not None
        if not _is_about_other(fold_text(text)[start:end], column, query)
    ]
    if len({yes for _, _, yes in answers}) != 1:
        return None
    start, end, yes = answers[0]
    return CellValue(type="yes or no", text=shorten_value(text[start:end]), yes=yes)


def _is_about_other(clause: str, column: Column, query: ColumnQuery) -> bool:
    """Return whether a clause is about something near the thing, or only about some people, times
    or parts, although the column does not ask for these."""
    near = word_pattern("near zh", "near en")
    if near.search(clause) and not near.search(fold_text(f"{column.name} {column.question}")):
        return True
    return any(
        qualifier_group(qualifier) in _NARROWING_GROUPS
        for qualifier in qualifiers_in(clause) - query.qualifiers - DEFAULT_QUALIFIERS
    )


_MODALITIES = ("needed", "allowed", "offered", "open", "suited")
_PEOPLE_GROUPS = frozenset(("age", "sex", "party"))  # of qualifiers
_NARROWING_GROUPS = _PEOPLE_GROUPS | {"season", "part", "class", "border", "real"}


@lru_cache(1_000)
def _parse_question(column: Column) -> tuple[str, tuple[str, ...]]:
    """Return the modality that a column asks for, and the words of its topic.

    The modality is "needed", "allowed", "offered", "open", "suited", or "" if the column asks
    whether something is the case. A column whose words only name people asks whether the thing
    suits them.
    """
    name = word_pattern("asks").sub(" ", fold_text(column.name))
    modality = next((m for m in _MODALITIES if word_pattern(m).search(name)), "")
    rest = word_pattern(modality).sub(" ", name) if modality else name
    topic = (*HAN_RUN.findall(rest), *WORD.findall(HAN_RUN.sub(" ", rest)))
    if not modality and topic:
        modality = next((m for m in _MODALITIES if word_pattern(m).search(fold_text(column.question))), "")
    if (
        not modality
        and topic
        and all(
            any(qualifier_group(qualifier) in _PEOPLE_GROUPS for qualifier in qualifiers_in(word)) for word in topic
        )
    ):
        modality = "suited"
    return modality, topic


def _read_answer(clause: str, modality: str, topic: tuple[str, ...]) -> bool | None:
    """Return what a clause answers about a topic; None if it contains no answer."""
    rest = _split_at_topic(clause, topic)
    if rest is None:
        return None
    before, behind = rest
    whole = f"{before} {behind}"
    denied = word_pattern("not zh").search(before[-6:]) or word_pattern("not en").search(whole)
    if not modality:
        return not denied
    if word_pattern(f"not {modality}").search(whole) or word_pattern("none en").search(before, len(before) - 4):
        return False
    if match := word_pattern(modality).search(whole):
        is_negated = word_pattern("not zh").search(whole[max(0, match.start() - 3) : match.start()])
        return not (is_negated or denied)
    return None


def _split_at_topic(clause: str, topic: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the texts before and behind a topic in a clause; None unless all its words occur.

    A synonym counts as the word.
    """
    if not topic:
        return "", clause
    spans: list[tuple[int, int]] = []
    for word in topic:
        span = _find_synonym(clause, word)
        if span is None:  # 带宠物 may occur as 宠物
            parts = [part for part in cut(word, False) if has_han(part) and 1 < len(part) < len(word)]
            part_spans = [part_span for part in parts if (part_span := _find_synonym(clause, part))]
            if not parts or len(part_spans) < len(parts):
                return None
            spans += part_spans
        else:
            spans.append(span)
    return clause[: min(a for a, _ in spans)], clause[max(b for _, b in spans) :]


def _find_synonym(clause: str, word: str) -> tuple[int, int] | None:
    """Return the start and end of a word or one of its synonyms in a clause; None if neither
    occurs."""
    return next(filter(None, (_find_word(clause, w) for w in (word, *_synonyms_of(word)))), None)


@lru_cache(1_000)
def _synonyms_of(word: str) -> tuple[str, ...]:
    """Return all spellings of the lexicon entries that include a word."""
    forms = {word, stem(word)}
    entries = [[fold_text(w) for w in (*e.zh, *e.en) if w not in e.question_words] for e in lexicon_entries("ask")]
    return tuple(w for spellings in entries if forms & {*spellings, *map(stem, spellings)} for w in spellings)


def _find_word(clause: str, word: str) -> tuple[int, int] | None:
    if has_han(word):
        at = clause.find(word)
        return (at, at + len(word)) if at >= 0 else None
    stems = [stem(w) for w in word.split()]
    if len(stems) != 1:
        match = re.search(rf"\b{re.escape(word)}\b", clause)
        return match.span() if match else None
    return next((m.span() for m in WORD.finditer(clause) if stem(m[0]) == stems[0]), None)
