"""Migrations of the library's database, in order. A released migration never changes."""

from __future__ import annotations

MIGRATIONS = (
    """
    create table meta(key text primary key, value text not null);
    create table document(
        id integer primary key, name text not null unique, sha256 text not null,
        title text not null, url text not null, published text, language text not null,
        sample integer not null, added text not null, text text not null);
    create table passage(
        id integer primary key, document integer not null references document on delete cascade,
        heading text not null, page integer, start integer not null, finish integer not null,
        title_tokens text not null, body_tokens text not null, opening_tokens text not null);
    create index passage_document on passage(document);
    create table name(
        key text not null, name text not null,
        document integer not null references document on delete cascade);
    create index name_key on name(key);
    create index name_document on name(document);
    create table alias(
        key text not null, name text not null, other text not null,
        document integer not null references document on delete cascade);
    create index alias_key on alias(key);
    create index alias_document on alias(document);
    create virtual table words using fts5(
        title_tokens, body_tokens, opening_tokens, content='passage', content_rowid='id',
        tokenize="unicode61 remove_diacritics 0 tokenchars '.'");
    create virtual table vocabulary using fts5vocab(words, row);
    create trigger passage_added after insert on passage begin
        insert into words(rowid, title_tokens, body_tokens, opening_tokens)
        values (new.id, new.title_tokens, new.body_tokens, new.opening_tokens);
    end;
    create trigger passage_removed after delete on passage begin
        insert into words(words, rowid, title_tokens, body_tokens, opening_tokens)
        values ('delete', old.id, old.title_tokens, old.body_tokens, old.opening_tokens);
    end;
    """,
    # Lists of documents are read from one index, without the texts. Removed documents are kept in
    # bin_* tables for a while, unreadable files in `unread` until they are read or dismissed.
    """
    alter table document add column kind text not null default '';
    alter table document add column passages integer not null default 0;
    alter table document add column characters integer not null default 0;
    update document set
        passages = (select count(*) from passage p where p.document = document.id),
        characters = length(text),
        kind = case
            when lower(name) like '%.pdf' then 'pdf'
            when lower(name) like '%.docx' then 'word'
            when lower(name) like '%.xlsx' or lower(name) like '%.csv' or lower(name) like '%.tsv'
                then 'table'
            when lower(name) like '%.html' or lower(name) like '%.htm' then 'web'
            else 'text' end;
    create index document_listed on document(
        sample, title, id, name, url, published, language, added, kind, passages, characters);
    create table bin_document(
        id integer primary key, name text not null, sha256 text not null, title text not null,
        url text not null, published text, language text not null, added text not null,
        kind text not null, passages integer not null, characters integer not null,
        removed text not null, text text not null);
    create table bin_passage(
        id integer primary key, document integer not null references bin_document on delete cascade,
        heading text not null, page integer, start integer not null, finish integer not null,
        title_tokens text not null, body_tokens text not null, opening_tokens text not null);
    create index bin_passage_document on bin_passage(document);
    create table bin_name(
        key text not null, name text not null,
        document integer not null references bin_document on delete cascade);
    create index bin_name_document on bin_name(document);
    create table bin_alias(
        key text not null, name text not null, other text not null,
        document integer not null references bin_document on delete cascade);
    create index bin_alias_document on bin_alias(document);
    create table unread(
        who text not null, name text not null, outcome text not null, detail text not null,
        seen text not null, primary key(who, name));
    """,
    # The limit that an unreadable file exceeds.
    """
    alter table unread add column "limit" text not null default '';
    """,
    # Words are folded to simplified characters: earlier documents must be reindexed.
    """
    insert into meta values('outdated', '1');
    """,
    # Scanned pages: the file, until all pages were read, and the state of each page.
    """
    create table scan(
        document integer primary key references document on delete cascade, data blob not null);
    create table scan_page(
        document integer not null references document on delete cascade, page integer not null,
        heading text not null, state text not null, reason text not null default '', picture blob,
        primary key(document, page));
    create table bin_scan(
        document integer primary key references bin_document on delete cascade,
        data blob not null);
    create table bin_scan_page(
        document integer not null references bin_document on delete cascade,
        page integer not null, heading text not null, state text not null,
        reason text not null default '', picture blob, primary key(document, page));
    alter table unread add column pages text not null default '';
    """,
    # The files whose pages can be shown are kept, not only until their scanned pages were read.
    """
    alter table scan rename to original;
    alter table bin_scan rename to bin_original;
    """,
    # A passage may go on over a page end.
    """
    alter table passage add column last_page integer;
    alter table bin_passage add column last_page integer;
    """,
    # The suffix of the format that a mislabelled file has.
    """
    alter table unread add column content text not null default '';
    """,
)
