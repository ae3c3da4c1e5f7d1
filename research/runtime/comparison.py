"""Two runs side by side: what their answers share, what went and what came, and what each has used.

Sources are the same if the registry says so; sentences if they say the same but for case, width and
punctuation. A figure has changed where a sentence is the same but for its figures; anything less
sure is told as one sentence that went and one that came. Judges neither run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from research.citations.numbering import CitedAnswer, number_report_answer
from research.citations.registry import EvidenceRegistry
from research.citations.support import group_sentences, group_spans
from research.core.records import Cell, Column, Evidence, Record, Report, RunOptions, normalise_query
from research.core.text.quantities import Measure, find_measures, measures_agree
from research.tables.column_values import is_same_value

SentenceChangeKind = Literal["stayed", "gone", "came"]
MAX_SENTENCES = 600  # sentences of an answer that are compared


class ComparedSource(Record):
    """A source of one run or of both: whether each found it, and its number in each answer, None if
    it is not cited there."""

    evidence: Evidence
    is_in_before: bool
    is_in_after: bool
    number_before: int | None = None
    number_after: int | None = None


class SentenceChange(Record):
    """A sentence that is in both answers, or in one of them. `text` is as the later one has it."""

    kind: SentenceChangeKind
    text: str


class FigureChange(Record):
    """A figure that is another in a sentence that is otherwise the same."""

    before: str
    after: str
    sentence_before: str
    sentence_after: str


class ComparedRun(Record):
    """What a run was allowed and what it has used. `cost` is in US dollars, None if nothing is known
    of it; `seconds` from asking to the end, None if it has not ended."""

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
    """A cell of two tables that says something else; "" where it is empty, None where one table has no such
    cell."""

    row: str
    column: str
    before: str | None
    after: str | None


class Comparison(Record):
    """Two runs, the one that is taken for the earlier as `before`."""

    before: ComparedRun
    after: ComparedRun
    sources: tuple[ComparedSource, ...] = ()
    sentences: tuple[SentenceChange, ...] = ()
    figures: tuple[FigureChange, ...] = ()
    cells: tuple[CellChange, ...] = ()

    def sources_in(self, *, in_before: bool, in_after: bool) -> tuple[ComparedSource, ...]:
        """The sources that exactly these runs have."""
        return tuple(s for s in self.sources if (s.is_in_before, s.is_in_after) == (in_before, in_after))

    def sentences_of_kind(self, kind: SentenceChangeKind) -> tuple[SentenceChange, ...]:
        """The sentences that stayed, went or came."""
        return tuple(s for s in self.sentences if s.kind == kind)


def compare_reports(before: Report, after: Report) -> Comparison:
    """Sets two reports side by side; a run without an answer has no sentences."""
    one, other = number_report_answer(before), number_report_answer(after)
    moves, figures = _compare_sentences(_answer_sentences(one), _answer_sentences(other))
    return Comparison(
        before=_summarize_run(before, one),
        after=_summarize_run(after, other),
        sources=tuple(_compare_sources(before, after, one, other)),
        sentences=tuple(moves),
        figures=tuple(figures),
        cells=tuple(_compare_cells(before, after)),
    )


# Cells


def _cells_by_name(report: Report) -> dict[tuple[str, str], tuple[Column, Cell | None]]:
    """The cells of a table by what its rows and columns are called."""
    grid = report.plan.grid if report.plan else None
    if grid is None or report.answer is None:
        return {}
    known = {(cell.row, cell.column): cell for cell in report.answer.cells}
    return {
        (row.full_name, column.name): (column, known.get((row.id, column.id)))
        for row in grid.rows
        for column in grid.columns
    }


def _compare_cells(before: Report, after: Report) -> Iterator[CellChange]:
    left, right = _cells_by_name(before), _cells_by_name(after)
    if not left or not right:
        return
    for key in dict.fromkeys((*right, *left)):
        was, now = left.get(key), right.get(key)
        if was and now and _is_same_value(now[0], was[1], now[1]):
            continue
        texts = [None if one is None else _cell_text(one[1]) for one in (was, now)]
        yield CellChange(row=key[0], column=key[1], before=texts[0], after=texts[1])


def _cell_text(cell: Cell | None) -> str:
    return cell.value.text if cell and cell.value else ""


def _is_same_value(column: Column, before: Cell | None, after: Cell | None) -> bool:
    one, other = (cell.value if cell else None for cell in (before, after))
    if one is None or other is None:
        return one is other
    return normalise_query(one.text) == normalise_query(other.text) or (
        column.type != "text" and is_same_value(one, other, column)
    )


# Sources


def _evidence_by_id(report: Report) -> dict[str, Evidence]:
    registry = EvidenceRegistry()
    for item in report.evidence:
        registry.add(item)
    return {item.id: item for item in registry}


def _numbers_by_id(answer: CitedAnswer | None) -> dict[str, int]:
    return {source.evidence.id: source.number for source in answer.sources} if answer else {}


def _compare_sources(
    before: Report, after: Report, cited_before: CitedAnswer | None, cited_after: CitedAnswer | None
) -> Iterator[ComparedSource]:
    """Every source once: cited ones first, in the order of their numbers."""
    left, right = _evidence_by_id(before), _evidence_by_id(after)
    first, second = _numbers_by_id(cited_before), _numbers_by_id(cited_after)

    def rank(key: str) -> tuple[int, int]:
        return (second.get(key, 10_000), first.get(key, 10_000))

    for key in sorted({**left, **right}, key=rank):
        yield ComparedSource(
            evidence=right.get(key) or left[key],
            is_in_before=key in left,
            is_in_after=key in right,
            number_before=first.get(key),
            number_after=second.get(key),
        )


# Sentences and figures


def _answer_sentences(answer: CitedAnswer | None) -> list[str]:
    if answer is None:
        return []
    texts = (" ".join(one.text.split()) for part in group_spans(answer) for one in group_sentences(part))
    return [text for text in texts if normalise_query(text)][:MAX_SENTENCES]


def _compare_sentences(before: Sequence[str], after: Sequence[str]) -> tuple[list[SentenceChange], list[FigureChange]]:
    left, right = [normalise_query(text) for text in before], [normalise_query(text) for text in after]
    both = {*left} & {*right}
    moves: list[SentenceChange] = []
    figures: list[FigureChange] = []
    for kind, i, j, k, m in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind != "equal":
            gone = [text for text, key in zip(before[i:j], left[i:j], strict=True) if key not in both]
            moves += [SentenceChange(kind="gone", text=text) for text in gone]
        for text, key in zip(after[k:m], right[k:m], strict=True):
            moves.append(SentenceChange(kind="stayed" if key in both else "came", text=text))
    frames: dict[str, list[str]] = {}
    for move in moves:
        if move.kind == "gone":
            frames.setdefault(_split_figures(move.text)[0], []).append(move.text)
    for move in moves:
        if move.kind == "came" and (known := frames.get(_split_figures(move.text)[0])):
            figures += _compare_figures(known[0], move.text) if len(known) == 1 else ()
    return moves, figures


def _split_figures(text: str) -> tuple[str, tuple[Measure, ...]]:
    """A sentence without its figures, each of which leaves its kind, and the figures."""
    found = find_measures(text)
    parts, at = [], 0
    for one in found:
        parts += [text[at : one.start], f" {one.family or 'number'} "]
        at = max(at, one.end)
    return normalise_query("".join([*parts, text[at:]])), found


def _compare_figures(before: str, after: str) -> Iterator[FigureChange]:
    """The figures that are others in two sentences of one frame."""
    one, other = _split_figures(before)[1], _split_figures(after)[1]
    if not one or len(one) != len(other):
        return
    for was, now in zip(one, other, strict=True):
        if was.family == now.family and not (measures_agree(was, now) or measures_agree(now, was)):
            yield FigureChange(
                before=_figure_text(before, was),
                after=_figure_text(after, now),
                sentence_before=before,
                sentence_after=after,
            )


def _figure_text(text: str, measure: Measure) -> str:
    """A figure as it stands."""
    return text[measure.start : measure.end].strip()


# What was used


def _summarize_run(report: Report, answer: CitedAnswer | None) -> ComparedRun:
    run, usage = report.run, report.usage
    costs = [use.cost for use in usage if use.cost is not None]
    ended = (run.finished - run.created).total_seconds() if run.finished else None
    return ComparedRun(
        id=run.id,
        question=run.question,
        options=run.options,
        author=report.answer.author if report.answer else "",
        models=tuple(dict.fromkeys(use.model for use in usage)),
        source_count=len(_evidence_by_id(report)),
        cited_count=len(answer.sources) if answer else 0,
        search_count=len(report.findings),
        token_count=sum(use.input + use.output for use in usage),
        cost=sum(costs) if costs else None,
        seconds=max(0.0, ended) if ended is not None else None,
    )
