"""What the store says to its database, in SQLAlchemy's expression language: one text for every kind.

Values of ours stand in the statement; those of a call are named by `_`.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, bindparam, delete, func, insert, literal_column, or_, select, update

from research.storage.databases import Upsert
from research.storage.tables import (
    account,
    answer,
    conversation,
    event,
    evidence,
    lookup,
    note,
    notebook,
    pair,
    preference,
    remark,
    run,
    search,
    sign_out,
    tag,
    watch,
)


def _(name: str) -> Any:
    """A value that comes with each call."""
    return bindparam(name)


def _words(*words: str) -> list[Any]:
    """Words of ours, written into the statement."""
    return [literal_column(f"'{word}'") for word in words]


_COLUMNS = (
    run.c.id, run.c.conversation, run.c.owner, run.c.question, run.c.options, run.c.status,
    run.c.created, run.c.finished, run.c.error, run.c.based_on, run.c.follows,
)  # fmt: skip
SHOWN = run.c.conversation.not_in(  # what lies in the bin is in no list
    select(conversation.c.id).where(conversation.c.binned.is_not(None))
)
_ACTIVE = run.c.status.in_(_words("queued", "running"))
_RESUMABLE = run.c.status.in_(_words("stopped", "interrupted", "failed"))
_ITSELF = run.c.id == _("run")

ADD_RUN = Upsert(run, {})
RUN = select(*_COLUMNS).where(_ITSELF)
OWN = select(*_COLUMNS).where(_ITSELF, run.c.owner == _("owner"), SHOWN)
RUNS = (
    select(*_COLUMNS)
    .where(run.c.owner == _("owner"), SHOWN)
    .order_by(run.c.created.desc(), run.c.id)
    .limit(_("most"))
)
GIVEN = select(run.c.given).where(_ITSELF)
CLAIM = (
    update(run)
    .values(status="queued", engine=_("by"), stop=_("wish"), error="", finished=None)
    .where(_ITSELF, _RESUMABLE)
)
ENGINES = select(run.c.engine, run.c.id).where(_ACTIVE)
HELD = (
    select(run.c.id)
    .where(_ITSELF, run.c.engine == _("by"), _ACTIVE)
    .with_for_update(key_share=True)
)
ASK_TO_STOP = update(run).values(stop=1).where(_ITSELF, _ACTIVE)
WISHES = select(run.c.id, run.c.engine, run.c.stop).where(run.c.stop > literal_column("0"), _ACTIVE)
DELETE_RUN = delete(run).where(_ITSELF)
ASK_TO_WRITE = update(run).values(stop=2).where(_ITSELF, _ACTIVE, run.c.stop == 0)
LINE = (
    select(run.c.id, run.c.owner, run.c.status, run.c.engine)
    .where(_ACTIVE)
    .order_by(run.c.created, run.c.id)
)
LOCK_QUEUE = select(func.pg_advisory_xact_lock(func.hashtextextended("the queue of runs", 0)))
ADMIT = update(run).values(status="running").where(_ITSELF, run.c.status == "queued")
APPROVE = (
    update(run)
    .values(
        status="queued", engine=_("by"), stop=0, error="", finished=None,
        given=_("plan"), options=_("limits"),
    )
    .where(_ITSELF, run.c.status == "waiting")
)  # fmt: skip
PUT_OFF = update(run).values(status="stopped").where(_ITSELF, run.c.status == "waiting")
LOCK_RUN = select(run.c.engine).where(_ITSELF).with_for_update(key_share=True)
STATUS = update(run).values(status=_("now"), error=_("why"), finished=_("ended")).where(_ITSELF)

_OF_RUN = event.c.run == _("run")
LAST_EVENT = select(func.coalesce(func.max(event.c.seq), 0)).where(_OF_RUN)
LATEST = (
    select(func.coalesce(func.max(event.c.seq), 0))
    .join(run, run.c.id == event.c.run)
    .where(_OF_RUN, run.c.owner == _("owner"))
)
ADD_EVENT = insert(event)
EVENTS = (
    select(event.c.seq, event.c.time, event.c.kind, event.c.data)
    .where(_OF_RUN, event.c.seq > _("after"))
    .order_by(event.c.seq)
)
SAID = (  # to a run by its person, and what the run asked them
    select(event.c.time, event.c.kind, event.c.data)
    .where(_OF_RUN, event.c.kind.in_(_words("unclear", "clarified", "instruction", "heeded")))
    .order_by(event.c.seq)
)
ACCOUNT = (
    select(event.c.seq, event.c.time, event.c.kind, event.c.data)
    .where(_OF_RUN, event.c.kind.in_(_words("status", "usage", "found")))
    .order_by(event.c.seq)
)
USAGES = select(event.c.data).where(_OF_RUN, event.c.kind == "usage").order_by(event.c.seq)

_STARTED = ("run", "task", "key", "source", "query", "started")
LISTED = ("task", "key", "source", "query", "started", "finished", "reason")
BEGIN = insert(search).values({name: _(name) for name in _STARTED})
FINISH = (
    update(search)
    .values(finished=_("ended"), reason=_("why"), finding=_("found"))
    .where(search.c.id == _("search"))
)
_SEARCH_OF_RUN = search.c.run == _("run")
FINDING = (
    select(search.c.finding)
    .where(
        _SEARCH_OF_RUN,
        search.c.key == _("key"),
        search.c.finding.is_not(None),
        or_(search.c.reason.is_(None), search.c.reason == "empty"),
    )
    .order_by(search.c.id)
    .limit(literal_column("1"))
)
RECENT = (
    select(search.c.finding)
    .join(run, run.c.id == search.c.run)
    .where(
        search.c.key == _("key"),
        run.c.owner == _("owner"),
        SHOWN,
        search.c.finished >= _("since"),
        search.c.reason.is_(None),
        search.c.finding.is_not(None),
    )
    .order_by(search.c.finished.desc())
    .limit(literal_column("5"))
)
SEARCHES = select(*(search.c[name] for name in LISTED)).where(_SEARCH_OF_RUN).order_by(search.c.id)
FINDINGS = (
    select(search.c.task, search.c.finding)
    .where(_SEARCH_OF_RUN, search.c.finding.is_not(None))
    .order_by(search.c.id)
)

_OF_REGISTRY = evidence.c.conversation == _("registry")
LOCK_REGISTRY = select(func.pg_advisory_xact_lock(func.hashtextextended(_("registry"), 0)))
RECORD = select(evidence.c.record).where(_OF_REGISTRY, evidence.c.id == _("id"))
KEEP_EVIDENCE = Upsert(evidence)
EVIDENCE = select(evidence.c.record).where(_OF_REGISTRY).order_by(evidence.c.id)
ASKED = (
    select(run.c.conversation, run.c.id, run.c.question)
    .where(run.c.owner == _("owner"), SHOWN)
    .order_by(run.c.created.desc())
)
PLACES = select(evidence.c.id, evidence.c.conversation, evidence.c.url, evidence.c.record).where(
    evidence.c.kind == "place",
    or_(
        _OF_REGISTRY,
        evidence.c.conversation.in_(
            select(run.c.conversation).where(run.c.owner == _("owner"), SHOWN)
        ),
    ),
)

RECALL = select(lookup.c.answer, lookup.c.made).where(
    lookup.c.key == _("key"), lookup.c.made >= _("since")
)
FORGET = delete(lookup).where(lookup.c.made < _("before"))
REMEMBER = Upsert(lookup)
COUNT = Upsert(account, {"n": account.c.n + 1})
COUNTED = select(account.c.n).where(account.c.name == _("name"), account.c.day == _("day"))

NOTE = Upsert(note)
NOTED = select(note.c.text).where(note.c.run == _("run"), note.c.step == _("step"))
NOTES = select(note.c.step, note.c.text).where(note.c.run == _("run")).order_by(note.c.step)

ADD_WATCH = Upsert(watch, {})
WATCHES = (
    select(*_COLUMNS, watch.c.created)
    .join(run, run.c.id == watch.c.run)
    .where(run.c.owner == _("owner"), SHOWN)
    .order_by(watch.c.created.desc(), watch.c.run)
)
UNWATCH = delete(watch).where(
    watch.c.run == _("watched"),
    watch.c.run.in_(select(run.c.id).where(run.c.owner == _("owner"), SHOWN)),
)

ADD_PAIR = Upsert(pair)
PAIRS = (
    select(pair.c.question, pair.c.sql)
    .where(pair.c.owner == _("owner"), pair.c.base == _("base"))
    .order_by(pair.c.made.desc(), pair.c.question)
    .limit(_("most"))
)
FORGET_PAIR = delete(pair).where(
    pair.c.owner == _("owner"), pair.c.base == _("base"), pair.c.question == _("asked")
)

PUT_IN = Upsert(notebook, {})
NOTEBOOKS = (
    select(notebook.c.name, notebook.c.document)
    .where(notebook.c.owner == _("owner"))
    .order_by(notebook.c.name, notebook.c.document)
)
TAKE_OUT = delete(notebook).where(
    notebook.c.owner == _("owner"), notebook.c.name == _("book"), notebook.c.document == _("given")
)
FORGET_NOTEBOOK = delete(notebook).where(
    notebook.c.owner == _("owner"), notebook.c.name == _("book")
)

REMARK = Upsert(remark)
REMARKS = (
    select(remark.c.evidence, remark.c.passage, remark.c.text, remark.c.made)
    .where(remark.c.run == _("run"))
    .order_by(func.length(remark.c.evidence) > literal_column("0"), remark.c.made, remark.c.passage)
)
FORGET_REMARK = delete(remark).where(
    remark.c.run == _("run"), remark.c.evidence == _("item"), remark.c.passage == _("at")
)

PREFER = Upsert(preference)
PREFERENCES = select(preference.c.name, preference.c.value).where(preference.c.owner == _("owner"))
PREFER_NO_MORE = delete(preference).where(
    preference.c.owner == _("owner"), preference.c.name == _("wish")
)

SIGN_OUT = Upsert(sign_out)
FORGET_SIGN_OUTS = delete(sign_out).where(sign_out.c.until < _("now"))
SIGNED_OUT = select(sign_out.c.at).where(
    sign_out.c.owner == _("owner"),
    or_(
        sign_out.c.sign_in == _("given"),
        and_(sign_out.c.sign_in == "", sign_out.c.at >= _("began")),
    ),
)

KEEP_ANSWER = Upsert(answer)
ANSWER = select(answer.c.plan, answer.c.reflections, answer.c.answer).where(
    answer.c.run == _("run")
)

_OWNED = run.c.owner == _("owner")
_FIRST, _LAST = run.alias(), run.alias()
_PIN = func.max(func.coalesce(conversation.c.pinned, 0))
CONVERSATIONS = (
    select(
        run.c.conversation,
        func.coalesce(
            func.nullif(func.max(conversation.c.title), ""),
            select(_FIRST.c.question)
            .where(_FIRST.c.conversation == run.c.conversation, _FIRST.c.owner == _("owner"))
            .order_by(_FIRST.c.created, _FIRST.c.id)
            .limit(literal_column("1"))
            .correlate(run)
            .scalar_subquery(),
        ),
        _PIN,
        func.count(),
        func.min(run.c.created),
        func.max(run.c.created),
        select(_LAST.c.id)
        .where(_LAST.c.conversation == run.c.conversation, _LAST.c.owner == _("owner"))
        .order_by(_LAST.c.created.desc(), _LAST.c.id.desc())
        .limit(literal_column("1"))
        .correlate(run)
        .scalar_subquery(),
    )
    .select_from(run.outerjoin(conversation, conversation.c.id == run.c.conversation))
    .where(_OWNED, SHOWN)
    .group_by(run.c.conversation)
    .order_by(_PIN.desc(), func.max(run.c.created).desc())
    .limit(_("most"))
)
ALL_TURNS = (
    select(*_COLUMNS)
    .where(run.c.conversation == _("conversation"), _OWNED)
    .order_by(run.c.created, run.c.id)
)
TURNS = ALL_TURNS.where(SHOWN)
ADD_CONVERSATION = Upsert(conversation, {})
NEW_CONVERSATION = {"title": "", "pinned": 0, "words": "", "binned": None}
LABEL = {
    name: update(conversation).values({name: _("value")}).where(conversation.c.id == _("id_"))
    for name in ("title", "pinned", "words", "binned")
}
FORGET_CONVERSATION = (
    delete(run).where(run.c.conversation == _("conversation")),
    delete(evidence).where(evidence.c.conversation == _("conversation")),
    delete(conversation).where(conversation.c.id == _("conversation")),
    delete(tag).where(tag.c.conversation == _("conversation")),
)
FINISHED = (
    select(*_COLUMNS)
    .where(_OWNED, SHOWN, run.c.status == "done")
    .order_by(run.c.created.desc())
    .limit(_("most"))
)
