"""Runs, events, searches, evidence and answers in one database: a SQLite file, or a server.

What is written here stays: a finished search is stored before the next stage begins, and is never
paid for twice in its run. Knows records and tables; knows nothing of graphs or pages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter

from research.citations.registry import EvidenceRegistry
from research.core.records import (
    Answer,
    Clarification,
    Conversation,
    Event,
    Evidence,
    Finding,
    Instruction,
    Place,
    Plan,
    RecordedPlace,
    Reflection,
    Remark,
    Report,
    Run,
    RunOptions,
    RunStatus,
    Task,
    Usage,
)
from research.storage import statements as sql
from research.storage import tables
from research.storage.databases import SQLiteDatabase, StoreDatabase, Transaction
from research.storage.history import normalize_tags
from research.storage.history_index import HistoryIndex
from research.storage.postgres import PostgresDatabase
from research.storage.rows import parse_rows as _readable
from research.storage.rows import parse_run as _run
from research.storage.run_queue import QueueEntry, select_next

REQUEST_STOP, REQUEST_WRITE = 1, 2  # what may be asked of a run under way
MAX_CONFIRMED_STATEMENTS = 200  # confirmed statements that are looked at, the latest
CACHE_RETENTION = timedelta(days=31)  # that answers of services are kept, at the longest
_T = TypeVar("_T")
_REFLECTIONS_ADAPTER = TypeAdapter(tuple[Reflection, ...])


class RunTakenError(Exception):
    """Another engine has taken the run, or it is deleted: nothing more is written for this one."""


class _PlaceRecord(BaseModel):
    """What `sightings` reads of a record of evidence."""

    place: Place | None = None
    retrieved: datetime


class Store:
    """The runs of one database. Safe for several threads and processes."""

    def __init__(self, location: Path | str) -> None:
        """Opens or creates the store in a SQLite file, or in the PostgreSQL database of an address.

        Raises:
            StoreError: the file or the database cannot be used.
        """
        self.database: StoreDatabase = (
            SQLiteDatabase(location, tables.SQLITE_MIGRATIONS)
            if isinstance(location, Path)
            else PostgresDatabase(location, tables.POSTGRESQL_MIGRATIONS)
        )
        self.history = HistoryIndex(self.database)

    # Runs

    def add_run(self, run: Run, given_plan: Plan | None, engine: str) -> bool:
        """Adds a run; says whether its id was free."""
        with self.database.transaction() as work:
            added = work.execute(
                sql.ADD_RUN,
                id=run.id,
                conversation=run.conversation,
                owner=run.owner,
                question=run.question,
                options=run.options.model_dump_json(),
                status=run.status,
                created=run.created.isoformat(),
                finished=run.finished.isoformat() if run.finished else None,
                error=run.error,
                based_on=run.based_on,
                follows=run.follows,
                given=given_plan.model_dump_json() if given_plan else None,
                engine=engine,
                stop=0,
            )
            if added:
                self.history.index_run(work, run.id)
            return added == 1

    def get_run(self, run_id: str) -> Run | None:
        rows = self.database.read(sql.SELECT_RUN, run=run_id)
        return next(iter(_readable(_run, rows)), None)

    def get_owned_run(self, run_id: str, owner: str) -> Run | None:
        """A run of an owner's that does not lie in the bin."""
        rows = self.database.read(sql.SELECT_OWNED_RUN, run=run_id, owner=owner)
        return next(iter(_readable(_run, rows)), None)

    def runs(self, owner: str, limit: int = 200) -> list[Run]:
        """An owner's runs, newest first."""
        return _readable(_run, self.database.read(sql.LIST_RUNS, owner=owner, most=limit))

    def given_plan(self, run_id: str) -> Plan | None:
        """The plan that the analyst gave the run, if any."""
        rows = self.database.read(sql.SELECT_GIVEN_PLAN, run=run_id)
        return Plan.model_validate_json(rows[0][0]) if rows and rows[0][0] else None

    def claim_run(self, run_id: str, engine: str, *, write_only: bool = False) -> bool:
        """Takes a run that is not going on, for an engine, to search on or to `write` with what there
        is. Only one of several callers gets it."""
        with self.database.transaction() as work:
            return work.execute(sql.CLAIM_RUN, run=run_id, by=engine, wish=REQUEST_WRITE if write_only else 0) == 1

    def runs_by_engine(self) -> dict[str, list[str]]:
        """The runs that are marked as going on, by the engine they run in."""
        out: dict[str, list[str]] = {}
        for engine, run_id in self.database.read(sql.LIST_ENGINES):
            out.setdefault(engine, []).append(run_id)
        return out

    def end_run(self, run_id: str, engine: str, status: RunStatus, error: str = "") -> bool:
        """Notes that the work on a run has ended, unless it has ended otherwise or another engine has
        taken it meanwhile; says whether it did."""
        with self.database.transaction() as work:
            held = bool(work.fetch_all(sql.LOCK_ENGINE_RUN, run=run_id, by=engine))
            if held:
                event = (datetime.now(UTC), "status", {"status": status, "error": error})
                self.append_events(run_id, [event], status, error)
            return held

    def request_stop(self, run_id: str) -> None:
        with self.database.transaction() as work:
            work.execute(sql.REQUEST_STOP, run=run_id)

    def request_write(self, run_id: str) -> None:
        """Asks a run to search no more and to write with what there is."""
        with self.database.transaction() as work:
            work.execute(sql.REQUEST_WRITE, run=run_id)

    def run_requests(self) -> list[tuple[str, str, int]]:
        """The runs under way that somebody asked to `STOP` or to `WRITE`, with their engines."""
        return [(row[0], row[1], row[2]) for row in self.database.read(sql.LIST_RUN_REQUESTS)]

    # The queue

    def queue_entries(self) -> list[QueueEntry]:
        """The runs under way and those that wait for their turn, in the order of their coming."""
        return [QueueEntry(*row) for row in self.database.read(sql.LIST_QUEUE)]

    def admit_runs(self, engines: Container[str], max_total: int, max_per_owner: int) -> list[QueueEntry]:
        """Marks as running those queued runs of some engines whose turn it is; returns them.

        At most `total` go on at once in all processes, at most `each` of one owner; 0 is no limit.
        """
        with self.database.transaction() as work:
            work.lock(sql.LOCK_QUEUE)
            line = [QueueEntry(*row) for row in work.fetch_all(sql.LIST_QUEUE)]
            turn = [one for one in select_next(line, max_total, max_per_owner) if one.engine in engines]
            for one in turn:
                work.execute(sql.ADMIT_RUN, run=one.id)
        return turn

    def delete_run(self, run_id: str) -> None:
        with self.database.transaction() as work:
            work.execute(sql.DELETE_RUN, run=run_id)

    # Events

    def append_events(
        self,
        run_id: str,
        events: Iterable[tuple[datetime, str, dict[str, Any]]],
        status: RunStatus | None = None,
        error: str = "",
        *,
        engine: str = "",
    ) -> int:
        """Adds events and, in the same transaction, a new status. Returns the last `seq`.

        Raises:
            Lost: the run is no longer that of the `engine` in whose name this is written.
        """
        with self.database.transaction() as work:
            held = work.fetch_all(sql.LOCK_RUN, run=run_id)
            if engine and held != [(engine,)]:
                raise RunTakenError(run_id)
            last: int = work.fetch_all(sql.LAST_EVENT_NUMBER, run=run_id)[0][0]
            rows = [
                {
                    "run": run_id,
                    "seq": last + n,
                    "time": time.isoformat(),
                    "kind": kind,
                    "data": _to_json(data),
                }
                for n, (time, kind, data) in enumerate(events, 1)
            ]
            work.execute_many(sql.ADD_EVENT, rows)
            if status:
                over = status not in ("queued", "running")
                ended = datetime.now(UTC).isoformat() if over else None
                work.execute(sql.SET_STATUS, run=run_id, now=status, why=error, ended=ended)
                if over:  # what it has found and used is known by now
                    self.history.index_run(work, run_id)
            return last + len(rows)

    def events(self, run_id: str, after: int = 0) -> list[Event]:
        rows = self.database.read(sql.LIST_EVENTS, run=run_id, after=after)
        return _readable(lambda row: _parse_event(run_id, row), rows)

    def last_event_number(self, run_id: str, owner: str) -> int:
        """The number of the last event of an owner's run; 0 if there is none."""
        return int(self.database.read(sql.LAST_EVENT_NUMBER_OF_OWNER, run=run_id, owner=owner)[0][0])

    # Searches and evidence

    def start_search(self, run_id: str, task: Task) -> int:
        """Notes that a search starts; the row's id goes to `finish`."""
        with self.database.transaction() as work:
            return work.insert(
                sql.ADD_SEARCH,
                run=run_id,
                task=task.id,
                key=task.key,
                source=task.source,
                query=task.query,
                started=datetime.now(UTC).isoformat(),
            )

    def finish_search(self, search_id: int, conversation: str, finding: Finding) -> None:
        """Makes a finding and its evidence durable: it may have been paid for."""
        with self.database.transaction() as work:
            work.execute(
                sql.FINISH_SEARCH,
                search=search_id,
                ended=datetime.now(UTC).isoformat(),
                why=finding.reason,
                found=finding.model_dump_json(),
            )
            self._merge_evidence(work, conversation, finding.evidence)

    def _merge_evidence(self, transaction: Transaction, registry: str, evidence: Iterable[Evidence]) -> None:
        """Adds evidence to what its registry has of it, while nobody else does."""
        for n, item in enumerate(evidence):
            if n == 0:
                transaction.lock(sql.LOCK_REGISTRY, registry=registry)
            one = EvidenceRegistry().add(item)  # under the id that it is kept by
            known = EvidenceRegistry()
            for kept in _readable(
                _parse_evidence, transaction.fetch_all(sql.SELECT_EVIDENCE, registry=registry, id=one.id)
            ):
                known.add(kept)
            merged = known.add(one)
            transaction.execute(
                sql.SAVE_EVIDENCE,
                conversation=registry,
                id=merged.id,
                kind=merged.kind,
                title=merged.title,
                url=merged.url,
                record=merged.model_dump_json(),
            )

    def find_finding(self, runs: Sequence[str], key: str) -> tuple[str, Finding] | None:
        """The finished search of that key in the first of some runs that has it."""
        for run_id in filter(None, runs):
            for found in _readable(_parse_finding, self.database.read(sql.SELECT_FINDING, run=run_id, key=key)):
                return run_id, found
        return None

    def recent_findings(self, owner: str, key: str, since: datetime) -> list[Finding]:
        """What an owner's runs have found for a key since a time, the latest first."""
        rows = self.database.read(
            sql.LIST_RECENT_FINDINGS, owner=owner, key=key, since=since.astimezone(UTC).isoformat()
        )
        return _readable(_parse_finding, rows)

    def searches(self, run_id: str) -> list[dict[str, Any]]:
        """Every search that was started for a run, finished or not, in order."""
        rows = self.database.read(sql.LIST_SEARCHES, run=run_id)
        return [dict(zip(sql.SEARCH_COLUMNS, row, strict=True)) for row in rows]

    def evidence(self, conversation: str) -> list[Evidence]:
        """The evidence registry of a conversation."""
        rows = self.database.read(sql.LIST_EVIDENCE, registry=conversation)
        return _readable(_parse_evidence, rows)

    # Places

    def lookup_registry(self, owner: str) -> str:
        """The registry of what an owner looked up by itself, without a run."""
        return f"places of {owner}"

    def add_evidence(self, registry: str, evidence: Iterable[Evidence]) -> None:
        """Adds evidence to a registry: a conversation's, or that of `look_ups`."""
        with self.database.transaction() as work:
            self._merge_evidence(work, registry, evidence)

    def recorded_places(self, owner: str) -> list[RecordedPlace]:
        """Every place that an owner's runs and look-ups have found, the latest found first."""
        asked: dict[str, dict[str, str]] = {}  # by conversation, the questions of its runs
        order: dict[str, int] = {}
        for n, (conversation, run_id, question) in enumerate(self.database.read(sql.LIST_QUESTIONS, owner=owner)):
            asked.setdefault(conversation, {})[run_id] = question
            order[run_id] = n
        found: dict[str, tuple[Place, str, datetime]] = {}
        questions: dict[str, dict[str, str]] = {}
        rows = self.database.read(sql.LIST_PLACES, owner=owner, registry=self.lookup_registry(owner))
        for key, conversation, url, seen in _readable(_parse_place_row, rows):
            if seen.place is None:  # a fact about places, such as a route
                continue
            if key not in found or seen.retrieved > found[key][2]:
                found[key] = (seen.place, url, seen.retrieved)
            questions.setdefault(key, {}).update(asked.get(conversation, {}))
        out = []
        for key, (place, url, retrieved) in found.items():
            runs = sorted(questions[key], key=order.__getitem__)
            out.append(
                RecordedPlace(
                    place=place,
                    url=url,
                    retrieved=retrieved,
                    runs=tuple(runs),
                    questions=tuple(questions[key][run_id] for run_id in runs),
                )
            )
        return sorted(out, key=lambda sighting: sighting.retrieved, reverse=True)

    def get_cached_answer(self, key: str, since: datetime) -> tuple[dict[str, Any], datetime] | None:
        """An answer of a service that is not older than `since`, and when it was made."""
        for answer, made in self.database.read(
            sql.SELECT_CACHED_ANSWER, key=key, since=since.astimezone(UTC).isoformat()
        ):
            return json.loads(answer), datetime.fromisoformat(made)
        return None

    def cache_answer(self, key: str, answer: Mapping[str, Any], answered_at: datetime) -> None:
        """Keeps an answer of a service; those that are too old to be used go."""
        with self.database.transaction() as work:
            work.execute(
                sql.DELETE_OLD_CACHED_ANSWERS, before=(answered_at - CACHE_RETENTION).astimezone(UTC).isoformat()
            )
            at = answered_at.astimezone(UTC).isoformat()
            work.execute(sql.SAVE_CACHED_ANSWER, key=key, answer=_to_json(dict(answer)), made=at)

    def increment_counter(self, name: str, day: str) -> None:
        """Adds one to an account of a day."""
        with self.database.transaction() as work:
            work.execute(sql.INCREMENT_COUNTER, name=name, day=day, n=1)

    def get_counter(self, name: str, day: str) -> int:
        """What an account of a day has come to."""
        rows = self.database.read(sql.SELECT_COUNTER, name=name, day=day)
        return int(rows[0][0]) if rows else 0

    # Notes of steps

    def save_step_result(self, run_id: str, step: str, text: str) -> None:
        """Keeps what a step of a run has come to."""
        with self.database.transaction() as work:
            work.execute(sql.SAVE_STEP_RESULT, run=run_id, step=step, text=text)

    def load_step_result(self, run_id: str, step: str) -> str | None:
        """What a step of a run has come to, if it was noted."""
        for (text,) in self.database.read(sql.SELECT_STEP_RESULT, run=run_id, step=step):
            return str(text)
        return None

    def load_step_results(self, run_id: str) -> dict[str, str]:
        """What the steps of a run have come to, by step."""
        return dict(self.database.read(sql.LIST_STEP_RESULTS, run=run_id))

    # Answers

    def save_outcome(
        self,
        run_id: str,
        plan: Plan | None,
        reflections: Sequence[Reflection],
        answer: Answer | None,
    ) -> None:
        """Stores what a run has come to so far."""
        with self.database.transaction() as work:
            work.execute(
                sql.SAVE_OUTCOME,
                run=run_id,
                plan=plan.model_dump_json() if plan else None,
                reflections=json.dumps([r.model_dump(mode="json") for r in reflections]),
                answer=answer.model_dump_json() if answer else None,
                made=datetime.now(UTC).isoformat(),
            )
            if answer:
                self.history.index_run(work, run_id)

    def report(self, run: Run) -> Report:
        """Everything a run has to show, whatever its status."""
        rows = self.database.read(sql.SELECT_OUTCOME, run=run.id)
        plan, reflections, answer = rows[0] if rows else (None, "[]", None)
        latest = dict(self.database.read(sql.LIST_FINDINGS, run=run.id))  # a failed one was repeated
        findings = tuple(_readable(_parse_finding, ((finding,) for finding in latest.values())))
        kept = _parse_optional(Answer.model_validate_json, answer)
        found = {item.id for finding in findings for item in finding.evidence}
        return Report(
            run=run,
            plan=_parse_optional(Plan.model_validate_json, plan),
            findings=findings,
            reflections=_parse_optional(_REFLECTIONS_ADAPTER.validate_json, reflections) or (),
            answer=kept,
            evidence=(
                *(e for f in findings for e in f.evidence),
                *self._earlier_evidence(run.conversation, kept, found),
            ),
            usage=self._usage(run.id),
            clarification=(said := self.clarification_and_instructions(run.id))[0],
            instructions=said[1],
            remarks=tuple(_readable(_parse_remark, self.database.read(sql.LIST_REMARKS, run=run.id))),
        )

    def save_remark(self, run_id: str, evidence: str, passage: str, text: str) -> None:
        """Notes what the owner of a run says of its answer or of a passage; without a text the note
        goes."""
        with self.database.transaction() as work:
            if text:
                work.execute(
                    sql.SAVE_REMARK, run=run_id, evidence=evidence, passage=passage,
                    text=self.database.storable_text(text.encode("utf-8", "replace").decode()), made=datetime.now(UTC).isoformat(),
                )  # fmt: skip
            else:
                work.execute(sql.DELETE_REMARK, run=run_id, item=evidence, at=passage)
            self.history.index_run(work, run_id)

    def clarification_and_instructions(self, run_id: str) -> tuple[Clarification | None, tuple[Instruction, ...]]:
        """What a run has asked back, and what was said to it while it went on."""
        asked: Clarification | None = None
        given: list[Instruction] = []
        for time, kind, text in self.database.read(sql.LIST_DIALOGUE_EVENTS, run=run_id):
            with suppress(ValueError, TypeError, LookupError):  # a spoilt one
                data = json.loads(text)
                if kind == "unclear":
                    asked = Clarification(**data)
                elif kind == "clarified" and asked:
                    asked = asked.model_copy(update={"answer": data["answer"]})
                elif kind == "instruction":
                    given.append(Instruction(text=data["text"], time=datetime.fromisoformat(time)))
                elif kind == "heeded":
                    for at in range(min(data["count"], len(given))):
                        given[at] = given[at].model_copy(update={"heeded": True})
        return asked, tuple(given)

    def _earlier_evidence(self, conversation: str, answer: Answer | None, found_ids: Container[str]) -> list[Evidence]:
        """What an answer cites that the turns before it have found."""
        cited = [cite.evidence for span in (answer.spans if answer else ()) for cite in span.cites]
        wanted = [key for key in dict.fromkeys(cited) if key not in found_ids]
        return [
            item
            for key in wanted
            for item in _readable(
                _parse_evidence, self.database.read(sql.SELECT_EVIDENCE, registry=conversation, id=key)
            )
        ]

    def _usage(self, run_id: str) -> tuple[Usage, ...]:
        """What the calls of a run have used, in order."""
        rows = self.database.read(sql.LIST_USAGE, run=run_id)
        return tuple(_readable(lambda row: Usage.model_validate_json(row[0]), rows))

    # Conversations

    def conversations(self, owner: str, limit: int = 200) -> list[Conversation]:
        """An owner's conversations: those that are pinned first, then the latest."""
        rows = self.database.read(sql.LIST_CONVERSATIONS, owner=owner, most=limit)
        return _readable(_parse_conversation, rows)

    def turns(self, conversation: str, owner: str) -> list[Run]:
        """The runs of a conversation, the earliest first."""
        rows = self.database.read(sql.LIST_TURNS, conversation=conversation, owner=owner)
        return _readable(_run, rows)

    def has_turns(self, conversation: str, owner: str) -> bool:
        """Tell whether an owner has such a conversation, in the bin or not; its runs may be spoilt."""
        return bool(self.database.read(sql.LIST_ALL_TURNS, conversation=conversation, owner=owner))

    def all_turns(self, conversation: str, owner: str) -> list[Run]:
        """The same, wherever they lie."""
        rows = self.database.read(sql.LIST_ALL_TURNS, conversation=conversation, owner=owner)
        return _readable(_run, rows)

    def update_conversation(self, conversation: str, *, title: str | None = None, pinned: bool | None = None) -> None:
        """Gives a conversation a title of its own, or pins it."""
        given = {"title": title, "pinned": None if pinned is None else int(pinned)}
        with self.database.transaction() as work:
            work.execute(sql.ADD_CONVERSATION, **sql.NEW_CONVERSATION_VALUES, id=conversation)
            for name, value in given.items():
                if value is not None:
                    work.execute(sql.UPDATE_CONVERSATION[name], id_=conversation, value=value)
            self.history.index_conversation(conversation)

    # Topics that are watched

    def add_watch(self, run_id: str) -> None:
        """Notes that the report of a run is to be brought up to date from time to time."""
        with self.database.transaction() as work:
            work.execute(sql.ADD_WATCH, run=run_id, created=datetime.now(UTC).isoformat())

    def watches(self, owner: str) -> list[tuple[Run, datetime]]:
        """An owner's runs that are watched, and since when; the latest first."""
        rows = self.database.read(sql.LIST_WATCHES, owner=owner)
        return _readable(lambda row: (_run(row), datetime.fromisoformat(row[11])), rows)

    def unreadable_watches(self, owner: str) -> list[tuple[str, str]]:
        """List the watched runs of an owner that cannot be read: their ids and questions."""
        known = {run.id for run, _ in self.watches(owner)}
        rows = self.database.read(sql.LIST_WATCHES, owner=owner)
        return [(str(row[0]), str(row[3])) for row in rows if row[0] not in known]

    def remove_watch(self, run_id: str, owner: str) -> None:
        """A run is watched no more."""
        with self.database.transaction() as work:
            work.execute(sql.DELETE_WATCH, watched=run_id, owner=owner)

    # Questions to a database whose statements are right

    def confirm_statement(self, owner: str, database_id: str, question: str, statement: str) -> None:
        """Notes that a statement, `text`, is right for an owner's question to a database."""
        made = datetime.now(UTC).isoformat()
        with self.database.transaction() as work:
            work.execute(
                sql.CONFIRM_STATEMENT,
                owner=owner, base=database_id, question=question, sql=statement, made=made,
            )  # fmt: skip

    def confirmed_statements(self, owner: str, database_id: str) -> list[tuple[str, str]]:
        """An owner's questions to a database with the statements that are right, the latest first."""
        rows = self.database.read(
            sql.LIST_CONFIRMED_STATEMENTS, owner=owner, base=database_id, most=MAX_CONFIRMED_STATEMENTS
        )
        return [(row[0], row[1]) for row in rows]

    def remove_confirmed_statement(self, owner: str, database_id: str, question: str) -> None:
        """Takes back what was noted of a question."""
        with self.database.transaction() as work:
            work.execute(sql.DELETE_CONFIRMED_STATEMENT, owner=owner, base=database_id, asked=question)

    # Notebooks: documents of the library under a name

    def notebooks(self, owner: str) -> dict[str, tuple[str, ...]]:
        """The notebooks of an owner: the documents of each, by their names in the library."""
        found: dict[str, tuple[str, ...]] = {}
        for name, document in self.database.read(sql.LIST_NOTEBOOKS, owner=owner):
            found[name] = (*found.get(name, ()), document)
        return found

    def add_to_notebook(self, owner: str, name: str, documents: Iterable[str]) -> str:
        """Puts documents into a notebook, which is made if there is none. Returns its name as it is
        kept, "" if there is nothing left of it."""
        kept = next(iter(normalize_tags((self.database.storable_text(name),), self.notebooks(owner))), "")
        if kept:
            with self.database.transaction() as work:
                for document in documents:
                    work.execute(sql.ADD_TO_NOTEBOOK, owner=owner, name=kept, document=document)
        return kept

    def remove_from_notebook(self, owner: str, name: str, documents: Iterable[str]) -> None:
        """Takes documents out of a notebook. It goes with the last."""
        with self.database.transaction() as work:
            for document in documents:
                work.execute(sql.REMOVE_FROM_NOTEBOOK, owner=owner, book=name, given=document)

    def rename_notebook(self, owner: str, name: str, new_name: str) -> str:
        """Gives a notebook another name; one that there is already takes in its documents. Returns the
        name as it is kept, "" if nothing is left of it or there is no such notebook."""
        with self.database.transaction() as work:
            books = self.notebooks(owner)
            documents = books.pop(name, ())
            kept = next(iter(normalize_tags((self.database.storable_text(new_name),), books)), "") if documents else ""
            if kept and kept != name:
                for document in documents:
                    work.execute(sql.ADD_TO_NOTEBOOK, owner=owner, name=kept, document=document)
                work.execute(sql.DELETE_NOTEBOOK, owner=owner, book=name)
        return kept

    def delete_notebook(self, owner: str, name: str) -> None:
        """Deletes a notebook. Its documents stay in the library."""
        with self.database.transaction() as work:
            work.execute(sql.DELETE_NOTEBOOK, owner=owner, book=name)

    # What a person has chosen

    def set_preference(self, owner: str, name: str, value: object) -> None:
        """Remembers what an owner has chosen under a name, as JSON; None forgets it."""
        with self.database.transaction() as work:
            if value is None:
                work.execute(sql.DELETE_PREFERENCE, owner=owner, wish=name)
            else:
                text = json.dumps(value, ensure_ascii=False)
                work.execute(sql.SAVE_PREFERENCE, owner=owner, name=name, value=text)

    def preferences(self, owner: str) -> dict[str, Any]:
        """What an owner has chosen, by name. What cannot be read any more counts as not chosen."""
        chosen = {}
        for name, value in self.database.read(sql.LIST_PREFERENCES, owner=owner):
            with suppress(ValueError):
                chosen[str(name)] = json.loads(value)
        return chosen

    # Sign-ins

    def record_sign_out(self, owner: str, sign_in_id: str, ended_at: datetime, keep_until: datetime) -> None:
        """Record that a sign-in of an owner has ended; "" ends all that began until `at`. The record
        is kept `until` none of them could be valid any more."""
        now = datetime.now(UTC)
        with self.database.transaction() as work:
            work.execute(sql.DELETE_EXPIRED_SIGN_OUTS, now=now.isoformat())
            work.execute(
                sql.ADD_SIGN_OUT, owner=owner, sign_in=sign_in_id, at=ended_at.isoformat(),
                until=keep_until.isoformat(),
            )  # fmt: skip

    def is_signed_out(self, owner: str, sign_in_id: str, started_at: datetime) -> bool:
        """Return whether a sign-in that began at that time was ended."""
        rows = self.database.read(sql.SELECT_SIGN_OUT, owner=owner, given=sign_in_id, began=started_at.isoformat())
        return bool(rows)

    def delete_conversation(self, conversation: str, owner: str) -> list[str]:
        """Deletes a conversation with its runs and its evidence; returns the runs' ids."""
        with self.database.transaction() as work:
            rows = work.fetch_all(sql.LIST_ALL_TURNS, conversation=conversation, owner=owner)
            if rows:
                for statement in sql.DELETE_CONVERSATION:
                    work.execute(statement, conversation=conversation)
        return [row[0] for row in rows]

    def finished_runs(self, owner: str, limit: int) -> list[tuple[Run, list[Event]]]:
        """An owner's latest finished runs, each with its events of what it used."""
        rows = self.database.read(sql.LIST_FINISHED_RUNS, owner=owner, most=limit)
        return [(run, self._usage_events(run.id)) for run in _readable(_run, rows)]

    def _usage_events(self, run_id: str) -> list[Event]:
        rows = self.database.read(sql.LIST_USAGE_EVENTS, run=run_id)
        return _readable(lambda row: _parse_event(run_id, row), rows)

    # Approval

    def approve_run(self, run_id: str, engine: str, plan: Plan | None, options: RunOptions) -> bool:
        """Gives a waiting run its plan and takes it for an engine. Only one of several gets it."""
        with self.database.transaction() as work:
            taken = work.execute(
                sql.APPROVE_RUN,
                run=run_id,
                by=engine,
                plan=plan.model_dump_json() if plan else None,
                limits=options.model_dump_json(),
            )
            return taken == 1

    def answer_clarification(self, run_id: str, engine: str, answer: str, options: RunOptions) -> bool:
        """Gives a waiting run the answer to what it has asked back, and takes it for an engine."""
        with self.database.transaction():
            if not self.approve_run(run_id, engine, None, options):
                return False
            self.append_events(run_id, [(datetime.now(UTC), "clarified", {"answer": answer})])
            return True

    def stop_waiting_run(self, run_id: str) -> None:
        """Stops a run that waits for its plan to be approved, unless it goes on by now."""
        with self.database.transaction() as work:
            if work.execute(sql.STOP_WAITING_RUN, run=run_id):
                event = (datetime.now(UTC), "status", {"status": "stopped", "error": ""})
                self.append_events(run_id, [event], "stopped")

    def close(self) -> None:
        self.history.close()
        self.database.close()


