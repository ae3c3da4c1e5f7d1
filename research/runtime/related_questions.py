"""Suggested follow-up questions, derived by rules from what a run has found.

No model is called and nothing is invented. Each question rests on a figure on which sources
disagree, a sentence that its source does not support, a search that was proposed but not made, a
place that was found, or a passage that was found but not cited.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, zip_longest

from research.citations.disagreements import find_disagreements
from research.citations.numbering import CitedAnswer
from research.citations.support import AnswerSupport
from research.core.i18n import message
from research.core.records import Language, Report
from research.core.text.quotes import normalise_quote

MAX_QUESTIONS = 4  # suggestions
MAX_QUESTION_CHARS = 120  # characters of one suggestion, at most
MAX_NAME_CHARS = 40  # characters of a name or heading from a source, at most


def related_questions(report: Report, cited: CitedAnswer | None, support: AnswerSupport) -> tuple[str, ...]:
    """Suggest at most four follow-up questions, most relevant first, in the answer's language.

    There are none for an SQL statement, for a news report, and without an answer.
    """
    if cited is None or report.run.options.sections or _is_sql_query(report):
        return ()
    seen = {normalise_quote(report.run.question)}
    questions = []
    for text in _candidates(report, cited, support):
        text = " ".join(text.split())
        if len(text) <= MAX_QUESTION_CHARS and (key := normalise_quote(text)) not in seen:
            seen.add(key)
            questions.append(text)
    return tuple(questions[:MAX_QUESTIONS])


def _is_sql_query(report: Report) -> bool:
    tasks = report.plan.tasks if report.plan else ()
    return bool(tasks) and all(task.tool == "sql" for task in tasks)


def _candidates(report: Report, cited: CitedAnswer, support: AnswerSupport) -> Iterator[str]:
    language = cited.answer.language
    yield from islice(_from_conflicts(report, cited, language), 1)
    yield from islice(_from_unsupported(support, language), 1)
    yield from islice(_from_follow_ups(report), 2)
    yield from islice(_from_places(report, language), 1)
    yield from islice(_from_passages(report, cited, language), MAX_QUESTIONS)


def _from_conflicts(report: Report, cited: CitedAnswer, language: Language) -> Iterator[str]:
    for disagreement in find_disagreements(report, cited):
        texts = list(dict.fromkeys(figure.text for figure in disagreement.figures))
        if len(texts) > 1 and disagreement.subject:
            yield message("related.conflict", language, subject=disagreement.subject, a=texts[0], b=texts[1])


def _from_unsupported(support: AnswerSupport, language: Language) -> Iterator[str]:
    for status in ("differs", "none"):
        for sentence in support.sentences:
            if sentence.status == status:
                yield message("related.doubtful", language, text=sentence.text)


def _from_follow_ups(report: Report) -> Iterator[str]:
    """Yield the searches that the last reflection proposed and that were not made."""
    searched = {finding.task.id for finding in report.findings}
    for task in report.reflections[-1].follow_ups if report.reflections else ():
        if task.id not in searched:
            yield task.query


def _from_places(report: Report, language: Language) -> Iterator[str]:
    for finding in report.findings:
        for place in finding.places:
            if place.category != "food" and len(place.name) <= MAX_NAME_CHARS:
                yield message("related.near", language, name=place.name)


def _from_passages(report: Report, cited: CitedAnswer, language: Language) -> Iterator[str]:
    """Yield uncited headings of cited sources, one of each source in turn."""
    cited_passages = {passage.id for source in cited.sources for passage in source.evidence.passages}
    cited_sources = {source.evidence.id for source in cited.sources}
    rows = []
    for item in report.evidence:
        if item.id in cited_sources and item.kind in ("library", "web", "news") and len(item.title) <= MAX_NAME_CHARS:
            excluded = {item.title, "", *(p.heading for p in item.passages if p.id in cited_passages)}
            headings = dict.fromkeys(p.heading for p in item.passages if p.heading not in excluded and not p.generated)
            rows.append([(item.title, heading) for heading in headings if len(heading) <= MAX_NAME_CHARS])
    for row in zip_longest(*rows):
        for entry in filter(None, row):
            yield message("related.passage", language, title=entry[0], heading=entry[1])
