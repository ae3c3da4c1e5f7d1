"""The opening line of an answer: how much of the question has evidence, and what is missing.

Computed from the record of the report, whichever writer wrote the answer. Parts that the line
covers are not repeated below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from research.citations.numbering import CitedAnswer
from research.core.i18n import message
from research.core.records import Language, Report
from research.export.report_texts import report_translator

# Message of the extractive reasoner for a part without evidence, and that of the opening line for it.
# A part with "digest.nearest", above quotes that only come near it, counts as unanswered too.
_OPENING_KEY_BY_SPAN_KEY = {
    "digest.missing": "lead.missing",
    "digest.unsearched": "lead.unsearched",
    "digest.failed": "lead.failed",
}


class EvidenceSummary(NamedTuple):
    """The opening line, "" if there is none, and the indices of the spans that it replaces."""

    text: str = ""
    replaced_spans: frozenset[int] = frozenset()


class _PartSummary(NamedTuple):
    label: str
    span_indices: tuple[int, ...]
    has_evidence: bool
    missing_key: str  # message key of the reason, "" if the part has any content


def summarize_evidence(report: Report, cited: CitedAnswer | None) -> EvidenceSummary:
    """Build the opening line of an answer.

    The line is empty for a report with an outline, whose sections state their own gaps.
    """
    if cited is None or report.plan is None or report.plan.outline:
        return EvidenceSummary()
    language = cited.answer.language
    translate = report_translator(language)
    parts = list(_part_summaries(report, cited, language))
    if len(parts) < 2:
        gap = _open_gap(report, cited)
        return EvidenceSummary(_join_sentence([translate("lead.open", gap=gap)], language) if gap else "")
    answered = sum(part.has_evidence for part in parts)
    clauses = []
    if answered:
        key = "lead.all" if answered == len(parts) else "lead.some"
        clauses.append(translate(key, n=answered, all=len(parts), sources=len(cited.sources)))
    replaced: list[int] = []
    for missing_key in _OPENING_KEY_BY_SPAN_KEY.values():
        missing = [part for part in parts if part.missing_key == missing_key]
        if missing:
            names = message("mark.list", language).join(f"“{part.label}”" for part in missing)
            clauses.append(translate(missing_key, parts=names))
            replaced += [index for part in missing for index in part.span_indices]
    return EvidenceSummary(_join_sentence(clauses, language), frozenset(replaced))


def _join_sentence(clauses: Sequence[str], language: Language) -> str:
    text = message("mark.semicolon", language).join(clauses)
    stop = message("mark.stop", language)
    return f"{text[:1].upper()}{text[1:].rstrip(' .。')}{stop}" if text else ""


def _part_summaries(report: Report, cited: CitedAnswer, language: Language) -> Iterator[_PartSummary]:
    """Summarise each part of the plan that has its own heading in the answer."""
    key_by_text = {message(key, language): missing_key for key, missing_key in _OPENING_KEY_BY_SPAN_KEY.items()}
    assert report.plan is not None
    for part in report.plan.parts:
        part_spans = [(at, item) for at, item in enumerate(cited.spans) if item.span.part == part.id]
        if not part_spans or part_spans[0][1].span.kind != "heading":
            continue
        content = [item for _, item in part_spans[1:]]
        has_one_missing = len(content) == 1 and content[0].span.kind == "missing"
        nearest = any(item.span.text == message("digest.nearest", language) for item in content)
        yield _PartSummary(
            part_spans[0][1].span.text,
            tuple(at for at, _ in part_spans),
            not nearest and any(item.numbers for item in content),
            key_by_text.get(content[0].span.text, "") if has_one_missing else "",
        )


def _open_gap(report: Report, cited: CitedAnswer) -> str:
    """Return the gaps of the last reflection.

    Return "" if a search followed it, if it found the evidence sufficient, or if the answer states
    what is missing.
    """
    last = max(report.reflections, key=lambda reflection: reflection.round, default=None)
    searched = max((finding.task.round for finding in report.findings), default=0)
    if last is None or last.sufficient or last.round < searched or not cited.sources:
        return ""
    if any(item.span.kind == "missing" for item in cited.spans):
        return ""
    return message("mark.list", cited.answer.language).join(last.gap)
