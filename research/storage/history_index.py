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

from research.core.records import Run, RunOptions
from research.storage import statements as sql
from research.storage.databases import StoreDatabase, Transaction, Upsert
from research.storage.history import (
    MAX_SOURCES_CHARS,
    HistoryEntry,
    HistoryPage,
    HistoryTurn,
    answer_text,
    cited_ids,
    find_hits,
    first_finding,
    fold_text,
    normalize_tags,
    run_kind,
    source_lines,
    split_search_words,
)
from research.storage.rows import parse_rows, parse_run
from research.storage.sqlite_files import StoreError, parse_stored_time
from research.storage.tables import (
    answer,
    conversation,
    event,
    evidence,
    run,
    run_text,
    search,
    tag,
)

log = logging.getLogger(__name__)

MAX_PAGE_ENTRIES = 50  # entries that are shown at once, at most
INDEX_BATCH_RUNS = 20  # runs from before whose words are written at once
MAX_STATUSES = 3  # that can be asked for at once
MAX_SUGGESTED_TAGS = 100  # that are suggested
_SEPARATOR = "\x1f"
_ESCAPE = "!"


class HistoryQuery(NamedTuple):
    """What is looked for: words that all have to be there, one of some statuses, a kind, runs from a
    time on and until another, a tag, pinned conversations alone."""

    words: str = ""
    statuses: Sequence[str] = ()
    kind: str = ""
    since: datetime | None = None
    until: datetime | None = None
    tag: str = ""
    pinned: bool = False


class _QueryShape(NamedTuple):
    """Which of them are asked for: each shape is one statement, compiled once."""

    words: int
    statuses: bool
    kind: bool
    since: bool
    until: bool
    tag: bool
    pinned: bool


_param = bindparam
_RUN_COLUMNS = [run.c[name] for name in ("id", "conversation", "owner", "question", "options", "status",
        "created", "finished", "error", "based_on", "follows")]  # fmt: skip
_RUNS_WITH_TEXT = run.outerjoin(run_text, run_text.c.run == run.c.id).outerjoin(
    conversation, conversation.c.id == run.c.conversation
)
_LATEST = func.max(run.c.created)
_PINNED = func.max(func.coalesce(conversation.c.pinned, 0))


def _conditions(shape: _QueryShape) -> list[Any]:
    found: list[Any] = [conversation.c.binned.is_(None)]
    for n in range(shape.words):
        found.append(
            or_(
                run_text.c.words.like(_param(f"word{n}"), escape=_ESCAPE),
                conversation.c.words.like(_param(f"word{n}"), escape=_ESCAPE),
            )
        )
    if shape.statuses:
        found.append(run.c.status.in_([_param(f"status{n}") for n in range(MAX_STATUSES)]))
    if shape.kind:
        found.append(run_text.c.kind == _param("kind"))
    if shape.since:
        found.append(run.c.created >= _param("since"))
    if shape.until:
        found.append(run.c.created < _param("until"))
    if shape.tag:
        tagged = select(tag.c.conversation).where(tag.c.name == _param("tag"))
        found.append(run.c.conversation.in_(tagged))
    if shape.pinned:
        found.append(conversation.c.pinned == 1)
    return found


@lru_cache(1024)
def _list_conversations(shape: _QueryShape) -> Select[Any]:
    return (
        select(run.c.conversation, _LATEST, func.count().over())  # of the conversations that fit
        .select_from(_RUNS_WITH_TEXT)
        .where(run.c.owner == _param("owner"), *_conditions(shape))
        .group_by(run.c.conversation)
        .order_by(_PINNED.desc(), _LATEST.desc(), run.c.conversation)
        .limit(_param("most"))
        .offset(_param("first"))
    )


