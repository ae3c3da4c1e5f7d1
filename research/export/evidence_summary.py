"""What an answer leads with: on how much of the question evidence was found, and what was not found, in a line.

Read off the record, whoever has written the answer. What the line says of a part is not said again
below. Knows reports and numbered answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from research.citations.numbering import CitedAnswer
from research.core.i18n import message
from research.core.records import Language, Report
from research.export.report_texts import report_translator

# What the digest says of a part that has nothing, and the words of the line for it.
# What it says above quotes that only come near a part keeps the part from counting.
_LEAD_KEY_BY_DIGEST_KEY = {
    "digest.missing": "lead.missing",
    "digest.unsearched": "lead.unsearched",
    "digest.failed": "lead.failed",
}


class EvidenceSummary(NamedTuple):
    """The line, "" if there is nothing to say, and the places of the spans that it stands for."""

    text: str = ""
    replaced_spans: frozenset[int] = frozenset()


class _PartSummary(NamedTuple):
    label: str
    span_indices: tuple[int, ...]
    has_evidence: bool
    missing_key: str  # the words of the line for why it has nothing, if that is all it says


def summarize_evidence(report: Report, cited: CitedAnswer | None) -> EvidenceSummary:
    """What the answer of a report leads with. The sections of an outline tell what they lack."""
    if cited is None or report.plan is None or report.plan.outline:
        return EvidenceSummary()
    language = cited.answer.language
    say = report_translator(language)
    parts = list(_part_summaries(report, cited, language))
    if len(parts) < 2:
        gap = _open_gap(report, cited)
        return EvidenceSummary(_join_sentence([say("lead.open", gap=gap)], language) if gap else "")
    found = sum(part.has_evidence for part in parts)
    told = []
    if found:
        key = "lead.all" if found == len(parts) else "lead.some"
        told.append(say(key, n=found, all=len(parts), sources=len(cited.sources)))
    folded: list[int] = []
    for words in _LEAD_KEY_BY_DIGEST_KEY.values():
        own = [part for part in parts if part.missing_key == words]
        if own:
            names = message("mark.list", language).join(f"“{part.label}”" for part in own)
            told.append(say(words, parts=names))
            folded += [at for part in own for at in part.span_indices]
    return EvidenceSummary(_join_sentence(told, language), frozenset(folded))


def _join_sentence(clauses: Sequence[str], language: Language) -> str:
    text = message("mark.semicolon", language).join(clauses)
    stop = message("mark.stop", language)
    return f"{text[:1].upper()}{text[1:].rstrip(' .。')}{stop}" if text else ""


def _part_summaries(report: Report, cited: CitedAnswer, language: Language) -> Iterator[_PartSummary]:
    """The parts of the plan that the answer has something on under a heading."""
    whys = {message(key, language): words for key, words in _LEAD_KEY_BY_DIGEST_KEY.items()}
    assert report.plan is not None
    for part in report.plan.parts:
        own = [(at, one) for at, one in enumerate(cited.spans) if one.span.part == part.id]
        if not own or own[0][1].span.kind != "heading":
            continue
        said = [one for _, one in own[1:]]
        alone = len(said) == 1 and said[0].span.kind == "missing"
        nearest = any(one.span.text == message("digest.nearest", language) for one in said)
        yield _PartSummary(
            own[0][1].span.text,
            tuple(at for at, _ in own),
            not nearest and any(one.numbers for one in said),
            whys.get(said[0].span.text, "") if alone else "",
        )


def _open_gap(report: Report, cited: CitedAnswer) -> str:
    """What the last review found wanting, if nothing was searched after it and the answer does not
    say it itself."""
    last = max(report.reflections, key=lambda one: one.round, default=None)
    searched = max((finding.task.round for finding in report.findings), default=0)
    if last is None or last.sufficient or last.round < searched or not cited.sources:
        return ""
    if any(one.span.kind == "missing" for one in cited.spans):
        return ""
    return message("mark.list", cited.answer.language).join(last.gap)
