"""Queries for the parts of a question: keywords, synonyms and requests for places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product

from research.agent.extractive.concepts import find_concepts
from research.agent.extractive.question_parts import extract_keywords
from research.core.i18n import LOCALES, message
from research.core.records import Language, Part, Plan, Question, RunOptions, Task, normalise_query
from research.core.text.hanzi import to_simplified
from research.core.text.tokenizer import has_han
from research.sources import registry
from research.sources.base import QueryType
from research.sources.places.questions import keywords_of_text, parse_place_query

# Requests for anything about a subject: 最新消息, the latest news on.
GENERAL_REQUEST = re.compile(
    r"(?:最新|近期|最近|的|有什么|有哪些)*(?:消息|新闻|动态|进展|情况)?"
    r"|(?:what(?:'s| is) )?(?:the )?(?:latest|recent|new)?\s*(?:news|updates|developments)?(?: (?:on|about|of|from))?",
    re.I,
)
MAX_SYNONYMS = 8  # in a query


def is_general_request(text: str) -> bool:
    """Return whether the text of a part is the message that stands for anything about a subject."""
    return text in [message("digest.general", language) for language in LOCALES]


def comparable_rows(parts: Sequence[Part]) -> list[list[Part]]:
    """Return a row of parts for each subject, if the same is asked about several; else nothing."""
    rows = [[part for part in parts if part.subject == name] for name in dict.fromkeys(p.subject for p in parts)]
    same = len({tuple(part.text for part in row) for row in rows}) == 1
    return rows if len(rows) > 1 and same else []


def sources_by_query_type(query_type: QueryType, options: RunOptions) -> list[str]:
    """Return the sources of a run with a query type."""
    return [name for name in options.sources if registry.get_source(name).query_type == query_type]


def map_tasks(
    question: Question, parts: Sequence[Part], map_sources: Sequence[str], options: RunOptions
) -> Iterator[Task]:
    """Yield map searches for the parts that ask for places.

    If a run uses only maps and no part asks for places, search for the whole question.
    """
    if not map_sources:
        return
    if parse_place_query(question.text) is None and not set(options.sources) <= set(map_sources):
        return
    place_parts = [(part, query) for part in parts if (query := _place_query(part, question))]
    searches = product(map_sources, place_parts or [(parts[0], question.text)])
    for n, (source, (part, query)) in enumerate(searches, 1):
        yield Task(id=f"1.{n}", source=source, query=query, part=part.id)


def merge_place_parts(question: Question, parts: list[Part]) -> list[Part]:
    """Merge the parts that are kinds of place in one request: one map search finds all of them."""
    place_query = parse_place_query(question.text)
    first_place_part = next((part for part in parts if parse_place_query(part.text)), None)
    if place_query is None or first_place_part is None:
        return parts

    def is_in_request(text: str) -> bool:
        return set(keywords_of_text(text)) <= set(place_query.keywords)

    same_subject = [part for part in parts if part.subject == first_place_part.subject or is_in_request(part.subject)]
    mergeable = [part for part in same_subject if part is first_place_part or is_in_request(part.text)]
    if len(mergeable) < 2:
        return parts
    comma = message("mark.list", question.language)
    text = comma.join(part.text for part in mergeable) if len(mergeable) < len(parts) else question.text
    merged = mergeable[0].model_copy(update={"text": text, "subject": first_place_part.subject})
    return [merged if part is mergeable[0] else part for part in parts if part not in mergeable[1:]]


def _place_query(part: Part, question: Question) -> str:
    """Return a part as a place query with its location; "" if it does not ask for places."""
    place_query = parse_place_query(part.text)
    if place_query and place_query.place:
        return part.text
    query_with_subject = parse_place_query(part.subject + part.text) if has_han(part.text) else None
    if query_with_subject and query_with_subject.place == to_simplified(part.subject) and part.subject:
        return part.subject + part.text
    return question.text if place_query else ""


def clause_without_subject(part: Part) -> str:
    """Return the clause of a part without its subject."""
    if not part.subject:
        return part.text
    return re.sub(rf"{re.escape(part.subject)}(?:’s|'s)?", " ", part.text, flags=re.I)


def clause_with_subject(part: Part) -> str:
    """Return the clause of a part with its subject."""
    if part.subject.casefold() in part.text.casefold():
        return part.text
    if has_han(part.subject + part.text):
        return f"{part.subject}{part.text}"
    return f"{part.text} of {part.subject}"


def query_words(part: Part) -> list[str]:
    """Return the words that a part adds to its subject in a query."""
    return extract_keywords(clause_without_subject(part))


def part_label(part: Part, plan: Plan) -> str:
    """Return the heading of a part: its clause, after the subject if the clause lacks it."""
    is_name = any(part.subject in task.subject for task in plan.tasks) or not plan.tasks
    if not part.subject or not is_name or part.subject.casefold() in part.text.casefold():
        return part.text
    colon = "：" if has_han(part.subject + part.text) else ": "
    return f"{part.subject}{colon}{part.text}"


def group_parts(parts: Sequence[Part], max_groups: int) -> list[list[Part]]:
    """Group parts into queries: one part each, unless there are more parts than queries allowed."""
    if len(parts) <= max_groups:
        return [[part] for part in parts]
    ordered = sorted(parts, key=lambda part: [p.subject for p in parts].index(part.subject))
    groups: list[list[Part]] = [[part] for part in ordered]
    while len(groups) > max_groups:
        pairs = [i for i in range(len(groups) - 1) if groups[i][0].subject == groups[i + 1][0].subject]
        if not pairs:
            return groups[:max_groups]
        smallest_pair = min(pairs, key=lambda i: len(groups[i]) + len(groups[i + 1]))
        groups[smallest_pair : smallest_pair + 2] = [groups[smallest_pair] + groups[smallest_pair + 1]]
    return groups


def synonyms(text: str, language: Language) -> list[str]:
    """Return synonyms in a language for the words of a part, without the words that it has."""
    text = to_simplified(text)
    concepts = find_concepts(text)
    spellings = [
        [
            word
            for word in m.concept.spellings(language)
            if word not in m.concept.question_words and normalise_query(word) not in normalise_query(text)
        ]
        for m in concepts
    ]
    words = [word for synonyms in spellings for word in synonyms[: max(2, MAX_SYNONYMS // len(spellings))]]
    if words and (language == "zh") == has_han(text):
        literals = {match.literal for match in concepts}
        words += [word for word in extract_keywords(text) if word not in literals]
    return list(dict.fromkeys(words))


def name_in_language(names: Sequence[str], subject: str, language: Language) -> str:
    """Return the first of a thing's names in a language; its name in the question if there is none."""
    return next((n for n in names if has_han(n) == (language == "zh")), subject)
