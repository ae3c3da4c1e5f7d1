"""The tables of the store, and the numbered migrations of each kind of database.

A released migration is never changed; changes go into a new one at the end. Times are ISO 8601 text
and records JSON text in both kinds of database, so that a row means the same in each.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Integer, MetaData, Table, Text

metadata = MetaData()

run = Table(
    "run",
    metadata,
    Column("id", Text, primary_key=True),
    Column("conversation", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("options", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("finished", Text),
    Column("error", Text, nullable=False),
    Column("based_on", Text, nullable=False),
    Column("given", Text),
    Column("engine", Text, nullable=False),
    Column("stop", Integer, nullable=False),
    Column("follows", Text, nullable=False),
)
conversation = Table(
    "conversation",
    metadata,
    Column("id", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("pinned", Integer, nullable=False),
    Column("words", Text, nullable=False),
    Column("binned", Text),
)
tag = Table(
    "tag",
    metadata,
    Column("conversation", Text, primary_key=True),
    Column("name", Text, primary_key=True),
)
run_text = Table(
    "said",
    metadata,
    Column("run", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("sources", Integer, nullable=False),
    Column("cost", Float),
    Column("words", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("found", Text, nullable=False),
    Column("remarks", Text, nullable=False),
)
event = Table(
    "event",
    metadata,
    Column("run", Text, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("time", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("data", Text, nullable=False),
)
search = Table(
    "search",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("run", Text, nullable=False),
    Column("task", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("query", Text, nullable=False),
    Column("started", Text, nullable=False),
    Column("finished", Text),
    Column("reason", Text),
    Column("finding", Text),
)
evidence = Table(
    "evidence",
    metadata,
    Column("conversation", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("record", Text, nullable=False),
)
answer = Table(
    "answer",
    metadata,
    Column("run", Text, primary_key=True),
    Column("plan", Text),
    Column("reflections", Text, nullable=False),
    Column("answer", Text),
    Column("made", Text, nullable=False),
)
step_result = Table(
    "note",
    metadata,
    Column("run", Text, primary_key=True),
    Column("step", Text, primary_key=True),
    Column("text", Text, nullable=False),
)
watch = Table(
    "watch",
    metadata,
    Column("run", Text, primary_key=True),
    Column("created", Text, nullable=False),
)
cached_answer = Table(
    "lookup",
    metadata,
    Column("key", Text, primary_key=True),
    Column("answer", Text, nullable=False),
    Column("made", Text, nullable=False),
)
counter = Table(
    "account",
    metadata,
    Column("name", Text, primary_key=True),
    Column("day", Text, primary_key=True),
    Column("n", Integer, nullable=False),
)
confirmed_statement = Table(
    "pair",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("base", Text, primary_key=True),
    Column("question", Text, primary_key=True),
    Column("sql", Text, nullable=False),
    Column("made", Text, nullable=False),
)
notebook = Table(
    "notebook",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("document", Text, primary_key=True),  # the name in the library
)
remark = Table(
    "remark",
    metadata,
    Column("run", Text, primary_key=True),
    Column("evidence", Text, primary_key=True),  # "" together with an empty passage: a note on the whole answer
    Column("passage", Text, primary_key=True),
    Column("text", Text, nullable=False),
    Column("made", Text, nullable=False),
)
preference = Table(
    "preference",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
sign_out = Table(
    "sign_out",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("sign_in", Text, primary_key=True),  # "" for all sign-ins that began until `at`
    Column("at", Text, nullable=False),
    Column("until", Text, nullable=False),  # latest expiry of the sign-ins concerned, after which the row is deleted
)

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
    f"""
    create table note(
        run {_TEXT_TYPE} not null references run on delete cascade, step {_TEXT_TYPE} not null,
        text {_TEXT_TYPE} not null, primary key(run, step));
    create table watch(
        run {_TEXT_TYPE} primary key references run on delete cascade, created {_TEXT_TYPE} not null);
    """,
    f"""
    create table pair(
        owner {_TEXT_TYPE} not null, base {_TEXT_TYPE} not null, question {_TEXT_TYPE} not null,
        sql {_TEXT_TYPE} not null, made {_TEXT_TYPE} not null, primary key(owner, base, question));
    """,
    f"""
    create table preference(
        owner {_TEXT_TYPE} not null, name {_TEXT_TYPE} not null, value {_TEXT_TYPE} not null,
        primary key(owner, name));
    """,
    f"""
    alter table conversation add column words {_TEXT_TYPE} not null default '';
    alter table conversation add column binned {_TEXT_TYPE};
    create table tag(
        conversation {_TEXT_TYPE} not null, name {_TEXT_TYPE} not null,
        primary key(conversation, name));
    create table said(
        run {_TEXT_TYPE} primary key references run on delete cascade, kind {_TEXT_TYPE} not null,
        sources integer not null, cost double precision, words {_TEXT_TYPE} not null,
        answer {_TEXT_TYPE} not null, found {_TEXT_TYPE} not null);
    """,
    f"""
    create table notebook(
        owner {_TEXT_TYPE} not null, name {_TEXT_TYPE} not null, document {_TEXT_TYPE} not null,
        primary key(owner, name, document));
    """,
    f"""
    create table remark(
        run {_TEXT_TYPE} not null references run on delete cascade, evidence {_TEXT_TYPE} not null,
        passage {_TEXT_TYPE} not null, text {_TEXT_TYPE} not null, made {_TEXT_TYPE} not null,
        primary key(run, evidence, passage));
    alter table said add column remarks {_TEXT_TYPE} not null default '';
    """,
    f"""
    create table sign_out(
        owner {_TEXT_TYPE} not null, sign_in {_TEXT_TYPE} not null, at {_TEXT_TYPE} not null,
        until {_TEXT_TYPE} not null, primary key(owner, sign_in));
    """,
)
