"""The runs in the store, with their events, queue and conversations."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from research.core.events import ClarificationAnswered, Event, RunEvent, StatusChanged, dump_event, parse_event
from research.core.records import Conversation, Plan, Run, RunOptions, RunStatus
from research.storage import statements as sql
from research.storage.databases import StoreDatabase
from research.storage.history_index import HistoryIndex
from research.storage.rows import first_record, parse_rows, parse_run, to_json
from research.storage.run_queue import QueueEntry, select_next

REQUEST_STOP, REQUEST_WRITE = 1, 2  # requests to a run under way


class RunClaimedError(Exception):
    """Another engine has claimed the run, or it was deleted: this engine writes no more to it."""


class RunStore:
    """The runs in a database."""

    database: StoreDatabase
    history: HistoryIndex

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
        """Return a run of any owner; None if there is none, or it cannot be read."""
        rows = self.database.read(sql.SELECT_RUN, run=run_id)
        return first_record(parse_run, rows)

    def get_owned_run(self, run_id: str, owner: str) -> Run | None:
        """Return a run of an owner; None if there is none, it cannot be read, or it is in the bin."""
        rows = self.database.read(sql.SELECT_OWNED_RUN, run=run_id, owner=owner)
        return first_record(parse_run, rows)

    def runs(self, owner: str, limit: int = 200) -> list[Run]:
        """Return an owner's runs, newest first."""
        return parse_rows(parse_run, self.database.read(sql.LIST_RUNS, owner=owner, limit=limit))

    def given_plan(self, run_id: str) -> Plan | None:
        """Return the plan that the analyst gave the run, if any."""
        rows = self.database.read(sql.SELECT_GIVEN_PLAN, run=run_id)
        return Plan.model_validate_json(rows[0][0]) if rows and rows[0][0] else None

    def claim_run(self, run_id: str, engine: str, *, write_only: bool = False) -> bool:
        """Claim a resumable run for an engine. Only one of several concurrent callers succeeds.

        With `write_only`, the run makes no further searches.
        """
        request = REQUEST_WRITE if write_only else 0
        return self.database.write(sql.CLAIM_RUN, run=run_id, claimant=engine, request=request) == 1

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
            is_claimed = bool(transaction.fetch_all(sql.LOCK_ENGINE_RUN, run=run_id, engine=engine))
            if is_claimed:
                event = (datetime.now(UTC), StatusChanged(status=status, error=error))
                self.append_events(run_id, [event], status, error)
            return is_claimed

    def request_stop(self, run_id: str) -> None:
        """Request that a run stops."""
        self.database.write(sql.REQUEST_STOP, run=run_id)

    def request_write(self, run_id: str) -> None:
        """Request that a run stops searching and writes its answer."""
        self.database.write(sql.REQUEST_WRITE, run=run_id)

    def run_requests(self) -> list[tuple[str, str, int]]:
        """Return the pending requests as run id, engine and `REQUEST_STOP` or `REQUEST_WRITE`."""
        return [(row[0], row[1], row[2]) for row in self.database.read(sql.LIST_RUN_REQUESTS)]

    def finished_runs(self, owner: str, limit: int) -> list[tuple[Run, list[Event]]]:
        """Return an owner's latest finished runs, each with its events about usage."""
        rows = self.database.read(sql.LIST_FINISHED_RUNS, owner=owner, limit=limit)
        return [(run, self._usage_events(run.id)) for run in parse_rows(parse_run, rows)]

    def _usage_events(self, run_id: str) -> list[Event]:
        rows = self.database.read(sql.LIST_USAGE_EVENTS, run=run_id)
        return parse_rows(lambda row: _parse_event(run_id, row), rows)

    # Queue

    def queue_entries(self) -> list[QueueEntry]:
        """Return the runs that are queued or under way, in order of arrival."""
        return [QueueEntry(*row) for row in self.database.read(sql.LIST_QUEUE)]

    def admit_runs(self, engines: Container[str], max_total: int, max_per_owner: int) -> list[QueueEntry]:
        """Mark the queued runs of some engines that may start now as running, and return them.

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

    # Approval

    def approve_run(self, run_id: str, engine: str, plan: Plan | None, options: RunOptions) -> bool:
        """Claim a waiting run for an engine and set its plan and options.

        Return whether this caller, one of several, has claimed it.
        """
        updated = self.database.write(
            sql.APPROVE_RUN,
            run=run_id,
            claimant=engine,
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
            RunClaimedError: the run no longer belongs to `engine`.
        """
        with self.database.transaction() as transaction:
            engines = transaction.fetch_all(sql.LOCK_RUN, run=run_id)
            if engine and engines != [(engine,)]:
                raise RunClaimedError(run_id)
            last: int = transaction.fetch_all(sql.LAST_EVENT_NUMBER, run=run_id)[0][0]
            rows = [
                {"run": run_id, "seq": seq, "time": time.isoformat(), "kind": kind, "data": to_json(data)}
                for seq, (time, event) in enumerate(events, last + 1)
                for kind, data in [dump_event(event)]
            ]
            transaction.execute_many(sql.ADD_EVENT, rows)
            if status:
                has_ended = status not in ("queued", "running")
                finished = datetime.now(UTC).isoformat() if has_ended else None
                transaction.execute(sql.SET_STATUS, run=run_id, new_status=status, reason=error, ended=finished)
                if has_ended:  # its findings and usage are complete now
                    self.history.index_run(transaction, run_id)
            return last + len(rows)

    def events(self, run_id: str, after: int = 0) -> list[Event]:
        rows = self.database.read(sql.LIST_EVENTS, run=run_id, after=after)
        return parse_rows(lambda row: _parse_event(run_id, row), rows)

    def last_event_number(self, run_id: str, owner: str) -> int:
        """Return the number of the last event of an owner's run; 0 if there is none."""
        return int(self.database.read(sql.LAST_EVENT_NUMBER_OF_OWNER, run=run_id, owner=owner)[0][0])

    # Conversations

    def conversations(self, owner: str, limit: int = 200) -> list[Conversation]:
        """Return an owner's conversations, pinned ones first, then latest first."""
        rows = self.database.read(sql.LIST_CONVERSATIONS, owner=owner, limit=limit)
        return parse_rows(_parse_conversation, rows)

    def turns(self, conversation: str, owner: str) -> list[Run]:
        """Return the runs of a conversation that is not in the bin, earliest first."""
        rows = self.database.read(sql.LIST_TURNS, conversation=conversation, owner=owner)
        return parse_rows(parse_run, rows)

    def has_turns(self, conversation: str, owner: str) -> bool:
        """Return whether an owner has this conversation, in the bin or not.

        Its runs need not be readable.
        """
        return bool(self.database.read(sql.LIST_ALL_TURNS, conversation=conversation, owner=owner))

    def all_turns(self, conversation: str, owner: str) -> list[Run]:
        """Return the runs of a conversation, in the bin or not, earliest first."""
        rows = self.database.read(sql.LIST_ALL_TURNS, conversation=conversation, owner=owner)
        return parse_rows(parse_run, rows)

    def update_conversation(
        self, conversation: str, owner: str, *, title: str | None = None, pinned: bool | None = None
    ) -> None:
        """Set the title of an owner's conversation ("" restores its first question), or pin or unpin it."""
        if not self.turns(conversation, owner):
            return
        values = {"title": title, "pinned": None if pinned is None else int(pinned)}
        with self.database.transaction() as transaction:
            transaction.execute(sql.ADD_CONVERSATION, **sql.NEW_CONVERSATION_VALUES, id=conversation)
            for name, value in values.items():
                if value is not None:
                    transaction.execute(sql.UPDATE_CONVERSATION[name], conversation=conversation, value=value)
            self.history.index_conversation(conversation)

    def delete_conversation(self, conversation: str, owner: str) -> list[str]:
        """Delete a conversation with its runs and evidence. Return the ids of the runs."""
        with self.database.transaction() as transaction:
            rows = transaction.fetch_all(sql.LIST_ALL_TURNS, conversation=conversation, owner=owner)
            if rows:
                for statement in sql.DELETE_CONVERSATION:
                    transaction.execute(statement, conversation=conversation)
        return [row[0] for row in rows]


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
