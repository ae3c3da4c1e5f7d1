"""Spans of an answer for the rows, places and quotes that searches have found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from research.agent.extractive.quote_selection import Quote
from research.citations.markdown_parser import escape_table_cell
from research.citations.registry import cite_passage
from research.core.records import ASKS_BACK, Finding, Part, Span
from research.sources import registry
from research.sources.base import ResultType

MAX_PLACES = 10  # in the answer; the map shows all
QUOTES_PER_CELL = 2
MAX_ROUTE_STEPS = 12  # routes with more steps are summarised


def cell_spans(spans: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans of a part for a table cell: one sentence of a database, and quotes."""
    sentences = [span for span in spans if span.generated and span.kind == "text"][:1]
    quotes = [span for span in spans if not (sentences and span.generated)][: QUOTES_PER_CELL - len(sentences)]
    for span in sentences + quotes:
        text = escape_table_cell(span.text)
        text = f" “{text}”" if span.kind == "quote" else f" {text}"
        yield span.model_copy(update={"kind": "text", "text": text, "part": ""})


def has_result_type(result_type: ResultType, finding: Finding) -> bool:
    """Return whether a finding's source has a result type."""
    return registry.get_source(finding.task.source).result_type == result_type


def findings_with_evidence(result_type: ResultType, part: Part, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings for a part with evidence of a result type."""
    findings_of_part = (f for f in findings if f.task.part == part.id and has_result_type(result_type, f))
    return [finding for finding in findings_of_part if finding.evidence]


def needs_clarification(finding: Finding) -> bool:
    """Return whether a search had no result because the source has to ask what its query means.

    The message of the finding is that question.
    """
    is_refused = finding.reason == "refused" and has_result_type("rows", finding)
    return finding.reason in ASKS_BACK or is_refused


def place_spans(part: Part, findings: Sequence[Finding]) -> Iterator[Span]:
    """Yield the best places for a part, as the map service describes them, and tables of distances.

    Routes are given with their steps if these are few.
    """
    for finding in findings_with_evidence("places", part, findings):
        for span in finding.summary:
            yield span.model_copy(update={"part": part.id})
    items = [item for finding in findings_with_evidence("places", part, findings) for item in finding.evidence]
    for item in items[:MAX_PLACES]:
        has_few_steps = item.route is None or len(item.route.steps) <= MAX_ROUTE_STEPS
        for passage in item.passages if has_few_steps else item.passages[:1]:
            cite = cite_passage(item.id, passage)
            yield Span(kind="quote", text=passage.text, references=(cite,), part=part.id, generated=True)


def row_spans(part: Part, findings: Sequence[Finding]) -> Iterator[Span]:
    """Yield the result of a database search for a part: its summary and the first rows."""
    for finding in findings_with_evidence("rows", part, findings):
        for span in finding.summary:
            yield span.model_copy(update={"part": part.id, "generated": bool(span.references)})
        statement, *row_items = finding.evidence
        row_passages = [(statement, p) for p in statement.passages if p.heading.startswith("row ")]
        for item, passage in [*((i, i.passages[0]) for i in row_items), *row_passages][:MAX_PLACES]:
            cite = cite_passage(item.id, passage)
            yield Span(kind="quote", text=passage.text, references=(cite,), part=part.id, generated=True)


def have_all_failed(part: Part, findings: Sequence[Finding]) -> bool:
    """Return whether all searches for a part failed, so that nothing is known, not even absence."""
    relevant = [f for f in findings if f.task.part == part.id] or findings
    return bool(relevant) and all(f.has_failed for f in relevant)


def to_span(quote: Quote, part: Part) -> Span:
    """Return a quote as a span of an answer."""
    return Span(kind="quote", text=quote.text, references=(quote.cite,), part=part.id, generated=quote.is_generated)
