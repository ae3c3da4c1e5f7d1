"""The store of runs, events, searches, evidence and answers in a SQLite file or on a server.

Writes are durable: a finished search is stored before the next stage begins and is never paid for
twice in its run. The store uses records and tables and is independent of graphs and pages.
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
from research.core.events import (
    ClarificationAnswered,
    ClarificationNeeded,
    Event,
    InstructionAdded,
    InstructionApplied,
    RunEvent,
    StatusChanged,
    dump_event,
    parse_event,
)
from research.core.records import (
    Answer,
    Clarification,
    Conversation,
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

REQUEST_STOP, REQUEST_WRITE = 1, 2  # requests to a run under way
MAX_CONFIRMED_STATEMENTS = 200  # the latest confirmed statements that are returned
CACHE_RETENTION = timedelta(days=31)  # maximum age of cached service answers
_T = TypeVar("_T")
_REFLECTIONS_ADAPTER = TypeAdapter(tuple[Reflection, ...])


class RunTakenError(Exception):
    """Another engine has claimed the run, or it was deleted: this engine writes no more to it."""


class _PlaceRecord(BaseModel):
    """The fields that `recorded_places` needs of an evidence record."""

    place: Place | None = None
    retrieved: datetime


class Store:
    """The store of one database. Safe for several threads and processes."""

    def __init__(self, location: Path | str) -> None:
        """Open or create the store, in a SQLite file or in the PostgreSQL database of an address.

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
        """Add a run. Return whether its id was free."""
        with self.database.transaction() as transaction:
            added = transaction.execute(
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
                self.history.index_run(transaction, run.id)
            return added == 1

    def get_run(self, run_id: str) -> Run | None:
        rows = self.database.read(sql.SELECT_RUN, run=run_id)
        return next(iter(_readable(_run, rows)), None)

    def get_owned_run(self, run_id: str, owner: str) -> Run | None:
        """Return a run of an owner that is not in the bin."""
        rows = self.database.read(sql.SELECT_OWNED_RUN, run=run_id, owner=owner)
        return next(iter(_readable(_run, rows)), None)

    def runs(self, owner: str, limit: int = 200) -> list[Run]:
        """Return an owner's runs, newest first."""
        return _readable(_run, self.database.read(sql.LIST_RUNS, owner=owner, most=limit))

    def given_plan(self, run_id: str) -> Plan | None:
        """Return the plan that the analyst gave the run, if any."""
        rows = self.database.read(sql.SELECT_GIVEN_PLAN, run=run_id)
        return Plan.model_validate_json(rows[0][0]) if rows and rows[0][0] else None

    def claim_run(self, run_id: str, engine: str, *, write_only: bool = False) -> bool:
        """Claim a resumable run for an engine. Only one of several concurrent callers succeeds.

        With `write_only`, the run makes no further searches.
        """
        with self.database.transaction() as transaction:
            return (
                transaction.execute(sql.CLAIM_RUN, run=run_id, by=engine, wish=REQUEST_WRITE if write_only else 0) == 1
            )

    def runs_by_engine(self) -> dict[str, list[str]]:
        """Return the ids of runs that are queued or under way, by engine."""
        run_ids: dict[str, list[str]] = {}
        for engine, run_id in self.database.read(sql.LIST_ENGINES):
            run_ids.setdefault(engine, []).append(run_id)
        return run_ids

    def end_run(self, run_id: str, engine: str, status: RunStatus, error: str = "") -> bool:
        """Store the end of a run, if it is active and belongs to the engine.

        Return whether it was stored.
        """
        with self.database.transaction() as transaction:
            is_held = bool(transaction.fetch_all(sql.LOCK_ENGINE_RUN, run=run_id, by=engine))
            if is_held:
                event = (datetime.now(UTC), StatusChanged(status=status, error=error))
                self.append_events(run_id, [event], status, error)
            return is_held

    def request_stop(self, run_id: str) -> None:
        with self.database.transaction() as transaction:
            transaction.execute(sql.REQUEST_STOP, run=run_id)

    def request_write(self, run_id: str) -> None:
        """Request that a run stops searching and writes its answer."""
        with self.database.transaction() as transaction:
            transaction.execute(sql.REQUEST_WRITE, run=run_id)

    def run_requests(self) -> list[tuple[str, str, int]]:
        """Return the pending requests as run id, engine and `REQUEST_STOP` or `REQUEST_WRITE`."""
        return [(row[0], row[1], row[2]) for row in self.database.read(sql.LIST_RUN_REQUESTS)]

    # Queue

    def queue_entries(self) -> list[QueueEntry]:
        """Return the runs that are queued or under way, in order of arrival."""
        return [QueueEntry(*row) for row in self.database.read(sql.LIST_QUEUE)]

    def admit_runs(self, engines: Container[str], max_total: int, max_per_owner: int) -> list[QueueEntry]:
        """Mark the queued runs of some engines whose turn it is as running, and return them.

        At most `max_total` runs are under way in all processes, `max_per_owner` of one owner; 0 is
        no limit.
        """
        with self.database.transaction() as transaction:
            transaction.lock(sql.LOCK_QUEUE)
            queue = [QueueEntry(*row) for row in transaction.fetch_all(sql.LIST_QUEUE)]
            admitted = [entry for entry in select_next(queue, max_total, max_per_owner) if entry.engine in engines]
            for entry in admitted:
                transaction.execute(sql.ADMIT_RUN, run=entry.id)
        return admitted

    # Events

    def append_events(
        self,
        run_id: str,
        events: Iterable[tuple[datetime, RunEvent]],
        status: RunStatus | None = None,
        error: str = "",
        *,
        engine: str = "",
    ) -> int:
        """Append events and, in the same transaction, set a new status.

        Return the number of the last event.

        Raises:
            RunTakenError: the run no longer belongs to `engine`.
        """
        with self.database.transaction() as transaction:
            engines = transaction.fetch_all(sql.LOCK_RUN, run=run_id)
            if engine and engines != [(engine,)]:
                raise RunTakenError(run_id)
            last: int = transaction.fetch_all(sql.LAST_EVENT_NUMBER, run=run_id)[0][0]
            rows = [
                {"run": run_id, "seq": seq, "time": time.isoformat(), "kind": kind, "data": _to_json(data)}
                for seq, (time, event) in enumerate(events, last + 1)
                for kind, data in [dump_event(event)]
            ]
            transaction.execute_many(sql.ADD_EVENT, rows)
            if status:
                has_ended = status not in ("queued", "running")
                finished = datetime.now(UTC).isoformat() if has_ended else None
                transaction.execute(sql.SET_STATUS, run=run_id, now=status, why=error, ended=finished)
                if has_ended:  # its findings and usage are complete now
                    self.history.index_run(transaction, run_id)
            return last + len(rows)

    def events(self, run_id: str, after: int = 0) -> list[Event]:
        rows = self.database.read(sql.LIST_EVENTS, run=run_id, after=after)
        return _readable(lambda row: _parse_event(run_id, row), rows)

    def last_event_number(self, run_id: str, owner: str) -> int:
        """Return the number of the last event of an owner's run; 0 if there is none."""
        return int(self.database.read(sql.LAST_EVENT_NUMBER_OF_OWNER, run=run_id, owner=owner)[0][0])

    # Searches and evidence

    def start_search(self, run_id: str, task: Task) -> int:
        """Record the start of a search and return its id for `finish_search`."""
        with self.database.transaction() as transaction:
            return transaction.insert(
                sql.ADD_SEARCH,
                run=run_id,
                task=task.id,
                key=task.key,
                source=task.source,
                query=task.query,
                started=datetime.now(UTC).isoformat(),
            )

    def finish_search(self, search_id: int, conversation: str, finding: Finding) -> None:
        """Store a finding and its evidence durably, because it may have been paid for."""
        with self.database.transaction() as transaction:
            transaction.execute(
                sql.FINISH_SEARCH,
                search=search_id,
                ended=datetime.now(UTC).isoformat(),
                why=finding.reason,
                found=finding.model_dump_json(),
            )
            self._merge_evidence(transaction, conversation, finding.evidence)

    def _merge_evidence(self, transaction: Transaction, registry: str, evidence: Iterable[Evidence]) -> None:
        """Merge evidence into a registry under a lock."""
        for n, item in enumerate(evidence):
            if n == 0:
                transaction.lock(sql.LOCK_REGISTRY, registry=registry)
            canonical = EvidenceRegistry().add(item)  # under the id by which it is stored
            known = EvidenceRegistry()
            for stored in _readable(
                _parse_evidence, transaction.fetch_all(sql.SELECT_EVIDENCE, registry=registry, id=canonical.id)
            ):
                known.add(stored)
            merged = known.add(canonical)
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
        """Return the finished search of a key in the first run that has one, with the run's id."""
        for run_id in filter(None, runs):
            for finding in _readable(_parse_finding, self.database.read(sql.SELECT_FINDING, run=run_id, key=key)):
                return run_id, finding
        return None

    def recent_findings(self, owner: str, key: str, since: datetime) -> list[Finding]:
        """Return the findings of an owner's runs for a key since a time, latest first."""
        rows = self.database.read(
            sql.LIST_RECENT_FINDINGS, owner=owner, key=key, since=since.astimezone(UTC).isoformat()
        )
        return _readable(_parse_finding, rows)

    def searches(self, run_id: str) -> list[dict[str, Any]]:
        """Return every search started for a run, finished or not, in order."""
        rows = self.database.read(sql.LIST_SEARCHES, run=run_id)
        return [dict(zip(sql.SEARCH_COLUMNS, row, strict=True)) for row in rows]

    def evidence(self, conversation: str) -> list[Evidence]:
        """Return the evidence registry of a conversation."""
        rows = self.database.read(sql.LIST_EVIDENCE, registry=conversation)
        return _readable(_parse_evidence, rows)

    # Places

    def lookup_registry(self, owner: str) -> str:
        """Return the registry of an owner's place look-ups without a run."""
        return f"places of {owner}"

    def add_evidence(self, registry: str, evidence: Iterable[Evidence]) -> None:
        """Add evidence to the registry of a conversation or of `lookup_registry`."""
        with self.database.transaction() as transaction:
            self._merge_evidence(transaction, registry, evidence)

    def recorded_places(self, owner: str) -> list[RecordedPlace]:
        """Return every place that an owner's runs and look-ups have found, latest first."""
        questions_by_conversation: dict[str, dict[str, str]] = {}  # questions of the runs, by conversation and run
        order: dict[str, int] = {}
        for n, (conversation, run_id, question) in enumerate(self.database.read(sql.LIST_QUESTIONS, owner=owner)):
            questions_by_conversation.setdefault(conversation, {})[run_id] = question
            order[run_id] = n
        latest: dict[str, tuple[Place, str, datetime]] = {}
        questions: dict[str, dict[str, str]] = {}
        rows = self.database.read(sql.LIST_PLACES, owner=owner, registry=self.lookup_registry(owner))
        for key, conversation, url, parsed in _readable(_parse_place_row, rows):
            if parsed.place is None:  # a fact about places, such as a route
                continue
            if key not in latest or parsed.retrieved > latest[key][2]:
                latest[key] = (parsed.place, url, parsed.retrieved)
            questions.setdefault(key, {}).update(questions_by_conversation.get(conversation, {}))
        places = []
        for key, (place, url, retrieved) in latest.items():
            runs = sorted(questions[key], key=order.__getitem__)
            places.append(
                RecordedPlace(
                    place=place,
                    url=url,
                    retrieved=retrieved,
                    runs=tuple(runs),
                    questions=tuple(questions[key][run_id] for run_id in runs),
                )
            )
        return sorted(places, key=lambda sighting: sighting.retrieved, reverse=True)

    def get_cached_answer(self, key: str, since: datetime) -> tuple[dict[str, Any], datetime] | None:
        """Return a cached service answer that is not older than `since`, and its time."""
        for answer, answered_at in self.database.read(
            sql.SELECT_CACHED_ANSWER, key=key, since=since.astimezone(UTC).isoformat()
        ):
            return json.loads(answer), datetime.fromisoformat(answered_at)
        return None

    def cache_answer(self, key: str, answer: Mapping[str, Any], answered_at: datetime) -> None:
        """Cache a service answer and delete those that are too old."""
        with self.database.transaction() as transaction:
            transaction.execute(
                sql.DELETE_OLD_CACHED_ANSWERS, before=(answered_at - CACHE_RETENTION).astimezone(UTC).isoformat()
            )
            at = answered_at.astimezone(UTC).isoformat()
            transaction.execute(sql.SAVE_CACHED_ANSWER, key=key, answer=_to_json(dict(answer)), made=at)

    def increment_counter(self, name: str, day: str) -> None:
        """Add one to a counter of a day."""
        with self.database.transaction() as transaction:
            transaction.execute(sql.INCREMENT_COUNTER, name=name, day=day, n=1)

    def get_counter(self, name: str, day: str) -> int:
        """Return the counter of a day."""
        rows = self.database.read(sql.SELECT_COUNTER, name=name, day=day)
        return int(rows[0][0]) if rows else 0

    # Results of steps

    def save_step_result(self, run_id: str, step: str, text: str) -> None:
        """Save the result of a step of a run."""
        with self.database.transaction() as transaction:
            transaction.execute(sql.SAVE_STEP_RESULT, run=run_id, step=step, text=text)

    def load_step_result(self, run_id: str, step: str) -> str | None:
        """Return the saved result of a step of a run, None if there is none."""
        for (text,) in self.database.read(sql.SELECT_STEP_RESULT, run=run_id, step=step):
            return str(text)
        return None

    def load_step_results(self, run_id: str) -> dict[str, str]:
        """Return the saved results of a run, by step."""
        return dict(self.database.read(sql.LIST_STEP_RESULTS, run=run_id))

    # Answers

    def save_outcome(
        self,
        run_id: str,
        plan: Plan | None,
        reflections: Sequence[Reflection],
        answer: Answer | None,
    ) -> None:
        """Store the current outcome of a run."""
        with self.database.transaction() as transaction:
            transaction.execute(
                sql.SAVE_OUTCOME,
                run=run_id,
                plan=plan.model_dump_json() if plan else None,
                reflections=json.dumps([r.model_dump(mode="json") for r in reflections]),
                answer=answer.model_dump_json() if answer else None,
                made=datetime.now(UTC).isoformat(),
            )
            if answer:
                self.history.index_run(transaction, run_id)

    def report(self, run: Run) -> Report:
        """Return everything that is stored of a run, whatever its status."""
        rows = self.database.read(sql.SELECT_OUTCOME, run=run.id)
        plan, reflections, answer = rows[0] if rows else (None, "[]", None)
        latest = dict(self.database.read(sql.LIST_FINDINGS, run=run.id))  # a failed search was repeated
        findings = tuple(_readable(_parse_finding, ((finding,) for finding in latest.values())))
        parsed_answer = _parse_optional(Answer.model_validate_json, answer)
        found_ids = {item.id for finding in findings for item in finding.evidence}
        return Report(
            run=run,
            plan=_parse_optional(Plan.model_validate_json, plan),
            findings=findings,
            reflections=_parse_optional(_REFLECTIONS_ADAPTER.validate_json, reflections) or (),
            answer=parsed_answer,
            evidence=(
                *(e for f in findings for e in f.evidence),
                *self._earlier_evidence(run.conversation, parsed_answer, found_ids),
            ),
            usage=self._usage(run.id),
            clarification=(dialogue := self.clarification_and_instructions(run.id))[0],
            instructions=dialogue[1],
            remarks=tuple(_readable(_parse_remark, self.database.read(sql.LIST_REMARKS, run=run.id))),
        )

    def save_remark(self, run_id: str, evidence: str, passage: str, text: str) -> None:
        """Save an owner's note on an answer or on a passage; an empty text deletes it."""
        with self.database.transaction() as transaction:
            if text:
                transaction.execute(
                    sql.SAVE_REMARK,
                    run=run_id,
                    evidence=evidence,
                    passage=passage,
                    text=self.database.storable_text(text.encode("utf-8", "replace").decode()),
                    made=datetime.now(UTC).isoformat(),
                )
            else:
                transaction.execute(sql.DELETE_REMARK, run=run_id, item=evidence, at=passage)
            self.history.index_run(transaction, run_id)

    def clarification_and_instructions(self, run_id: str) -> tuple[Clarification | None, tuple[Instruction, ...]]:
        """Return the question that a run asked its owner, and the instructions given to it."""
        clarification: Clarification | None = None
        instructions: list[Instruction] = []
        for time, kind, text in self.database.read(sql.LIST_DIALOGUE_EVENTS, run=run_id):
            with suppress(ValueError):  # skips text that is no JSON
                match parse_event(kind, json.loads(text)):
                    case ClarificationNeeded(clarification=asked):
                        clarification = asked
                    case ClarificationAnswered(answer=answer) if clarification:
                        clarification = clarification.model_copy(update={"answer": answer})
                    case InstructionAdded(text=instruction):
                        instructions.append(Instruction(text=instruction, time=datetime.fromisoformat(time)))
                    case InstructionApplied(count=count):
                        applied = [item.model_copy(update={"heeded": True}) for item in instructions[:count]]
                        instructions[:count] = applied
        return clarification, tuple(instructions)

    def _earlier_evidence(self, conversation: str, answer: Answer | None, found_ids: Container[str]) -> list[Evidence]:
        """Return the evidence that an answer cites from earlier turns."""
        cited = [cite.evidence for span in (answer.spans if answer else ()) for cite in span.cites]
        missing_ids = [evidence_id for evidence_id in dict.fromkeys(cited) if evidence_id not in found_ids]
        return [
            item
            for evidence_id in missing_ids
            for item in _readable(
                _parse_evidence, self.database.read(sql.SELECT_EVIDENCE, registry=conversation, id=evidence_id)
            )
        ]

    def _usage(self, run_id: str) -> tuple[Usage, ...]:
        """Return the usage of the calls of a run, in order."""
        rows = self.database.read(sql.LIST_USAGE, run=run_id)
        return tuple(_readable(lambda row: Usage.model_validate_json(row[0]), rows))

    # Conversations

    def conversations(self, owner: str, limit: int = 200) -> list[Conversation]:
        """Return an owner's conversations, pinned ones first, then latest first."""
        rows = self.database.read(sql.LIST_CONVERSATIONS, owner=owner, most=limit)
        return _readable(_parse_conversation, rows)

    def turns(self, conversation: str, owner: str) -> list[Run]:
        """Return the runs of a conversation that is not in the bin, earliest first."""
        rows = self.database.read(sql.LIST_TURNS, conversation=conversation, owner=owner)
        return _readable(_run, rows)

    def has_turns(self, conversation: str, owner: str) -> bool:
        """Return whether an owner has this conversation, in the bin or not.

        Its runs need not be readable.
        """
        return bool(self.database.read(sql.LIST_ALL_TURNS, conversation=conversation, owner=owner))

    def all_turns(self, conversation: str, owner: str) -> list[Run]:
        """Return the runs of a conversation, in the bin or not, earliest first."""
        rows = self.database.read(sql.LIST_ALL_TURNS, conversation=conversation, owner=owner)
        return _readable(_run, rows)

    def update_conversation(self, conversation: str, *, title: str | None = None, pinned: bool | None = None) -> None:
        """Set the title of a conversation, or pin or unpin it."""
        values = {"title": title, "pinned": None if pinned is None else int(pinned)}
        with self.database.transaction() as transaction:
            transaction.execute(sql.ADD_CONVERSATION, **sql.NEW_CONVERSATION_VALUES, id=conversation)
            for name, value in values.items():
                if value is not None:
                    transaction.execute(sql.UPDATE_CONVERSATION[name], id_=conversation, value=value)
            self.history.index_conversation(conversation)

    # Watched topics

    def add_watch(self, run_id: str) -> None:
        """Watch a run, so that its report is updated from time to time."""
        with self.database.transaction() as transaction:
            transaction.execute(sql.ADD_WATCH, run=run_id, created=datetime.now(UTC).isoformat())

    def watches(self, owner: str) -> list[tuple[Run, datetime]]:
        """Return an owner's watched runs and the times since when, latest first."""
        rows = self.database.read(sql.LIST_WATCHES, owner=owner)
        return _readable(lambda row: (_run(row), datetime.fromisoformat(row[11])), rows)

    def unreadable_watches(self, owner: str) -> list[tuple[str, str]]:
        """Return the ids and questions of an owner's watched runs that cannot be read."""
        readable = {run.id for run, _ in self.watches(owner)}
        rows = self.database.read(sql.LIST_WATCHES, owner=owner)
        return [(str(row[0]), str(row[3])) for row in rows if row[0] not in readable]

    def remove_watch(self, run_id: str, owner: str) -> None:
        """Stop watching a run."""
        with self.database.transaction() as transaction:
            transaction.execute(sql.DELETE_WATCH, watched=run_id, owner=owner)

    # Confirmed statements

    def confirm_statement(self, owner: str, database_id: str, question: str, statement: str) -> None:
        """Record that a statement is correct for an owner's question to a database."""
        confirmed_at = datetime.now(UTC).isoformat()
        with self.database.transaction() as transaction:
            transaction.execute(
                sql.CONFIRM_STATEMENT,
                owner=owner,
                base=database_id,
                question=question,
                sql=statement,
                made=confirmed_at,
            )

    def confirmed_statements(self, owner: str, database_id: str) -> list[tuple[str, str]]:
        """Return an owner's confirmed questions and statements for a database, latest first."""
        rows = self.database.read(
            sql.LIST_CONFIRMED_STATEMENTS, owner=owner, base=database_id, most=MAX_CONFIRMED_STATEMENTS
        )
        return [(row[0], row[1]) for row in rows]

    def remove_confirmed_statement(self, owner: str, database_id: str, question: str) -> None:
        """Delete the confirmed statement of a question."""
        with self.database.transaction() as transaction:
            transaction.execute(sql.DELETE_CONFIRMED_STATEMENT, owner=owner, base=database_id, asked=question)

    # Notebooks: named sets of library documents

    def notebooks(self, owner: str) -> dict[str, tuple[str, ...]]:
        """Return the notebooks of an owner: the names of their documents in the library."""
        documents: dict[str, tuple[str, ...]] = {}
        for name, document in self.database.read(sql.LIST_NOTEBOOKS, owner=owner):
            documents[name] = (*documents.get(name, ()), document)
        return documents

    def add_to_notebook(self, owner: str, name: str, documents: Iterable[str]) -> str:
        """Add documents to a notebook, which is created if needed.

        Return its normalised name; "" if nothing is left of the name.
        """
        normalized = next(iter(normalize_tags((self.database.storable_text(name),), self.notebooks(owner))), "")
        if normalized:
            with self.database.transaction() as transaction:
                for document in documents:
                    transaction.execute(sql.ADD_TO_NOTEBOOK, owner=owner, name=normalized, document=document)
        return normalized

    def remove_from_notebook(self, owner: str, name: str, documents: Iterable[str]) -> None:
        """Remove documents from a notebook. A notebook without documents no longer exists."""
        with self.database.transaction() as transaction:
            for document in documents:
                transaction.execute(sql.REMOVE_FROM_NOTEBOOK, owner=owner, book=name, given=document)

    def rename_notebook(self, owner: str, name: str, new_name: str) -> str:
        """Rename a notebook, or merge it into an existing one of the new name.

        Return the normalised name; "" if nothing is left of it or there is no such notebook.
        """
        with self.database.transaction() as transaction:
            notebooks = self.notebooks(owner)
            documents = notebooks.pop(name, ())
            normalized = (
                next(iter(normalize_tags((self.database.storable_text(new_name),), notebooks)), "") if documents else ""
            )
            if normalized and normalized != name:
                for document in documents:
                    transaction.execute(sql.ADD_TO_NOTEBOOK, owner=owner, name=normalized, document=document)
                transaction.execute(sql.DELETE_NOTEBOOK, owner=owner, book=name)
        return normalized

    def delete_notebook(self, owner: str, name: str) -> None:
        """Delete a notebook. Its documents stay in the library."""
        with self.database.transaction() as transaction:
            transaction.execute(sql.DELETE_NOTEBOOK, owner=owner, book=name)

    # Preferences

    def set_preference(self, owner: str, name: str, value: object) -> None:
        """Store an owner's preference as JSON; None deletes it."""
        with self.database.transaction() as transaction:
            if value is None:
                transaction.execute(sql.DELETE_PREFERENCE, owner=owner, wish=name)
            else:
                text = json.dumps(value, ensure_ascii=False)
                transaction.execute(sql.SAVE_PREFERENCE, owner=owner, name=name, value=text)

    def preferences(self, owner: str) -> dict[str, Any]:
        """Return an owner's preferences, by name, without unreadable ones."""
        chosen = {}
        for name, value in self.database.read(sql.LIST_PREFERENCES, owner=owner):
            with suppress(ValueError):
                chosen[str(name)] = json.loads(value)
        return chosen

    # Sign-ins

    def record_sign_out(self, owner: str, sign_in_id: str, ended_at: datetime, keep_until: datetime) -> None:
        """Record that a sign-in of an owner has ended; "" ends all that began until `ended_at`.

        The record is kept until `keep_until`, when none of them can be valid any more.
        """
        now = datetime.now(UTC)
        with self.database.transaction() as transaction:
            transaction.execute(sql.DELETE_EXPIRED_SIGN_OUTS, now=now.isoformat())
            transaction.execute(
                sql.ADD_SIGN_OUT, owner=owner, sign_in=sign_in_id, at=ended_at.isoformat(), until=keep_until.isoformat()
            )

    def is_signed_out(self, owner: str, sign_in_id: str, started_at: datetime) -> bool:
        """Return whether a sign-in that began at a time was ended."""
        rows = self.database.read(sql.SELECT_SIGN_OUT, owner=owner, given=sign_in_id, began=started_at.isoformat())
        return bool(rows)

    def delete_conversation(self, conversation: str, owner: str) -> list[str]:
        """Delete a conversation with its runs and evidence. Return the ids of the runs."""
        with self.database.transaction() as transaction:
            rows = transaction.fetch_all(sql.LIST_ALL_TURNS, conversation=conversation, owner=owner)
            if rows:
                for statement in sql.DELETE_CONVERSATION:
                    transaction.execute(statement, conversation=conversation)
        return [row[0] for row in rows]

    def finished_runs(self, owner: str, limit: int) -> list[tuple[Run, list[Event]]]:
        """Return an owner's latest finished runs, each with its events about usage."""
        rows = self.database.read(sql.LIST_FINISHED_RUNS, owner=owner, most=limit)
        return [(run, self._usage_events(run.id)) for run in _readable(_run, rows)]

    def _usage_events(self, run_id: str) -> list[Event]:
        rows = self.database.read(sql.LIST_USAGE_EVENTS, run=run_id)
        return _readable(lambda row: _parse_event(run_id, row), rows)

    # Approval

    def approve_run(self, run_id: str, engine: str, plan: Plan | None, options: RunOptions) -> bool:
        """Claim a waiting run for an engine and set its plan and options.

        Return whether this caller, one of several, has claimed it.
        """
        with self.database.transaction() as transaction:
            updated = transaction.execute(
                sql.APPROVE_RUN,
                run=run_id,
                by=engine,
                plan=plan.model_dump_json() if plan else None,
                limits=options.model_dump_json(),
            )
            return updated == 1

    def answer_clarification(self, run_id: str, engine: str, answer: str, options: RunOptions) -> bool:
        """Store the answer to a waiting run's question and claim the run for an engine."""
        with self.database.transaction():
            if not self.approve_run(run_id, engine, None, options):
                return False
            self.append_events(run_id, [(datetime.now(UTC), ClarificationAnswered(answer=answer))])
            return True

    def stop_waiting_run(self, run_id: str) -> None:
        """Stop a run that waits for approval, unless it has been continued."""
        with self.database.transaction() as transaction:
            if transaction.execute(sql.STOP_WAITING_RUN, run=run_id):
                event = (datetime.now(UTC), StatusChanged(status="stopped"))
                self.append_events(run_id, [event], "stopped")

    def close(self) -> None:
        self.history.close()
        self.database.close()


def _to_json(data: dict[str, Any]) -> str:
    """Serialise to JSON; lone surrogates, which models may send, become "?"."""
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
    """Parse a place record, with a cache.

    Records never change, and each call of `recorded_places` reads all of them.
    """
    return _PlaceRecord.model_validate_json(record)


def _parse_conversation(row: Sequence[Any]) -> Conversation:
    return Conversation(
        id=row[0],
        title=row[1],
        pinned=bool(row[2]),
        turns=row[3],
        latest=row[6],
        created=datetime.fromisoformat(row[4]),
        updated=datetime.fromisoformat(row[5]),
    )


def _parse_event(run_id: str, row: Sequence[Any]) -> Event:
    seq, time, kind, data = row
    event = parse_event(kind, json.loads(data))
    return Event(run=run_id, seq=seq, time=datetime.fromisoformat(time), data=event)
