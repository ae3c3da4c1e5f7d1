"""The tables of the store, and the numbered scripts that make and change them in each kind of database.

A script is never changed once it was released: what is new goes into another one at the end. Times
are ISO 8601 text and records are JSON text in both, so that a row means the same wherever it lies.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Integer, MetaData, Table, Text

tables = MetaData()

run = Table(
    "run",
    tables,
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
    tables,
    Column("id", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("pinned", Integer, nullable=False),
    Column("words", Text, nullable=False),
    Column("binned", Text),
)
tag = Table(
    "tag",
    tables,
    Column("conversation", Text, primary_key=True),
    Column("name", Text, primary_key=True),
)
said = Table(
    "said",
    tables,
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
    tables,
    Column("run", Text, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("time", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("data", Text, nullable=False),
)
search = Table(
    "search",
    tables,
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
    tables,
    Column("conversation", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("record", Text, nullable=False),
)
answer = Table(
    "answer",
    tables,
    Column("run", Text, primary_key=True),
    Column("plan", Text),
    Column("reflections", Text, nullable=False),
    Column("answer", Text),
    Column("made", Text, nullable=False),
)
note = Table(
    "note",
    tables,
    Column("run", Text, primary_key=True),
    Column("step", Text, primary_key=True),
    Column("text", Text, nullable=False),
)
watch = Table(
    "watch",
    tables,
    Column("run", Text, primary_key=True),
    Column("created", Text, nullable=False),
)
lookup = Table(
    "lookup",
    tables,
    Column("key", Text, primary_key=True),
    Column("answer", Text, nullable=False),
    Column("made", Text, nullable=False),
)
account = Table(
    "account",
    tables,
    Column("name", Text, primary_key=True),
    Column("day", Text, primary_key=True),
    Column("n", Integer, nullable=False),
)
pair = Table(
    "pair",
    tables,
    Column("owner", Text, primary_key=True),
    Column("base", Text, primary_key=True),
    Column("question", Text, primary_key=True),
    Column("sql", Text, nullable=False),
    Column("made", Text, nullable=False),
)
notebook = Table(
    "notebook",
    tables,
    Column("owner", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("document", Text, primary_key=True),  # by its name in the library
)
remark = Table(
    "remark",
    tables,
    Column("run", Text, primary_key=True),
    Column("evidence", Text, primary_key=True),  # with the next "" for the answer as a whole
    Column("passage", Text, primary_key=True),
    Column("text", Text, nullable=False),
    Column("made", Text, nullable=False),
)
preference = Table(
    "preference",
    tables,
    Column("owner", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
sign_out = Table(
    "sign_out",
    tables,
    Column("owner", Text, primary_key=True),
    Column("sign_in", Text, primary_key=True),  # "" for all that began until `at`
    Column("at", Text, nullable=False),
    Column("until", Text, nullable=False),  # the end of the longest of them, and of this row
)

SQLITE = (
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

# Text is compared byte by byte, as SQLite does: times as text have no other order.
_TEXT = 'text collate "C"'
POSTGRESQL = (
    f"""
    create table run(
        id {_TEXT} primary key, conversation {_TEXT} not null, owner {_TEXT} not null,
        question {_TEXT} not null, options {_TEXT} not null, status {_TEXT} not null,
        created {_TEXT} not null, finished {_TEXT}, error {_TEXT} not null default '',
        based_on {_TEXT} not null default '', follows {_TEXT} not null default '', given {_TEXT}, engine {_TEXT} not null default '',
        stop integer not null default 0);
    create index run_owner on run(owner, created);
    create index run_status on run(status);
    create index run_conversation on run(conversation, created);
    create table event(
        run {_TEXT} not null references run on delete cascade, seq integer not null,
        time {_TEXT} not null, kind {_TEXT} not null, data {_TEXT} not null,
        primary key(run, seq));
    create table search(
        id bigint generated by default as identity primary key,
        run {_TEXT} not null references run on delete cascade,
        task {_TEXT} not null, key {_TEXT} not null, source {_TEXT} not null,
        query {_TEXT} not null, started {_TEXT} not null, finished {_TEXT}, reason {_TEXT},
        finding {_TEXT});
    create index search_run on search(run, key);
    create index search_key on search(key, finished);
    create table conversation(
        id {_TEXT} primary key, title {_TEXT} not null default '',
        pinned integer not null default 0);
    create table evidence(
        conversation {_TEXT} not null, id {_TEXT} not null, kind {_TEXT} not null,
        title {_TEXT} not null, url {_TEXT} not null, record {_TEXT} not null,
        primary key(conversation, id));
    create table answer(
        run {_TEXT} primary key references run on delete cascade, plan {_TEXT},
        reflections {_TEXT} not null, answer {_TEXT}, made {_TEXT} not null);
    create table lookup(
        key {_TEXT} primary key, answer {_TEXT} not null, made {_TEXT} not null);
    create table account(
        name {_TEXT} not null, day {_TEXT} not null, n integer not null, primary key(name, day));
    """,
    f"""
    create table note(
        run {_TEXT} not null references run on delete cascade, step {_TEXT} not null,
        text {_TEXT} not null, primary key(run, step));
    create table watch(
        run {_TEXT} primary key references run on delete cascade, created {_TEXT} not null);
    """,
    f"""
    create table pair(
        owner {_TEXT} not null, base {_TEXT} not null, question {_TEXT} not null,
        sql {_TEXT} not null, made {_TEXT} not null, primary key(owner, base, question));
    """,
    f"""
    create table preference(
        owner {_TEXT} not null, name {_TEXT} not null, value {_TEXT} not null,
        primary key(owner, name));
    """,
    f"""
    alter table conversation add column words {_TEXT} not null default '';
    alter table conversation add column binned {_TEXT};
    create table tag(
        conversation {_TEXT} not null, name {_TEXT} not null,
        primary key(conversation, name));
    create table said(
        run {_TEXT} primary key references run on delete cascade, kind {_TEXT} not null,
        sources integer not null, cost double precision, words {_TEXT} not null,
        answer {_TEXT} not null, found {_TEXT} not null);
    """,
    f"""
    create table notebook(
        owner {_TEXT} not null, name {_TEXT} not null, document {_TEXT} not null,
        primary key(owner, name, document));
    """,
    f"""
    create table remark(
        run {_TEXT} not null references run on delete cascade, evidence {_TEXT} not null,
        passage {_TEXT} not null, text {_TEXT} not null, made {_TEXT} not null,
        primary key(run, evidence, passage));
    alter table said add column remarks {_TEXT} not null default '';
    """,
    f"""
    create table sign_out(
        owner {_TEXT} not null, sign_in {_TEXT} not null, at {_TEXT} not null,
        until {_TEXT} not null, primary key(owner, sign_in));
    """,
)
