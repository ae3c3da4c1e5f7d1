"""Test whether two figures or dates are of one thing.

Two figures are of one thing if they are of one kind, their sentences share enough words, and
nothing separates them: another time, another name, a qualifier from `data/qualifiers.tsv` on one
side only, or different words beside the figures (restored in 1999, opened in 1931), unless
`data/columns.tsv` lists those words as one attribute. Meaning is not understood: a paraphrase
counts as another thing. For news items about one known event, a shared word near both figures is
enough. The measured worth of each rule is in `tests/yardsticks/README.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from research.citations.figure_check import TIME_KINDS
from research.citations.mentions import IDENTIFYING_KINDS, MAX_ADJACENT_WEIGHT, FigureSentence, Mention, token_weight
from research.citations.qualifiers import has_exclusive_qualifiers, qualifier_group
from research.core.text.quantities import Measure, are_compatible, measures_agree
from research.core.text.tokenizer import has_han

MIN_WORD_OVERLAP = 0.45  # share of common words in two sentences
MIN_WORD_OVERLAP_FOR_YEARS = 0.8  # the same for bare years
MIN_SHARED_WEIGHT = 8  # of shared items: Han character 2, other word 3, figure 4, name 2 more
MIN_SHARED_NAMES = 0.7  # the share of names found in the other sentence must exceed this
MIN_TITLE_OVERLAP = 0.6  # share of common title words, if no name is shared
MIN_PREDICATE_OVERLAP = 0.6  # share of equal text behind two Chinese subjects that makes them comparable


def is_same_quantity(first: Mention, second: Mention, titles: Sequence[frozenset[str]] = ()) -> bool:
    """Return whether two mentions of one kind are of one thing.

    `titles` are the words of the titles of both texts, if both have a title.
    """
    min_overlap = (
        MIN_WORD_OVERLAP_FOR_YEARS
        if _is_bare_year(first.measure) or _is_bare_year(second.measure)
        else MIN_WORD_OVERLAP
    )
    return (
        _word_overlap(first.sentence, second.sentence) >= min_overlap
        and len(set(_qualifier_pairs(first, second))) == 1
        and not _has_other_context(first, second)
        and not _has_other_precision(first, second)
        and _has_same_attribute(first, second)
        and _has_same_names(first.sentence, second.sentence)
        and _shares_enough(first, second, titles)
    )


def is_same_quantity_in_story(first: Mention, second: Mention, texts: tuple[str, str]) -> bool:
    """Return whether two mentions of one kind are of one thing, in two news items about one event.

    `texts` are the folded texts of the items.
    """
    return (
        not first.measure.is_date
        and not _is_cross_language(first, second)
        and not has_exclusive_qualifiers(*_qualifier_pairs(first, second))
        and not _has_other_time(first, second)
        and _has_same_names(first.sentence, second.sentence)
        and not _has_other_subject(first, second, texts)
    )


def _is_cross_language(first: Mention, second: Mention) -> bool:
    """Return whether only one sentence is in Chinese, unless both count victims (group "harm")."""
    if first.sentence.has_chinese == second.sentence.has_chinese:
        return False
    return not any(qualifier_group(q) == "harm" for q in first.qualifiers & second.qualifiers)


def _qualifier_pairs(first: Mention, second: Mention) -> tuple[frozenset[str], frozenset[str]]:
    """Return the comparable qualifiers of two figures.

    "Future" counts as "plan" if the other figure has "plan", and is dropped otherwise. A qualifier in
    an earlier clause counts if the other figure has it.
    """
    return _normalised_qualifiers(first, second), _normalised_qualifiers(second, first)


def _normalised_qualifiers(first: Mention, second: Mention) -> frozenset[str]:
    is_planned = "future" in first.qualifiers and "plan" in second.qualifiers
    qualifiers = first.qualifiers | (first.earlier_qualifiers & second.qualifiers)
    return qualifiers - {"future", "total"} | frozenset(["plan"] * is_planned)


def _has_other_time(first: Mention, second: Mention) -> bool:
    """Return whether two figures have different days, editions or lines, or only one has a date."""
    if any(
        _has_conflicting_figures(kind, first, second) for kind in first.identifying_kinds & second.identifying_kinds
    ):
        return True
    return first.has_date_in_clause != second.has_date_in_clause


def _has_other_subject(first: Mention, second: Mention, texts: tuple[str, str]) -> bool:
    """Return whether two Chinese clauses differ only in their beginnings, and so in their subjects.

    Neither beginning may share a pair of characters with the other text.
    """
    if not (first.sentence.has_chinese and second.sentence.has_chinese):
        return False
    beginnings = first.clause_start_text, second.clause_start_text
    if not all(map(has_han, beginnings)):
        return False
    blocks = SequenceMatcher(None, beginnings[0], beginnings[1], autojunk=False).get_matching_blocks()
    same = [block for block in blocks if block.size > 1]
    if not same:
        return False
    heads = beginnings[0][: same[0].a].strip(), beginnings[1][: same[0].b].strip()
    max_length = max(len(text) - len(head) for text, head in zip(beginnings, heads, strict=True))
    if min(map(len, heads)) < 2 or sum(block.size for block in same) < MIN_PREDICATE_OVERLAP * max_length:
        return False
    return not any(
        head[i : i + 2] in text for head, text in zip(heads, texts[::-1], strict=True) for i in range(len(head) - 1)
    )


def _word_overlap(first: FigureSentence, second: FigureSentence) -> float:
    """Return the mean share of the words of each sentence that the other contains."""
    common = len(first.tokens & second.tokens)
    return (common / len(first.tokens) + common / len(second.tokens)) / 2 if common else 0.0


def _is_bare_year(measure: Measure) -> bool:
    return measure.is_date and measure.date_parts[1] is None


def _has_other_context(first: Mention, second: Mention) -> bool:
    """Return whether other figures of the two sentences show that they are about two things.

    Such figures are a different time or edition, a different number behind a name, or a time or
    edition in one sentence only. For dates, any other figure that differs counts.
    """
    kinds = first.other_kinds if first.measure.is_date else first.identifying_kinds
    if any(_has_conflicting_figures(kind, first, second) for kind in kinds & second.other_kinds):
        return True
    if (
        _misses_number(first, second)
        or _misses_number(second, first)
        or _has_other_part(first.sentence, second.sentence)
    ):
        return True
    context_kinds = [
        {m.kind for m in mention.other_measures} & {"date", "edition", "ordinal"} for mention in (first, second)
    ]
    return context_kinds[0] != context_kinds[1] and not _shares_figure(first, second)


def _has_other_part(first: FigureSentence, second: FigureSentence) -> bool:
    """Return whether two sentences name different years or different parts of a thing.

    Different parts are different phases, or opening phrases that share a word and differ in another.
    """
    years = {*first.identifying_years.values()}, {*second.identifying_years.values()}
    if any(a and b and not a & b for a, b in (years, (first.phases, second.phases))):
        return True
    a, b = first.opening_words, second.opening_words
    return bool(a & b and a - second.tokens and b - first.tokens)


def _has_conflicting_figures(kind: str, first: Mention, second: Mention) -> bool:
    """Return whether both sentences have other figures of a kind, none of which agree."""
    pairs = [
        (a, b)
        for a in first.other_measures
        for b in second.other_measures
        if a.kind == b.kind == kind
        and (_shares_date_part(a, b) if a.is_date else kind in IDENTIFYING_KINDS | TIME_KINDS or a.unit == b.unit)
    ]
    return bool(pairs) and not any(are_compatible(a, b) for a, b in pairs)


def _shares_date_part(first: Measure, second: Measure) -> bool:
    """Return whether both dates have a year, or both a month, or both a day."""
    return any(None not in pair for pair in zip(first.date_parts, second.date_parts, strict=True))


def _misses_number(first: Mention, second: Mention) -> bool:
    """Return whether a word with a number behind it occurs in the other sentence without that number.

    Such a number names one of several things, as a sequel or a model.
    """
    text = second.sentence.folded
    return any(
        not numbers & second.numbered_words.get(word, set())
        and (word in text if has_han(word) else re.search(rf"\b{re.escape(word)}\b", text))
        for word, numbers in first.numbered_words.items()
    )


def _shares_figure(first: Mention, second: Mention) -> bool:
    """Return whether the sentences share another figure."""
    return any(a.kind and measures_agree(a, b) for a in first.other_measures for b in second.other_measures)


def _has_other_precision(first: Mention, second: Mention) -> bool:
    """Return whether dates differ in precision, or different figures occur together in a sentence.

    Figures that occur together are not two statements of one quantity.
    """
    a, b = first.measure, second.measure
    known_parts = [[part is not None for part in m.date_parts] for m in (a, b)]
    if known_parts[0] != known_parts[1] and not (a.date_parts[2] and b.date_parts[2]):
        return True
    if are_compatible(a, b):
        return False
    return any(measures_agree(a, m) for m in second.other_measures) or any(
        measures_agree(b, m) for m in first.other_measures
    )


def _has_same_names(first: FigureSentence, second: FigureSentence) -> bool:
    """Return whether most names of the sentence with fewer names occur in the other one.

    False if two names share a word and each have another one, as Hotel Astra and Hotel Vega.
    """
    few, many = (first, second) if len(first.names) <= len(second.names) else (second, first)
    if any(
        a & b and a - second.words and b - first.words for a in first.latin_name_words for b in second.latin_name_words
    ):
        return False
    return few.names <= many.names or sum(map(many.contains_name, few.names)) > MIN_SHARED_NAMES * len(few.names)


def _has_same_attribute(first: Mention, second: Mention) -> bool:
    """Return whether the words around two figures may name the same attribute of a thing.

    If both have words that the other's sentence lacks, next to the figure or as their only words,
    these have to name the same attribute. Next to the figure, and in English, they may also name
    none if they stand further from it than a word that both share. For dates it is enough that a
    shared word names the event.
    """
    first_words, second_words = (
        _unshared_words(first.adjacent_words, second),
        _unshared_words(second.adjacent_words, first),
    )
    are_nearest = first_words[:1] == first.adjacent_words[:1] and second_words[:1] == second.adjacent_words[:1]
    shares_event = first.measure.is_date and first.named_attributes(
        [word for word in first.adjacent_words if word in second.adjacent_words]
    )
    may_differ = first_words and second_words and not shares_event
    if may_differ and not _names_same_attribute(
        first, second, first_words, second_words, are_nearest or first.sentence.has_chinese
    ):
        return False
    first_words, second_words = _unshared_words(first.clause_words, second), _unshared_words(second.clause_words, first)
    are_single_words = all(
        0 < sum(map(token_weight, words)) <= MAX_ADJACENT_WEIGHT / 2 for words in (first_words, second_words)
    )
    return not are_single_words or _names_same_attribute(first, second, first_words, second_words, True)


def _unshared_words(words: Sequence[str], mention: Mention) -> tuple[str, ...]:
    """Return the words that are missing in the sentence of another mention."""
    return tuple(word for word in words if word not in mention.sentence.words)


def _names_same_attribute(
    first: Mention, second: Mention, words: Sequence[str], other_words: Sequence[str], must_name: bool
) -> bool:
    """Return whether the words of two sentences name the same attribute.

    Unless `must_name`, it is also enough that neither names one.
    """
    attributes = first.named_attributes(words), second.named_attributes(other_words)
    return bool(attributes[0] & attributes[1]) or not (attributes[0] or attributes[1] or must_name)


def _shares_enough(first: Mention, second: Mention, titles: Sequence[frozenset[str]]) -> bool:
    """Return whether the shared words, names, figures and titles suffice to identify one thing."""
    names = sum(map(second.sentence.contains_name, first.sentence.names))
    shared = (
        _total_weight(first.sentence.tokens & second.sentence.tokens) + 2 * names + 4 * _shares_figure(first, second)
    )
    if titles and not names:
        common = titles[0] & titles[1]
        min_weight = min(map(_total_weight, titles))
        if _total_weight(common) < MIN_TITLE_OVERLAP * min_weight:
            return False
        if _total_weight(common) == min_weight:
            shared += min_weight
    return shared >= MIN_SHARED_WEIGHT


def _total_weight(tokens: Iterable[str]) -> int:
    """Return the weight of words as evidence that two texts are about one thing."""
    return sum(2 if has_han(token) else 3 for token in tokens)
