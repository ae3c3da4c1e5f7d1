"""The history of an owner in the store: searched, filtered and turned over by the database, and the bin.

Of each run its words are kept beside it, folded as they are searched: filled when an answer is kept,
and of runs from before by a thread at the start. `like` over them is what both kinds of databases do
fastest without an index that would have to know how to cut Chinese.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Select, and_, bindparam, delete, func, literal_column, or_, select

from research.core.records import Options, Run
from research.storage import statements as sql
from research.storage.databases import Database, Upsert, Work
from research.storage.files import StoreError, stored_time
from research.storage.history import (
    FOUND,
    HistoryEntry,
    HistoryPage,
    HistoryTurn,
    answer_text,
    cited_ids,
    first_finding,
    folded,
    found_sources,
    hits,
    kind_of,
    terms,
    tidy,
)
from research.storage.rows import read_run, readable
from research.storage.tables import (
    answer,
    conversation,
    event,
    evidence,
    run,
    said,
    search,
    tag,
)

log = logging.getLogger(__name__)

PAGE = 50  # entries that are shown at once, at most
BATCH = 20  # runs from before whose words are written at once
STATUSES = 3  # that can be asked for at once
TAGS_SHOWN = 100  # that are suggested
_SEPARATOR = "\x1f"
_ESCAPE = "!"


class Wanted(NamedTuple):
    """What is looked for: words that all have to be there, one of some statuses, a kind, runs from a
    time on and until another, a tag, pinned conversations alone."""

    words: str = ""
    statuses: Sequence[str] = ()
    kind: str = ""
    since: datetime | None = None
    until: datetime | None = None
    tag: str = ""
    pinned: bool = False


class _Shape(NamedTuple):
    """Which of them are asked for: each shape is one statement, compiled once."""

    words: int
    statuses: bool
    kind: bool
    since: bool
    until: bool
    tag: bool
    pinned: bool


_ = bindparam
_RUN = [run.c[name] for name in ("id", "conversation", "owner", "question", "options", "status",
        "created", "finished", "error", "based_on", "follows")]  # fmt: skip
_FROM = run.outerjoin(said, said.c.run == run.c.id).outerjoin(
    conversation, conversation.c.id == run.c.conversation
)
_LATEST = func.max(run.c.created)
_PINNED = func.max(func.coalesce(conversation.c.pinned, 0))


def _fitting(shape: _Shape) -> list[Any]:
    found: list[Any] = [conversation.c.binned.is_(None)]
    for n in range(shape.words):
        found.append(
            or_(
                said.c.words.like(_(f"word{n}"), escape=_ESCAPE),
                conversation.c.words.like(_(f"word{n}"), escape=_ESCAPE),
            )
        )
    if shape.statuses:
        found.append(run.c.status.in_([_(f"status{n}") for n in range(STATUSES)]))
    if shape.kind:
        found.append(said.c.kind == _("kind"))
    if shape.since:
        found.append(run.c.created >= _("since"))
    if shape.until:
        found.append(run.c.created < _("until"))
    if shape.tag:
        tagged = select(tag.c.conversation).where(tag.c.name == _("tag"))
        found.append(run.c.conversation.in_(tagged))
    if shape.pinned:
        found.append(conversation.c.pinned == 1)
    return found


@lru_cache(1024)
def _listed(shape: _Shape) -> Select[Any]:
    return (
        select(run.c.conversation, _LATEST, func.count().over())  # of the conversations that fit
        .select_from(_FROM)
        .where(run.c.owner == _("owner"), *_fitting(shape))
        .group_by(run.c.conversation)
        .order_by(_PINNED.desc(), _LATEST.desc(), run.c.conversation)
        .limit(_("most"))
        .offset(_("first"))
    )


@lru_cache(1024)
def _of_page(shape: _Shape) -> Select[Any]:
    """The runs that fit of the conversations of a page."""
    return (
        select(
            *_RUN,
            said.c.kind,
            said.c.sources,
            said.c.cost,
            said.c.answer,
            said.c.found,
            said.c.remarks,
        )
        .select_from(_FROM)
        .where(
            run.c.conversation.in_([_(f"c{n}") for n in range(PAGE)]),
            run.c.owner + literal_column("''") == _("owner"),  # by conversation, not by owner
            *_fitting(shape),
        )
        .order_by(run.c.created, run.c.id)
    )


_HEADS = select(conversation.c.id, conversation.c.title, conversation.c.pinned).where(
    conversation.c.id.in_([_(f"c{n}") for n in range(PAGE)])
)
_FIRSTS = (
    select(run.c.conversation, run.c.question)
    .where(run.c.owner == _("owner"), run.c.conversation.in_([_(f"c{n}") for n in range(PAGE)]))
    .order_by(run.c.created, run.c.id)
)
_ADD_TAG = Upsert(tag, {})
_LAST = (
    select(run.c.conversation, _LATEST)
    .where(run.c.owner == _("owner"), run.c.conversation.in_([_(f"c{n}") for n in range(PAGE)]))
    .group_by(run.c.conversation)
)
_TAGS = (
    select(tag.c.conversation, tag.c.name)
    .where(tag.c.conversation.in_([_(f"c{n}") for n in range(PAGE)]))
    .order_by(tag.c.name)
)
_IN_USE = (
    select(tag.c.name)
    .where(
        tag.c.conversation.in_(
            select(run.c.conversation).where(run.c.owner == _("owner"), sql.SHOWN)
        )
    )
    .group_by(tag.c.name)
    .order_by(func.count().desc(), tag.c.name)
    .limit(_("most"))
)
_TAGGED = select(tag.c.name).where(tag.c.conversation == _("conversation"))
_UNTAG = delete(tag).where(tag.c.conversation == _("conversation"))
_TITLE = select(conversation.c.title).where(conversation.c.id == _("conversation"))

_BINNED = (
    select(conversation.c.id, conversation.c.binned)
    .where(
        conversation.c.binned.is_not(None),
        conversation.c.id.in_(select(run.c.conversation).where(run.c.owner == _("owner"))),
    )
    .order_by(conversation.c.binned.desc(), conversation.c.id)
)
_EXPIRED = (
    select(conversation.c.id, run.c.owner)
    .distinct()
    .select_from(conversation.join(run, run.c.conversation == conversation.c.id))
    .where(conversation.c.binned < _("before"))
)
_UNTOLD = (
    select(run.c.id)
    .outerjoin(said, said.c.run == run.c.id)
    .where(said.c.run.is_(None))
    .order_by(run.c.created.desc())
    .limit(_("most"))
)
_UNWORDED = select(conversation.c.id).where(conversation.c.words == "", conversation.c.title != "")
_KEPT = select(answer.c.answer).where(answer.c.run == _("run"))
_ANSWERS = select(answer.c.run, answer.c.answer).where(
    answer.c.run.in_([_(f"r{n}") for n in range(PAGE)])
)
_FOUND = (
    select(search.c.finding)
    .where(search.c.run == _("run"), search.c.finding.is_not(None))
    .order_by(search.c.id)
)
_USED = select(event.c.data).where(event.c.run == _("run"), event.c.kind == "usage")
_RECORD = select(evidence.c.record).where(
    and_(evidence.c.conversation == _("registry"), evidence.c.id == _("id"))
)
_TELL = Upsert(said)


class Archive:
    """The history in the database of a store. Safe for several threads and processes."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._closing = threading.Event()
        self._filler: threading.Thread | None = None

    # The words of a run

    def tell(self, work: Work, run_id: str) -> None:
        """Notes what a run can be found by, as it is stored now."""
        for row in work.all(sql.RUN, run=run_id):
            try:
                kind = kind_of(Options.model_validate_json(row[4]))
            except ValueError:
                kind = "question"
            kept = next((text for (text,) in work.all(_KEPT, run=run_id)), None)
            findings = [text for (text,) in work.all(_FOUND, run=run_id)]
            sources = found_sources(findings)
            earlier = [
                text
                for key in cited_ids(kept)
                if key not in sources
                for (text,) in work.all(_RECORD, registry=row[1], id=key)
            ]
            sources |= found_sources((), earlier)
            told, found = answer_text(kept), "\n".join(sources.values())[:FOUND]
            noted = "\n".join(" ".join(one[2].split()) for one in work.all(sql.REMARKS, run=run_id))
            words = _SEPARATOR.join(map(folded, (row[3], told, found, noted)))
            work.do(
                _TELL,
                run=run_id, kind=kind, sources=len(sources), cost=self._cost(work, run_id),
                words=_storable(words), answer=_storable(told), found=_storable(found),
                remarks=_storable(noted),
            )  # fmt: skip

    def _cost(self, work: Work, run_id: str) -> float | None:
        known = [cost for (data,) in work.all(_USED, run=run_id) if (cost := _cost(data))]
        return sum(known) if known else None

    def fill(self) -> None:
        """Begins to read the runs from before, in the background, if there are any."""
        if self.database.read(_UNTOLD, most=1) or self.database.read(_UNWORDED):
            self._filler = threading.Thread(target=self._fill, name="sightline-words", daemon=True)
            self._filler.start()

    @property
    def partial(self) -> bool:
        """Whether runs from before are being read."""
        return self._filler is not None and self._filler.is_alive()

    def _fill(self) -> None:
        try:
            for (key,) in self.database.read(_UNWORDED):
                with self.database.write() as work:
                    self._word(work, str(key))
            while not self._closing.is_set():
                rows = self.database.read(_UNTOLD, most=BATCH)
                if not rows:
                    return
                with self.database.write() as work:
                    for (run_id,) in rows:
                        self.tell(work, str(run_id))
                self._closing.wait(0.01)  # others may write in between
        except StoreError as trouble:
            log.warning("the words of earlier runs are read at the next start: %s", trouble)

    def close(self) -> None:
        """Waits until nothing is read any more."""
        self._closing.set()
        if self._filler:
            self._filler.join()

    # The list

    def page(self, owner: str, wanted: Wanted, limit: int, offset: int) -> HistoryPage:
        """Some of an owner's conversations: those that are pinned first, then the latest."""
        words = terms(wanted.words)
        shape = _Shape(
            len(words), bool(wanted.statuses), bool(wanted.kind), wanted.since is not None,
            wanted.until is not None, bool(wanted.tag), wanted.pinned,
        )  # fmt: skip
        values = self._values(owner, wanted, words)
        limit, offset = max(1, min(limit, PAGE)), max(0, offset)
        rows = self.database.read(_listed(shape), **values, most=limit, first=offset)
        if not rows and offset:  # behind the last
            first = self.database.read(_listed(shape), **values, most=1, first=0)
            return HistoryPage(total=first[0][2] if first else 0, partial=self.partial)
        total = int(rows[0][2]) if rows else 0
        ids = [str(row[0]) for row in rows]
        page = {f"c{n}": ids[n] if n < len(ids) else "" for n in range(PAGE)}
        turns: dict[str, list[HistoryTurn]] = {}
        if ids:
            found = self.database.read(_of_page(shape), **values, **page)
            for turn in readable(lambda row: _turn(row, words), found):
                turns.setdefault(turn.run.conversation, []).append(turn)
        if turns and not words:
            latest = {found[-1].run.id: found for found in turns.values()}
            told = {f"r{n}": key for n, key in enumerate([*latest, *[""] * (PAGE - len(latest))])}
            for key, record in self.database.read(_ANSWERS, **told):
                update = {"finding": first_finding(record)}
                latest[key][-1] = latest[key][-1].model_copy(update=update)
        heads = self._heads(owner, ids)
        entries = [
            heads[key].model_copy(update={"found": tuple(turns.get(key, ()))})
            for key in ids
            if key in heads
        ]
        return HistoryPage(entries=tuple(entries), total=total, partial=self.partial)

    def _values(self, owner: str, wanted: Wanted, words: Sequence[str]) -> dict[str, object]:
        statuses = [*wanted.statuses][:STATUSES]
        values: dict[str, object] = {"owner": owner}
        values |= {f"word{n}": _pattern(word) for n, word in enumerate(words)}
        if statuses:
            padded = statuses + [statuses[0]] * (STATUSES - len(statuses))
            values |= {f"status{n}": status for n, status in enumerate(padded)}
        if wanted.kind:
            values["kind"] = wanted.kind
        if wanted.since:
            values["since"] = wanted.since.astimezone(UTC).isoformat()
        if wanted.until:
            values["until"] = wanted.until.astimezone(UTC).isoformat()
        if wanted.tag:
            values["tag"] = wanted.tag
        return values

    def _heads(self, owner: str, ids: Sequence[str]) -> dict[str, HistoryEntry]:
        """Conversations without their runs."""
        page = {f"c{n}": ids[n] if n < len(ids) else "" for n in range(PAGE)}
        if not ids:
            return {}
        named = {key: (title, pinned) for key, title, pinned in self.database.read(_HEADS, **page)}
        tags: dict[str, list[str]] = {}
        for key, name in self.database.read(_TAGS, **page):
            tags.setdefault(key, []).append(name)
        questions: dict[str, list[str]] = {}
        for key, question in self.database.read(_FIRSTS, owner=owner, **page):
            questions.setdefault(key, []).append(question)
        latest = dict(self.database.read(_LAST, owner=owner, **page))
        return {
            key: HistoryEntry(
                id=key,
                title=named.get(key, ("", 0))[0] or asked[0],
                pinned=bool(named.get(key, ("", 0))[1]),
                tags=tuple(tags.get(key, ())),
                turns=len(asked),
                updated=stored_time(datetime, latest.get(key)),
            )
            for key, asked in questions.items()
        }

    # Titles and tags

    def word(self, conversation: str) -> None:
        """Notes what a conversation can be found by: its title and its tags."""
        with self.database.write() as work:
            self._word(work, conversation)

    def _word(self, work: Work, key: str) -> None:
        title = next((str(row[0]) for row in work.all(_TITLE, conversation=key)), "")
        tags = [str(row[0]) for row in work.all(_TAGGED, conversation=key)]
        words = folded(_SEPARATOR.join([title, *tags])) or " "
        work.do(sql.LABEL["words"], id_=key, value=words)

    def tag(self, owner: str, conversation: str, tags: Sequence[str]) -> tuple[str, ...]:
        """Gives a conversation these tags and no others; returns them as they are kept."""
        kept = tidy(tags, self.tags(owner))
        with self.database.write() as work:
            work.do(sql.ADD_CONVERSATION, **sql.NEW_CONVERSATION, id=conversation)
            work.do(_UNTAG, conversation=conversation)
            for name in kept:
                work.do(_ADD_TAG, conversation=conversation, name=name)
            self._word(work, conversation)
        return kept

    def tags(self, owner: str) -> list[str]:
        """The tags that an owner uses, the most used first."""
        return [str(row[0]) for row in self.database.read(_IN_USE, owner=owner, most=TAGS_SHOWN)]

    # The bin

    def discard(self, conversation: str, now: datetime) -> None:
        """Puts a conversation into the bin."""
        with self.database.write() as work:
            work.do(sql.ADD_CONVERSATION, **sql.NEW_CONVERSATION, id=conversation)
            work.do(sql.LABEL["binned"], id_=conversation, value=now.astimezone(UTC).isoformat())

    def restore(self, conversation: str) -> None:
        """Takes a conversation out of the bin."""
        with self.database.write() as work:
            work.do(sql.LABEL["binned"], id_=conversation, value=None)

    def binned(self, owner: str) -> list[HistoryEntry]:
        """What lies in an owner's bin, what was put there last first."""
        rows = self.database.read(_BINNED, owner=owner)
        out = []
        for start in range(0, len(rows), PAGE):
            part = rows[start : start + PAGE]
            heads = self._heads(owner, [str(row[0]) for row in part])
            out += [
                heads[key].model_copy(update={"binned": stored_time(datetime, at)})
                for key, at in part
                if key in heads
            ]
        return out

    def expired(self, before: datetime) -> list[tuple[str, str]]:
        """What was put into the bin before a time, with whose it is."""
        rows = self.database.read(_EXPIRED, before=before.astimezone(UTC).isoformat())
        return [(str(key), str(owner)) for key, owner in rows]


def _turn(row: Sequence[Any], words: Sequence[str]) -> HistoryTurn:
    found: Run = read_run(row[:11])
    kind, sources, cost, told, lines, noted = row[11:]
    return HistoryTurn(
        run=found,
        kind=kind or kind_of(found.options),
        sources=sources or 0,
        cost=cost,
        hits=hits(
            words, found.question, told or "", (lines or "").split("\n"), (noted or "").split("\n")
        )
        if words
        else (),
    )


def _pattern(word: str) -> str:
    """What `like` finds a word by: every sign of it means itself."""
    for sign in (_ESCAPE, "%", "_"):
        word = word.replace(sign, _ESCAPE + sign)
    return f"%{word}%"


def _cost(data: str) -> float:
    """The cost that an event of usage tells, 0 if none."""
    try:
        cost = json.loads(data).get("cost")
    except (ValueError, AttributeError):
        return 0.0
    return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else 0.0


def _storable(text: str) -> str:
    """Text without halves of surrogate pairs, which no database takes."""
    return text.encode("utf-8", "replace").decode()
