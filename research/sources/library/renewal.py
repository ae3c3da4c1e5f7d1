"""Documents that were indexed before their words were folded as those of a question are now.

What is stored of them stays; their words are cut anew from it, once, when the library is first opened.
"""

# ruff: noqa: S608  (names of our own tables alone are put into statements)

from __future__ import annotations

import sqlite3
import unicodedata

from research.core.text.hanzi import simplified
from research.sources.library.names import aliases_of, title_names
from research.sources.library.prepare import name_rows, opening, passage_rows
from research.storage.files import Database

_MARK = "outdated"  # set by a migration


def due(db: Database) -> bool:
    """Whether the index is from before."""
    return bool(db.read("select 1 from meta where key=?", (_MARK,)))


def renew(connection: sqlite3.Connection) -> None:
    """Indexes anew what the folding changes, also in the bin; another process may have done so."""
    if connection.execute("delete from meta where key=?", (_MARK,)).rowcount:
        for kind in ("", "bin_"):
            for (number,) in connection.execute(f"select id from {kind}document").fetchall():
                _renew(connection, kind, number)


def _renew(connection: sqlite3.Connection, kind: str, number: int) -> None:
    title, text = connection.execute(
        f"select title, text from {kind}document where id=?", (number,)
    ).fetchone()
    rows = connection.execute(
        f"select id, heading, page, start, finish from {kind}passage where document=? order by id",
        (number,),
    ).fetchall()
    said = unicodedata.normalize("NFKC", "\n".join((title, text, *(row[1] for row in rows))))
    if not rows or simplified(said) == said:
        return
    ids, stretches = [row[0] for row in rows], [row[1:] for row in rows]
    first = opening(text, stretches[0][2], len(text))
    for table in ("passage", "name", "alias"):
        connection.execute(f"delete from {kind}{table} where document=?", (number,))
    connection.executemany(
        f"insert into {kind}passage(id, document, heading, page, start, finish, title_tokens, "
        "body_tokens, opening_tokens) values(?,?,?,?,?,?,?,?,?)",
        [
            (id_, number, *row)
            for id_, row in zip(ids, passage_rows(title, text, first, stretches), strict=True)
        ],
    )
    names, aliases = name_rows(title_names(title), aliases_of(title, text), number)
    connection.executemany(f"insert into {kind}name(key, name, document) values(?,?,?)", names)
    connection.executemany(
        f"insert into {kind}alias(key, name, other, document) values(?,?,?,?)", aliases
    )
