"""The notes, watched topics, notebooks, preferences and sign-ins of owners in the store."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from research.core.records import Run
from research.core.text.control_chars import replace_surrogates
from research.storage import statements as sql
from research.storage.databases import StoreDatabase
from research.storage.history import normalise_names
from research.storage.history_index import HistoryIndex
from research.storage.rows import parse_rows, parse_run

MAX_CONFIRMED_STATEMENTS = 200  # the latest confirmed statements that are returned


class OwnerStore:
    """The data that owners keep in a database."""

    database: StoreDatabase
    history: HistoryIndex

    # Notes

    def save_remark(self, run_id: str, evidence: str, passage: str, text: str) -> None:
        """Save an owner's note on an answer or on a passage; an empty text deletes it."""
        with self.database.transaction() as transaction:
            if text:
                transaction.execute(
                    sql.SAVE_REMARK,
                    run=run_id,
                    evidence=evidence,
                    passage=passage,
                    text=self.database.storable_text(replace_surrogates(text, "?")),
                    made=datetime.now(UTC).isoformat(),
                )
            else:
                transaction.execute(sql.DELETE_REMARK, run=run_id, evidence=evidence, passage=passage)
            self.history.index_run(transaction, run_id)

    # Watched topics

    def add_watch(self, run_id: str) -> None:
        """Watch a run, so that its report is updated from time to time."""
        self.database.write(sql.ADD_WATCH, run=run_id, created=datetime.now(UTC).isoformat())

    def watches(self, owner: str) -> list[tuple[Run, datetime]]:
        """Return an owner's watched runs and the the times from which they are watched, latest first."""
        rows = self.database.read(sql.LIST_WATCHES, owner=owner)
        return parse_rows(lambda row: (parse_run(row), datetime.fromisoformat(row[11])), rows)

    def unreadable_watches(self, owner: str) -> list[tuple[str, str]]:
        """Return the ids and questions of an owner's watched runs that cannot be read."""
        readable = {run.id for run, _ in self.watches(owner)}
        rows = self.database.read(sql.LIST_WATCHES, owner=owner)
        return [(str(row[0]), str(row[3])) for row in rows if row[0] not in readable]

    def remove_watch(self, run_id: str, owner: str) -> None:
        """Stop watching a run."""
        self.database.write(sql.DELETE_WATCH, run=run_id, owner=owner)

    # Confirmed statements

    def confirm_statement(self, owner: str, database_id: str, question: str, statement: str) -> None:
        """Record that a statement is correct for an owner's question to a database."""
        confirmed_at = datetime.now(UTC).isoformat()
        self.database.write(
            sql.CONFIRM_STATEMENT,
            owner=owner,
            base=database_id,
            question=question,
            sql=statement,
            made=confirmed_at,
        )

    def confirmed_statements(self, owner: str, database_id: str) -> list[tuple[str, str]]:
        """Return an owner's confirmed questions and statements for a database, latest first."""
        rows = self.database.read(
            sql.LIST_CONFIRMED_STATEMENTS, owner=owner, base=database_id, limit=MAX_CONFIRMED_STATEMENTS
        )
        return [(row[0], row[1]) for row in rows]

    def remove_confirmed_statement(self, owner: str, database_id: str, question: str) -> None:
        """Delete the confirmed statement of a question."""
        self.database.write(sql.DELETE_CONFIRMED_STATEMENT, owner=owner, base=database_id, question=question)

    # Notebooks: named sets of library documents

    def notebooks(self, owner: str) -> dict[str, tuple[str, ...]]:
        """Return the notebooks of an owner: the names of their documents in the library."""
        documents: dict[str, tuple[str, ...]] = {}
        for name, document in self.database.read(sql.LIST_NOTEBOOKS, owner=owner):
            documents[name] = (*documents.get(name, ()), document)
        return documents

    def add_to_notebook(self, owner: str, name: str, documents: Iterable[str]) -> str:
        """Add documents to a notebook, which is created if needed.

        Return its normalised name; "" if nothing is left of the name.
        """
        normalized = next(iter(normalise_names((self.database.storable_text(name),), self.notebooks(owner))), "")
        if normalized:
            with self.database.transaction() as transaction:
                for document in documents:
                    transaction.execute(sql.ADD_TO_NOTEBOOK, owner=owner, name=normalized, document=document)
        return normalized

    def remove_from_notebook(self, owner: str, name: str, documents: Iterable[str]) -> None:
        """Remove documents from a notebook. A notebook without documents no longer exists."""
        with self.database.transaction() as transaction:
            for document in documents:
                transaction.execute(sql.REMOVE_FROM_NOTEBOOK, owner=owner, name=name, document=document)

    def rename_notebook(self, owner: str, name: str, new_name: str) -> str:
        """Rename a notebook, or merge it into an existing one of the new name.

        Return the normalised name; "" if nothing is left of it or there is no such notebook.
        """
        with self.database.transaction() as transaction:
            notebooks = self.notebooks(owner)
            documents = notebooks.pop(name, ())
            normalized = (
                next(iter(normalise_names((self.database.storable_text(new_name),), notebooks)), "")
                if documents
                else ""
            )
            if normalized and normalized != name:
                for document in documents:
                    transaction.execute(sql.ADD_TO_NOTEBOOK, owner=owner, name=normalized, document=document)
                transaction.execute(sql.DELETE_NOTEBOOK, owner=owner, name=name)
        return normalized

    def delete_notebook(self, owner: str, name: str) -> None:
        """Delete a notebook. Its documents stay in the library."""
        self.database.write(sql.DELETE_NOTEBOOK, owner=owner, name=name)

    # Preferences

    def set_preference(self, owner: str, name: str, value: object) -> None:
        """Store an owner's preference as JSON; None deletes it."""
        with self.database.transaction() as transaction:
            if value is None:
                transaction.execute(sql.DELETE_PREFERENCE, owner=owner, name=name)
            else:
                text = json.dumps(value, ensure_ascii=False)
                transaction.execute(sql.SAVE_PREFERENCE, owner=owner, name=name, value=text)

    def preferences(self, owner: str) -> dict[str, Any]:
        """Return an owner's preferences, by name, without unreadable ones."""
        chosen = {}
        for name, value in self.database.read(sql.LIST_PREFERENCES, owner=owner):
            with suppress(ValueError):
                chosen[str(name)] = json.loads(value)
        return chosen

    # Sign-ins

    def record_sign_out(self, owner: str, sign_in_id: str, ended_at: datetime, keep_until: datetime) -> None:
        """Record that a sign-in of an owner has ended; "" ends all that began until `ended_at`.

        The record is kept until `keep_until`, when none of them can be valid any more.
        """
        now = datetime.now(UTC)
        with self.database.transaction() as transaction:
            transaction.execute(sql.DELETE_EXPIRED_SIGN_OUTS, now=now.isoformat())
            transaction.execute(
                sql.ADD_SIGN_OUT, owner=owner, sign_in=sign_in_id, at=ended_at.isoformat(), until=keep_until.isoformat()
            )

    def is_signed_out(self, owner: str, sign_in_id: str, started_at: datetime) -> bool:
        """Return whether a sign-in that began at a time was ended."""
        rows = self.database.read(sql.SELECT_SIGN_OUT, owner=owner, sign_in=sign_in_id, started=started_at.isoformat())
        return bool(rows)
