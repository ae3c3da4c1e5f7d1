"""One-time reindexing of documents that were stored before words were folded to simplified
characters.

Their stored text stays; the words are extracted anew when the library is first opened.
"""

# ruff: noqa: S608  (only names of our own tables are formatted into statements)

from __future__ import annotations

import sqlite3
import unicodedata

from research.core.text.hanzi import to_simplified
from research.sources.library.names import extract_aliases, extract_title_names
from research.sources.library.prepare import build_name_rows, build_passage_rows, opening_line
from research.storage.sqlite_files import SQLiteFile

_OUTDATED_KEY = "outdated"  # set by a migration


def is_outdated(db: SQLiteFile) -> bool:
    """Return True if the index was built before the change."""
    return bool(db.read("select 1 from meta where key=?", (_OUTDATED_KEY,)))


def reindex(connection: sqlite3.Connection) -> None:
    """Reindex all documents, including those in the trash, unless another process has done so."""
    if connection.execute("delete from meta where key=?", (_OUTDATED_KEY,)).rowcount:
        for table_prefix in ("", "bin_"):
            for (document_id,) in connection.execute(f"select id from {table_prefix}document").fetchall():
                _reindex_document(connection, table_prefix, document_id)


def _reindex_document(connection: sqlite3.Connection, table_prefix: str, document_id: int) -> None:
    """Extract the words and names of one document anew, unless it has no traditional characters."""
    title, text = connection.execute(
        f"select title, text from {table_prefix}document where id=?", (document_id,)
    ).fetchone()
    rows = connection.execute(
        f"select id, heading, page, last_page, start, finish from {table_prefix}passage where document=? order by id",
        (document_id,),
    ).fetchall()
    indexed_text = unicodedata.normalize("NFKC", "\n".join((title, text, *(row[1] for row in rows))))
    if not rows or to_simplified(indexed_text) == indexed_text:
        return
    ids, spans = [row[0] for row in rows], [row[1:] for row in rows]
    opening = opening_line(text, spans[0][3], len(text))
    for table in ("passage", "name", "alias"):
        connection.execute(f"delete from {table_prefix}{table} where document=?", (document_id,))
    connection.executemany(
        f"insert into {table_prefix}passage(id, document, heading, page, last_page, start, finish, title_tokens, "
        "body_tokens, opening_tokens) values(?,?,?,?,?,?,?,?,?,?)",
        [
            (id_, document_id, *row)
            for id_, row in zip(ids, build_passage_rows(title, text, opening, spans), strict=True)
        ],
    )
    names, aliases = build_name_rows(extract_title_names(title), extract_aliases(title, text), document_id)
    connection.executemany(f"insert into {table_prefix}name(key, name, document) values(?,?,?)", names)
    connection.executemany(f"insert into {table_prefix}alias(key, name, other, document) values(?,?,?,?)", aliases)
