"""Runs, events, searches, evidence and answers in one SQLite file.

What is written here stays: a finished search is stored before the next stage begins, and is never
paid for twice in its run. Knows records and SQLite; knows nothing of graphs or pages.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from research.evidence.registry import Registry
from research.records import (
    Answer,
    Conversation,
    Event,
    Evidence,
    Finding,
    Options,
    Place,
    Plan,
    Reflection,
    Report,
    Run,
    RunStatus,
    Sighting,
    Task,
    Usage,
)
from research.storage import Database

_MIGRATIONS = (
    """
    create table run(
        id text primary key, conversation text not null, owner text not null,
        question text not null, options text not null, status text not null,
        created text not null, finished text, error text not null default '',
        based_on text not null default '', given text, engine text not null default '',
        stop integer not null default 0);
    create index run_owner on run(owner, created);
    create index run_status on run(status);
    create table event(
        run text not null references run on delete cascade, seq integer not null,
        time text not null, kind text not null, data text not null,
        primary key(run, seq)) without rowid;
    create table search(
        id integer primary key, run text not null references run on delete cascade,
        task text not null, key text not null, source text not null, query text not null,
        started text not null, finished text, reason text, finding text);
    create index search_run on search(run, key);
    create table evidence(
        conversation text not null, id text not null, kind text not null, title text not null,
        url text not null, record text not null, primary key(conversation, id)) without rowid;
    create table answer(
        run text primary key references run on delete cascade, plan text, reflections text not null,
        answer text, made text not null) without rowid;
    """,
    """
    create table lookup(
        key text primary key, answer text not null, made text not null) without rowid;
    create table account(
        name text not null, day text not null, n integer not null,
        primary key(name, day)) without rowid;
    """,
    """
    alter table run add column follows text not null default '';
    create index run_conversation on run(conversation, created);
    create index search_key on search(key, finished);
    create table conversation(
        id text primary key, title text not null default '',
        pinned integer not null default 0) without rowid;
    """,
)
LOOKUPS = timedelta(days=31)  # that answers of services are kept, at the longest

_RUN = "id, conversation, owner, question, options, status, created, finished, error, based_on, follows"


class Store:
    """The runs of one data folder. Safe for several threads and processes."""

    def __init__(self, path: Path) -> None:
        """Opens or creates the store.

        Raises:
            StoreError: the file cannot be used.
        """
        self.path = path
        self._db = Database(path, _MIGRATIONS)

    # Runs

    def add(self, run: Run, given: Plan | None, engine: str) -> bool:
        """Adds a run; says whether its id was free."""
        with self._db.write() as db:
            added = db.execute(
                f"insert or ignore into run({_RUN}, given, engine) values(?,?,?,?,?,?,?,?,?,?,?,?,?)",
                (
                    run.id, run.conversation, run.owner, run.question,
                    run.options.model_dump_json(), run.status, run.created.isoformat(), None,
                    run.error, run.based_on, run.follows, given.model_dump_json() if given else None, engine,
                ),
            )  # fmt: skip
            return bool(added.rowcount)

    def run(self, run_id: str) -> Run | None:
        rows = self._db.read(f"select {_RUN} from run where id=?", (run_id,))  # noqa: S608 - the columns are a constant
        return _run(rows[0]) if rows else None

    def runs(self, owner: str, limit: int = 200) -> list[Run]:
        """An owner's runs, newest first."""
        rows = self._db.read(
            f"select {_RUN} from run where owner=? order by created desc, id limit ?",  # noqa: S608 - the columns are a constant
            (owner, limit),
        )
        return [_run(row) for row in rows]

    def given(self, run_id: str) -> Plan | None:
        """The plan that the analyst gave the run, if any."""
        rows = self._db.read("select given from run where id=?", (run_id,))
        return Plan.model_validate_json(str(rows[0][0])) if rows and rows[0][0] else None

    def claim(self, run_id: str, engine: str) -> bool:
        """Takes a run that is not going on, for an engine. Only one of several callers gets it."""
        with self._db.write() as db:
            return bool(
                db.execute(
                    "update run set status='queued', engine=?, stop=0, error='', finished=null "
                    "where id=? and status in ('stopped', 'interrupted', 'failed')",
                    (engine, run_id),
                ).rowcount
            )

    def engines(self) -> dict[str, list[str]]:
        """The runs that are marked as going on, by the engine they run in."""
        out: dict[str, list[str]] = {}
        for engine, run_id in self._db.read(
            "select engine, id from run where status in ('queued', 'running')"
        ):
            out.setdefault(str(engine), []).append(str(run_id))
        return out

    def interrupt(self, run_id: str, engine: str) -> None:
        """Marks a run as interrupted, unless another engine has taken it meanwhile."""
        with self._db.write() as db:
            held = db.execute(
                "select 1 from run where id=? and engine=? and status in ('queued', 'running')",
                (run_id, engine),
            ).fetchone()
            if held:
                event = (datetime.now(UTC), "status", {"status": "interrupted", "error": ""})
                self.append(run_id, [event], "interrupted")

    def ask_to_stop(self, run_id: str) -> None:
        with self._db.write() as db:
            db.execute(
                "update run set stop=1 where id=? and status in ('queued', 'running')", (run_id,)
            )

    def to_stop(self, engine: str) -> list[str]:
        """The engine's runs that somebody asked to stop."""
        rows = self._db.read(
            "select id from run where engine=? and stop=1 and status in ('queued', 'running')",
            (engine,),
        )
        return [str(row[0]) for row in rows]

    def delete(self, run_id: str) -> None:
        with self._db.write() as db:
            db.execute("delete from run where id=?", (run_id,))

    # Events

    def append(
        self,
        run_id: str,
        events: Iterable[tuple[datetime, str, dict[str, Any]]],
        status: RunStatus | None = None,
        error: str = "",
    ) -> int:
        """Adds events and, in the same transaction, a new status. Returns the last `seq`."""
        with self._db.write() as db:
            last = int(
                db.execute(
                    "select coalesce(max(seq), 0) from event where run=?", (run_id,)
                ).fetchone()[0]
            )
            rows = [
                (run_id, last + n, time.isoformat(), kind, _json(data))
                for n, (time, kind, data) in enumerate(events, 1)
            ]
            db.executemany("insert into event values(?,?,?,?,?)", rows)
            if status:
                over = status not in ("queued", "running")
                finished = datetime.now(UTC).isoformat() if over else None
                db.execute(
                    "update run set status=?, error=?, finished=? where id=?",
                    (status, error, finished, run_id),
                )
            return last + len(rows)

    def events(self, run_id: str, after: int = 0) -> list[Event]:
        rows: list[Any] = self._db.read(
            "select seq, time, kind, data from event where run=? and seq>? order by seq",
            (run_id, after),
        )
        return [
            Event(
                run=run_id,
                seq=seq,
                time=datetime.fromisoformat(time),
                kind=kind,
                data=json.loads(data),
            )
            for seq, time, kind, data in rows
        ]

    # Searches and evidence

    def begin(self, run_id: str, task: Task) -> int:
        """Notes that a search starts; the row's id goes to `finish`."""
        with self._db.write() as db:
            row = db.execute(
                "insert into search(run, task, key, source, query, started) values(?,?,?,?,?,?)",
                (run_id, task.id, task.key, task.source, task.query, datetime.now(UTC).isoformat()),
            )
            return int(row.lastrowid or 0)

    def finish(self, search: int, conversation: str, finding: Finding) -> None:
        """Makes a finding and its evidence durable: it may have been paid for."""
        with self._db.write() as db:
            db.execute(
                "update search set finished=?, reason=?, finding=? where id=?",
                (datetime.now(UTC).isoformat(), finding.reason, finding.model_dump_json(), search),
            )
            for evidence in finding.evidence:
                self._register(db, conversation, evidence)

    def _register(self, db: Any, conversation: str, evidence: Evidence) -> None:
        evidence = Registry().add(evidence)  # under the id that it is kept by
        registry = Registry()
        row = db.execute(
            "select record from evidence where conversation=? and id=?",
            (conversation, evidence.id),
        ).fetchone()
        if row:
            registry.add(Evidence.model_validate_json(row[0]))
        merged = registry.add(evidence)
        db.execute(
            "insert or replace into evidence values(?,?,?,?,?,?)",
            (conversation, merged.id, merged.kind, merged.title, merged.url,
             merged.model_dump_json()),
        )  # fmt: skip

    def finding(self, runs: Sequence[str], key: str) -> tuple[str, Finding] | None:
        """The finished search of that key in the first of some runs that has it."""
        for run_id in filter(None, runs):
            rows = self._db.read(
                "select finding from search where run=? and key=? and finding is not null "
                "and (reason is null or reason='empty') order by id limit 1",
                (run_id, key),
            )
            if rows:
                return run_id, Finding.model_validate_json(str(rows[0][0]))
        return None

    def recent(self, owner: str, key: str, since: datetime) -> list[Finding]:
        """What an owner's runs have found for a key since a time, the latest first."""
        rows = self._db.read(
            "select s.finding from search s join run r on r.id = s.run where s.key=? and r.owner=? "
            "and s.finished>=? and s.reason is null and s.finding is not null "
            "order by s.id desc limit 5",
            (key, owner, since.astimezone(UTC).isoformat()),
        )
        return [Finding.model_validate_json(str(row[0])) for row in rows]

    def searches(self, run_id: str) -> list[dict[str, Any]]:
        """Every search that was started for a run, finished or not, in order."""
        names = ("task", "key", "source", "query", "started", "finished", "reason")
        rows = self._db.read(
            "select task, key, source, query, started, finished, reason from search "
            "where run=? order by id",
            (run_id,),
        )
        return [dict(zip(names, row, strict=True)) for row in rows]

    def evidence(self, conversation: str) -> list[Evidence]:
        """The evidence registry of a conversation."""
        rows = self._db.read(
            "select record from evidence where conversation=? order by id", (conversation,)
        )
        return [Evidence.model_validate_json(str(row[0])) for row in rows]

    # Places

    def look_ups(self, owner: str) -> str:
        """The registry of what an owner looked up by itself, without a run."""
        return f"places of {owner}"

    def register(self, registry: str, evidence: Iterable[Evidence]) -> None:
        """Adds evidence to a registry: a conversation's, or that of `look_ups`."""
        with self._db.write() as db:
            for item in evidence:
                self._register(db, registry, item)

    def sightings(self, owner: str) -> list[Sighting]:
        """Every place that an owner's runs and look-ups have found, the latest found first."""
        rows: list[Any] = self._db.read(
            "select e.id, json_extract(e.record, '$.place'), e.url, "
            "json_extract(e.record, '$.retrieved'), r.id, r.question from evidence e "
            "left join run r on r.conversation = e.conversation and r.owner = ?1 "
            "where e.kind = 'place' and (r.id is not null or e.conversation = ?2) "
            "order by r.created desc",
            (owner, self.look_ups(owner)),
        )
        found: dict[str, tuple[str, str, str]] = {}
        asked: dict[str, dict[str, str]] = {}
        for key, place, url, retrieved, run_id, question in rows:
            if place is None:  # a fact about places, such as a route
                continue
            if key not in found or retrieved > found[key][2]:
                found[key] = (place, url, retrieved)
            asked.setdefault(key, {}).update({run_id: question} if run_id else {})
        latest = sorted(found.items(), key=lambda item: item[1][2], reverse=True)
        return [
            Sighting(
                place=Place.model_validate_json(place),
                url=url,
                retrieved=datetime.fromisoformat(retrieved),
                runs=tuple(asked[key]),
                questions=tuple(asked[key].values()),
            )
            for key, (place, url, retrieved) in latest
        ]

    def recall(self, key: str, since: datetime) -> tuple[dict[str, Any], datetime] | None:
        """An answer of a service that is not older than `since`, and when it was made."""
        rows = self._db.read(
            "select answer, made from lookup where key=? and made>=?",
            (key, since.astimezone(UTC).isoformat()),
        )
        if not rows:
            return None
        return json.loads(str(rows[0][0])), datetime.fromisoformat(str(rows[0][1]))

    def remember(self, key: str, answer: Mapping[str, Any], made: datetime) -> None:
        """Keeps an answer of a service; those that are too old to be used go."""
        with self._db.write() as db:
            old = (made - LOOKUPS).astimezone(UTC).isoformat()
            db.execute("delete from lookup where made<?", (old,))
            db.execute(
                "insert or replace into lookup values(?,?,?)",
                (key, _json(dict(answer)), made.astimezone(UTC).isoformat()),
            )

    def count(self, name: str, day: str) -> None:
        """Adds one to an account of a day."""
        with self._db.write() as db:
            db.execute(
                "insert into account values(?,?,1) on conflict do update set n=n+1", (name, day)
            )

    def counted(self, name: str, day: str) -> int:
        """What an account of a day has come to."""
        rows = self._db.read("select n from account where name=? and day=?", (name, day))
        return int(str(rows[0][0])) if rows else 0

    # Answers

    def keep(
        self,
        run_id: str,
        plan: Plan | None,
        reflections: Sequence[Reflection],
        answer: Answer | None,
    ) -> None:
        """Stores what a run has come to so far."""
        with self._db.write() as db:
            db.execute(
                "insert or replace into answer values(?,?,?,?,?)",
                (
                    run_id,
                    plan.model_dump_json() if plan else None,
                    json.dumps([r.model_dump(mode="json") for r in reflections]),
                    answer.model_dump_json() if answer else None,
                    datetime.now(UTC).isoformat(),
                ),
            )

    def report(self, run: Run) -> Report:
        """Everything a run has to show, whatever its status."""
        rows: list[Any] = self._db.read(
            "select plan, reflections, answer from answer where run=?", (run.id,)
        )
        plan, reflections, answer = rows[0] if rows else (None, "[]", None)
        stored = self._db.read(
            "select task, finding from search where run=? and finding is not null order by id",
            (run.id,),
        )
        latest = {str(task): str(finding) for task, finding in stored}  # a failed one was repeated
        findings = tuple(Finding.model_validate_json(finding) for finding in latest.values())
        kept = Answer.model_validate_json(answer) if answer else None
        found = {item.id: item for finding in findings for item in finding.evidence}
        return Report(
            run=run,
            plan=Plan.model_validate_json(plan) if plan else None,
            findings=findings,
            reflections=tuple(Reflection.model_validate(r) for r in json.loads(reflections)),
            answer=kept,
            evidence=(
                *(e for f in findings for e in f.evidence),
                *self._earlier(run.conversation, kept, found),
            ),
            usage=self._spent(run.id),
        )

    def _earlier(
        self, conversation: str, answer: Answer | None, found: Container[str]
    ) -> list[Evidence]:
        """What an answer cites that the turns before it have found."""
        cited = [cite.evidence for span in (answer.spans if answer else ()) for cite in span.cites]
        wanted = [key for key in dict.fromkeys(cited) if key not in found]
        rows = [
            row
            for key in wanted
            for row in self._db.read(
                "select record from evidence where conversation=? and id=?", (conversation, key)
            )
        ]
        return [Evidence.model_validate_json(str(row[0])) for row in rows]

    def _spent(self, run_id: str) -> tuple[Usage, ...]:
        """What the calls of a run have used, in order."""
        rows = self._db.read(
            "select data from event where run=? and kind='usage' order by seq", (run_id,)
        )
        return tuple(Usage.model_validate_json(str(row[0])) for row in rows)

    # Conversations

    def conversations(self, owner: str, limit: int = 200) -> list[Conversation]:
        """An owner's conversations: those that are pinned first, then the latest."""
        rows: list[Any] = self._db.read(
            "select r.conversation, coalesce(nullif(c.title, ''), (select question from run f "
            "where f.conversation = r.conversation and f.owner = r.owner order by created limit 1)), "
            "coalesce(c.pinned, 0), count(*), min(r.created), max(r.created), "
            "(select id from run l where l.conversation = r.conversation and l.owner = r.owner "
            "order by created desc limit 1) "
            "from run r left join conversation c on c.id = r.conversation where r.owner = ? "
            "group by r.conversation order by coalesce(c.pinned, 0) desc, max(r.created) desc limit ?",
            (owner, limit),
        )
        return [
            Conversation(
                id=row[0], title=row[1], pinned=bool(row[2]), turns=row[3], latest=row[6],
                created=datetime.fromisoformat(row[4]), updated=datetime.fromisoformat(row[5]),
            )
            for row in rows
        ]  # fmt: skip

    def turns(self, conversation: str, owner: str) -> list[Run]:
        """The runs of a conversation, the earliest first."""
        rows = self._db.read(
            f"select {_RUN} from run where conversation=? and owner=? order by created, id",  # noqa: S608 - the columns are a constant
            (conversation, owner),
        )
        return [_run(row) for row in rows]

    def label(
        self, conversation: str, *, title: str | None = None, pinned: bool | None = None
    ) -> None:
        """Gives a conversation a title of its own, or pins it."""
        with self._db.write() as db:
            db.execute("insert or ignore into conversation(id) values(?)", (conversation,))
            db.execute(
                "update conversation set title=coalesce(?, title), pinned=coalesce(?, pinned) "
                "where id=?",
                (title, pinned, conversation),
            )

    def forget(self, conversation: str, owner: str) -> list[str]:
        """Deletes a conversation with its runs and its evidence; returns the runs' ids."""
        with self._db.write() as db:
            ids = [
                str(row[0])
                for row in db.execute(
                    "select id from run where conversation=? and owner=?", (conversation, owner)
                )
            ]
            if ids:
                for table, key in (
                    ("run", "conversation"),
                    ("evidence", "conversation"),
                    ("conversation", "id"),
                ):
                    db.execute(f"delete from {table} where {key}=?", (conversation,))  # noqa: S608 - constants
        return ids

    def accounts(self, owner: str, limit: int) -> list[tuple[Run, list[Event]]]:
        """An owner's latest finished runs, each with its events of what it used."""
        rows: list[Any] = self._db.read(
            f"select {_RUN} from run where owner=? and status='done' order by created desc limit ?",  # noqa: S608 - the columns are a constant
            (owner, limit),
        )
        return [(run, self._account(run.id)) for run in map(_run, rows)]

    def _account(self, run_id: str) -> list[Event]:
        rows: list[Any] = self._db.read(
            "select seq, time, kind, data from event where run=? "
            "and kind in ('status', 'usage', 'found') order by seq",
            (run_id,),
        )
        return [
            Event(
                run=run_id,
                seq=seq,
                time=datetime.fromisoformat(time),
                kind=kind,
                data=json.loads(data),
            )
            for seq, time, kind, data in rows
        ]

    # Approval

    def approve(self, run_id: str, engine: str, plan: Plan | None, options: Options) -> bool:
        """Gives a waiting run its plan and takes it for an engine. Only one of several gets it."""
        with self._db.write() as db:
            return bool(
                db.execute(
                    "update run set status='queued', engine=?, stop=0, error='', finished=null, "
                    "given=?, options=? where id=? and status='waiting'",
                    (
                        engine,
                        plan.model_dump_json() if plan else None,
                        options.model_dump_json(),
                        run_id,
                    ),
                ).rowcount
            )

    # Ending the searching of a run

    def ask_to_write(self, run_id: str) -> None:
        with self._db.write() as db:
            db.execute(
                "update run set stop=2 where id=? and status in ('queued', 'running') and stop=0",
                (run_id,),
            )

    def to_write(self, engine: str) -> list[str]:
        """The engine's runs that somebody asked to write with what there is."""
        rows = self._db.read(
            "select id from run where engine=? and stop=2 and status in ('queued', 'running')",
            (engine,),
        )
        return [str(row[0]) for row in rows]

    def close(self) -> None:
        self._db.close()


def _json(data: dict[str, Any]) -> str:
    """JSON that can be stored: half of a surrogate pair, which a model can send, becomes a "?"."""
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace").decode()


def _run(row: Sequence[Any]) -> Run:
    return Run(
        id=row[0],
        conversation=row[1],
        owner=row[2],
        question=row[3],
        options=Options.model_validate_json(row[4]),
        status=row[5],
        created=datetime.fromisoformat(row[6]),
        finished=datetime.fromisoformat(row[7]) if row[7] else None,
        error=row[8],
        based_on=row[9],
        follows=row[10],
    )