@lru_cache(1024)
def _list_page_runs(shape: _QueryShape) -> Select[Any]:
    """The runs that fit of the conversations of a page."""
    return (
        select(
            *_RUN_COLUMNS,
            run_text.c.kind,
            run_text.c.sources,
            run_text.c.cost,
            run_text.c.answer,
            run_text.c.found,
            run_text.c.remarks,
        )
        .select_from(_RUNS_WITH_TEXT)
        .where(
            run.c.conversation.in_([_param(f"c{n}") for n in range(MAX_PAGE_ENTRIES)]),
            run.c.owner + literal_column("''") == _param("owner"),  # by conversation, not by owner
            *_conditions(shape),
        )
        .order_by(run.c.created, run.c.id)
    )


_LIST_TITLES = select(conversation.c.id, conversation.c.title, conversation.c.pinned).where(
    conversation.c.id.in_([_param(f"c{n}") for n in range(MAX_PAGE_ENTRIES)])
)
_LIST_QUESTIONS = (
    select(run.c.conversation, run.c.question)
    .where(run.c.owner == _param("owner"), run.c.conversation.in_([_param(f"c{n}") for n in range(MAX_PAGE_ENTRIES)]))
    .order_by(run.c.created, run.c.id)
)
_ADD_TAG = Upsert(tag, {})
_LIST_LATEST_TIMES = (
    select(run.c.conversation, _LATEST)
    .where(run.c.owner == _param("owner"), run.c.conversation.in_([_param(f"c{n}") for n in range(MAX_PAGE_ENTRIES)]))
    .group_by(run.c.conversation)
)
_LIST_TAGS = (
    select(tag.c.conversation, tag.c.name)
    .where(tag.c.conversation.in_([_param(f"c{n}") for n in range(MAX_PAGE_ENTRIES)]))
    .order_by(tag.c.name)
)
_LIST_USED_TAGS = (
    select(tag.c.name)
    .where(tag.c.conversation.in_(select(run.c.conversation).where(run.c.owner == _param("owner"), sql.NOT_IN_BIN)))
    .group_by(tag.c.name)
    .order_by(func.count().desc(), tag.c.name)
    .limit(_param("most"))
)
_LIST_CONVERSATION_TAGS = select(tag.c.name).where(tag.c.conversation == _param("conversation"))
_DELETE_TAGS = delete(tag).where(tag.c.conversation == _param("conversation"))
_SELECT_TITLE = select(conversation.c.title).where(conversation.c.id == _param("conversation"))

_LIST_BINNED = (
    select(conversation.c.id, conversation.c.binned)
    .where(
        conversation.c.binned.is_not(None),
        conversation.c.id.in_(select(run.c.conversation).where(run.c.owner == _param("owner"))),
    )
    .order_by(conversation.c.binned.desc(), conversation.c.id)
)
_LIST_EXPIRED = (
    select(conversation.c.id, run.c.owner)
    .distinct()
    .select_from(conversation.join(run, run.c.conversation == conversation.c.id))
    .where(conversation.c.binned < _param("before"))
)
_LIST_UNINDEXED_RUNS = (
    select(run.c.id)
    .outerjoin(run_text, run_text.c.run == run.c.id)
    .where(run_text.c.run.is_(None))
    .order_by(run.c.created.desc())
    .limit(_param("most"))
)
_LIST_UNINDEXED_CONVERSATIONS = select(conversation.c.id).where(conversation.c.words == "", conversation.c.title != "")
_SELECT_ANSWER = select(answer.c.answer).where(answer.c.run == _param("run"))
_LIST_ANSWERS = select(answer.c.run, answer.c.answer).where(
    answer.c.run.in_([_param(f"r{n}") for n in range(MAX_PAGE_ENTRIES)])
)
_LIST_FINDINGS = (
    select(search.c.finding).where(search.c.run == _param("run"), search.c.finding.is_not(None)).order_by(search.c.id)
)
_LIST_USAGE = select(event.c.data).where(event.c.run == _param("run"), event.c.kind == "usage")
_SELECT_EVIDENCE = select(evidence.c.record).where(
    and_(evidence.c.conversation == _param("registry"), evidence.c.id == _param("id"))
)
_SAVE_RUN_TEXT = Upsert(run_text)


