"""A report that updates an earlier one without rewriting its known content.

The outline is the earlier one's, and so is the text of each section without new findings. Other
sections are corrected from the new findings and from their own citations, so that no model reads
anything twice and no text is paid for twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from functools import cached_property

from research.core.records import (
    Draft,
    Evidence,
    Finding,
    Memory,
    PassageReference,
    Plan,
    Report,
    ReportSection,
    Span,
    Task,
)
from research.sources.news.search_tools import NEWS_TOOLS

BY_DATE_TOOL = "search_news_by_date"
HEADING_PREFIX = "\n\n## "  # precedes the title of a section


class EarlierReport:
    """The report that a run updates."""

    def __init__(self, report: Report, predecessors: Iterable[Report] = ()) -> None:
        """Take the report, and the reports that it updated itself."""
        self.report = report
        self._predecessors = tuple(predecessors)

    @cached_property
    def known_evidence(self) -> dict[str, Evidence]:
        """All evidence that the report and its predecessors found or cite, by id."""
        reports = (*reversed(self._predecessors), self.report)
        return {item.id: item for report in reports for item in report.evidence}

    def section(self, part_id: str) -> ReportSection:
        """Return a section as written, without its heading."""
        spans = [span for span in self._spans if span.part == part_id]
        has_heading = bool(spans) and spans[0].kind == "text" and spans[0].text.startswith(HEADING_PREFIX)
        return ReportSection(part=part_id, spans=tuple(spans[has_heading:]), author=self._author)

    @property
    def preface(self) -> Draft:
        """The text before the sections."""
        spans = tuple(span for span in self._spans if not span.part and span.kind != "notice")
        return Draft(spans=spans, author=self._author)

    @property
    def memory(self) -> Memory:
        """The cited evidence as a memory, for functions that resolve citations; it has no turns."""
        return Memory(evidence=tuple(self._cited_evidence(cite for s in self._spans for cite in s.references)))

    def new_findings(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings reduced to evidence that is new or newly published."""
        updated = []
        for finding in findings:
            new = tuple(item for item in finding.evidence if self.is_new(item))
            if new:
                updated.append(finding.model_copy(update={"evidence": new, "summary": ()}))
        return updated

    def is_new(self, item: Evidence) -> bool:
        """Return whether evidence was not known to the report, or was published anew since."""
        earlier_item = self.known_evidence.get(item.id)
        if earlier_item is None:
            return True
        return bool(_publication_key(item) > _publication_key(earlier_item))

    def section_material(self, part_id: str, findings: Sequence[Finding], today: datetime) -> list[Finding]:
        """Return the findings for correcting a section: new evidence, and what its text cites."""
        section = self.section(part_id)
        cited = tuple(self._cited_evidence(cite for span in section.spans for cite in span.references))
        task = Task(id=f"0.{part_id}", round=0, source="memory", query=self.report.run.question, part=part_id)
        cited_findings = [Finding(task=task, evidence=cited, started=today, reused=True)] if cited else []
        return [*cited_findings, *self.new_findings(findings)]

    @property
    def _spans(self) -> tuple[Span, ...]:
        return self.report.answer.spans if self.report.answer else ()

    @property
    def _author(self) -> str:
        return self.report.answer.author if self.report.answer else ""

    def _cited_evidence(self, cites: Iterable[PassageReference]) -> Iterable[Evidence]:
        """Yield the cited evidence, with only the cited passages."""
        passages_by_evidence: dict[str, set[str]] = {}
        for cite in cites:
            passages_by_evidence.setdefault(cite.evidence, set()).add(cite.passage)
        for key, passage_ids in passages_by_evidence.items():
            if item := self.known_evidence.get(key):
                cited_passages = tuple(p for p in item.passages if p.id in passage_ids)
                yield item.model_copy(update={"passages": cited_passages or item.passages})


def repeat_outline(report: Report, today: date) -> Plan | None:
    """Return the outline of a report for a new search; None if it has none.

    A period that ended on the day of the report, or later, is extended to today.
    """
    plan = report.plan
    if plan is None or not plan.outline:
        return None
    report_day = report.run.created.date()
    tasks = [
        task.model_copy(update={"end": today})
        if task.tool == BY_DATE_TOOL and task.end and task.end >= report_day
        else task
        for task in plan.tasks
    ]
    return plan.model_copy(update={"tasks": tuple(tasks), "notes": (), "failures": ()})


def expected_ids(report: Report, findings: Sequence[Finding], now: datetime) -> frozenset[str]:
    """Return the ids of evidence that the repeated searches should find if it still exists."""
    repeated = {_repetition_key(f.task) for f in findings if not f.has_failed}
    ids: set[str] = set()
    for finding in report.findings:
        if _repetition_key(finding.task) not in repeated:
            continue
        tool = NEWS_TOOLS.get(finding.task.tool)
        since = (now - tool.lookback).date() if tool and tool.lookback else date.min
        ids.update(item.id for item in finding.evidence if (item.published or date.max) >= since)
    return frozenset(ids)


def _repetition_key(task: Task) -> tuple[str, str, str]:
    """Return a key that is equal for a search and its repetition, whatever their periods."""
    return task.source, task.query, task.tool


def _publication_key(item: Evidence) -> tuple[date, float]:
    """Return the time of publication for comparison; unknown is the earliest."""
    moment = item.published_at.timestamp() if item.published_at else 0.0
    return item.published or date.min, moment
