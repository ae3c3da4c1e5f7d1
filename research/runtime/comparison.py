"""Comparison of two runs: shared, removed and added sources and sentences, changed figures, usage.

Sources are equal if the evidence registry treats them as one. Sentences are equal if they differ
only in case, width and punctuation. A figure has changed where two sentences differ in figures
only; in less certain cases one sentence is listed as removed and one as added. The quality of the
runs is not judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Literal

from research.citations.numbering import CitedAnswer, number_report_answer
from research.citations.registry import EvidenceRegistry
from research.citations.support import group_sentences, group_spans
from research.core.records import Cell, Column, Evidence, Record, Report, RunOptions, normalise_query
from research.core.text.quantities import Measure, find_measures, measures_agree
from research.export.report_facts import source_numbers
from research.tables.column_values import is_same_value

SentenceChangeKind = Literal["stayed", "gone", "came"]
MAX_SENTENCES = 600  # sentences of an answer that are compared


class ComparedSource(Record):
    """A source of one run or of both.

    `number_before` and `number_after` are its citation numbers, None where it is not cited.
    """

    evidence: Evidence
    is_in_before: bool
    is_in_after: bool
    number_before: int | None = None
    number_after: int | None = None


class SentenceChange(Record):
    """A sentence that stayed, was removed or was added. One that stayed has the later wording."""

    kind: SentenceChangeKind
    text: str


class FigureChange(Record):
    """A figure that differs between two sentences that are otherwise equal."""

    before: str
    after: str
    sentence_before: str
    sentence_after: str


class ComparedRun(Record):
    """The limits and the usage of a run.

    `cost` is in US dollars, None if no price is known. `seconds` is the time from start to end,
    None if the run has not ended.
    """

    id: str
    question: str
    options: RunOptions
    author: str = ""
    models: tuple[str, ...] = ()
    source_count: int = 0
    cited_count: int = 0
    search_count: int = 0
    token_count: int = 0
    cost: float | None = None
    seconds: float | None = None


class CellChange(Record):
    """A table cell whose value differs.

    A value is "" where the cell is empty, None where the table has no such cell.
    """

    row: str
    column: str
    before: str | None
    after: str | None


class Comparison(Record):
    """The differences between an earlier run (`before`) and a later one (`after`)."""

    before: ComparedRun
    after: ComparedRun
    sources: tuple[ComparedSource, ...] = ()
    sentences: tuple[SentenceChange, ...] = ()
    figures: tuple[FigureChange, ...] = ()
    cells: tuple[CellChange, ...] = ()

    def sources_in(self, *, in_before: bool, in_after: bool) -> tuple[ComparedSource, ...]:
        """Return the sources that exactly the given runs have."""
        return tuple(s for s in self.sources if (s.is_in_before, s.is_in_after) == (in_before, in_after))

    def sentences_of_kind(self, kind: SentenceChangeKind) -> tuple[SentenceChange, ...]:
        """Return the sentences that stayed ("stayed"), were removed ("gone") or were added ("came")."""
        return tuple(s for s in self.sentences if s.kind == kind)


def compare_reports(before: Report, after: Report) -> Comparison:
    """Compare two reports. A run without an answer has no sentences."""
    cited_before, cited_after = number_report_answer(before), number_report_answer(after)
    sources_before, sources_after = EvidenceRegistry(before.evidence), EvidenceRegistry(after.evidence)
    sentences, figures = _compare_sentences(_answer_sentences(cited_before), _answer_sentences(cited_after))
    return Comparison(
        before=_summarize_run(before, cited_before, len(sources_before)),
        after=_summarize_run(after, cited_after, len(sources_after)),
        sources=tuple(
            _compare_sources(sources_before, sources_after, source_numbers(cited_before), source_numbers(cited_after))
        ),
        sentences=tuple(sentences),
        figures=tuple(figures),
        cells=tuple(_compare_cells(before, after)),
    )


# Cells


def _cells_by_name(report: Report) -> dict[tuple[str, str], tuple[Column, Cell | None]]:
    """Return the cells of a table by row name and column name."""
    grid = report.plan.grid if report.plan else None
    if grid is None or report.answer is None:
        return {}
    cells = {(cell.row, cell.column): cell for cell in report.answer.cells}
    return {
        (row.full_name, column.name): (column, cells.get((row.id, column.id)))
        for row in grid.rows
        for column in grid.columns
    }


def _compare_cells(before: Report, after: Report) -> Iterator[CellChange]:
    """Yield the cells whose value differs. Nothing is compared if one of the reports has no table."""
    cells_before, cells_after = _cells_by_name(before), _cells_by_name(after)
    if not cells_before or not cells_after:
        return
    for key in dict.fromkeys((*cells_after, *cells_before)):
        old, new = cells_before.get(key), cells_after.get(key)
        if old and new and _has_same_value(new[0], old[1], new[1]):
            continue
        texts = [None if entry is None else _cell_text(entry[1]) for entry in (old, new)]
        yield CellChange(row=key[0], column=key[1], before=texts[0], after=texts[1])


def _cell_text(cell: Cell | None) -> str:
    return cell.value.text if cell and cell.value else ""


def _has_same_value(column: Column, before: Cell | None, after: Cell | None) -> bool:
    """Return whether two cells are both empty, or have values that are equal in words or as typed values."""
    old, new = (cell.value if cell else None for cell in (before, after))
    if old is None or new is None:
        return old is new
    return normalise_query(old.text) == normalise_query(new.text) or (
        column.type != "text" and is_same_value(old, new, column)
    )


# Sources


def _compare_sources(
    before: Iterable[Evidence],
    after: Iterable[Evidence],
    numbers_before: Mapping[str, int],
    numbers_after: Mapping[str, int],
) -> Iterator[ComparedSource]:
    """Yield every source once, cited ones first in the order of their numbers."""
    by_id_before, by_id_after = {item.id: item for item in before}, {item.id: item for item in after}

    def rank(key: str) -> tuple[int, int]:
        return (numbers_after.get(key, 10_000), numbers_before.get(key, 10_000))

    for key in sorted(by_id_before | by_id_after, key=rank):
        yield ComparedSource(
            evidence=by_id_after.get(key) or by_id_before[key],
            is_in_before=key in by_id_before,
            is_in_after=key in by_id_after,
            number_before=numbers_before.get(key),
            number_after=numbers_after.get(key),
        )


# Sentences and figures


def _answer_sentences(answer: CitedAnswer | None) -> list[str]:
    if answer is None:
        return []
    texts = (" ".join(sentence.text.split()) for part in group_spans(answer) for sentence in group_sentences(part))
    return [text for text in texts if normalise_query(text)][:MAX_SENTENCES]


def _compare_sentences(before: Sequence[str], after: Sequence[str]) -> tuple[list[SentenceChange], list[FigureChange]]:
    """Return the sentences in the order of the later answer, removed ones in between, and the changed figures."""
    keys_before, keys_after = [normalise_query(text) for text in before], [normalise_query(text) for text in after]
    shared_keys = {*keys_before} & {*keys_after}
    changes: list[SentenceChange] = []
    figures: list[FigureChange] = []
    matcher = SequenceMatcher(None, keys_before, keys_after, autojunk=False)
    for operation, start_before, end_before, start_after, end_after in matcher.get_opcodes():
        if operation != "equal":
            removed = range(start_before, end_before)
            changes += [
                SentenceChange(kind="gone", text=before[n]) for n in removed if keys_before[n] not in shared_keys
            ]
        for n in range(start_after, end_after):
            changes.append(SentenceChange(kind="stayed" if keys_after[n] in shared_keys else "came", text=after[n]))
    removed_by_wording: dict[str, list[str]] = {}
    for change in changes:
        if change.kind == "gone":
            removed_by_wording.setdefault(_split_figures(change.text)[0], []).append(change.text)
    for change in changes:
        if change.kind == "came":
            candidates = removed_by_wording.get(_split_figures(change.text)[0], [])
            figures += _compare_figures(candidates[0], change.text) if len(candidates) == 1 else ()
    return changes, figures


def _split_figures(text: str) -> tuple[str, tuple[Measure, ...]]:
    """Split a sentence into its text with each figure replaced by its family, and the figures."""
    measures = find_measures(text)
    parts, end = [], 0
    for measure in measures:
        parts += [text[end : measure.start], f" {measure.family or 'number'} "]
        end = max(end, measure.end)
    return normalise_query("".join([*parts, text[end:]])), measures


def _compare_figures(before: str, after: str) -> Iterator[FigureChange]:
    """Yield the figures that differ between two sentences of equal wording."""
    old_measures, new_measures = _split_figures(before)[1], _split_figures(after)[1]
    if not old_measures or len(old_measures) != len(new_measures):
        return
    for old, new in zip(old_measures, new_measures, strict=True):
        if old.family == new.family and not (measures_agree(old, new) or measures_agree(new, old)):
            yield FigureChange(
                before=_figure_text(before, old),
                after=_figure_text(after, new),
                sentence_before=before,
                sentence_after=after,
            )


def _figure_text(text: str, measure: Measure) -> str:
    """Return a figure as written in the text."""
    return text[measure.start : measure.end].strip()


# Usage


def _summarize_run(report: Report, answer: CitedAnswer | None, source_count: int) -> ComparedRun:
    run, usage = report.run, report.usage
    costs = [use.cost for use in usage if use.cost is not None]
    seconds = (run.finished - run.created).total_seconds() if run.finished else None
    return ComparedRun(
        id=run.id,
        question=run.question,
        options=run.options,
        author=report.answer.author if report.answer else "",
        models=tuple(dict.fromkeys(use.model for use in usage)),
        source_count=source_count,
        cited_count=len(answer.sources) if answer else 0,
        search_count=len(report.findings),
        token_count=sum(use.input + use.output for use in usage),
        cost=sum(costs) if costs else None,
        seconds=max(0.0, seconds) if seconds is not None else None,
    )
