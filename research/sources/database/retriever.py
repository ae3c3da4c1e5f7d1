"""The database as a source: a question is answered with rows, and the rows become evidence.

The statement is one piece of evidence, and each of its rows a passage that can be cited by itself.
A row with a point on the map is a piece of evidence of its own, so that the map, its list and the
citations agree. The text of a cell is data, like any other text from outside. This module depends
on no engine and no prompt: the database service is passed in.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from copy import copy
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from research.citations.registry import evidence_id
from research.core.errors import ServiceError
from research.core.events import EventEmitter
from research.core.reading_notes import describe_reading_note
from research.core.records import (
    ColumnCoverage,
    Evidence,
    EvidenceKind,
    FailureReason,
    Finding,
    Passage,
    PassageReference,
    Place,
    QueryResult,
    Readiness,
    Span,
    Task,
    fingerprint,
)
from research.core.text.tokenizer import detect_language
from research.sources.database.agent import MAX_STATEMENTS, Outcome
from research.sources.database.outcome_text import describe_outcome, outcome_sentences, shorten
from research.sources.database.point_columns import PointColumns

if TYPE_CHECKING:
    from research.sources.database.service import DatabaseService

EVIDENCE_KIND: EvidenceKind = "database"
SQL_TOOL = "sql"  # the tool whose query is a statement, not a question
MAX_CELL_CHARS = 500  # characters of a cell in a passage; the table has it in full
MAX_CITED_ROWS = 100  # rows that can be cited; the others are only in the table
MAX_NAME_CHARS = 80  # characters of the name of a row
SHIPPED_PROVIDER = "scenic areas"  # provider name of the shipped database
_NAME_COLUMNS = ("name", "title", "名称", "景区名称")
_NAME_SUFFIXES = ("name", "title", "名称", "名")  # endings of the names of name columns in other tables
_STATUS_REASONS: dict[str, FailureReason] = {
    "unclear": "unclear",
    "no model": "no model",
    "refused": "refused",
    "failed": "unavailable",
}


ChooseDatabase = Callable[[str, str], "DatabaseService"]
"""Returns a database by its name and an owner. Raises ServiceError if there is none."""


class DatabaseRetriever:
    """Retriever that answers questions from a database."""

    name = "database"
    max_sequential_calls = MAX_STATEMENTS + 1  # analysis of the question, then statements with corrections

    def __init__(
        self,
        database: DatabaseService,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        choose_database: ChooseDatabase | None = None,
    ) -> None:
        """Store the usual database.

        Args:
            database: the usual database.
            clock: current time.
            choose_database: returns a database by name and owner.
        """
        self._database, self._clock, self._choose_database = database, clock, choose_database
        self._owner = ""  # owner whose confirmed statements are used
        self._database_name = ""  # name of the database to use instead of the usual one, looked up on each use

    async def can_answer(self, question: str) -> bool:
        """Return whether a question can be answered without a model.

        True if the database cannot be used, because a search will report why.
        """
        try:
            return await self._select_database().can_answer(question, self._owner)
        except ServiceError:
            return True

    def for_owner(self, owner: str) -> DatabaseRetriever:
        """Return the same retriever for the runs of an owner."""
        other = copy(self)
        other._owner = owner
        return other

    def select(self, name: str) -> DatabaseRetriever:
        """Return the same retriever for a database by its name, "" for the usual one."""
        other = copy(self)
        other._database_name = name
        return other

    def _select_database(self) -> DatabaseService:
        """Return the database to use.

        Raises:
            ServiceError: there is none of that name.
        """
        if not self._database_name or self._choose_database is None:
            return self._database
        return self._choose_database(self._database_name, self._owner)

    def readiness(self) -> Readiness:
        """Return the state of the source: live for an attached database, offline for the shipped
        one."""
        if self._database.title:
            return Readiness(state="live", detail=self._database.title)
        return Readiness(state="offline", detail=SHIPPED_PROVIDER)

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        """Answer the query of a task, which is a question or, for the SQL tool, a statement. Raises
        ServiceError."""
        started, begun = self._clock(), time.monotonic()
        database = self._select_database()
        answer = database.run_statement if task.tool == SQL_TOOL else database.ask
        outcome = await answer(task.query, emit, self._owner)
        rows = outcome.rows
        evidence = tuple(_build_evidence(outcome, rows, started, database.title)) if rows and rows.rows else ()
        return Finding(
            task=task,
            evidence=evidence,
            reason=_failure_reason(outcome, has_evidence=bool(evidence)),
            hint=outcome.hint,
            message=_outcome_message(outcome),
            started=started,
            seconds=round(time.monotonic() - begun, 4),
            provider=outcome.author,
            summary=_build_summary(outcome, evidence),
            provider_queries=(rows.sql,) if rows else (),
            interpreted_question=outcome.restatement,
            rows=rows,
            steps=outcome.steps,
            failures=outcome.failures,
        )


def _build_evidence(outcome: Outcome, rows: QueryResult, retrieved: datetime, title: str) -> Iterator[Evidence]:
    """Yield the statement with its rows as evidence, then each row with a point as evidence of its
    own."""
    points = PointColumns.from_names(rows.names)
    row_evidence: list[Evidence] = []
    seen: set[str] = set()
    row_passages: list[Passage] = []
    for n, row in enumerate(rows.rows[:MAX_CITED_ROWS], 1):
        passage = _row_passage(rows, row, n)
        point = points.read_point(row) if points else None
        if point is None:
            row_passages.append(passage)
            continue
        cells = dict(zip(rows.names, row, strict=True))
        name = _row_name(cells, n)
        row_id = f"gid {cells['gid']}" if cells.get("gid") is not None else ""
        if title or not row_id or row_id in seen:
            # A gid identifies an area only in the shipped tables, and a join may repeat one.
            row_id = f"statement {fingerprint(rows.sql)[:8]}, row {n}"
        seen.add(row_id)
        locator = f"{title or SHIPPED_PROVIDER} · {name} · {row_id}"
        row_evidence.append(
            Evidence(
                id=evidence_id(EVIDENCE_KIND, "", locator),
                kind=EVIDENCE_KIND,
                title=name,
                publisher=title or SHIPPED_PROVIDER,
                locator=locator,
                retrieved=retrieved,
                opening=passage.text[:200],
                passages=(passage,),
                place=_row_place(cells, name, point, fingerprint("row", locator)),
            )
        )
    plus = "+" if rows.truncated else ""
    notes = [describe_reading_note(note, "en").rstrip(".") for note in rows.reading_notes]
    count = "; ".join([f"rows: {len(rows.rows)}{plus}", *map(_coverage_text, rows.coverage), *notes])
    first = Passage(id=fingerprint(rows.sql, count), text=count, end=len(count))
    statement = Passage(id=fingerprint(rows.sql), text=rows.sql, end=len(rows.sql), heading="SQL")
    yield Evidence(
        id=evidence_id(EVIDENCE_KIND, "", rows.sql),
        kind=EVIDENCE_KIND,
        title=outcome.restatement or outcome.question,
        publisher=title or SHIPPED_PROVIDER,
        locator=rows.sql,
        retrieved=retrieved,
        opening=outcome.question,
        passages=(first, *row_passages, statement),
    )
    yield from row_evidence


def _failure_reason(outcome: Outcome, *, has_evidence: bool) -> FailureReason | None:
    return outcome.reason or _STATUS_REASONS.get(outcome.status) or (None if has_evidence else "empty")


def _outcome_message(outcome: Outcome) -> str:
    """Return the reason why there are no rows, or else the numbers of NULLs by column."""
    if outcome.rows is None:
        return describe_outcome(outcome)
    nulls = "; ".join(f"{name}: {n}" for name, n in outcome.null_counts)
    return f"NULL: {nulls}" if nulls else ""


def _coverage_text(coverage: ColumnCoverage) -> str:
    """Describe for how many rows the compared columns are known."""
    count = f"{coverage.known} of {coverage.rows} rows" if coverage.known is not None else "not counted"
    return f"{', '.join(map(_shorten_cell, coverage.columns))} known: {count}{' of a subquery' * coverage.subquery}"


def _build_summary(outcome: Outcome, evidence: tuple[Evidence, ...]) -> tuple[Span, ...]:
    """Summarise the outcome in sentences that no model has written.

    Each sentence cites the only row, or else the passage with the number of rows; a sentence about
    coverage always cites that passage.
    """
    if not evidence:
        return ()
    statement = evidence[0]
    single = outcome.rows is not None and len(outcome.rows.rows) == 1
    if single:
        evidence_item = evidence[1] if len(evidence) > 1 else statement
        passage = evidence_item.passages[0 if evidence_item is not statement else 1]
    else:
        evidence_item, passage = statement, statement.passages[0]
    sentences, coverage_sentences = outcome_sentences(outcome)
    parts = [(text, evidence_item, passage) for text in sentences]
    parts += [(text, statement, statement.passages[0]) for text in coverage_sentences]
    space = "" if detect_language(outcome.question) == "zh" else " "
    return tuple(
        Span(
            kind="text",
            text=space * (n > 0) + _escape_markdown(text),
            references=(PassageReference(evidence=source.id, passage=cited.id, end=len(cited.text)),),
        )
        for n, (text, source, cited) in enumerate(parts)
    )


def _shorten_cell(value: object) -> str:
    """Shorten a cell, which on one line cannot look like another row of a passage."""
    return shorten(value, MAX_CELL_CHARS)


def _escape_markdown(text: str) -> str:
    """Escape the Markdown syntax in a text that contains cells."""
    return re.sub(r"([\\`*_\[\]<>~|#!$&])", r"\\\1", text)


def _row_passage(rows: QueryResult, row: tuple[Any, ...], number: int) -> Passage:
    """Write a row as a passage, `name: cell; name: cell`, without NULLs. `number` counts from 1."""
    text = "; ".join(
        f"{_shorten_cell(name)}: {_shorten_cell(value)}"
        for name, value in zip(rows.names, row, strict=True)
        if value is not None and value != ""
    )
    text = text or "NULL"
    return Passage(id=fingerprint(rows.sql, str(number), text), text=text, end=len(text), heading=f"row {number}")


def _row_name(cells: dict[str, Any], number: int) -> str:
    """Return the name of a row: its name column, or else its first short text."""
    texts = {key: " ".join(str(value).split()) for key, value in cells.items() if value}
    name = next((texts[key] for key in _NAME_COLUMNS if key in texts), "")
    name = name or next((texts[key] for key in texts if key.lower().endswith(_NAME_SUFFIXES)), "")
    name = name or next(
        (texts[key] for key in texts if isinstance(cells[key], str) and len(texts[key]) <= MAX_NAME_CHARS),
        "",
    )
    return name[:MAX_NAME_CHARS] or f"row {number}"


def _row_place(cells: dict[str, Any], name: str, point: tuple[float, float], place_id: str) -> Place:
    """Describe a row as a place on the map. `point` is longitude and latitude in WGS-84 degrees."""

    def text(*names: str) -> str:
        return next((str(cells[n]) for n in names if cells.get(n) not in (None, "")), "")

    return Place(
        id=place_id,
        name=name,
        lng=point[0],
        lat=point[1],
        provider=EVIDENCE_KIND,
        category="sight" if "level" in cells or "gid" in cells else "other",
        type=text("level", "type"),
        address=text("address"),
        district=text("district"),
        city=text("city", "province"),
        hours=text("opening_hours"),
    )
