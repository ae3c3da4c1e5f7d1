"""A database as a source: a question becomes rows, and the rows with their statement are evidence.

The statement is one piece of evidence, and each of its rows a passage that can be cited by itself. A
row that has a point on the map is a piece of evidence of its own, so that the map, its list and the
citations mean the same thing. What a cell says is data like any other text from outside. Knows no
engine and no prompt: the desk of the database is given to it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Protocol

from research.database.agent import STEPS, Outcome
from research.database.answer import sentences, told
from research.database.points import Points
from research.evidence.registry import evidence_id
from research.language.text import language
from research.records import (
    Cite,
    Evidence,
    EvidenceKind,
    Finding,
    Known,
    Passage,
    Place,
    Readiness,
    Reason,
    Rows,
    Say,
    Span,
    Task,
    fingerprint,
)
from research.trouble import Trouble

KIND: EvidenceKind = "database"
STATEMENT = "sql"  # the way of searching whose query is a statement, not a question
CELL = 500  # characters of a cell in a passage; the table has it in full
SHOWN = 100  # rows that can be cited; the others are in the table alone
TITLE = 80  # characters of the name of a row
PROVIDER = "scenic areas"  # of the database that ships
_NAMES = ("name", "title", "名称", "景区名称")
_NAME_LIKE = ("name", "title", "名称", "名")  # how the column of a name may end in other tables
_REASONS: dict[str, Reason] = {
    "unclear": "unclear", "no model": "no model", "refused": "refused", "failed": "unavailable",
}  # fmt: skip


class Desk(Protocol):
    """What answers questions. `title` is "" for the database that ships."""

    @property
    def title(self) -> str: ...

    async def ask(self, question: str, say: Say, owner: str) -> Outcome:
        """The rows, or why there are none. Raises Trouble."""

    async def query(self, sql: str, say: Say, owner: str) -> Outcome:
        """The rows of a statement, or why it was refused. Raises Trouble."""

    async def reads(self, question: str, owner: str) -> bool:
        """Whether a question can be answered without a model. Raises Trouble."""


Choose = Callable[[str, str], Desk]
"""From the name of a database and an owner to it. Raises Trouble: there is none."""


class DatabaseRetriever:
    """Looks a question up in a database."""

    name = "database"
    turns = STEPS + 1  # a model that understands, and statements that are put right

    def __init__(
        self,
        desk: Desk,
        *,
        title: str = "",
        owner: str = "",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        choose: Choose | None = None,
        name: str = "",
    ) -> None:
        """`title` names an attached database; "" is the one that ships. `owner` is whose confirmed
        statements serve as examples. With a `name`, that one is asked instead, which is chosen when
        it is."""
        self._desk, self._title, self._owner, self._clock = desk, title, owner, clock
        self._choose, self._chosen = choose, name

    async def reads(self, question: str) -> bool:
        """Whether a question can be answered without a model. True if the database cannot be used, for
        a search will say why."""
        try:
            return await self._asked()[0].reads(question, self._owner)
        except Trouble:
            return True

    def of(self, owner: str) -> DatabaseRetriever:
        """The same for the runs of an owner."""
        return self._like(owner, self._chosen)

    def on(self, name: str) -> DatabaseRetriever:
        """The same for one of the databases by its name, "" for the usual one."""
        return self._like(self._owner, name)

    def _like(self, owner: str, name: str) -> DatabaseRetriever:
        return DatabaseRetriever(
            self._desk, title=self._title, owner=owner, clock=self._clock, choose=self._choose,
            name=name,
        )  # fmt: skip

    def _asked(self) -> tuple[Desk, str]:
        """The database that is asked, and its title.

        Raises:
            Trouble: there is none of that name.
        """
        if not self._chosen or self._choose is None:
            return self._desk, self._title
        desk = self._choose(self._chosen, self._owner)
        return desk, desk.title

    def ready(self) -> Readiness:
        if self._title:
            return Readiness(state="live", detail=self._title)
        return Readiness(state="offline", detail=PROVIDER)

    async def search(self, task: Task, say: Say) -> Finding:
        started, begun = self._clock(), time.monotonic()
        desk, title = self._asked()
        asked = desk.query if task.tool == STATEMENT else desk.ask

        def heard(kind: str, /, **data: Any) -> None:
            say(kind, **({"task": task.id} if kind == "tool" else {}), **data)

        outcome = await asked(task.query, heard, self._owner)
        rows = outcome.rows
        evidence = tuple(_evidence(outcome, rows, started, title)) if rows and rows.rows else ()
        return Finding(
            task=task,
            evidence=evidence,
            reason=_reason(outcome, found=bool(evidence)),
            hint=outcome.hint,
            message=_message(outcome),
            started=started,
            seconds=round(time.monotonic() - begun, 4),
            provider=outcome.author,
            summary=_summary(outcome, evidence),
            asked=(rows.sql,) if rows else (),
            meant=outcome.meant,
            rows=rows,
            steps=outcome.steps,
            failures=outcome.failures,
        )


def _evidence(outcome: Outcome, rows: Rows, retrieved: datetime, title: str) -> Iterator[Evidence]:
    """The statement with its rows, and those of them that lie somewhere."""
    points = Points.of(rows.names)
    spots: list[Evidence] = []
    seen: set[str] = set()
    own: list[Passage] = []
    for n, row in enumerate(rows.rows[:SHOWN], 1):
        passage = _passage(rows, row, n)
        point = points.point(row) if points else None
        if point is None:
            own.append(passage)
            continue
        cells = dict(zip(rows.names, row, strict=True))
        name = _name(cells, n)
        known = f"gid {cells['gid']}" if cells.get("gid") is not None else ""
        if title or not known or known in seen:
            # a number means one thing in our tables alone, and a join may tell a thing twice
            known = f"statement {fingerprint(rows.sql)[:8]}, row {n}"
        seen.add(known)
        locator = f"{title or PROVIDER} · {name} · {known}"
        spots.append(
            Evidence(
                id=evidence_id(KIND, "", locator),
                kind=KIND,
                title=name,
                publisher=title or PROVIDER,
                locator=locator,
                retrieved=retrieved,
                opening=passage.text[:200],
                passages=(passage,),
                place=_place(cells, name, point, fingerprint("row", locator)),
            )
        )
    more = "+" if rows.truncated else ""
    count = "; ".join([f"rows: {len(rows.rows)}{more}", *map(_known, rows.coverage)])
    first = Passage(id=fingerprint(rows.sql, count), text=count, end=len(count))
    statement = Passage(id=fingerprint(rows.sql), text=rows.sql, end=len(rows.sql), heading="SQL")
    yield Evidence(
        id=evidence_id(KIND, "", rows.sql),
        kind=KIND,
        title=outcome.meant or outcome.question,
        publisher=title or PROVIDER,
        locator=rows.sql,
        retrieved=retrieved,
        opening=outcome.question,
        passages=(first, *own, statement),
    )
    yield from spots


def _reason(outcome: Outcome, *, found: bool) -> Reason | None:
    return outcome.reason or _REASONS.get(outcome.status) or (None if found else "empty")


def _message(outcome: Outcome) -> str:
    if outcome.rows is None:
        return told(outcome)
    lacking = "; ".join(f"{name}: {n}" for name, n in outcome.missing)
    return f"NULL: {lacking}" if lacking else ""


def _known(each: Known) -> str:
    """For how many rows columns are known that the statement compares."""
    of = f"{each.known} of {each.rows} rows" if each.known is not None else "not counted"
    return f"{', '.join(map(_line, each.columns))} known: {of}{' of a subquery' * each.part}"


def _summary(outcome: Outcome, evidence: tuple[Evidence, ...]) -> tuple[Span, ...]:
    """What was found, in words that no model has written: each sentence cites the only row, else their
    number, or for how many rows something is known where it tells that."""
    if not evidence:
        return ()
    statement = evidence[0]
    single = outcome.rows is not None and len(outcome.rows.rows) == 1
    if single:
        item = evidence[1] if len(evidence) > 1 else statement
        passage = item.passages[0 if item is not statement else 1]
    else:
        item, passage = statement, statement.passages[0]
    said, known = sentences(outcome)
    parts = [(text, item, passage) for text in said]
    parts += [(text, statement, statement.passages[0]) for text in known]
    space = "" if language(outcome.question) == "zh" else " "
    return tuple(
        Span(
            kind="text",
            text=space * (n > 0) + _literal(text),
            cites=(Cite(evidence=source.id, passage=found.id, end=len(found.text)),),
        )
        for n, (text, source, found) in enumerate(parts)
    )


def _line(value: object) -> str:
    """A cell on one line and shortened: in a passage it cannot look like another row."""
    text = " ".join(str(value).split())
    return text if len(text) <= CELL else text[: CELL - 1] + "…"


def _literal(text: str) -> str:
    """Markdown that reads as the text: names in it are cells."""
    return re.sub(r"([\\`*_\[\]<>~|#!$&])", r"\\\1", text)


def _passage(rows: Rows, row: tuple[Any, ...], n: int) -> Passage:
    text = "; ".join(
        f"{_line(name)}: {_line(value)}"
        for name, value in zip(rows.names, row, strict=True)
        if value is not None and value != ""
    )
    text = text or "NULL"
    return Passage(
        id=fingerprint(rows.sql, str(n), text), text=text, end=len(text), heading=f"row {n}"
    )


def _name(cells: dict[str, Any], n: int) -> str:
    """What a row is called: by its column of names, else by its first short text."""
    texts = {key: " ".join(str(value).split()) for key, value in cells.items() if value}
    found = next((texts[key] for key in _NAMES if key in texts), "")
    found = found or next((texts[key] for key in texts if key.lower().endswith(_NAME_LIKE)), "")
    found = found or next(
        (texts[key] for key in texts if isinstance(cells[key], str) and len(texts[key]) <= TITLE),
        "",
    )
    return found[:TITLE] or f"row {n}"


def _place(cells: dict[str, Any], name: str, point: tuple[float, float], key: str) -> Place:
    def text(*names: str) -> str:
        return next((str(cells[n]) for n in names if cells.get(n) not in (None, "")), "")

    return Place(
        id=key,
        name=name,
        lng=point[0],
        lat=point[1],
        provider=KIND,
        category="sight" if "level" in cells or "gid" in cells else "other",
        type=text("level", "type"),
        address=text("address"),
        district=text("district"),
        city=text("city", "province"),
        hours=text("opening_hours"),
    )
