"""Search, filtering and paging of an owner's history in the database, and the bin.

The searchable words of each run are stored beside it, folded: written with its answer, and for runs
of earlier versions by a thread at the start. Both databases search them with `like`, the fastest
method that needs no index with Chinese word segmentation.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, islice, repeat
from typing import Any, NamedTuple

from sqlalchemy import Select, delete, func, literal_column, or_, select
from sqlalchemy import bindparam as param

from research.core.records import Run, RunOptions
from research.core.text.control_chars import replace_surrogates
from research.storage import statements as sql
from research.storage.databases import StoreDatabase, Transaction, Upsert
from research.storage.history import (
    MAX_SEARCH_WORDS,
    MAX_SOURCES_CHARS,
    HistoryEntry,
    HistoryPage,
    HistoryTurn,
    answer_excerpt,
    answer_text,
    cited_ids,
    find_hits,
    fold_for_search,
    normalise_names,
    run_kind,
    source_lines,
    split_search_words,
)
from research.storage.rows import parse_rows, parse_run
from research.storage.sqlite_files import StoreError, parse_stored_time
from research.storage.tables import answer, conversation, run, run_text, search, tag

log = logging.getLogger(__name__)

MAX_PAGE_ENTRIES = 50  # entries on a page, at most
INDEX_BATCH_RUNS = 20  # earlier runs that are indexed in one transaction
MAX_STATUSES = 3  # statuses in a query
MAX_SUGGESTED_TAGS = 100  # tags that are suggested
_SEPARATOR = "\x1f"
_ESCAPE = "!"


class HistoryQuery(NamedTuple):
    """A search of the history. Conversations match if they meet all conditions.

    `words` must all occur; one of `statuses` suffices; the time range includes `since` but not
    `until`; `pinned` restricts it to pinned conversations.
    """

    words: str = ""
    statuses: Sequence[str] = ()
    kind: str = ""
    since: datetime | None = None
    until: datetime | None = None
    tag: str = ""
    pinned: bool = False


def _in_page(column: Any) -> Any:
    """Build the condition that a column has one of the values of `_page_values`."""
    return column.in_([param(f"page{n}") for n in range(MAX_PAGE_ENTRIES)])


def _page_values(ids: Iterable[str]) -> dict[str, str]:
    """Return the parameters of `_in_page`, of which those beyond the ids are empty."""
    return {f"page{n}": key for n, key in enumerate(islice(chain(ids, repeat("")), MAX_PAGE_ENTRIES))}


_RUNS_WITH_TEXT = run.outerjoin(run_text, run_text.c.run == run.c.id).outerjoin(
    conversation, conversation.c.id == run.c.conversation
)
_LATEST = func.max(run.c.created)
_CONDITIONS: dict[str, Any] = {
    **{
        f"word{n}": or_(
            run_text.c.words.like(param(f"word{n}"), escape=_ESCAPE),
            conversation.c.words.like(param(f"word{n}"), escape=_ESCAPE),
        )
        for n in range(MAX_SEARCH_WORDS)
    },
    "status0": run.c.status.in_([param(f"status{n}") for n in range(MAX_STATUSES)]),
    "kind": run_text.c.kind == param("kind"),
    "since": run.c.created >= param("since"),
    "until": run.c.created < param("until"),
    "tag": run.c.conversation.in_(select(tag.c.conversation).where(tag.c.name == param("tag"))),
    "pinned": conversation.c.pinned == param("pinned"),
}
"""Conditions of a search, each by one of its parameters."""


def _search_conditions(parameters: frozenset[str]) -> list[Any]:
    """Return the conditions of a search that has these parameters."""
    return [conversation.c.binned.is_(None), *(_CONDITIONS[name] for name in _CONDITIONS if name in parameters)]


@lru_cache(1024)
def _list_conversations(parameters: frozenset[str]) -> Select[Any]:
    return (
        select(run.c.conversation, _LATEST, func.count().over())  # the total number of matching conversations
        .select_from(_RUNS_WITH_TEXT)
        .where(sql.RUN_OF_OWNER, *_search_conditions(parameters))
        .group_by(run.c.conversation)
        .order_by(sql.IS_PINNED.desc(), _LATEST.desc(), run.c.conversation)
        .limit(param("limit"))
        .offset(param("offset"))
    )


@lru_cache(1024)
def _list_page_runs(parameters: frozenset[str]) -> Select[Any]:
    """Build the query for the matching runs in the conversations of a page."""
    text_columns = [run_text.c[name] for name in ("kind", "sources", "cost", "answer", "found", "remarks")]
    return (
        select(*sql.RUN_COLUMNS, *text_columns)
        .select_from(_RUNS_WITH_TEXT)
        .where(
            _in_page(run.c.conversation),
            run.c.owner + literal_column("''") == param("owner"),  # so that no index on owner is used
            *_search_conditions(parameters),
        )
        .order_by(run.c.created, run.c.id)
    )


_LIST_TITLES = select(conversation.c.id, conversation.c.title, conversation.c.pinned).where(_in_page(conversation.c.id))
_LIST_QUESTIONS = (
    select(run.c.conversation, run.c.question)
    .where(sql.RUN_OF_OWNER, _in_page(run.c.conversation))
    .order_by(run.c.created, run.c.id)
)
_ADD_TAG = Upsert(tag, {})
_LIST_LATEST_TIMES = (
    select(run.c.conversation, _LATEST)
    .where(sql.RUN_OF_OWNER, _in_page(run.c.conversation))
    .group_by(run.c.conversation)
)
_LIST_TAGS = select(tag.c.conversation, tag.c.name).where(_in_page(tag.c.conversation)).order_by(tag.c.name)
_LIST_USED_TAGS = (
    select(tag.c.name)
    .where(tag.c.conversation.in_(select(run.c.conversation).where(sql.RUN_OF_OWNER, sql.NOT_IN_BIN)))
    .group_by(tag.c.name)
    .order_by(func.count().desc(), tag.c.name)
    .limit(param("limit"))
)
_LIST_CONVERSATION_TAGS = select(tag.c.name).where(tag.c.conversation == param("conversation"))
_DELETE_TAGS = delete(tag).where(tag.c.conversation == param("conversation"))
_SELECT_TITLE = select(conversation.c.title).where(conversation.c.id == param("conversation"))

_LIST_BINNED = (
    select(conversation.c.id, conversation.c.binned)
    .where(
        conversation.c.binned.is_not(None),
        conversation.c.id.in_(select(run.c.conversation).where(sql.RUN_OF_OWNER)),
    )
    .order_by(conversation.c.binned.desc(), conversation.c.id)
)
_LIST_EXPIRED = (
    select(conversation.c.id, run.c.owner)
    .distinct()
    .select_from(conversation.join(run, run.c.conversation == conversation.c.id))
    .where(conversation.c.binned < param("before"))
)
_LIST_UNINDEXED_RUNS = (
    select(run.c.id)
    .outerjoin(run_text, run_text.c.run == run.c.id)
    .where(run_text.c.run.is_(None))
    .order_by(run.c.created.desc())
    .limit(param("limit"))
)
_LIST_UNINDEXED_CONVERSATIONS = select(conversation.c.id).where(conversation.c.words == "", conversation.c.title != "")
_SELECT_ANSWER = select(answer.c.answer).where(answer.c.run == param("run"))
_LIST_ANSWERS = select(answer.c.run, answer.c.answer).where(_in_page(answer.c.run))
_LIST_FINDINGS = (
    select(search.c.finding).where(search.c.run == param("run"), search.c.finding.is_not(None)).order_by(search.c.id)
)
_SAVE_RUN_TEXT = Upsert(run_text)


class HistoryIndex:
    """The history in the database of a store. Safe for several threads and processes."""

    def __init__(self, database: StoreDatabase) -> None:
        self.database = database
        self._stop_event = threading.Event()
        self._indexer: threading.Thread | None = None

    # Indexing of runs

    def index_run(self, transaction: Transaction, run_id: str) -> None:
        """Store the searchable words of a run, from what is stored of it now."""
        for row in transaction.fetch_all(sql.SELECT_RUN, run=run_id):
            try:
                kind = run_kind(RunOptions.model_validate_json(row[4]))
            except ValueError:
                kind = "question"
            answer_json = next((text for (text,) in transaction.fetch_all(_SELECT_ANSWER, run=run_id)), None)
            findings = [text for (text,) in transaction.fetch_all(_LIST_FINDINGS, run=run_id)]
            sources = source_lines(findings)
            earlier = [
                text
                for evidence_id in cited_ids(answer_json)
                if evidence_id not in sources
                for (text,) in transaction.fetch_all(sql.SELECT_EVIDENCE, registry=row[1], id=evidence_id)
            ]
            sources |= source_lines((), earlier)
            answer_words, source_words = answer_text(answer_json), "\n".join(sources.values())[:MAX_SOURCES_CHARS]
            remark_words = "\n".join(
                " ".join(remark[2].split()) for remark in transaction.fetch_all(sql.LIST_REMARKS, run=run_id)
            )
            costs = [_event_cost(data) for (data,) in transaction.fetch_all(sql.LIST_USAGE, run=run_id)]
            words = _SEPARATOR.join(map(fold_for_search, (row[3], answer_words, source_words, remark_words)))
            transaction.execute(
                _SAVE_RUN_TEXT,
                run=run_id,
                kind=kind,
                sources=len(sources),
                cost=sum(filter(None, costs)) or None,
                words=replace_surrogates(words, "?"),
                answer=replace_surrogates(answer_words, "?"),
                found=replace_surrogates(source_words, "?"),
                remarks=replace_surrogates(remark_words, "?"),
            )

    def start_indexing(self) -> None:
        """Start to index runs of earlier versions in the background, if there are any."""
        if self.database.read(_LIST_UNINDEXED_RUNS, limit=1) or self.database.read(_LIST_UNINDEXED_CONVERSATIONS):
            self._indexer = threading.Thread(target=self._index_earlier_runs, name="sightline-words", daemon=True)
            self._indexer.start()

    @property
    def is_indexing(self) -> bool:
        """True while runs of earlier versions are being indexed."""
        return self._indexer is not None and self._indexer.is_alive()

    def _index_earlier_runs(self) -> None:
        try:
            for (key,) in self.database.read(_LIST_UNINDEXED_CONVERSATIONS):
                with self.database.transaction() as transaction:
                    self._index_conversation(transaction, str(key))
            while not self._stop_event.is_set():
                rows = self.database.read(_LIST_UNINDEXED_RUNS, limit=INDEX_BATCH_RUNS)
                if not rows:
                    return
                with self.database.transaction() as transaction:
                    for (run_id,) in rows:
                        self.index_run(transaction, str(run_id))
                self._stop_event.wait(0.01)  # lets others write in between
        except StoreError as error:
            log.warning("the words of earlier runs are read at the next start: %s", error)

    def close(self) -> None:
        """Stop indexing and wait for the thread to end."""
        self._stop_event.set()
        if self._indexer:
            self._indexer.join()

    # Pages

    def page(self, owner: str, query: HistoryQuery, limit: int, offset: int) -> HistoryPage:
        """Return a page of an owner's conversations, pinned ones first, then latest first."""
        words = split_search_words(query.words)
        values = _query_values(owner, query, words)
        parameters = frozenset(values)
        limit, offset = max(1, min(limit, MAX_PAGE_ENTRIES)), max(0, offset)
        rows = self.database.read(_list_conversations(parameters), **values, limit=limit, offset=offset)
        if not rows and offset:  # the offset is behind the last entry
            first = self.database.read(_list_conversations(parameters), **values, limit=1, offset=0)
            return HistoryPage(total=first[0][2] if first else 0, is_partial=self.is_indexing)
        total = int(rows[0][2]) if rows else 0
        ids = [str(row[0]) for row in rows]
        turns: dict[str, list[HistoryTurn]] = {}
        if ids:
            matches = self.database.read(_list_page_runs(parameters), **values, **_page_values(ids))
            for turn in parse_rows(lambda row: _parse_turn(row, words), matches):
                turns.setdefault(turn.run.conversation, []).append(turn)
        if turns and not words:
            latest = {matches[-1].run.id: matches for matches in turns.values()}
            for key, record in self.database.read(_LIST_ANSWERS, **_page_values(latest)):
                update = {"excerpt": answer_excerpt(record)}
                latest[key][-1] = latest[key][-1].model_copy(update=update)
        entries_by_id = self._entries(owner, ids)
        entries = [
            entries_by_id[key].model_copy(update={"matching_turns": tuple(turns.get(key, ()))})
            for key in ids
            if key in entries_by_id
        ]
        return HistoryPage(entries=tuple(entries), total=total, is_partial=self.is_indexing)

    def _entries(self, owner: str, ids: Sequence[str]) -> dict[str, HistoryEntry]:
        """Return conversations by id, without their runs."""
        if not ids:
            return {}
        page = _page_values(ids)
        titles = {key: (title, pinned) for key, title, pinned in self.database.read(_LIST_TITLES, **page)}
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
                title=titles.get(key, ("", 0))[0] or texts[0],
                pinned=bool(titles.get(key, ("", 0))[1]),
                tags=tuple(tags.get(key, ())),
                turn_count=len(texts),
                updated=parse_stored_time(datetime, latest.get(key)),
            )
            for key, texts in questions.items()
        }

    # Titles and tags

    def index_conversation(self, conversation: str) -> None:
        """Store the searchable words of a conversation: its title and tags."""
        with self.database.transaction() as transaction:
            self._index_conversation(transaction, conversation)

    def _index_conversation(self, transaction: Transaction, key: str) -> None:
        title = next((str(row[0]) for row in transaction.fetch_all(_SELECT_TITLE, conversation=key)), "")
        tags = [str(row[0]) for row in transaction.fetch_all(_LIST_CONVERSATION_TAGS, conversation=key)]
        words = fold_for_search(_SEPARATOR.join([title, *tags])) or " "
        transaction.execute(sql.UPDATE_CONVERSATION["words"], conversation=key, value=words)

    def set_tags(self, owner: str, conversation: str, tags: Sequence[str]) -> tuple[str, ...]:
        """Replace the tags of an owner's conversation.

        Return them as stored: without "#", without duplicates, at most ten of 40 characters each.
        """
        if not self.database.read(sql.LIST_TURNS, conversation=conversation, owner=owner):
            return ()
        normalized = normalise_names(tags, self.tags(owner))
        with self.database.transaction() as transaction:
            transaction.execute(sql.ADD_CONVERSATION, **sql.NEW_CONVERSATION_VALUES, id=conversation)
            transaction.execute(_DELETE_TAGS, conversation=conversation)
            for name in normalized:
                transaction.execute(_ADD_TAG, conversation=conversation, name=name)
            self._index_conversation(transaction, conversation)
        return normalized

    def tags(self, owner: str) -> list[str]:
        """Return the tags of an owner, most used first."""
        return [str(row[0]) for row in self.database.read(_LIST_USED_TAGS, owner=owner, limit=MAX_SUGGESTED_TAGS)]

    # Bin

    def move_to_bin(self, conversation: str, now: datetime) -> None:
        """Move a conversation to the bin."""
        with self.database.transaction() as transaction:
            transaction.execute(sql.ADD_CONVERSATION, **sql.NEW_CONVERSATION_VALUES, id=conversation)
            transaction.execute(
                sql.UPDATE_CONVERSATION["binned"], conversation=conversation, value=now.astimezone(UTC).isoformat()
            )

    def restore_from_bin(self, conversation: str) -> None:
        """Restore a conversation from the bin."""
        self.database.write(sql.UPDATE_CONVERSATION["binned"], conversation=conversation, value=None)

    def bin_entries(self, owner: str) -> list[HistoryEntry]:
        """Return the conversations in an owner's bin, latest first."""
        rows = self.database.read(_LIST_BINNED, owner=owner)
        entries = []
        for start in range(0, len(rows), MAX_PAGE_ENTRIES):
            part = rows[start : start + MAX_PAGE_ENTRIES]
            entries_by_id = self._entries(owner, [str(row[0]) for row in part])
            entries += [
                entries_by_id[key].model_copy(update={"binned_at": parse_stored_time(datetime, binned_at)})
                for key, binned_at in part
                if key in entries_by_id
            ]
        return entries

    def expired_conversations(self, before: datetime) -> list[tuple[str, str]]:
        """Return the conversations moved to the bin before a time, with their owners."""
        rows = self.database.read(_LIST_EXPIRED, before=before.astimezone(UTC).isoformat())
        return [(str(key), str(owner)) for key, owner in rows]


