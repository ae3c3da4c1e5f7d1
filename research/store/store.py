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

from research.evidence.registry import Registry
from research.records import (
    Answer,
    Clarification,
    Conversation,
    Event,
    Evidence,
    Finding,
    Instruction,
    Options,
    Place,
    Plan,
    Reflection,
    Remark,
    Report,
    Run,
    RunStatus,
    Sighting,
    Task,
    Usage,
)
from research.store import statements as sql
from research.store import tables
from research.store.archive import Archive
from research.store.databases import Database, File, Work
from research.store.history import tidy
from research.store.postgres import Server
from research.store.queue import Waiting, admitted
from research.store.rows import read_run as _run
from research.store.rows import readable as _readable

STOP, WRITE = 1, 2  # what may be asked of a run under way
PAIRS = 200  # confirmed statements that are looked at, the latest
LOOKUPS = timedelta(days=31)  # that answers of services are kept, at the longest
_T = TypeVar("_T")
_REFLECTIONS = TypeAdapter(tuple[Reflection, ...])


class Lost(Exception):
    """Another engine has taken the run, or it is deleted: nothing more is written for this one."""


class _Seen(BaseModel):
    """What `sightings` reads of a record of evidence."""

    place: Place | None = None
    retrieved: datetime


class Store:
    """The runs of one database. Safe for several threads and processes."""

    def __init__(self, place: Path | str) -> None:
        """Opens or creates the store in a SQLite file, or in the PostgreSQL database of an address.

        Raises:
            StoreError: the file or the database cannot be used.
        """
        self.database: Database = (
            File(place, tables.SQLITE)
            if isinstance(place, Path)
            else Server(place, tables.POSTGRESQL)
        )
        self.archive = Archive(self.database)

    # Runs

    def add(self, run: Run, given: Plan | None, engine: str) -> bool:
        """Adds a run; says whether its id was free."""
        with self.database.write() as work:
            added = work.do(
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
                given=given.model_dump_json() if given else None,
                engine=engine,
                stop=0,
            )
            if added:
                self.archive.tell(work, run.id)
            return added == 1

    def run(self, run_id: str) -> Run | None:
        rows = self.database.read(sql.RUN, run=run_id)
        return next(iter(_readable(_run, rows)), None)

    def own(self, run_id: str, owner: str) -> Run | None:
        """A run of an owner's that does not lie in the bin."""
        rows = self.database.read(sql.OWN, run=run_id, owner=owner)
        return next(iter(_readable(_run, rows)), None)

    def runs(self, owner: str, limit: int = 200) -> list[Run]:
        """An owner's runs, newest first."""
        return _readable(_run, self.database.read(sql.RUNS, owner=owner, most=limit))

    def given(self, run_id: str) -> Plan | None:
        """The plan that the analyst gave the run, if any."""
        rows = self.database.read(sql.GIVEN, run=run_id)
        return Plan.model_validate_json(rows[0][0]) if rows and rows[0][0] else None

    def claim(self, run_id: str, engine: str, *, write: bool = False) -> bool:
        """Takes a run that is not going on, for an engine, to search on or to `write` with what there
        is. Only one of several callers gets it."""
        with self.database.write() as work:
            return work.do(sql.CLAIM, run=run_id, by=engine, wish=WRITE if write else 0) == 1

    def engines(self) -> dict[str, list[str]]:
        """The runs that are marked as going on, by the engine they run in."""
        out: dict[str, list[str]] = {}
        for engine, run_id in self.database.read(sql.ENGINES):
            out.setdefault(engine, []).append(run_id)
        return out

    def end(self, run_id: str, engine: str, status: RunStatus, error: str = "") -> bool:
        """Notes that the work on a run has ended, unless it has ended otherwise or another engine has
        taken it meanwhile; says whether it did."""
        with self.database.write() as work:
            held = bool(work.all(sql.HELD, run=run_id, by=engine))
            if held:
                event = (datetime.now(UTC), "status", {"status": status, "error": error})
                self.append(run_id, [event], status, error)
            return held

    def ask_to_stop(self, run_id: str) -> None:
        with self.database.write() as work:
            work.do(sql.ASK_TO_STOP, run=run_id)

    def ask_to_write(self, run_id: str) -> None:
        """Asks a run to search no more and to write with what there is."""
        with self.database.write() as work:
            work.do(sql.ASK_TO_WRITE, run=run_id)

    def wishes(self) -> list[tuple[str, str, int]]:
        """The runs under way that somebody asked to `STOP` or to `WRITE`, with their engines."""
        return [(row[0], row[1], row[2]) for row in self.database.read(sql.WISHES)]

    # The queue

    def line(self) -> list[Waiting]:
        """The runs under way and those that wait for their turn, in the order of their coming."""
        return [Waiting(*row) for row in self.database.read(sql.LINE)]

    def admit(self, engines: Container[str], total: int, each: int) -> list[Waiting]:
        """Marks as running those queued runs of some engines whose turn it is; returns them.

        At most `total` go on at once in all processes, at most `each` of one owner; 0 is no limit.
        """
        with self.database.write() as work:
            work.lock(sql.LOCK_QUEUE)
            line = [Waiting(*row) for row in work.all(sql.LINE)]
            turn = [one for one in admitted(line, total, each) if one.engine in engines]
            for one in turn:
                work.do(sql.ADMIT, run=one.id)
        return turn

    def delete(self, run_id: str) -> None:
        with self.database.write() as work:
            work.do(sql.DELETE_RUN, run=run_id)

    # Events

    def append(
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
        with self.database.write() as work:
            held = work.all(sql.LOCK_RUN, run=run_id)
            if engine and held != [(engine,)]:
                raise Lost(run_id)
            last: int = work.all(sql.LAST_EVENT, run=run_id)[0][0]
            rows = [
                {
                    "run": run_id,
                    "seq": last + n,
                    "time": time.isoformat(),
                    "kind": kind,
                    "data": _json(data),
                }
                for n, (time, kind, data) in enumerate(events, 1)
            ]
            work.many(sql.ADD_EVENT, rows)
            if status:
                over = status not in ("queued", "running")
                ended = datetime.now(UTC).isoformat() if over else None
                work.do(sql.STATUS, run=run_id, now=status, why=error, ended=ended)
                if over:  # what it has found and used is known by now
                    self.archive.tell(work, run_id)
            return last + len(rows)

    def events(self, run_id: str, after: int = 0) -> list[Event]:
        rows = self.database.read(sql.EVENTS, run=run_id, after=after)
        return _readable(lambda row: _event(run_id, row), rows)

    def latest(self, run_id: str, owner: str) -> int:
        """The number of the last event of an owner's run; 0 if there is none."""
        return int(self.database.read(sql.LATEST, run=run_id, owner=owner)[0][0])

    # Searches and evidence

    def begin(self, run_id: str, task: Task) -> int:
        """Notes that a search starts; the row's id goes to `finish`."""
        with self.database.write() as work:
            return work.added(
                sql.BEGIN,
                run=run_id,
                task=task.id,
                key=task.key,
                source=task.source,
                query=task.query,
                started=datetime.now(UTC).isoformat(),
            )

    def finish(self, search: int, conversation: str, finding: Finding) -> None:
        """Makes a finding and its evidence durable: it may have been paid for."""
        with self.database.write() as work:
            work.do(
                sql.FINISH,
                search=search,
                ended=datetime.now(UTC).isoformat(),
                why=finding.reason,
                found=finding.model_dump_json(),
            )
            self._register(work, conversation, finding.evidence)

    def _register(self, work: Work, registry: str, found: Iterable[Evidence]) -> None:
        """Adds evidence to what its registry has of it, while nobody else does."""
        for n, item in enumerate(found):
            if n == 0:
                work.lock(sql.LOCK_REGISTRY, registry=registry)
            one = Registry().add(item)  # under the id that it is kept by
            known = Registry()
            for kept in _readable(_evidence, work.all(sql.RECORD, registry=registry, id=one.id)):
                known.add(kept)
            merged = known.add(one)
            work.do(
                sql.KEEP_EVIDENCE,
                conversation=registry,
                id=merged.id,
                kind=merged.kind,
                title=merged.title,
                url=merged.url,
                record=merged.model_dump_json(),
            )

    def finding(self, runs: Sequence[str], key: str) -> tuple[str, Finding] | None:
        """The finished search of that key in the first of some runs that has it."""
        for run_id in filter(None, runs):
            for found in _readable(_finding, self.database.read(sql.FINDING, run=run_id, key=key)):
                return run_id, found
        return None

    def recent(self, owner: str, key: str, since: datetime) -> list[Finding]:
        """What an owner's runs have found for a key since a time, the latest first."""
        rows = self.database.read(
            sql.RECENT, owner=owner, key=key, since=since.astimezone(UTC).isoformat()
        )
        return _readable(_finding, rows)

    def searches(self, run_id: str) -> list[dict[str, Any]]:
        """Every search that was started for a run, finished or not, in order."""
        rows = self.database.read(sql.SEARCHES, run=run_id)
        return [dict(zip(sql.LISTED, row, strict=True)) for row in rows]

    def evidence(self, conversation: str) -> list[Evidence]:
        """The evidence registry of a conversation."""
        rows = self.database.read(sql.EVIDENCE, registry=conversation)
        return _readable(_evidence, rows)

    # Places

    def look_ups(self, owner: str) -> str:
        """The registry of what an owner looked up by itself, without a run."""
        return f"places of {owner}"

    def register(self, registry: str, evidence: Iterable[Evidence]) -> None:
        """Adds evidence to a registry: a conversation's, or that of `look_ups`."""
        with self.database.write() as work:
            self._register(work, registry, evidence)

    def sightings(self, owner: str) -> list[Sighting]:
        """Every place that an owner's runs and look-ups have found, the latest found first."""
        asked: dict[str, dict[str, str]] = {}  # by conversation, the questions of its runs
        order: dict[str, int] = {}
        for n, (conversation, run_id, question) in enumerate(
            self.database.read(sql.ASKED, owner=owner)
        ):
            asked.setdefault(conversation, {})[run_id] = question
            order[run_id] = n
        found: dict[str, tuple[Place, str, datetime]] = {}
        questions: dict[str, dict[str, str]] = {}
        rows = self.database.read(sql.PLACES, owner=owner, registry=self.look_ups(owner))
        for key, conversation, url, seen in _readable(_seen, rows):
            if seen.place is None:  # a fact about places, such as a route
                continue
            if key not in found or seen.retrieved > found[key][2]:
                found[key] = (seen.place, url, seen.retrieved)
            questions.setdefault(key, {}).update(asked.get(conversation, {}))
        out = []
        for key, (place, url, retrieved) in found.items():
            runs = sorted(questions[key], key=order.__getitem__)
            out.append(
                Sighting(
                    place=place,
                    url=url,
                    retrieved=retrieved,
                    runs=tuple(runs),
                    questions=tuple(questions[key][run_id] for run_id in runs),
                )
            )
        return sorted(out, key=lambda sighting: sighting.retrieved, reverse=True)

    def recall(self, key: str, since: datetime) -> tuple[dict[str, Any], datetime] | None:
        """An answer of a service that is not older than `since`, and when it was made."""
        for answer, made in self.database.read(
            sql.RECALL, key=key, since=since.astimezone(UTC).isoformat()
        ):
            return json.loads(answer), datetime.fromisoformat(made)
        return None

    def remember(self, key: str, answer: Mapping[str, Any], made: datetime) -> None:
        """Keeps an answer of a service; those that are too old to be used go."""
        with self.database.write() as work:
            work.do(sql.FORGET, before=(made - LOOKUPS).astimezone(UTC).isoformat())
            at = made.astimezone(UTC).isoformat()
            work.do(sql.REMEMBER, key=key, answer=_json(dict(answer)), made=at)

    def count(self, name: str, day: str) -> None:
        """Adds one to an account of a day."""
        with self.database.write() as work:
            work.do(sql.COUNT, name=name, day=day, n=1)

    def counted(self, name: str, day: str) -> int:
        """What an account of a day has come to."""
        rows = self.database.read(sql.COUNTED, name=name, day=day)
        return int(rows[0][0]) if rows else 0

    # Notes of steps

    def note(self, run_id: str, step: str, text: str) -> None:
        """Keeps what a step of a run has come to."""
        with self.database.write() as work:
            work.do(sql.NOTE, run=run_id, step=step, text=text)

    def noted(self, run_id: str, step: str) -> str | None:
        """What a step of a run has come to, if it was noted."""
        for (text,) in self.database.read(sql.NOTED, run=run_id, step=step):
            return str(text)
        return None

    def notes(self, run_id: str) -> dict[str, str]:
        """What the steps of a run have come to, by step."""
        return dict(self.database.read(sql.NOTES, run=run_id))

    # Answers

    def keep(
        self,
        run_id: str,
        plan: Plan | None,
        reflections: Sequence[Reflection],
        answer: Answer | None,
    ) -> None:
        """Stores what a run has come to so far."""
        with self.database.write() as work:
            work.do(
                sql.KEEP_ANSWER,
                run=run_id,
                plan=plan.model_dump_json() if plan else None,
                reflections=json.dumps([r.model_dump(mode="json") for r in reflections]),
                answer=answer.model_dump_json() if answer else None,
                made=datetime.now(UTC).isoformat(),
            )
            if answer:
                self.archive.tell(work, run_id)

    def report(self, run: Run) -> Report:
        """Everything a run has to show, whatever its status."""
        rows = self.database.read(sql.ANSWER, run=run.id)
        plan, reflections, answer = rows[0] if rows else (None, "[]", None)
        latest = dict(self.database.read(sql.FINDINGS, run=run.id))  # a failed one was repeated
        findings = tuple(_readable(_finding, ((finding,) for finding in latest.values())))
        kept = _one(Answer.model_validate_json, answer)
        found = {item.id for finding in findings for item in finding.evidence}
        return Report(
            run=run,
            plan=_one(Plan.model_validate_json, plan),
            findings=findings,
            reflections=_one(_REFLECTIONS.validate_json, reflections) or (),
            answer=kept,
            evidence=(
                *(e for f in findings for e in f.evidence),
                *self._earlier(run.conversation, kept, found),
            ),
            usage=self._spent(run.id),
            clarification=(said := self.said(run.id))[0],
            instructions=said[1],
            remarks=tuple(_readable(_remark, self.database.read(sql.REMARKS, run=run.id))),
        )

    def remark(self, run_id: str, evidence: str, passage: str, text: str) -> None:
        """Notes what the owner of a run says of its answer or of a passage; without a text the note
        goes."""
        with self.database.write() as work:
            if text:
                work.do(
                    sql.REMARK, run=run_id, evidence=evidence, passage=passage,
                    text=self.database.text(text.encode("utf-8", "replace").decode()), made=datetime.now(UTC).isoformat(),
                )  # fmt: skip
            else:
                work.do(sql.FORGET_REMARK, run=run_id, item=evidence, at=passage)
            self.archive.tell(work, run_id)

    def said(self, run_id: str) -> tuple[Clarification | None, tuple[Instruction, ...]]:
        """What a run has asked back, and what was said to it while it went on."""
        asked: Clarification | None = None
        given: list[Instruction] = []
        for time, kind, text in self.database.read(sql.SAID, run=run_id):
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

    def _earlier(
        self, conversation: str, answer: Answer | None, found: Container[str]
    ) -> list[Evidence]:
        """What an answer cites that the turns before it have found."""
        cited = [cite.evidence for span in (answer.spans if answer else ()) for cite in span.cites]
        wanted = [key for key in dict.fromkeys(cited) if key not in found]
        return [
            item
            for key in wanted
            for item in _readable(
                _evidence, self.database.read(sql.RECORD, registry=conversation, id=key)
            )
        ]

    def _spent(self, run_id: str) -> tuple[Usage, ...]:
        """What the calls of a run have used, in order."""
        rows = self.database.read(sql.USAGES, run=run_id)
        return tuple(_readable(lambda row: Usage.model_validate_json(row[0]), rows))

    # Conversations

    def conversations(self, owner: str, limit: int = 200) -> list[Conversation]:
        """An owner's conversations: those that are pinned first, then the latest."""
        rows = self.database.read(sql.CONVERSATIONS, owner=owner, most=limit)
        return _readable(_conversation, rows)

    def turns(self, conversation: str, owner: str) -> list[Run]:
        """The runs of a conversation, the earliest first."""
        rows = self.database.read(sql.TURNS, conversation=conversation, owner=owner)
        return _readable(_run, rows)

    def has_turns(self, conversation: str, owner: str) -> bool:
        """Tell whether an owner has such a conversation, in the bin or not; its runs may be spoilt."""
        return bool(self.database.read(sql.ALL_TURNS, conversation=conversation, owner=owner))

    def all_turns(self, conversation: str, owner: str) -> list[Run]:
        """The same, wherever they lie."""
        rows = self.database.read(sql.ALL_TURNS, conversation=conversation, owner=owner)
        return _readable(_run, rows)

    def label(
        self, conversation: str, *, title: str | None = None, pinned: bool | None = None
    ) -> None:
        """Gives a conversation a title of its own, or pins it."""
        given = {"title": title, "pinned": None if pinned is None else int(pinned)}
        with self.database.write() as work:
            work.do(sql.ADD_CONVERSATION, **sql.NEW_CONVERSATION, id=conversation)
            for name, value in given.items():
                if value is not None:
                    work.do(sql.LABEL[name], id_=conversation, value=value)
            self.archive.word(conversation)

    # Topics that are watched

    def watch(self, run_id: str) -> None:
        """Notes that the report of a run is to be brought up to date from time to time."""
        with self.database.write() as work:
            work.do(sql.ADD_WATCH, run=run_id, created=datetime.now(UTC).isoformat())

    def watches(self, owner: str) -> list[tuple[Run, datetime]]:
        """An owner's runs that are watched, and since when; the latest first."""
        rows = self.database.read(sql.WATCHES, owner=owner)
        return _readable(lambda row: (_run(row), datetime.fromisoformat(row[11])), rows)

    def unreadable_watches(self, owner: str) -> list[tuple[str, str]]:
        """List the watched runs of an owner that cannot be read: their ids and questions."""
        known = {run.id for run, _ in self.watches(owner)}
        rows = self.database.read(sql.WATCHES, owner=owner)
        return [(str(row[0]), str(row[3])) for row in rows if row[0] not in known]

    def unwatch(self, run_id: str, owner: str) -> None:
        """A run is watched no more."""
        with self.database.write() as work:
            work.do(sql.UNWATCH, watched=run_id, owner=owner)

    # Questions to a database whose statements are right

    def confirm(self, owner: str, base: str, question: str, text: str) -> None:
        """Notes that a statement, `text`, is right for an owner's question to a database."""
        made = datetime.now(UTC).isoformat()
        with self.database.write() as work:
            work.do(
                sql.ADD_PAIR,
                owner=owner, base=base, question=question, sql=text, made=made,
            )  # fmt: skip

    def confirmed(self, owner: str, base: str) -> list[tuple[str, str]]:
        """An owner's questions to a database with the statements that are right, the latest first."""
        rows = self.database.read(sql.PAIRS, owner=owner, base=base, most=PAIRS)
        return [(row[0], row[1]) for row in rows]

    def unconfirm(self, owner: str, base: str, question: str) -> None:
        """Takes back what was noted of a question."""
        with self.database.write() as work:
            work.do(sql.FORGET_PAIR, owner=owner, base=base, asked=question)

    # Notebooks: documents of the library under a name

    def notebooks(self, owner: str) -> dict[str, tuple[str, ...]]:
        """The notebooks of an owner: the documents of each, by their names in the library."""
        found: dict[str, tuple[str, ...]] = {}
        for name, document in self.database.read(sql.NOTEBOOKS, owner=owner):
            found[name] = (*found.get(name, ()), document)
        return found

    def put_in(self, owner: str, name: str, documents: Iterable[str]) -> str:
        """Puts documents into a notebook, which is made if there is none. Returns its name as it is
        kept, "" if there is nothing left of it."""
        kept = next(iter(tidy((self.database.text(name),), self.notebooks(owner))), "")
        if kept:
            with self.database.write() as work:
                for document in documents:
                    work.do(sql.PUT_IN, owner=owner, name=kept, document=document)
        return kept

    def take_out(self, owner: str, name: str, documents: Iterable[str]) -> None:
        """Takes documents out of a notebook. It goes with the last."""
        with self.database.write() as work:
            for document in documents:
                work.do(sql.TAKE_OUT, owner=owner, book=name, given=document)

    def rename_notebook(self, owner: str, name: str, wanted: str) -> str:
        """Gives a notebook another name; one that there is already takes in its documents. Returns the
        name as it is kept, "" if nothing is left of it or there is no such notebook."""
        with self.database.write() as work:
            books = self.notebooks(owner)
            documents = books.pop(name, ())
            kept = next(iter(tidy((self.database.text(wanted),), books)), "") if documents else ""
            if kept and kept != name:
                for document in documents:
                    work.do(sql.PUT_IN, owner=owner, name=kept, document=document)
                work.do(sql.FORGET_NOTEBOOK, owner=owner, book=name)
        return kept

    def forget_notebook(self, owner: str, name: str) -> None:
        """Deletes a notebook. Its documents stay in the library."""
        with self.database.write() as work:
            work.do(sql.FORGET_NOTEBOOK, owner=owner, book=name)

    # What a person has chosen

    def prefer(self, owner: str, name: str, value: object) -> None:
        """Remembers what an owner has chosen under a name, as JSON; None forgets it."""
        with self.database.write() as work:
            if value is None:
                work.do(sql.PREFER_NO_MORE, owner=owner, wish=name)
            else:
                text = json.dumps(value, ensure_ascii=False)
                work.do(sql.PREFER, owner=owner, name=name, value=text)

    def preferences(self, owner: str) -> dict[str, Any]:
        """What an owner has chosen, by name. What cannot be read any more counts as not chosen."""
        chosen = {}
        for name, value in self.database.read(sql.PREFERENCES, owner=owner):
            with suppress(ValueError):
                chosen[str(name)] = json.loads(value)
        return chosen

    # Sign-ins

    def sign_out(self, owner: str, sign_in: str, at: datetime, until: datetime) -> None:
        """Record that a sign-in of an owner has ended; "" ends all that began until `at`. The record
        is kept `until` none of them could be valid any more."""
        now = datetime.now(UTC)
        with self.database.write() as work:
            work.do(sql.FORGET_SIGN_OUTS, now=now.isoformat())
            work.do(
                sql.SIGN_OUT, owner=owner, sign_in=sign_in, at=at.isoformat(),
                until=until.isoformat(),
            )  # fmt: skip

    def is_signed_out(self, owner: str, sign_in: str, began: datetime) -> bool:
        """Return whether a sign-in that began at that time was ended."""
        rows = self.database.read(
            sql.SIGNED_OUT, owner=owner, given=sign_in, began=began.isoformat()
        )
        return bool(rows)

    def forget(self, conversation: str, owner: str) -> list[str]:
        """Deletes a conversation with its runs and its evidence; returns the runs' ids."""
        with self.database.write() as work:
            rows = work.all(sql.ALL_TURNS, conversation=conversation, owner=owner)
            if rows:
                for statement in sql.FORGET_CONVERSATION:
                    work.do(statement, conversation=conversation)
        return [row[0] for row in rows]

    def accounts(self, owner: str, limit: int) -> list[tuple[Run, list[Event]]]:
        """An owner's latest finished runs, each with its events of what it used."""
        rows = self.database.read(sql.FINISHED, owner=owner, most=limit)
        return [(run, self._account(run.id)) for run in _readable(_run, rows)]

    def _account(self, run_id: str) -> list[Event]:
        rows = self.database.read(sql.ACCOUNT, run=run_id)
        return _readable(lambda row: _event(run_id, row), rows)

    # Approval

    def approve(self, run_id: str, engine: str, plan: Plan | None, options: Options) -> bool:
        """Gives a waiting run its plan and takes it for an engine. Only one of several gets it."""
        with self.database.write() as work:
            taken = work.do(
                sql.APPROVE,
                run=run_id,
                by=engine,
                plan=plan.model_dump_json() if plan else None,
                limits=options.model_dump_json(),
            )
            return taken == 1

    def clarify(self, run_id: str, engine: str, answer: str, options: Options) -> bool:
        """Gives a waiting run the answer to what it has asked back, and takes it for an engine."""
        with self.database.write():
            if not self.approve(run_id, engine, None, options):
                return False
            self.append(run_id, [(datetime.now(UTC), "clarified", {"answer": answer})])
            return True

    def put_off(self, run_id: str) -> None:
        """Stops a run that waits for its plan to be approved, unless it goes on by now."""
        with self.database.write() as work:
            if work.do(sql.PUT_OFF, run=run_id):
                event = (datetime.now(UTC), "status", {"status": "stopped", "error": ""})
                self.append(run_id, [event], "stopped")

    def close(self) -> None:
        self.archive.close()
        self.database.close()


def _json(data: dict[str, Any]) -> str:
    """JSON that can be stored: half of a surrogate pair, which a model can send, becomes a "?"."""
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace").decode()


def _one(make: Callable[[str], _T], text: str | None) -> _T | None:
    return next(iter(_readable(make, filter(None, [text]))), None)


def _evidence(row: Sequence[Any]) -> Evidence:
    return Evidence.model_validate_json(row[0])


def _remark(row: Sequence[Any]) -> Remark:
    evidence, passage, text, made = row
    return Remark(evidence=evidence, passage=passage, text=text, made=datetime.fromisoformat(made))


def _finding(row: Sequence[Any]) -> Finding:
    return Finding.model_validate_json(row[0])


def _seen(row: Sequence[Any]) -> tuple[str, str, str, _Seen]:
    key, conversation, url, record = row
    return key, conversation, url, _read_seen(record)


@lru_cache(maxsize=20_000)
def _read_seen(record: str) -> _Seen:
    """A record of a place never changes, and all of them are read for each look at the places."""
    return _Seen.model_validate_json(record)


def _conversation(row: Sequence[Any]) -> Conversation:
    return Conversation(
        id=row[0], title=row[1], pinned=bool(row[2]), turns=row[3], latest=row[6],
        created=datetime.fromisoformat(row[4]), updated=datetime.fromisoformat(row[5]),
    )  # fmt: skip


def _event(run_id: str, row: Sequence[Any]) -> Event:
    seq, time, kind, data = row
    return Event(
        run=run_id, seq=seq, time=datetime.fromisoformat(time), kind=kind, data=json.loads(data)
    )
