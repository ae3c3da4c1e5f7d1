"""Facts of a report that several writers state: language, evidence, failures, rounds, usage, file name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from research.citations.numbering import CitedAnswer
from research.citations.registry import EvidenceRegistry, collect_evidence
from research.core.records import Failure, Language, QueryResult, Report, Task, Usage
from research.core.text.tokenizer import detect_language


def report_language(report: Report, cited: CitedAnswer | None) -> Language:
    """Return the language of the answer, else the detected language of the question."""
    return cited.answer.language if cited else detect_language(report.run.question)


def collect_report_evidence(report: Report) -> EvidenceRegistry:
    """Collect the evidence of findings and report, each source once."""
    registry = collect_evidence(report.findings)
    for item in report.evidence:
        registry.add(item)
    return registry


def source_numbers(cited: CitedAnswer | None) -> dict[str, int]:
    """Map the evidence id of each cited source to its citation number."""
    return {source.evidence.id: source.number for source in cited.sources} if cited else {}


def query_results(report: Report) -> list[QueryResult]:
    """Return the results of a report that have rows."""
    return [finding.rows for finding in report.findings if finding.rows and finding.rows.rows]


def collect_failures(report: Report, cited: CitedAnswer | None) -> tuple[Failure, ...]:
    """Return the failures of the answer, or those of every stage if there is no answer.

    A search without results has not failed.
    """
    if cited:
        return cited.answer.failures
    failures = list(report.plan.failures) if report.plan else []
    for reflection in report.reflections:
        failures += reflection.failures
    for finding in report.findings:
        failures += finding.failures
        if finding.reason and finding.reason != "empty":
            task = finding.task
            failures.append(
                Failure(
                    source=task.source,
                    query=task.query,
                    reason=finding.reason,
                    hint=finding.hint,
                    message=finding.message,
                )
            )
    return tuple(failures)


def round_numbers(report: Report) -> list[int]:
    """Return the numbers of all rounds, in order."""
    planned = report.plan.tasks if report.plan else ()
    return sorted(
        {task.round for task in planned}
        | {finding.task.round for finding in report.findings}
        | {reflection.round for reflection in report.reflections}
    )


def unfinished_tasks(report: Report, round_number: int) -> list[Task]:
    """Return the planned tasks of a round that have no finding."""
    finished_ids = {finding.task.id for finding in report.findings}
    planned = report.plan.tasks if report.plan else ()
    return [task for task in planned if task.round == round_number and task.id not in finished_ids]


class UsageTotal(NamedTuple):
    """Total usage of several calls.

    `cost` adds up the known prices in US dollars. `unpriced` counts the calls without a price,
    `estimated` those with estimated tokens.
    """

    calls: int
    input: int
    cached: int
    output: int
    searches: int
    cost: float | None  # None if no price is known
    unpriced: int
    estimated: int

    @property
    def is_complete(self) -> bool:
        """True if every price is known and every token was counted."""
        return not (self.unpriced or self.estimated)


def sum_usage(usage: Sequence[Usage]) -> UsageTotal:
    """Add up the usage of calls."""
    costs = [item.cost for item in usage if item.cost is not None]
    return UsageTotal(
        calls=sum(item.calls for item in usage),
        input=sum(item.input for item in usage),
        cached=sum(item.cached for item in usage),
        output=sum(item.output for item in usage),
        searches=sum(item.searches for item in usage),
        cost=round(sum(costs), 6) if costs or not usage else None,
        unpriced=sum(item.calls for item in usage if item.cost is None),
        estimated=sum(item.calls for item in usage if item.estimated),
    )


def to_utc(time: datetime) -> datetime:
    """Convert a time to UTC. A time without a zone is taken as UTC."""
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


def export_file_name(report: Report, suffix: str) -> str:
    """Return a file name built only from time and run id: "sightline-….md"."""
    timestamp = to_utc(report.answer.created if report.answer else report.run.created)
    run = re.sub(r"[^A-Za-z0-9]", "", report.run.id)[:8] or "run"
    return f"sightline-{timestamp:%Y%m%d-%H%M}-{run}.{suffix.lstrip('.')}"