def _query_values(owner: str, query: HistoryQuery, words: Sequence[str]) -> dict[str, object]:
    """Return the parameters of a search; those of conditions that it does not have are left out."""
    statuses = [*query.statuses][:MAX_STATUSES]
    statuses += statuses[:1] * (MAX_STATUSES - len(statuses))
    values: dict[str, object] = {
        **{f"word{n}": _like_pattern(word) for n, word in enumerate(words)},
        **{f"status{n}": status for n, status in enumerate(statuses)},
        "kind": query.kind,
        "since": query.since and query.since.astimezone(UTC).isoformat(),
        "until": query.until and query.until.astimezone(UTC).isoformat(),
        "tag": query.tag,
        "pinned": int(query.pinned),
    }
    return {"owner": owner} | {name: value for name, value in values.items() if value}


def _parse_turn(row: Sequence[Any], words: Sequence[str]) -> HistoryTurn:
    parsed: Run = parse_run(row[:11])
    kind, sources, cost, answer_words, source_words, remark_words = row[11:]
    return HistoryTurn(
        run=parsed,
        kind=kind or run_kind(parsed.options),
        source_count=sources or 0,
        cost=cost,
        hits=find_hits(
            words,
            parsed.question,
            answer_words or "",
            (source_words or "").split("\n"),
            (remark_words or "").split("\n"),
        )
        if words
        else (),
    )


def _like_pattern(word: str) -> str:
    """Build the `like` pattern that finds a word literally."""
    for character in (_ESCAPE, "%", "_"):
        word = word.replace(character, _ESCAPE + character)
    return f"%{word}%"


def _event_cost(data: str) -> float:
    """Return the cost in the data of a usage event, 0 if there is none."""
    try:
        cost = json.loads(data).get("cost")
    except (ValueError, AttributeError):
        return 0.0
    return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else 0.0