class HistoryIndex:
    """The history in the database of a store. Safe for several threads and processes."""

    def __init__(self, database: StoreDatabase) -> None:
        self.database = database
        self._stop_event = threading.Event()
        self._indexer: threading.Thread | None = None

    # The words of a run

    def index_run(self, transaction: Transaction, run_id: str) -> None:
        """Notes what a run can be found by, as it is stored now."""
        for row in transaction.fetch_all(sql.SELECT_RUN, run=run_id):
            try:
                kind = run_kind(RunOptions.model_validate_json(row[4]))
            except ValueError:
                kind = "question"
            kept = next((text for (text,) in transaction.fetch_all(_SELECT_ANSWER, run=run_id)), None)
            findings = [text for (text,) in transaction.fetch_all(_LIST_FINDINGS, run=run_id)]
            sources = source_lines(findings)
            earlier = [
                text
                for key in cited_ids(kept)
                if key not in sources
                for (text,) in transaction.fetch_all(_SELECT_EVIDENCE, registry=row[1], id=key)
            ]
            sources |= source_lines((), earlier)
            told, found = answer_text(kept), "\n".join(sources.values())[:MAX_SOURCES_CHARS]
            noted = "\n".join(" ".join(one[2].split()) for one in transaction.fetch_all(sql.LIST_REMARKS, run=run_id))
            words = _SEPARATOR.join(map(fold_text, (row[3], told, found, noted)))
            transaction.execute(
                _SAVE_RUN_TEXT,
                run=run_id, kind=kind, sources=len(sources), cost=self._run_cost(transaction, run_id),
                words=_replace_surrogates(words), answer=_replace_surrogates(told), found=_replace_surrogates(found),
                remarks=_replace_surrogates(noted),
            )  # fmt: skip

    def _run_cost(self, transaction: Transaction, run_id: str) -> float | None:
        known = [cost for (data,) in transaction.fetch_all(_LIST_USAGE, run=run_id) if (cost := _event_cost(data))]
        return sum(known) if known else None

    def start_indexing(self) -> None:
        """Begins to read the runs from before, in the background, if there are any."""
        if self.database.read(_LIST_UNINDEXED_RUNS, most=1) or self.database.read(_LIST_UNINDEXED_CONVERSATIONS):
            self._indexer = threading.Thread(target=self._index_earlier_runs, name="sightline-words", daemon=True)
            self._indexer.start()

    @property
    def is_indexing(self) -> bool:
        """Whether runs from before are being read."""
        return self._indexer is not None and self._indexer.is_alive()

    def _index_earlier_runs(self) -> None:
        try:
            for (key,) in self.database.read(_LIST_UNINDEXED_CONVERSATIONS):
                with self.database.transaction() as work:
                    self._index_conversation(work, str(key))
            while not self._stop_event.is_set():
                rows = self.database.read(_LIST_UNINDEXED_RUNS, most=INDEX_BATCH_RUNS)
                if not rows:
                    return
                with self.database.transaction() as work:
                    for (run_id,) in rows:
                        self.index_run(work, str(run_id))
                self._stop_event.wait(0.01)  # others may write in between
        except StoreError as trouble:
            log.warning("the words of earlier runs are read at the next start: %s", trouble)

    def close(self) -> None:
        """Waits until nothing is read any more."""
        self._stop_event.set()
        if self._indexer:
            self._indexer.join()

    # The list

    def page(self, owner: str, query: HistoryQuery, limit: int, offset: int) -> HistoryPage:
        """Some of an owner's conversations: those that are pinned first, then the latest."""
        words = split_search_words(query.words)
        shape = _QueryShape(
            len(words), bool(query.statuses), bool(query.kind), query.since is not None,
            query.until is not None, bool(query.tag), query.pinned,
        )  # fmt: skip
        values = self._values(owner, query, words)
        limit, offset = max(1, min(limit, MAX_PAGE_ENTRIES)), max(0, offset)
        rows = self.database.read(_list_conversations(shape), **values, most=limit, first=offset)
        if not rows and offset:  # behind the last
            first = self.database.read(_list_conversations(shape), **values, most=1, first=0)
            return HistoryPage(total=first[0][2] if first else 0, is_partial=self.is_indexing)
        total = int(rows[0][2]) if rows else 0
        ids = [str(row[0]) for row in rows]
        page = {f"c{n}": ids[n] if n < len(ids) else "" for n in range(MAX_PAGE_ENTRIES)}
        turns: dict[str, list[HistoryTurn]] = {}
        if ids:
            found = self.database.read(_list_page_runs(shape), **values, **page)
            for turn in parse_rows(lambda row: _parse_turn(row, words), found):
                turns.setdefault(turn.run.conversation, []).append(turn)
        if turns and not words:
            latest = {found[-1].run.id: found for found in turns.values()}
            told = {f"r{n}": key for n, key in enumerate([*latest, *[""] * (MAX_PAGE_ENTRIES - len(latest))])}
            for key, record in self.database.read(_LIST_ANSWERS, **told):
                update = {"excerpt": first_finding(record)}
                latest[key][-1] = latest[key][-1].model_copy(update=update)
        heads = self._entries(owner, ids)
        entries = [
            heads[key].model_copy(update={"matching_turns": tuple(turns.get(key, ()))}) for key in ids if key in heads
        ]
        return HistoryPage(entries=tuple(entries), total=total, is_partial=self.is_indexing)

    def _values(self, owner: str, query: HistoryQuery, words: Sequence[str]) -> dict[str, object]:
        statuses = [*query.statuses][:MAX_STATUSES]
        values: dict[str, object] = {"owner": owner}
        values |= {f"word{n}": _like_pattern(word) for n, word in enumerate(words)}
        if statuses:
            padded = statuses + [statuses[0]] * (MAX_STATUSES - len(statuses))
            values |= {f"status{n}": status for n, status in enumerate(padded)}
        if query.kind:
            values["kind"] = query.kind
        if query.since:
            values["since"] = query.since.astimezone(UTC).isoformat()
        if query.until:
            values["until"] = query.until.astimezone(UTC).isoformat()
        if query.tag:
            values["tag"] = query.tag
        return values

    def _entries(self, owner: str, ids: Sequence[str]) -> dict[str, HistoryEntry]:
        """Conversations without their runs."""
        page = {f"c{n}": ids[n] if n < len(ids) else "" for n in range(MAX_PAGE_ENTRIES)}
        if not ids:
            return {}
        named = {key: (title, pinned) for key, title, pinned in self.database.read(_LIST_TITLES, **page)}
        tags: dict[str, list[str]] = {}
        for key, name in self.database.read(_LIST_TAGS, **page):
            tags.setdefault(key, []).append(name)
        questions: dict[str, list[str]] = {}
        for key, question in self.database.read(_LIST_QUESTIONS, owner=owner, **page):
            questions.setdefault(key, []).append(question)
        latest = dict(self.database.read(_LIST_LATEST_TIMES, owner=owner, **page))
        return {
            key: HistoryEntry(
                id=key,
                title=named.get(key, ("", 0))[0] or asked[0],
                pinned=bool(named.get(key, ("", 0))[1]),
                tags=tuple(tags.get(key, ())),
                turn_count=len(asked),
                updated=parse_stored_time(datetime, latest.get(key)),
            )
            for key, asked in questions.items()
        }

    # Titles and tags

    def index_conversation(self, conversation: str) -> None:
        """Notes what a conversation can be found by: its title and its tags."""
        with self.database.transaction() as work:
            self._index_conversation(work, conversation)

    def _index_conversation(self, transaction: Transaction, key: str) -> None:
        title = next((str(row[0]) for row in transaction.fetch_all(_SELECT_TITLE, conversation=key)), "")
        tags = [str(row[0]) for row in transaction.fetch_all(_LIST_CONVERSATION_TAGS, conversation=key)]
        words = fold_text(_SEPARATOR.join([title, *tags])) or " "
        transaction.execute(sql.UPDATE_CONVERSATION["words"], id_=key, value=words)

    def set_tags(self, owner: str, conversation: str, tags: Sequence[str]) -> tuple[str, ...]:
        """Gives a conversation these tags and no others; returns them as they are kept."""
        kept = normalize_tags(tags, self.tags(owner))
        with self.database.transaction() as work:
            work.execute(sql.ADD_CONVERSATION, **sql.NEW_CONVERSATION_VALUES, id=conversation)
            work.execute(_DELETE_TAGS, conversation=conversation)
            for name in kept:
                work.execute(_ADD_TAG, conversation=conversation, name=name)
            self._index_conversation(work, conversation)
        return kept

    def tags(self, owner: str) -> list[str]:
        """The tags that an owner uses, the most used first."""
        return [str(row[0]) for row in self.database.read(_LIST_USED_TAGS, owner=owner, most=MAX_SUGGESTED_TAGS)]

    # The bin

    def move_to_bin(self, conversation: str, now: datetime) -> None:
        """Puts a conversation into the bin."""
        with self.database.transaction() as work:
            work.execute(sql.ADD_CONVERSATION, **sql.NEW_CONVERSATION_VALUES, id=conversation)
            work.execute(sql.UPDATE_CONVERSATION["binned"], id_=conversation, value=now.astimezone(UTC).isoformat())

    def restore_from_bin(self, conversation: str) -> None:
        """Takes a conversation out of the bin."""
        with self.database.transaction() as work:
            work.execute(sql.UPDATE_CONVERSATION["binned"], id_=conversation, value=None)

    def bin_entries(self, owner: str) -> list[HistoryEntry]:
        """What lies in an owner's bin, what was put there last first."""
        rows = self.database.read(_LIST_BINNED, owner=owner)
        out = []
        for start in range(0, len(rows), MAX_PAGE_ENTRIES):
            part = rows[start : start + MAX_PAGE_ENTRIES]
            heads = self._entries(owner, [str(row[0]) for row in part])
            out += [
                heads[key].model_copy(update={"binned_at": parse_stored_time(datetime, at)})
                for key, at in part
                if key in heads
            ]
        return out

    def expired_conversations(self, before: datetime) -> list[tuple[str, str]]:
        """What was put into the bin before a time, with whose it is."""
        rows = self.database.read(_LIST_EXPIRED, before=before.astimezone(UTC).isoformat())
        return [(str(key), str(owner)) for key, owner in rows]


def _parse_turn(row: Sequence[Any], words: Sequence[str]) -> HistoryTurn:
    found: Run = parse_run(row[:11])
    kind, sources, cost, told, lines, noted = row[11:]
    return HistoryTurn(
        run=found,
        kind=kind or run_kind(found.options),
        source_count=sources or 0,
        cost=cost,
        hits=find_hits(words, found.question, told or "", (lines or "").split("\n"), (noted or "").split("\n"))
        if words
        else (),
    )


def _like_pattern(word: str) -> str:
    """What `like` finds a word by: every sign of it means itself."""
    for sign in (_ESCAPE, "%", "_"):
        word = word.replace(sign, _ESCAPE + sign)
    return f"%{word}%"


def _event_cost(data: str) -> float:
    """The cost that an event of usage tells, 0 if none."""
    try:
        cost = json.loads(data).get("cost")
    except (ValueError, AttributeError):
        return 0.0
    return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else 0.0


def _replace_surrogates(text: str) -> str:
    """Text without halves of surrogate pairs, which no database takes."""
    return text.encode("utf-8", "replace").decode()
