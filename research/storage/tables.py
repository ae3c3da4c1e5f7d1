"""The tables of the store, and the numbered migrations of each kind of database.

A released migration is never changed; changes go into a new one at the end. Times are ISO 8601 text
and records JSON text in both kinds of database, so that a row means the same in each.
"""

from __future__ import annotations

import re

from sqlalchemy import BigInteger, Column, Float, Integer, MetaData, Table, Text

metadata = MetaData()


def _keys(*names: str) -> list[Column[str]]:
    """Text columns of the primary key."""
    return [Column(name, Text, primary_key=True) for name in names]


def _texts(*names: str) -> list[Column[str]]:
    """Text columns that have a value in every row."""
    return [Column(name, Text, nullable=False) for name in names]


run = Table(
    "run",
    metadata,
    *_keys("id"),
    *_texts("conversation", "owner", "question", "options", "status", "created"),
    Column("finished", Text),
    *_texts("error", "based_on"),
    Column("given", Text),
    *_texts("engine"),
    Column("stop", Integer, nullable=False),
    *_texts("follows"),
)
conversation = Table(
    "conversation",
    metadata,
    *_keys("id"),
    *_texts("title"),
    Column("pinned", Integer, nullable=False),
    *_texts("words"),
    Column("binned", Text),
)
tag = Table("tag", metadata, *_keys("conversation", "name"))
run_text = Table(
    "said",
    metadata,
    *_keys("run"),
    *_texts("kind"),
    Column("sources", Integer, nullable=False),
    Column("cost", Float),
    *_texts("words", "answer", "found", "remarks"),
)
event = Table(
    "event", metadata, *_keys("run"), Column("seq", Integer, primary_key=True), *_texts("time", "kind", "data")
)
search = Table(
    "search",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    *_texts("run", "task", "key", "source", "query", "started"),
    Column("finished", Text),
    Column("reason", Text),
    Column("finding", Text),
)
evidence = Table("evidence", metadata, *_keys("conversation", "id"), *_texts("kind", "title", "url", "record"))
answer = Table(
    "answer",
    metadata,
    *_keys("run"),
    Column("plan", Text),
    *_texts("reflections"),
    Column("answer", Text),
    *_texts("made"),
)
step_result = Table("note", metadata, *_keys("run", "step"), *_texts("text"))
watch = Table("watch", metadata, *_keys("run"), *_texts("created"))
cached_answer = Table("lookup", metadata, *_keys("key"), *_texts("answer", "made"))
counter = Table("account", metadata, *_keys("name", "day"), Column("n", Integer, nullable=False))
confirmed_statement = Table("pair", metadata, *_keys("owner", "base", "question"), *_texts("sql", "made"))
notebook = Table("notebook", metadata, *_keys("owner", "name", "document"))  # the document's name in the library
# Without evidence and passage, a remark is on the whole answer.
remark = Table("remark", metadata, *_keys("run", "evidence", "passage"), *_texts("text", "made"))
preference = Table("preference", metadata, *_keys("owner", "name"), *_texts("value"))
# With sign_in "", all sign-ins that began until `at` have ended. The row is deleted after `until`, when
# the last of the sign-ins concerned has expired.
sign_out = Table("sign_out", metadata, *_keys("owner", "sign_in"), *_texts("at", "until"))

