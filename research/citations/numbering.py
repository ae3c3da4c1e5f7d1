"""Numbering of citations, and the check that cited passages exist and quotes are verbatim.

Numbers are assigned here and nowhere else. Whether a passage supports a claim is not judged here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from research.citations.registry import EvidenceRegistry
from research.core.records import Answer, Cell, Evidence, Passage, PassageReference, Record, Report, Span
from research.core.text.quotes import find_quote, normalise_quote
from research.core.urls import url_identity


class NumberedSpan(Record):
    """A span with its citation numbers; `unsourced` if it cites something that does not exist."""

    span: Span
    numbers: tuple[int, ...] = ()
    unsourced: bool = False


class CitedSource(Record):
    """A numbered source with its cited passages only.

    `times` counts the spans and the readings of cells that cite it.
    """

    number: int
    evidence: Evidence
    times: int


class NumberedCell(Record):
    """A cell of a table with the citation numbers of each reading.

    `unsourced` if a reading cites nothing, or something that does not exist. The cell itself keeps
    only citations that exist.
    """

    cell: Cell
    numbers: tuple[tuple[int, ...], ...] = ()
    unsourced: bool = False


class CitedAnswer(Record):
    """An answer with sources numbered 1 to n in the order of first citation: first text, then cells."""

    answer: Answer
    spans: tuple[NumberedSpan, ...] = ()
    cells: tuple[NumberedCell, ...] = ()
    sources: tuple[CitedSource, ...] = ()


def is_verbatim(quote: str, text: str) -> bool:
    """Return whether `quote` occurs in `text`, ignoring white space, line breaks and width (NFKC)."""
    folded = normalise_quote(quote)
    return bool(folded) and (folded in normalise_quote(text) or find_quote(quote, text) is not None)


@dataclass
class _SourceUse:
    """The citations of one source so far."""

    number: int
    evidence: Evidence
    citation_count: int = 0
    passages: dict[str, Passage] = field(default_factory=dict)

    def to_cited_source(self) -> CitedSource:
        evidence = self.evidence.model_copy(update={"passages": tuple(self.passages.values())})
        return CitedSource(number=self.number, evidence=evidence, times=self.citation_count)


def number_citations(answer: Answer, registry: EvidenceRegistry) -> CitedAnswer:
    """Number the citations of an answer.

    A citation of an unregistered source gets no number and makes its span `unsourced`, as does the
    writer's own mark that a claimed source does not exist. For a quote, only citations count whose
    passage contains it. A quote that no cited passage contains, or that has that mark, is
    `unsourced` and gets no number.
    """
    uses: dict[str, _SourceUse] = {}
    spans = []
    for span in answer.spans:
        pairs, unsourced = _resolve_span(span, registry)
        numbers = _record_use(pairs, uses)
        spans.append(NumberedSpan(span=span, numbers=numbers, unsourced=unsourced))
    cells = tuple(_number_cell(cell, registry, uses) for cell in answer.cells)
    sources = tuple(use.to_cited_source() for use in uses.values())
    return CitedAnswer(answer=answer, spans=tuple(spans), cells=cells, sources=sources)


def _number_cell(cell: Cell, registry: EvidenceRegistry, uses: dict[str, _SourceUse]) -> NumberedCell:
    """Number a cell, keeping only citations of registered passages, by their registered ids."""
    readings, numbers, unsourced = [], [], False
    for reading in cell.readings:
        pairs = _registered_cites(reading.references, registry)
        cites = tuple(
            cite.model_copy(update={"evidence": evidence.id, "passage": passage.id})
            for cite, evidence, passage in pairs
        )
        unsourced = unsourced or not pairs or len(pairs) < len(reading.references)
        readings.append(reading.model_copy(update={"references": cites}))
        numbers.append(_record_use(((evidence, passage) for _, evidence, passage in pairs), uses))
    numbered = cell.model_copy(update={"readings": tuple(readings)})
    return NumberedCell(cell=numbered, numbers=tuple(numbers), unsourced=unsourced)


def _registered_cites(
    cites: Iterable[PassageReference], registry: EvidenceRegistry
) -> list[tuple[PassageReference, Evidence, Passage]]:
    """Return the citations whose source and passage are registered, with both."""
    pairs = []
    for cite in cites:
        evidence = registry.get(cite.evidence)
        passage = registry.passage(cite.evidence, cite.passage)
        if evidence and passage:
            pairs.append((cite, evidence, passage))
    return pairs


def _resolve_span(span: Span, registry: EvidenceRegistry) -> tuple[list[tuple[Evidence, Passage]], bool]:
    """Return the sources and passages that a span may cite, and whether it is unsourced."""
    pairs = [(evidence, passage) for _, evidence, passage in _registered_cites(span.references, registry)]
    if span.kind == "quote":
        pairs = [(item, passage) for item, passage in pairs if is_verbatim(span.text, passage.text)]
        pairs = [] if span.unsourced else pairs
        return pairs, not pairs
    return pairs, span.unsourced or len(pairs) < len(span.references)


def _record_use(pairs: Iterable[tuple[Evidence, Passage]], uses: dict[str, _SourceUse]) -> tuple[int, ...]:
    """Record the citations of one span and return its numbers, each once."""
    cited: dict[str, _SourceUse] = {}
    for evidence, passage in pairs:
        use = uses.setdefault(evidence.id, _SourceUse(number=len(uses) + 1, evidence=evidence))
        use.passages.setdefault(passage.id, passage)
        cited[evidence.id] = use
    for use in cited.values():
        use.citation_count += 1
    return tuple(use.number for use in cited.values())


def check_numbering(cited: CitedAnswer) -> list[str]:
    """Return a description of each inconsistency in a numbered answer that was read from a file.

    Sources must be numbered in the order of citation and be cited, and quotes must be verbatim.
    """
    return [*_source_problems(cited), *_number_problems(cited), *_quote_problems(cited)]


def _source_problems(cited: CitedAnswer) -> Iterator[str]:
    """Check that sources are numbered from 1, occur once and have a cited passage."""
    numbers = [source.number for source in cited.sources]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"The sources are numbered {numbers}; expected 1 to {len(numbers)} in order."
    seen: dict[str, int] = {}
    for source in cited.sources:
        key = url_identity(source.evidence.url) or source.evidence.id
        if key in seen:
            yield f"{key} has two numbers: {seen[key]} and {source.number}."
        seen.setdefault(key, source.number)
        if not source.evidence.passages:
            yield f"Source {source.number} has no cited passage."


def _number_problems(cited: CitedAnswer) -> Iterator[str]:
    """Check that the cited numbers exist, rise in the order of first citation and are counted right."""
    if tuple(item.span for item in cited.spans) != cited.answer.spans:
        yield "The numbered spans are not the spans of the answer."
    listed = {source.number for source in cited.sources}
    used = [number for item in cited.spans for number in item.numbers]
    used += [number for item in cited.cells for reading_numbers in item.numbers for number in reading_numbers]
    distinct = list(dict.fromkeys(used))
    if distinct != sorted(distinct):
        yield f"The numbers are first cited in the order {distinct}; expected a rising order."
    for number in distinct:
        if number not in listed:
            yield f"[{number}] is cited but not among the sources."
    for source in cited.sources:
        if used.count(source.number) != source.times or not source.times:
            times = used.count(source.number)
            yield f"Source {source.number} is cited {times} times; listed as {source.times}."
    for at, item in enumerate(cited.spans):
        if len(set(item.numbers)) < len(item.numbers):
            yield f"Span {at} repeats a number: {list(item.numbers)}."


def _quote_problems(cited: CitedAnswer) -> Iterator[str]:
    """Check that each quote is verbatim in the sources of its numbers, or marked as unsourced."""
    sources = {source.number: source.evidence for source in cited.sources}
    quotes = ((at, item) for at, item in enumerate(cited.spans) if item.span.kind == "quote")
    for at, item in quotes:
        if item.unsourced == bool(item.numbers):
            yield f"Quote {at} must have either a number or the mark 'unsourced'."
        for number in item.numbers:
            passages = sources[number].passages if number in sources else ()
            if not any(is_verbatim(item.span.text, passage.text) for passage in passages):
                yield f"Quote {at} is not verbatim in source {number}: {item.span.text!r}."


def number_report_answer(report: Report) -> CitedAnswer | None:
    """Number the answer of a report; None while there is no answer."""
    if report.answer is None:
        return None
    return number_citations(report.answer, EvidenceRegistry(report.evidence))