def _to_json(data: dict[str, Any]) -> str:
    """JSON that can be stored: half of a surrogate pair, which a model can send, becomes a "?"."""
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace").decode()


def _parse_optional(parse: Callable[[str], _T], text: str | None) -> _T | None:
    return next(iter(_readable(parse, filter(None, [text]))), None)


def _parse_evidence(row: Sequence[Any]) -> Evidence:
    return Evidence.model_validate_json(row[0])


def _parse_remark(row: Sequence[Any]) -> Remark:
    evidence, passage, text, made = row
    return Remark(evidence=evidence, passage=passage, text=text, made=datetime.fromisoformat(made))


def _parse_finding(row: Sequence[Any]) -> Finding:
    return Finding.model_validate_json(row[0])


def _parse_place_row(row: Sequence[Any]) -> tuple[str, str, str, _PlaceRecord]:
    key, conversation, url, record = row
    return key, conversation, url, _parse_place_record(record)


@lru_cache(maxsize=20_000)
def _parse_place_record(record: str) -> _PlaceRecord:
    """A record of a place never changes, and all of them are read for each look at the places."""
    return _PlaceRecord.model_validate_json(record)


def _parse_conversation(row: Sequence[Any]) -> Conversation:
    return Conversation(
        id=row[0], title=row[1], pinned=bool(row[2]), turns=row[3], latest=row[6],
        created=datetime.fromisoformat(row[4]), updated=datetime.fromisoformat(row[5]),
    )  # fmt: skip


def _parse_event(run_id: str, row: Sequence[Any]) -> Event:
    seq, time, kind, data = row
    return Event(run=run_id, seq=seq, time=datetime.fromisoformat(time), kind=kind, data=json.loads(data))