SQLITE_MIGRATIONS = (
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
    """
    create table note(
        run text not null references run on delete cascade, step text not null,
        text text not null, primary key(run, step)) without rowid;
    create table watch(
        run text primary key references run on delete cascade, created text not null)
        without rowid;
    """,
    """
    create table pair(
        owner text not null, base text not null, question text not null, sql text not null,
        made text not null, primary key(owner, base, question)) without rowid;
    """,
    """
    create table preference(
        owner text not null, name text not null, value text not null,
        primary key(owner, name)) without rowid;
    """,
    """
    alter table conversation add column words text not null default '';
    alter table conversation add column binned text;
    create table tag(
        conversation text not null, name text not null,
        primary key(conversation, name)) without rowid;
    create table said(
        run text primary key references run on delete cascade, kind text not null,
        sources integer not null, cost real, words text not null, answer text not null,
        found text not null);
    """,
    """
    create table notebook(
        owner text not null, name text not null, document text not null,
        primary key(owner, name, document)) without rowid;
    """,
    """
    create table remark(
        run text not null references run on delete cascade, evidence text not null,
        passage text not null, text text not null, made text not null,
        primary key(run, evidence, passage)) without rowid;
    alter table said add column remarks text not null default '';
    """,
    """
    create table sign_out(
        owner text not null, sign_in text not null, at text not null, until text not null,
        primary key(owner, sign_in)) without rowid;
    """,
)

# Text is compared byte by byte, as in SQLite: the order of times stored as text depends on it.
_TEXT_TYPE = 'text collate "C"'


def _for_postgresql(script: str) -> str:
    """Write a migration of SQLite for PostgreSQL."""
    script = re.sub(r"(?<=\w )text\b", _TEXT_TYPE, script)  # a type follows the name of a column
    return script.replace(" real,", " double precision,").replace(" without rowid", "")


POSTGRESQL_MIGRATIONS = (
    f"""
    create table run(
        id {_TEXT_TYPE} primary key, conversation {_TEXT_TYPE} not null, owner {_TEXT_TYPE} not null,
        question {_TEXT_TYPE} not null, options {_TEXT_TYPE} not null, status {_TEXT_TYPE} not null,
        created {_TEXT_TYPE} not null, finished {_TEXT_TYPE}, error {_TEXT_TYPE} not null default '',
        based_on {_TEXT_TYPE} not null default '', follows {_TEXT_TYPE} not null default '', given {_TEXT_TYPE}, engine {_TEXT_TYPE} not null default '',
        stop integer not null default 0);
    create index run_owner on run(owner, created);
    create index run_status on run(status);
    create index run_conversation on run(conversation, created);
    create table event(
        run {_TEXT_TYPE} not null references run on delete cascade, seq integer not null,
        time {_TEXT_TYPE} not null, kind {_TEXT_TYPE} not null, data {_TEXT_TYPE} not null,
        primary key(run, seq));
    create table search(
        id bigint generated by default as identity primary key,
        run {_TEXT_TYPE} not null references run on delete cascade,
        task {_TEXT_TYPE} not null, key {_TEXT_TYPE} not null, source {_TEXT_TYPE} not null,
        query {_TEXT_TYPE} not null, started {_TEXT_TYPE} not null, finished {_TEXT_TYPE}, reason {_TEXT_TYPE},
        finding {_TEXT_TYPE});
    create index search_run on search(run, key);
    create index search_key on search(key, finished);
    create table conversation(
        id {_TEXT_TYPE} primary key, title {_TEXT_TYPE} not null default '',
        pinned integer not null default 0);
    create table evidence(
        conversation {_TEXT_TYPE} not null, id {_TEXT_TYPE} not null, kind {_TEXT_TYPE} not null,
        title {_TEXT_TYPE} not null, url {_TEXT_TYPE} not null, record {_TEXT_TYPE} not null,
        primary key(conversation, id));
    create table answer(
        run {_TEXT_TYPE} primary key references run on delete cascade, plan {_TEXT_TYPE},
        reflections {_TEXT_TYPE} not null, answer {_TEXT_TYPE}, made {_TEXT_TYPE} not null);
    create table lookup(
        key {_TEXT_TYPE} primary key, answer {_TEXT_TYPE} not null, made {_TEXT_TYPE} not null);
    create table account(
        name {_TEXT_TYPE} not null, day {_TEXT_TYPE} not null, n integer not null, primary key(name, day));
    """,
    # PostgreSQL has been supported since the fourth migration of SQLite.
    *map(_for_postgresql, SQLITE_MIGRATIONS[3:]),
)
