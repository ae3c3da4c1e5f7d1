"""Rules that write SQL for questions on scenic areas, for the common shapes in Chinese and English.

A question is read piece by piece, and every recognised piece is removed from it. The rest must be
words without meaning here (的, please); if anything else is left, the rules report it and answer
nothing. So they can fail to understand a question, but cannot misread it silently.
"""

from __future__ import annotations

import re
import unicodedata

from research import data
from research.core.text import numbers
from research.core.text.hanzi import to_simplified
from research.core.text.tokenizer import detect_language
from research.sources.database.gazetteer import names_only_uncovered_places
from research.sources.database.question_conditions import read_conditions
from research.sources.database.question_names import read_names
from research.sources.database.question_shape import read_shape
from research.sources.database.sights_question import (
    PLACEHOLDER_PATTERN,
    Interpretation,
    NotCoveredError,
    NotUnderstoodError,
    SightsQuestion,
    Vocabulary,
    parse_number,
)
from research.sources.database.statement_builder import build_statement

_AREA_NOUN = r"(?:5A级?|AAAAA级?|旅游|风景|的|名胜|景区|景点)"


def interpret(question: str, vocabulary: Vocabulary) -> Interpretation:
    """Write the SQL over `a_sight` and `tourist_spot` for a question.

    Raises:
        NotUnderstoodError: it has none of the known shapes, or contains more than these.
        NotCoveredError: it is about areas of another level, or about places that have none.
    """
    try:
        return _interpret(question, vocabulary)
    except NotUnderstoodError as error:
        error.area_counts = (len(vocabulary.full_names), len(vocabulary.provinces))
        raise


def _interpret(question: str, vocabulary: Vocabulary) -> Interpretation:
    """Normalise a question, read its parts one after another, and build the statement from them."""
    text = to_simplified(unicodedata.normalize("NFKC", question))
    if re.search(PLACEHOLDER_PATTERN, text):
        raise NotUnderstoodError(question)
    text = " ".join(text.split()).strip(" ?？。.!！")
    text = re.sub(rf"[{numbers.HAN_DIGITS}]{{4}}(?=\s*年)", lambda year: f"{parse_number(year[0]):g}", text)
    parsed = SightsQuestion(text, f" {text} ", detect_language(text))
    _reject_unanswerable(parsed)
    read_names(parsed, vocabulary)
    read_conditions(parsed)
    read_shape(parsed)
    if unrecognized := _unrecognized(parsed):
        raise (
            NotCoveredError(unrecognized)
            if names_only_uncovered_places(unrecognized)
            else parsed.not_understood(unrecognized)
        )
    return build_statement(parsed, vocabulary)


_OTHER_LEVEL = re.compile(
    r"(?<![A-Za-z0-9.])(?:[0-46-9]|[1-9]\d)\s?-?A级?(?![A-Za-z0-9])|"
    r"[一二三四六七八九两]\s?个?A级?(?![A-Za-z0-9])|"
    r"(?<![A-Za-z])(?:A{2,4}|A{6,})级?(?![A-Za-z])|(?<![A-Za-z\d一二三四五六七八九])A(?:级|[ -](?:level|grade|rated)\b)"
)


def _reject_unanswerable(parsed: SightsQuestion) -> None:
    """Refuse questions that the tables cannot answer, although their words mean nothing by
    themselves."""
    if level := _OTHER_LEVEL.search(parsed.remaining):
        raise NotCoveredError(level[0].strip())
    other = (
        r"为什么|为何|怎么|怎样|如何|(?<![a-z])why(?![a-z])|什么是|是什么|(?<![a-z])what(?:'s| is| are) an? |"
        r"国家(?:级|重点)+风景名胜区"
    )
    if match := re.search(other, parsed.remaining, re.I):
        raise NotUnderstoodError(match[0].strip())
    if re.search(r"(?<![a-z])national(?!\s+5A)", parsed.remaining, re.I):
        raise NotUnderstoodError("national")
    union = rf"(?:和|以及|与|及|或者?|(?<![a-z])(?:and|or|plus)(?![a-z]))\s*(?:the |all |those )?{_AREA_NOUN}*(?:scenic |5A )*(?:景区|景点|areas|sights|sites|attractions|spots)"
    if match := re.search(union, parsed.remaining, re.I):
        raise NotUnderstoodError(match[0].strip())  # a union, not an intersection of conditions


# Words that may remain

_IGNORED_ZH = re.compile(data.words("sights")["means nothing"])
_IGNORED_EN = frozenset(data.words("sights")["means nothing en"].split("|"))


def _unrecognized(parsed: SightsQuestion) -> str:
    """Return the words of a question that have a meaning and were not understood."""
    text = re.sub(
        rf"(?:(?<![a-z])(?:to|for|of|in|at|on)\s+)(?=(?:the\s+)?{PLACEHOLDER_PATTERN})",
        " ",
        parsed.remaining,
        flags=re.I,
    )
    text = re.sub(rf"(?<={PLACEHOLDER_PATTERN})['’]s(?![a-z])|{PLACEHOLDER_PATTERN}\s*(?:境内)?", " ", text, flags=re.I)
    text = _IGNORED_ZH.sub(" ", text)
    unknown = []
    for word in re.findall(r"[A-Za-z0-9'’-]+|[^\sA-Za-z0-9'’-]+", text):
        stripped = word.strip("'’-\"“”()（）《》「」,.;:、?!。").lower()
        if stripped and stripped not in _IGNORED_EN:
            unknown.append(word)
    joined = (
        re.search(r"(?:和|与|以及|(?<![a-z])and(?![a-z]))", parsed.remaining) if len(parsed.conditions) > 1 else None
    )
    if joined and len(parsed.matched_names) < 2 and parsed.language == "zh":
        unknown.append(joined[0])  # both conditions, or either?
    return " ".join(unknown)
