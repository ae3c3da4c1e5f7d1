"""A report as JSON for programs, with the same numbers as the Markdown.

Knows reports and numbered answers; writes no file.
"""

from __future__ import annotations

import json
from typing import Any

from research.evidence.citations import CitedAnswer, CitedSource, NumberedSpan
from research.evidence.registry import canonical_url
from research.export.markdown import (
    encodable,
    failed,
    language_of,
    quoted_passage,
    rounds,
    utc,
    waiting,
)
from research.records import Evidence, Finding, Report

SCHEMA = "sightline-report/1"


def report_json(report: Report, cited: CitedAnswer | None) -> str:
    """The report as JSON (schema `sightline-report/1`), with the same numbers as the Markdown.

    It leaves out who asked and in which conversation: the file may travel.
    """
    run = report.run
    content = {
        "schema": SCHEMA,
        "language": language_of(report, cited),
        "run": run.model_dump(
            mode="json", include={"id", "status", "created", "finished", "error", "options"}
        ),
        "question": run.question,
        "plan": report.plan.model_dump(mode="json") if report.plan else None,
        "rounds": [_round_data(report, number) for number in rounds(report)],
        "title": cited.answer.title if cited else "",
        "answer": _answer_data(cited) if cited else [],
        "sources": [_source_data(source) for source in cited.sources] if cited else [],
        "failures": [item.model_dump(mode="json") for item in failed(report, cited)],
        "author": cited.answer.author if cited else None,
        "sample": cited.answer.sample if cited else None,
        "made": utc(cited.answer.made).isoformat() if cited else None,
    }
    return encodable(json.dumps(content, ensure_ascii=False, indent=2)) + "\n"


def _round_data(report: Report, number: int) -> dict[str, Any]:
    reflections = [item for item in report.reflections if item.round == number]
    return {
        "round": number,
        "findings": [_finding_data(f) for f in report.findings if f.task.round == number],
        "not_run": [task.model_dump(mode="json") for task in waiting(report, number)],
        "reflections": [item.model_dump(mode="json", exclude={"round"}) for item in reflections],
    }


def _finding_data(finding: Finding) -> dict[str, Any]:
    evidence = [{"title": e.title, "url": canonical_url(e.url)} for e in finding.evidence]
    kept = finding.model_dump(mode="json", exclude={"evidence"})
    return {**kept, "passages": finding.passages, "evidence": evidence}


def _answer_data(cited: CitedAnswer) -> list[dict[str, Any]]:
    sources = {source.number: source.evidence for source in cited.sources}
    return [
        {
            **item.span.model_dump(mode="json", include={"kind", "text", "part"}),
            "numbers": list(item.numbers),
            "unsourced": item.unsourced,
            "quotes": [_quote_data(item, n, sources[n]) for n in item.numbers]
            if item.span.kind == "quote"
            else [],
        }
        for item in cited.spans
    ]


def _quote_data(item: NumberedSpan, number: int, evidence: Evidence) -> dict[str, Any]:
    """Where a quote stands in one of its sources."""
    passage = quoted_passage(item, evidence)
    where = passage.model_dump(include={"heading", "page"}) if passage else {}
    return {"number": number, "passage": passage.id if passage else None, **where}


def _source_data(source: CitedSource) -> dict[str, Any]:
    shown = ("id", "kind", "title", "publisher", "url", "published", "retrieved", "sample")
    data = source.evidence.model_dump(mode="json")
    data["url"] = canonical_url(source.evidence.url)
    return {
        "number": source.number,
        **{name: data[name] for name in shown},
        "times": source.times,
        "passages": data["passages"],
    }
