"""The searches of runs in the store, with their evidence, places and answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter

from research.citations.registry import EvidenceRegistry
from research.core.events import (
    ClarificationAnswered,
    ClarificationNeeded,
    InstructionAdded,
    InstructionApplied,
    parse_event,
)
from research.core.records import (
    Answer,
    Clarification,
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
    Task,
    Usage,
)
from research.storage import statements as sql
from research.storage.databases import StoreDatabase, Transaction
from research.storage.history_index import HistoryIndex
from research.storage.rows import first_record, parse_json_rows, parse_rows, to_json

CACHE_RETENTION = timedelta(days=31)  # maximum age of cached service answers
_T = TypeVar("_T")
_REFLECTIONS_ADAPTER = TypeAdapter(tuple[Reflection, ...])


class _PlaceEvidence(BaseModel):
    """The fields of `Evidence` that `recorded_places` needs."""

    place: Place | None = None
    retrieved: datetime


class EvidenceStore:
    """The searches, evidence and answers in a database."""

    database: StoreDatabase
    history: HistoryIndex

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
                failure=finding.reason,
                result=finding.model_dump_json(),
            )
            self._merge_evidence(transaction, conversation, finding.evidence)

    def _merge_evidence(self, transaction: Transaction, registry: str, evidence: Iterable[Evidence]) -> None:
        """Merge evidence into a registry under a lock."""
        for n, item in enumerate(evidence):
            if n == 0:
                transaction.lock(sql.LOCK_REGISTRY, registry=registry)
            canonical = EvidenceRegistry().add(item)  # under the id by which it is stored
            known = EvidenceRegistry()
            rows = transaction.fetch_all(sql.SELECT_EVIDENCE, registry=registry, id=canonical.id)
            for stored in parse_json_rows(Evidence, rows):
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
            for finding in parse_json_rows(Finding, self.database.read(sql.SELECT_FINDING, run=run_id, key=key)):
                return run_id, finding
        return None

    def recent_findings(self, owner: str, key: str, since: datetime) -> list[Finding]:
        """Return the findings of an owner's runs for a key since a time, latest first."""
        rows = self.database.read(
            sql.LIST_RECENT_FINDINGS, owner=owner, key=key, since=since.astimezone(UTC).isoformat()
        )
        return parse_json_rows(Finding, rows)

    def searches(self, run_id: str) -> list[dict[str, Any]]:
        """Return every search started for a run, finished or not, in order."""
        rows = self.database.read(sql.LIST_SEARCHES, run=run_id)
        return [dict(zip(sql.SEARCH_COLUMNS, row, strict=True)) for row in rows]

    def evidence(self, conversation: str) -> list[Evidence]:
        """Return the evidence registry of a conversation."""
        rows = self.database.read(sql.LIST_EVIDENCE, registry=conversation)
        return parse_json_rows(Evidence, rows)

    # Places

    def place_registry(self, owner: str) -> str:
        """Return the id of the evidence registry of the places that an owner looked up without a run."""
        return f"places of {owner}"

    def add_evidence(self, registry: str, evidence: Iterable[Evidence]) -> None:
        """Add evidence to the registry of a conversation or of `place_registry`."""
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
        rows = self.database.read(sql.LIST_PLACES, owner=owner, registry=self.place_registry(owner))
        for key, conversation, url, parsed in parse_rows(_parse_place_row, rows):
            if parsed.place is None:  # evidence about places, such as a route
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
        return sorted(places, key=lambda recorded: recorded.retrieved, reverse=True)

    # Cached answers and counters

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
            transaction.execute(sql.SAVE_CACHED_ANSWER, key=key, answer=to_json(dict(answer)), made=at)

    def increment_counter(self, name: str, day: str) -> None:
        """Add one to a counter of a day."""
        self.database.write(sql.INCREMENT_COUNTER, name=name, day=day, n=1)

    def get_counter(self, name: str, day: str) -> int:
        """Return the counter of a day."""
        rows = self.database.read(sql.SELECT_COUNTER, name=name, day=day)
        return int(rows[0][0]) if rows else 0

    # Results of steps

    def save_step_result(self, run_id: str, step: str, text: str) -> None:
        """Save the result of a step of a run."""
        self.database.write(sql.SAVE_STEP_RESULT, run=run_id, step=step, text=text)

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
        plan, reflections, answer_json = rows[0] if rows else (None, "[]", None)
        latest = dict(self.database.read(sql.LIST_FINDINGS, run=run.id))  # a failed search was repeated
        findings = parse_json_rows(Finding, ((finding,) for finding in latest.values()))
        answer = _parse_text(Answer.model_validate_json, answer_json)
        evidence = [item for finding in findings for item in finding.evidence]
        evidence += self._earlier_evidence(run.conversation, answer, {item.id for item in evidence})
        clarification, instructions = self.clarification_and_instructions(run.id)
        return Report(
            run=run,
            plan=_parse_text(Plan.model_validate_json, plan),
            findings=tuple(findings),
            reflections=_parse_text(_REFLECTIONS_ADAPTER.validate_json, reflections) or (),
            answer=answer,
            evidence=tuple(evidence),
            usage=tuple(parse_json_rows(Usage, self.database.read(sql.LIST_USAGE, run=run.id))),
            clarification=clarification,
            instructions=instructions,
            remarks=tuple(parse_rows(_parse_remark, self.database.read(sql.LIST_REMARKS, run=run.id))),
        )

    def clarification_and_instructions(self, run_id: str) -> tuple[Clarification | None, tuple[Instruction, ...]]:
        """Return the question that a run asked its owner, and the instructions given to it."""
        clarification: Clarification | None = None
        instructions: list[Instruction] = []
        for time, kind, text in self.database.read(sql.LIST_DIALOGUE_EVENTS, run=run_id):
            with suppress(ValueError):  # skips text that is no JSON
                match parse_event(kind, json.loads(text)):
                    case ClarificationNeeded(clarification=needed):
                        clarification = needed
                    case ClarificationAnswered(answer=answer) if clarification:
                        clarification = clarification.model_copy(update={"answer": answer})
                    case InstructionAdded(text=instruction):
                        instructions.append(Instruction(text=instruction, time=datetime.fromisoformat(time)))
                    case InstructionApplied(count=count):
                        applied = [item.model_copy(update={"applied": True}) for item in instructions[:count]]
                        instructions[:count] = applied
        return clarification, tuple(instructions)

    def _earlier_evidence(self, conversation: str, answer: Answer | None, found_ids: Container[str]) -> list[Evidence]:
        """Return the evidence that an answer cites from earlier turns."""
        cited = [cite.evidence for span in (answer.spans if answer else ()) for cite in span.references]
        missing_ids = [evidence_id for evidence_id in dict.fromkeys(cited) if evidence_id not in found_ids]
        return [
            item
            for evidence_id in missing_ids
            for item in parse_json_rows(
                Evidence, self.database.read(sql.SELECT_EVIDENCE, registry=conversation, id=evidence_id)
            )
        ]


def _parse_text(parse: Callable[[str], _T], text: str | None) -> _T | None:
    """Parse a stored text, None if there is none or it cannot be read."""
    return first_record(parse, [text] if text else [])


def _parse_remark(row: Sequence[Any]) -> Remark:
    evidence, passage, text, made = row
    return Remark(evidence=evidence, passage=passage, text=text, updated=datetime.fromisoformat(made))


def _parse_place_row(row: Sequence[Any]) -> tuple[str, str, str, _PlaceEvidence]:
    key, conversation, url, record = row
    return key, conversation, url, _parse_place_evidence(record)


@lru_cache(maxsize=20_000)
def _parse_place_evidence(record: str) -> _PlaceEvidence:
    """Parse the JSON of a place, with a cache.

    It never changes, and each call of `recorded_places` reads that of all places.
    """
    return _PlaceEvidence.model_validate_json(record)
