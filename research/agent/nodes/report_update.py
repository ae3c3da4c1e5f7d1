"""A report that brings an earlier one up to date: what is known already is not written again.

Its outline is the earlier one's, and so is the text of each section to which nothing new was found.
Where something was, the section is put right with what is new and with what it cites: a model reads
nothing twice, and neither does anybody pay for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
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

TOOL_WINDOWS = {  # of the tools that look back from today
    "search_news_last_24_hours": timedelta(days=1),
    "search_news_last_week": timedelta(days=7),
}
BY_DATE_TOOL = "search_news_by_date"
HEADING_PREFIX = "\n\n## "  # before the title of a section


class EarlierReport:
    """The report that is brought up to date."""

    def __init__(self, report: Report, predecessors: Iterable[Report] = ()) -> None:
        """`before` are those that it has brought up to date itself."""
        self.report = report
        self._predecessors = tuple(predecessors)

    @cached_property
    def known_evidence(self) -> dict[str, Evidence]:
        """Everything that they have found or cite, by id."""
        reports = (*reversed(self._predecessors), self.report)
        return {item.id: item for report in reports for item in report.evidence}

    def section(self, part_id: str) -> ReportSection:
        """A section as it was written, without its heading."""
        spans = [span for span in self._spans if span.part == part_id]
        headed = bool(spans) and spans[0].kind == "text" and spans[0].text.startswith(HEADING_PREFIX)
        return ReportSection(part=part_id, spans=tuple(spans[headed:]), author=self._author)

    @property
    def preface(self) -> Draft:
        """What stood before its sections."""
        spans = tuple(span for span in self._spans if not span.part and span.kind != "notice")
        return Draft(spans=spans, author=self._author)

    @property
    def memory(self) -> Memory:
        """What it cites, for whoever reads citations; it is no conversation."""
        return Memory(evidence=tuple(self._cited_evidence(cite for s in self._spans for cite in s.cites)))

    def new_findings(self, findings: Iterable[Finding]) -> list[Finding]:
        """What was found that the report did not know: other pieces, and those published anew."""
        out = []
        for finding in findings:
            new = tuple(item for item in finding.evidence if self.is_new(item))
            if new:
                out.append(finding.model_copy(update={"evidence": new, "summary": ()}))
        return out

    def is_new(self, item: Evidence) -> bool:
        known = self.known_evidence.get(item.id)
        if known is None:
            return True
        return bool(_publication_key(item) > _publication_key(known))

    def section_material(self, part_id: str, findings: Sequence[Finding], today: datetime) -> list[Finding]:
        """What a section is put right with: what is new, and what its text cites."""
        section = self.section(part_id)
        cited = tuple(self._cited_evidence(cite for span in section.spans for cite in span.cites))
        task = Task(id=f"0.{part_id}", round=0, source="memory", query=self.report.run.question, part=part_id)
        kept = [Finding(task=task, evidence=cited, started=today, reused=True)] if cited else []
        return [*kept, *self.new_findings(findings)]

    @property
    def _spans(self) -> tuple[Span, ...]:
        return self.report.answer.spans if self.report.answer else ()

    @property
    def _author(self) -> str:
        return self.report.answer.author if self.report.answer else ""

    def _cited_evidence(self, cites: Iterable[PassageReference]) -> Iterable[Evidence]:
        """The evidence that is cited, with the cited passages alone."""
        wanted: dict[str, set[str]] = {}
        for cite in cites:
            wanted.setdefault(cite.evidence, set()).add(cite.passage)
        for key, passages in wanted.items():
            if item := self.known_evidence.get(key):
                kept = tuple(p for p in item.passages if p.id in passages)
                yield item.model_copy(update={"passages": kept or item.passages})


def repeat_outline(report: Report, today: date) -> Plan | None:
    """The outline of a report, to be searched anew; None if it has none.

    A stretch of days that reached the day of that report reaches today.
    """
    plan = report.plan
    if plan is None or not plan.outline:
        return None
    then = report.run.created.date()
    tasks = [
        task.model_copy(update={"end": today}) if task.tool == BY_DATE_TOOL and task.end and task.end >= then else task
        for task in plan.tasks
    ]
    return plan.model_copy(update={"tasks": tuple(tasks), "notes": (), "failures": ()})


def expected_ids(report: Report, findings: Sequence[Finding], now: datetime) -> frozenset[str]:
    """The ids of what the searches that were made again would find again, if it was still there."""
    asked = {_search_key(f.task) for f in findings if f.reason in (None, "empty")}
    out: set[str] = set()
    for finding in report.findings:
        if _search_key(finding.task) not in asked:
            continue
        window = TOOL_WINDOWS.get(finding.task.tool)
        since = (now - window).date() if window else date.min
        out.update(item.id for item in finding.evidence if (item.published or date.max) >= since)
    return frozenset(out)


def _search_key(task: Task) -> tuple[str, str, str]:
    return task.source, task.query, task.tool


def _publication_key(item: Evidence) -> tuple[date, float]:
    """When a piece was published, to be compared; the unknown is the earliest."""
    moment = item.moment.timestamp() if item.moment else 0.0
    return item.published or date.min, moment
