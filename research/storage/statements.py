"""Statements of the store in SQLAlchemy's expression language, for every kind of database.

Constant values are part of a statement; values of a call are parameters made by `param`.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, delete, func, insert, literal_column, or_, select, update
from sqlalchemy import bindparam as param

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


def _literals(*words: str) -> list[Any]:
    """Constant words as SQL literals."""
    return [literal_column(f"'{word}'") for word in words]


# As `rows.parse_run` expects them.
RUN_COLUMNS = run.c[
    "id",
    "conversation",
    "owner",
    "question",
    "options",
    "status",
    "created",
    "finished",
    "error",
    "based_on",
    "follows",
]
NOT_IN_BIN = run.c.conversation.not_in(  # conversations in the bin appear in no list
    select(conversation.c.id).where(conversation.c.binned.is_not(None))
)
RUN_IS_ACTIVE = run.c.status.in_(_literals("queued", "running"))
_RESUMABLE = run.c.status.in_(_literals("stopped", "interrupted", "failed"))
_RUN_ID = run.c.id == param("run")
RUN_OF_OWNER = run.c.owner == param("owner")

ADD_RUN = Upsert(run, {})
SELECT_RUN = select(*RUN_COLUMNS).where(_RUN_ID)
SELECT_OWNED_RUN = SELECT_RUN.where(RUN_OF_OWNER, NOT_IN_BIN)
LIST_RUNS = (
    select(*RUN_COLUMNS).where(RUN_OF_OWNER, NOT_IN_BIN).order_by(run.c.created.desc(), run.c.id).limit(param("limit"))
)
SELECT_GIVEN_PLAN = select(run.c.given).where(_RUN_ID)
CLAIM_RUN = (
    update(run)
    .values(status="queued", engine=param("claimant"), stop=param("request"), error="", finished=None)
    .where(_RUN_ID, _RESUMABLE)
)
LIST_ENGINES = select(*run.c["engine", "id"]).where(RUN_IS_ACTIVE)
LOCK_ENGINE_RUN = (
    select(run.c.id).where(_RUN_ID, run.c.engine == param("engine"), RUN_IS_ACTIVE).with_for_update(key_share=True)
)
REQUEST_STOP = update(run).values(stop=1).where(_RUN_ID, RUN_IS_ACTIVE)
LIST_RUN_REQUESTS = select(*run.c["id", "engine", "stop"]).where(run.c.stop > literal_column("0"), RUN_IS_ACTIVE)
REQUEST_WRITE = update(run).values(stop=2).where(_RUN_ID, RUN_IS_ACTIVE, run.c.stop == 0)
LIST_QUEUE = select(*run.c["id", "owner", "status", "engine"]).where(RUN_IS_ACTIVE).order_by(run.c.created, run.c.id)
LOCK_QUEUE = select(func.pg_advisory_xact_lock(func.hashtextextended("the queue of runs", 0)))
ADMIT_RUN = update(run).values(status="running").where(_RUN_ID, run.c.status == "queued")
APPROVE_RUN = (
    update(run)
    .values(
        status="queued",
        engine=param("claimant"),
        stop=0,
        error="",
        finished=None,
        given=param("plan"),
        options=param("limits"),
    )
    .where(_RUN_ID, run.c.status == "waiting")
)
STOP_WAITING_RUN = update(run).values(status="stopped").where(_RUN_ID, run.c.status == "waiting")
LOCK_RUN = select(run.c.engine).where(_RUN_ID).with_for_update(key_share=True)
SET_STATUS = (
    update(run).values(status=param("new_status"), error=param("reason"), finished=param("ended")).where(_RUN_ID)
)

_EVENT_OF_RUN = event.c.run == param("run")
LAST_EVENT_NUMBER = select(func.coalesce(func.max(event.c.seq), 0)).where(_EVENT_OF_RUN)
LAST_EVENT_NUMBER_OF_OWNER = LAST_EVENT_NUMBER.join(run, run.c.id == event.c.run).where(RUN_OF_OWNER)
ADD_EVENT = insert(event)
_LIST_ALL_EVENTS = select(*event.c["seq", "time", "kind", "data"]).where(_EVENT_OF_RUN).order_by(event.c.seq)
LIST_EVENTS = _LIST_ALL_EVENTS.where(event.c.seq > param("after"))
_DIALOGUE_EVENTS = (ClarificationNeeded, ClarificationAnswered, InstructionAdded, InstructionApplied)
LIST_DIALOGUE_EVENTS = (  # instructions, and questions of a run with their answers
    select(*event.c["time", "kind", "data"])
    .where(_EVENT_OF_RUN, event.c.kind.in_(_literals(*stored_kinds(*_DIALOGUE_EVENTS))))
    .order_by(event.c.seq)
)
_USAGE_EVENTS = stored_kinds(StatusChanged, UsageRecorded, TaskFinished)
LIST_USAGE_EVENTS = _LIST_ALL_EVENTS.where(event.c.kind.in_(_literals(*_USAGE_EVENTS)))
LIST_USAGE = select(event.c.data).where(_EVENT_OF_RUN, event.c.kind == "usage").order_by(event.c.seq)

_SEARCH_START_COLUMNS = ("run", "task", "key", "source", "query", "started")
SEARCH_COLUMNS = ("task", "key", "source", "query", "started", "finished", "reason")
ADD_SEARCH = insert(search).values({name: param(name) for name in _SEARCH_START_COLUMNS})
FINISH_SEARCH = (
    update(search)
    .values(finished=param("ended"), reason=param("failure"), finding=param("result"))
    .where(search.c.id == param("search"))
)
_SEARCH_OF_RUN = search.c.run == param("run")
SELECT_FINDING = (
    select(search.c.finding)
    .where(
        _SEARCH_OF_RUN,
        search.c.key == param("key"),
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
        search.c.key == param("key"),
        RUN_OF_OWNER,
        NOT_IN_BIN,
        search.c.finished >= param("since"),
        search.c.reason.is_(None),
        search.c.finding.is_not(None),
    )
    .order_by(search.c.finished.desc())
    .limit(literal_column("5"))
)
LIST_SEARCHES = select(*search.c[SEARCH_COLUMNS]).where(_SEARCH_OF_RUN).order_by(search.c.id)
LIST_FINDINGS = (
    select(*search.c["task", "finding"]).where(_SEARCH_OF_RUN, search.c.finding.is_not(None)).order_by(search.c.id)
)

_IN_REGISTRY = evidence.c.conversation == param("registry")
LOCK_REGISTRY = select(func.pg_advisory_xact_lock(func.hashtextextended(param("registry"), 0)))
SELECT_EVIDENCE = select(evidence.c.record).where(_IN_REGISTRY, evidence.c.id == param("id"))
SAVE_EVIDENCE = Upsert(evidence)
LIST_EVIDENCE = select(evidence.c.record).where(_IN_REGISTRY).order_by(evidence.c.id)
LIST_QUESTIONS = (
    select(*run.c["conversation", "id", "question"]).where(RUN_OF_OWNER, NOT_IN_BIN).order_by(run.c.created.desc())
)
LIST_PLACES = select(*evidence.c["id", "conversation", "url", "record"]).where(
    evidence.c.kind == "place",
    or_(
        _IN_REGISTRY,
        evidence.c.conversation.in_(select(run.c.conversation).where(RUN_OF_OWNER, NOT_IN_BIN)),
    ),
)

SELECT_CACHED_ANSWER = select(*cached_answer.c["answer", "made"]).where(
    cached_answer.c.key == param("key"), cached_answer.c.made >= param("since")
)
DELETE_OLD_CACHED_ANSWERS = delete(cached_answer).where(cached_answer.c.made < param("before"))
SAVE_CACHED_ANSWER = Upsert(cached_answer)
INCREMENT_COUNTER = Upsert(counter, {"n": counter.c.n + 1})
SELECT_COUNTER = select(counter.c.n).where(counter.c.name == param("name"), counter.c.day == param("day"))

SAVE_STEP_RESULT = Upsert(step_result)
SELECT_STEP_RESULT = select(step_result.c.text).where(
    step_result.c.run == param("run"), step_result.c.step == param("step")
)
LIST_STEP_RESULTS = (
    select(*step_result.c["step", "text"]).where(step_result.c.run == param("run")).order_by(step_result.c.step)
)

ADD_WATCH = Upsert(watch, {})
LIST_WATCHES = (
    select(*RUN_COLUMNS, watch.c.created)
    .join(run, run.c.id == watch.c.run)
    .where(RUN_OF_OWNER, NOT_IN_BIN)
    .order_by(watch.c.created.desc(), watch.c.run)
)
DELETE_WATCH = delete(watch).where(
    watch.c.run == param("run"),
    watch.c.run.in_(select(run.c.id).where(RUN_OF_OWNER, NOT_IN_BIN)),
)

CONFIRM_STATEMENT = Upsert(confirmed_statement)
LIST_CONFIRMED_STATEMENTS = (
    select(*confirmed_statement.c["question", "sql"])
    .where(confirmed_statement.c.owner == param("owner"), confirmed_statement.c.base == param("base"))
    .order_by(confirmed_statement.c.made.desc(), confirmed_statement.c.question)
    .limit(param("limit"))
)
DELETE_CONFIRMED_STATEMENT = delete(confirmed_statement).where(
    confirmed_statement.c.owner == param("owner"),
    confirmed_statement.c.base == param("base"),
    confirmed_statement.c.question == param("question"),
)

ADD_TO_NOTEBOOK = Upsert(notebook, {})
LIST_NOTEBOOKS = (
    select(*notebook.c["name", "document"])
    .where(notebook.c.owner == param("owner"))
    .order_by(notebook.c.name, notebook.c.document)
)
REMOVE_FROM_NOTEBOOK = delete(notebook).where(
    notebook.c.owner == param("owner"), notebook.c.name == param("name"), notebook.c.document == param("document")
)
DELETE_NOTEBOOK = delete(notebook).where(notebook.c.owner == param("owner"), notebook.c.name == param("name"))

SAVE_REMARK = Upsert(remark)
LIST_REMARKS = (
    select(*remark.c["evidence", "passage", "text", "made"])
    .where(remark.c.run == param("run"))
    .order_by(func.length(remark.c.evidence) > literal_column("0"), remark.c.made, remark.c.passage)
)
DELETE_REMARK = delete(remark).where(
    remark.c.run == param("run"), remark.c.evidence == param("evidence"), remark.c.passage == param("passage")
)

SAVE_PREFERENCE = Upsert(preference)
LIST_PREFERENCES = select(*preference.c["name", "value"]).where(preference.c.owner == param("owner"))
DELETE_PREFERENCE = delete(preference).where(preference.c.owner == param("owner"), preference.c.name == param("name"))

ADD_SIGN_OUT = Upsert(sign_out)
DELETE_EXPIRED_SIGN_OUTS = delete(sign_out).where(sign_out.c.until < param("now"))
SELECT_SIGN_OUT = select(sign_out.c.at).where(
    sign_out.c.owner == param("owner"),
    or_(
        sign_out.c.sign_in == param("sign_in"),
        and_(sign_out.c.sign_in == "", sign_out.c.at >= param("started")),
    ),
)

SAVE_OUTCOME = Upsert(answer)
SELECT_OUTCOME = select(*answer.c["plan", "reflections", "answer"]).where(answer.c.run == param("run"))

_FIRST_RUN, _LAST_RUN = run.alias(), run.alias()
IS_PINNED = func.max(func.coalesce(conversation.c.pinned, 0))
LIST_CONVERSATIONS = (
    select(
        run.c.conversation,
        func.coalesce(
            func.nullif(func.max(conversation.c.title), ""),
            select(_FIRST_RUN.c.question)
            .where(_FIRST_RUN.c.conversation == run.c.conversation, _FIRST_RUN.c.owner == param("owner"))
            .order_by(_FIRST_RUN.c.created, _FIRST_RUN.c.id)
            .limit(literal_column("1"))
            .correlate(run)
            .scalar_subquery(),
        ),
        IS_PINNED,
        func.count(),
        func.min(run.c.created),
        func.max(run.c.created),
        select(_LAST_RUN.c.id)
        .where(_LAST_RUN.c.conversation == run.c.conversation, _LAST_RUN.c.owner == param("owner"))
        .order_by(_LAST_RUN.c.created.desc(), _LAST_RUN.c.id.desc())
        .limit(literal_column("1"))
        .correlate(run)
        .scalar_subquery(),
    )
    .select_from(run.outerjoin(conversation, conversation.c.id == run.c.conversation))
    .where(RUN_OF_OWNER, NOT_IN_BIN)
    .group_by(run.c.conversation)
    .order_by(IS_PINNED.desc(), func.max(run.c.created).desc())
    .limit(param("limit"))
)
LIST_ALL_TURNS = (
    select(*RUN_COLUMNS)
    .where(run.c.conversation == param("conversation"), RUN_OF_OWNER)
    .order_by(run.c.created, run.c.id)
)
LIST_TURNS = LIST_ALL_TURNS.where(NOT_IN_BIN)
ADD_CONVERSATION = Upsert(conversation, {})
NEW_CONVERSATION_VALUES = {"title": "", "pinned": 0, "words": "", "binned": None}
UPDATE_CONVERSATION = {
    name: update(conversation).values({name: param("value")}).where(conversation.c.id == param("conversation"))
    for name in ("title", "pinned", "words", "binned")
}
DELETE_CONVERSATION = (
    delete(run).where(run.c.conversation == param("conversation")),
    delete(evidence).where(evidence.c.conversation == param("conversation")),
    delete(conversation).where(conversation.c.id == param("conversation")),
    delete(tag).where(tag.c.conversation == param("conversation")),
)
LIST_FINISHED_RUNS = (
    select(*RUN_COLUMNS)
    .where(RUN_OF_OWNER, NOT_IN_BIN, run.c.status == "done")
    .order_by(run.c.created.desc())
    .limit(param("limit"))
)
