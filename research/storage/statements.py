"""Statements of the store in SQLAlchemy's expression language, for every kind of database.

Constant values are part of a statement; values of a call are parameters made by `_param`.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, bindparam, delete, func, insert, literal_column, or_, select, update

from research.core.events import (
    ClarificationAnswered,
    ClarificationNeeded,
    InstructionAdded,
    InstructionApplied,
    StatusChanged,
    TaskFinished,
    UsageRecorded,
    stored_kinds,
)
from research.storage.databases import Upsert
from research.storage.tables import (
    answer,
    cached_answer,
    confirmed_statement,
    conversation,
    counter,
    event,
    evidence,
    notebook,
    preference,
    remark,
    run,
    search,
    sign_out,
    step_result,
    tag,
    watch,
)


def _param(name: str) -> Any:
    """A parameter whose value is passed with each call."""
    return bindparam(name)


def _literals(*words: str) -> list[Any]:
    """Constant words as SQL literals."""
    return [literal_column(f"'{word}'") for word in words]


_RUN_COLUMNS = (
    run.c.id, run.c.conversation, run.c.owner, run.c.question, run.c.options, run.c.status,
    run.c.created, run.c.finished, run.c.error, run.c.based_on, run.c.follows,
)  # fmt: skip
NOT_IN_BIN = run.c.conversation.not_in(  # conversations in the bin appear in no list
    select(conversation.c.id).where(conversation.c.binned.is_not(None))
)
_ACTIVE = run.c.status.in_(_literals("queued", "running"))
_RESUMABLE = run.c.status.in_(_literals("stopped", "interrupted", "failed"))
_RUN_ID = run.c.id == _param("run")

ADD_RUN = Upsert(run, {})
SELECT_RUN = select(*_RUN_COLUMNS).where(_RUN_ID)
SELECT_OWNED_RUN = select(*_RUN_COLUMNS).where(_RUN_ID, run.c.owner == _param("owner"), NOT_IN_BIN)
LIST_RUNS = (
    select(*_RUN_COLUMNS)
    .where(run.c.owner == _param("owner"), NOT_IN_BIN)
    .order_by(run.c.created.desc(), run.c.id)
    .limit(_param("most"))
)
SELECT_GIVEN_PLAN = select(run.c.given).where(_RUN_ID)
CLAIM_RUN = (
    update(run)
    .values(status="queued", engine=_param("by"), stop=_param("wish"), error="", finished=None)
    .where(_RUN_ID, _RESUMABLE)
)
LIST_ENGINES = select(run.c.engine, run.c.id).where(_ACTIVE)
LOCK_ENGINE_RUN = select(run.c.id).where(_RUN_ID, run.c.engine == _param("by"), _ACTIVE).with_for_update(key_share=True)
REQUEST_STOP = update(run).values(stop=1).where(_RUN_ID, _ACTIVE)
LIST_RUN_REQUESTS = select(run.c.id, run.c.engine, run.c.stop).where(run.c.stop > literal_column("0"), _ACTIVE)
REQUEST_WRITE = update(run).values(stop=2).where(_RUN_ID, _ACTIVE, run.c.stop == 0)
LIST_QUEUE = select(run.c.id, run.c.owner, run.c.status, run.c.engine).where(_ACTIVE).order_by(run.c.created, run.c.id)
LOCK_QUEUE = select(func.pg_advisory_xact_lock(func.hashtextextended("the queue of runs", 0)))
ADMIT_RUN = update(run).values(status="running").where(_RUN_ID, run.c.status == "queued")
APPROVE_RUN = (
    update(run)
    .values(
        status="queued",
        engine=_param("by"),
        stop=0,
        error="",
        finished=None,
        given=_param("plan"),
        options=_param("limits"),
    )
    .where(_RUN_ID, run.c.status == "waiting")
)
STOP_WAITING_RUN = update(run).values(status="stopped").where(_RUN_ID, run.c.status == "waiting")
LOCK_RUN = select(run.c.engine).where(_RUN_ID).with_for_update(key_share=True)
SET_STATUS = update(run).values(status=_param("now"), error=_param("why"), finished=_param("ended")).where(_RUN_ID)

_EVENT_OF_RUN = event.c.run == _param("run")
LAST_EVENT_NUMBER = select(func.coalesce(func.max(event.c.seq), 0)).where(_EVENT_OF_RUN)
LAST_EVENT_NUMBER_OF_OWNER = (
    select(func.coalesce(func.max(event.c.seq), 0))
    .join(run, run.c.id == event.c.run)
    .where(_EVENT_OF_RUN, run.c.owner == _param("owner"))
)
ADD_EVENT = insert(event)
LIST_EVENTS = (
    select(event.c.seq, event.c.time, event.c.kind, event.c.data)
    .where(_EVENT_OF_RUN, event.c.seq > _param("after"))
    .order_by(event.c.seq)
)
_DIALOGUE_EVENTS = (ClarificationNeeded, ClarificationAnswered, InstructionAdded, InstructionApplied)
LIST_DIALOGUE_EVENTS = (  # instructions, and questions of a run with their answers
    select(event.c.time, event.c.kind, event.c.data)
    .where(_EVENT_OF_RUN, event.c.kind.in_(_literals(*stored_kinds(*_DIALOGUE_EVENTS))))
    .order_by(event.c.seq)
)
LIST_USAGE_EVENTS = (
    select(event.c.seq, event.c.time, event.c.kind, event.c.data)
    .where(_EVENT_OF_RUN, event.c.kind.in_(_literals(*stored_kinds(StatusChanged, UsageRecorded, TaskFinished))))
    .order_by(event.c.seq)
)
LIST_USAGE = select(event.c.data).where(_EVENT_OF_RUN, event.c.kind == "usage").order_by(event.c.seq)

_SEARCH_START_COLUMNS = ("run", "task", "key", "source", "query", "started")
SEARCH_COLUMNS = ("task", "key", "source", "query", "started", "finished", "reason")
ADD_SEARCH = insert(search).values({name: _param(name) for name in _SEARCH_START_COLUMNS})
FINISH_SEARCH = (
    update(search)
    .values(finished=_param("ended"), reason=_param("why"), finding=_param("found"))
    .where(search.c.id == _param("search"))
)
_SEARCH_OF_RUN = search.c.run == _param("run")
SELECT_FINDING = (
    select(search.c.finding)
    .where(
        _SEARCH_OF_RUN,
        search.c.key == _param("key"),
        search.c.finding.is_not(None),
        or_(search.c.reason.is_(None), search.c.reason == "empty"),
    )
    .order_by(search.c.id)
    .limit(literal_column("1"))
)
LIST_RECENT_FINDINGS = (
    select(search.c.finding)
    .join(run, run.c.id == search.c.run)
    .where(
        search.c.key == _param("key"),
        run.c.owner == _param("owner"),
        NOT_IN_BIN,
        search.c.finished >= _param("since"),
        search.c.reason.is_(None),
        search.c.finding.is_not(None),
    )
    .order_by(search.c.finished.desc())
    .limit(literal_column("5"))
)
LIST_SEARCHES = select(*(search.c[name] for name in SEARCH_COLUMNS)).where(_SEARCH_OF_RUN).order_by(search.c.id)
LIST_FINDINGS = (
    select(search.c.task, search.c.finding).where(_SEARCH_OF_RUN, search.c.finding.is_not(None)).order_by(search.c.id)
)

_IN_REGISTRY = evidence.c.conversation == _param("registry")
LOCK_REGISTRY = select(func.pg_advisory_xact_lock(func.hashtextextended(_param("registry"), 0)))
SELECT_EVIDENCE = select(evidence.c.record).where(_IN_REGISTRY, evidence.c.id == _param("id"))
SAVE_EVIDENCE = Upsert(evidence)
LIST_EVIDENCE = select(evidence.c.record).where(_IN_REGISTRY).order_by(evidence.c.id)
LIST_QUESTIONS = (
    select(run.c.conversation, run.c.id, run.c.question)
    .where(run.c.owner == _param("owner"), NOT_IN_BIN)
    .order_by(run.c.created.desc())
)
LIST_PLACES = select(evidence.c.id, evidence.c.conversation, evidence.c.url, evidence.c.record).where(
    evidence.c.kind == "place",
    or_(
        _IN_REGISTRY,
        evidence.c.conversation.in_(select(run.c.conversation).where(run.c.owner == _param("owner"), NOT_IN_BIN)),
    ),
)

SELECT_CACHED_ANSWER = select(cached_answer.c.answer, cached_answer.c.made).where(
    cached_answer.c.key == _param("key"), cached_answer.c.made >= _param("since")
)
DELETE_OLD_CACHED_ANSWERS = delete(cached_answer).where(cached_answer.c.made < _param("before"))
SAVE_CACHED_ANSWER = Upsert(cached_answer)
INCREMENT_COUNTER = Upsert(counter, {"n": counter.c.n + 1})
SELECT_COUNTER = select(counter.c.n).where(counter.c.name == _param("name"), counter.c.day == _param("day"))

SAVE_STEP_RESULT = Upsert(step_result)
SELECT_STEP_RESULT = select(step_result.c.text).where(
    step_result.c.run == _param("run"), step_result.c.step == _param("step")
)
LIST_STEP_RESULTS = (
    select(step_result.c.step, step_result.c.text)
    .where(step_result.c.run == _param("run"))
    .order_by(step_result.c.step)
)

ADD_WATCH = Upsert(watch, {})
LIST_WATCHES = (
    select(*_RUN_COLUMNS, watch.c.created)
    .join(run, run.c.id == watch.c.run)
    .where(run.c.owner == _param("owner"), NOT_IN_BIN)
    .order_by(watch.c.created.desc(), watch.c.run)
)
DELETE_WATCH = delete(watch).where(
    watch.c.run == _param("watched"),
    watch.c.run.in_(select(run.c.id).where(run.c.owner == _param("owner"), NOT_IN_BIN)),
)

CONFIRM_STATEMENT = Upsert(confirmed_statement)
LIST_CONFIRMED_STATEMENTS = (
    select(confirmed_statement.c.question, confirmed_statement.c.sql)
    .where(confirmed_statement.c.owner == _param("owner"), confirmed_statement.c.base == _param("base"))
    .order_by(confirmed_statement.c.made.desc(), confirmed_statement.c.question)
    .limit(_param("most"))
)
DELETE_CONFIRMED_STATEMENT = delete(confirmed_statement).where(
    confirmed_statement.c.owner == _param("owner"),
    confirmed_statement.c.base == _param("base"),
    confirmed_statement.c.question == _param("asked"),
)

ADD_TO_NOTEBOOK = Upsert(notebook, {})
LIST_NOTEBOOKS = (
    select(notebook.c.name, notebook.c.document)
    .where(notebook.c.owner == _param("owner"))
    .order_by(notebook.c.name, notebook.c.document)
)
REMOVE_FROM_NOTEBOOK = delete(notebook).where(
    notebook.c.owner == _param("owner"), notebook.c.name == _param("book"), notebook.c.document == _param("given")
)
DELETE_NOTEBOOK = delete(notebook).where(notebook.c.owner == _param("owner"), notebook.c.name == _param("book"))

SAVE_REMARK = Upsert(remark)
LIST_REMARKS = (
    select(remark.c.evidence, remark.c.passage, remark.c.text, remark.c.made)
    .where(remark.c.run == _param("run"))
    .order_by(func.length(remark.c.evidence) > literal_column("0"), remark.c.made, remark.c.passage)
)
DELETE_REMARK = delete(remark).where(
    remark.c.run == _param("run"), remark.c.evidence == _param("item"), remark.c.passage == _param("at")
)

SAVE_PREFERENCE = Upsert(preference)
LIST_PREFERENCES = select(preference.c.name, preference.c.value).where(preference.c.owner == _param("owner"))
DELETE_PREFERENCE = delete(preference).where(preference.c.owner == _param("owner"), preference.c.name == _param("wish"))

ADD_SIGN_OUT = Upsert(sign_out)
DELETE_EXPIRED_SIGN_OUTS = delete(sign_out).where(sign_out.c.until < _param("now"))
SELECT_SIGN_OUT = select(sign_out.c.at).where(
    sign_out.c.owner == _param("owner"),
    or_(
        sign_out.c.sign_in == _param("given"),
        and_(sign_out.c.sign_in == "", sign_out.c.at >= _param("began")),
    ),
)

SAVE_OUTCOME = Upsert(answer)
SELECT_OUTCOME = select(answer.c.plan, answer.c.reflections, answer.c.answer).where(answer.c.run == _param("run"))

_RUN_OF_OWNER = run.c.owner == _param("owner")
_FIRST_RUN, _LAST_RUN = run.alias(), run.alias()
_IS_PINNED = func.max(func.coalesce(conversation.c.pinned, 0))
LIST_CONVERSATIONS = (
    select(
        run.c.conversation,
        func.coalesce(
            func.nullif(func.max(conversation.c.title), ""),
            select(_FIRST_RUN.c.question)
            .where(_FIRST_RUN.c.conversation == run.c.conversation, _FIRST_RUN.c.owner == _param("owner"))
            .order_by(_FIRST_RUN.c.created, _FIRST_RUN.c.id)
            .limit(literal_column("1"))
            .correlate(run)
            .scalar_subquery(),
        ),
        _IS_PINNED,
        func.count(),
        func.min(run.c.created),
        func.max(run.c.created),
        select(_LAST_RUN.c.id)
        .where(_LAST_RUN.c.conversation == run.c.conversation, _LAST_RUN.c.owner == _param("owner"))
        .order_by(_LAST_RUN.c.created.desc(), _LAST_RUN.c.id.desc())
        .limit(literal_column("1"))
        .correlate(run)
        .scalar_subquery(),
    )
    .select_from(run.outerjoin(conversation, conversation.c.id == run.c.conversation))
    .where(_RUN_OF_OWNER, NOT_IN_BIN)
    .group_by(run.c.conversation)
    .order_by(_IS_PINNED.desc(), func.max(run.c.created).desc())
    .limit(_param("most"))
)
LIST_ALL_TURNS = (
    select(*_RUN_COLUMNS)
    .where(run.c.conversation == _param("conversation"), _RUN_OF_OWNER)
    .order_by(run.c.created, run.c.id)
)
LIST_TURNS = LIST_ALL_TURNS.where(NOT_IN_BIN)
ADD_CONVERSATION = Upsert(conversation, {})
NEW_CONVERSATION_VALUES = {"title": "", "pinned": 0, "words": "", "binned": None}
UPDATE_CONVERSATION = {
    name: update(conversation).values({name: _param("value")}).where(conversation.c.id == _param("id_"))
    for name in ("title", "pinned", "words", "binned")
}
DELETE_CONVERSATION = (
    delete(run).where(run.c.conversation == _param("conversation")),
    delete(evidence).where(evidence.c.conversation == _param("conversation")),
    delete(conversation).where(conversation.c.id == _param("conversation")),
    delete(tag).where(tag.c.conversation == _param("conversation")),
)
LIST_FINISHED_RUNS = (
    select(*_RUN_COLUMNS)
    .where(_RUN_OF_OWNER, NOT_IN_BIN, run.c.status == "done")
    .order_by(run.c.created.desc())
    .limit(_param("most"))
)
