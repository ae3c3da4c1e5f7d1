"""Evaluation of report files: Markdown from any program, or the JSON that this program exports.

Markdown contains no passages, so only its citations are checked. The JSON (schema `sightline-report`)
contains passages, so each sentence is also compared with those that it cites.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ValidationError

from research.citations.numbering import CitedAnswer, CitedSource, NumberedSpan, check_numbering
from research.citations.support import check_support
from research.core.records import (
    Answer,
    Evidence,
    Language,
    Passage,
    PassageReference,
    Place,
    Record,
    Span,
    SpanKind,
)
from research.linter import CitationFlaw, LintResult, lint_markdown
from research.linter.flaw_kinds import flaw_message

_SCHEMA = "sightline-report/"


class UnreadableReportError(ValueError):
    """A file has the schema `sightline-report` but invalid fields; the message names the first one."""


class ReportEvaluation(Record):
    """Lint result of a report and, for exported JSON, the number of sentences per status."""

    lint: LintResult
    statuses: dict[str, int] | None = None


class _Citation(BaseModel):
    number: int
    evidence: str
    passage: str
    start: int = 0
    end: int = 0


class _Block(BaseModel):
    kind: SpanKind
    text: str
    part: str = ""
    unsourced: bool = False
    citations: tuple[_Citation, ...] = ()

    def to_numbered_span(self) -> NumberedSpan:
        cites = tuple(
            PassageReference(evidence=c.evidence, passage=c.passage, start=c.start, end=c.end) for c in self.citations
        )
        span = Span(kind=self.kind, text=self.text, part=self.part, references=cites, unsourced=self.unsourced)
        numbers = tuple(dict.fromkeys(c.number for c in self.citations))
        return NumberedSpan(span=span, numbers=numbers, unsourced=self.unsourced)


class _Source(BaseModel):
    number: int
    times: int
    id: str
    kind: Any
    title: str
    publisher: str = ""
    url: str = ""
    locator: str = ""
    retrieved: datetime
    passages: tuple[Passage, ...] = ()
    place: Place | None = None

    def to_cited_source(self) -> CitedSource:
        fields = self.model_dump(exclude={"number", "times"})
        evidence = Evidence.model_validate(fields)
        return CitedSource(number=self.number, evidence=evidence, times=self.times)


class _ExportedReport(BaseModel):
    language: Language
    title: str = ""
    author: str | None = None
    made: datetime | None = None
    blocks: tuple[_Block, ...] = ()
    sources: tuple[_Source, ...] = ()

    def to_cited_answer(self) -> CitedAnswer:
        spans = tuple(block.to_numbered_span() for block in self.blocks)
        answer = Answer(
            title=self.title,
            language=self.language,
            author=self.author or "",
            spans=tuple(item.span for item in spans),
            created=self.made or datetime.min,
        )
        sources = tuple(source.to_cited_source() for source in self.sources)
        return CitedAnswer(answer=answer, spans=spans, sources=sources)


def evaluate_report(text: str, language: Language = "en") -> ReportEvaluation:
    """Check a report in Markdown or exported JSON; messages are in `language`.

    Raises:
        UnreadableReportError: the JSON has the schema `sightline-report`, but a field is invalid.
    """
    data = _parse_exported_json(text)
    if data is None:
        return ReportEvaluation(lint=lint_markdown(text, language))
    try:
        cited = _ExportedReport.model_validate(data).to_cited_answer()
    except ValidationError as error:
        first = error.errors()[0]
        location = ".".join(str(part) for part in first["loc"])
        raise UnreadableReportError(f"{location}: {first['msg']}") from error
    problems = check_numbering(cited)
    counts = {} if problems else check_support(cited).counts._asdict()  # check_support assumes consistent numbers
    total = counts.pop("total", 0)
    flaws = tuple(
        CitationFlaw(
            line=0,
            kind="inconsistent",
            severity="error",
            excerpt="",
            message=flaw_message("inconsistent", problem, "", language),
        )
        for problem in problems
    )
    lint = LintResult(
        styles=("numbered",) if cited.sources else (),
        citations=sum(len(item.numbers) for item in cited.spans),
        sources=len(cited.sources),
        sentences=total,
        cited=total - counts.get("none", 0),
        flaws=flaws,
    )
    return ReportEvaluation(lint=lint, statuses=counts or None)


def _parse_exported_json(text: str) -> dict[str, Any] | None:
    """Parse JSON with the schema `sightline-report`; None for any other text."""
    if not text.lstrip("\ufeff \t\r\n").startswith("{") or _SCHEMA not in text:
        return None
    try:
        data = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    has_schema = isinstance(data, dict) and str(data.get("schema", "")).startswith(_SCHEMA)
    return data if has_schema else None
