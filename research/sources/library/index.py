"""The library's index: documents, passages and names in one SQLite file with full-text search.

The index and the queries share the tokenizer `research.core.text.tokenizer`. A passage is indexed
with its own words, those of its title and headings, and those of its document's opening line. A
document is identified by its name (a path or an upload's file name); adding a document of the same
name replaces it. The sample documents are in the index only while they are enabled.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from research.core.text.tokenizer import STOP_WORDS, content_characters, tokenize
from research.readers.documents import find_accepted_files, parse_document
from research.sources.library import listing, reindexing, rejected_files, scans, trash
from research.sources.library.highlights import find_highlights
from research.sources.library.ingestion import FileInputs, IngestionJob
from research.sources.library.listing import DocumentCounts, DocumentEntry, DocumentQuery, Excerpt
from research.sources.library.names import candidate_keys, name_key
from research.sources.library.ocr import OCREngine, find_engine
from research.sources.library.prepare import (
    AddResult,
    PreparedDocument,
    load_sample_files,
    prepare_document,
    remove_stop_words,
    to_storable_name,
)
from research.sources.library.rejected_files import LOCAL_OWNER, RejectedFile
from research.sources.library.scan_reader import ScanReader
from research.sources.library.schema import MIGRATIONS
from research.storage.sqlite_files import SQLiteFile

COMMON_WORD_SHARE = 0.2  # share of passages above which a query with rarer words drops a word,
COMMON_WORD_MIN_PASSAGES = 500  # unless it occurs in at most this many passages
MAX_QUERY_CHARS = 12  # rarest single Han characters added to a query's words
MAX_OCCURRENCES = 30_000  # occurrences scanned per query; four terms at least
MAX_BATCH_DOCUMENTS = 50  # documents per transaction
MAX_BATCH_BYTES = 32 * 1024 * 1024  # file bytes held in memory per transaction


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A passage returned by a search.

    `start` and `end` are character offsets of `text` in the document's text. `opening` is the
    document's first passage. With `is_ocr`, the text was recognised in the image of its page.
    """

    document_id: int
    name: str
    title: str
    url: str
    published: date | None
    language: str
    is_sample: bool
    heading: str
    page: int | None
    start: int
    end: int
    text: str
    score: float
    opening: str = ""
    is_ocr: bool = False


class Library:
    """The documents of one data folder. Safe for several threads and processes."""

    def __init__(self, path: Path, engine_factory: Callable[[], OCREngine | None] = find_engine) -> None:
        """Open or create the index at `path`; the first opening adds the sample documents.

        `engine_factory` returns the engine that reads scanned pages, or None if none is installed.

        Raises:
            StoreError: the file cannot be used.
        """
        self._db = SQLiteFile(path, MIGRATIONS)
        self._frequencies: dict[str, int] = {}
        self._generation = -1
        self._passage_count = 0
        self._lock = threading.Lock()
        self._jobs: list[IngestionJob] = []
        self._ingestion_lock = threading.Lock()  # ingestion jobs run one at a time
        self.scan_reader = ScanReader(self._db, self._transaction, engine_factory)
        if trash.has_expired(self._db):
            with self._db.transaction() as connection:
                trash.purge(connection, expired_only=True)
        if reindexing.is_outdated(self._db):
            with self._transaction() as connection:
                reindexing.reindex(connection)
        if self._read_meta("sample", "on") == "on":
            self._sync_sample()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Open a write transaction that invalidates the cached statistics of every process."""
        with self._db.transaction() as connection:
            yield connection
            connection.execute(
                "insert into meta values('generation', 1) on conflict(key) do update set value = value + 1"
            )

    # Adding and removing

    def add_files(
        self,
        files: Iterable[tuple[str, bytes]],
        *,
        owner: str = LOCAL_OWNER,
        should_read: Callable[[str], bool] = lambda name: True,
    ) -> Iterator[AddResult]:
        """Add files given as (name, content) and yield one result per file, in order.

        A file that cannot be read leaves the library unchanged and does not stop the others; it is
        recorded as rejected for `owner`. `should_read` is called with each name before the file is
        read; returning False ends the whole operation.
        """
        with ThreadPoolExecutor(1, "library-store") as writer:  # stores while the next batch is read
            pending: list[Future[list[AddResult]]] = []
            for batch in _batch_files(files):
                prepared = self._prepare_files(batch, should_read)
                pending.append(writer.submit(self._store, prepared, owner))
                if len(pending) > 1:
                    yield from pending.pop(0).result()
                if len(prepared) < len(batch):
                    break
            for future in pending:
                yield from future.result()

    def add_paths(
        self,
        paths: Iterable[Path],
        *,
        owner: str = LOCAL_OWNER,
        should_read: Callable[[str], bool] = lambda name: True,
    ) -> Iterator[AddResult]:
        """Add files and whole folders by path, yielding one result per file; see `add_files`."""
        for path in paths:
            for file in (
                find_accepted_files(path, include_pictures=self.scan_reader.is_available) if path.is_dir() else (path,)
            ):
                if not should_read(str(file)):
                    return
                item: AddResult | PreparedDocument
                try:
                    [item] = self._prepare_files([(str(file.absolute()), file.read_bytes())])
                except (OSError, ValueError) as error:  # ValueError: NUL in the path
                    reason = getattr(error, "strerror", None) or type(error).__name__
                    name = to_storable_name(str(file))
                    item = AddResult(name, "unreadable", detail=f"{to_storable_name(file.name)}: {reason}")
                yield from self._store([item], owner)

    def _prepare_files(
        self,
        files: Sequence[tuple[str, bytes]],
        should_read: Callable[[str], bool] = lambda name: True,
    ) -> list[AddResult | PreparedDocument]:
        out = []
        for name, data in files:
            if not should_read(name):
                break
            name = to_storable_name(name)
            can_ocr = self.scan_reader.is_available
            out.append(prepare_document(name, data, self._stored_digest(name, can_ocr=can_ocr), keep_scans=can_ocr))
        return out

    def _store(self, results: Sequence[AddResult | PreparedDocument], owner: str) -> list[AddResult]:
        out = []
        if any(isinstance(item, PreparedDocument) for item in results):
            with self._transaction() as connection:
                for item in results:
                    if isinstance(item, PreparedDocument):
                        item = item.store(connection, sample=False)
                    out.append(item)
                rejected_files.record_results(connection, owner, out)
            if any(item.pages for item in out):
                self.scan_reader.start()
            return out
        out = [item for item in results if isinstance(item, AddResult)]
        if rejected_files.has_changes(self._db, out):
            with self._db.transaction() as connection:
                rejected_files.record_results(connection, owner, out)
        return out

    def _stored_digest(self, name: str, *, can_ocr: bool) -> str:
        """Return the SHA-256 digest of the stored file of this name, or "" if there is none.

        Also return "" if the document has scanned pages that could be read now (`can_ocr`) but
        whose file was not kept, so that the file is added again.
        """
        rows = self._db.read(
            "select sha256 from document d where name=? and not (? and exists(select 1 from "
            "scan_page where document=d.id and state='waiting') and not exists(select 1 from scan "
            "where document=d.id))",
            (name, can_ocr),
        )
        return str(rows[0][0]) if rows else ""

    def start_ingestion(self, files: FileInputs, owner: str = LOCAL_OWNER) -> IngestionJob:
        """Start adding files in the background, each given as (name, size in bytes, reader)."""
        return self._start_job(IngestionJob(self, owner, files=files))

    def start_path_ingestion(self, paths: Sequence[Path], owner: str = LOCAL_OWNER) -> IngestionJob:
        """Start adding local files and folders in the background."""
        return self._start_job(IngestionJob(self, owner, paths=paths))

    def _start_job(self, job: IngestionJob) -> IngestionJob:
        with self._lock:
            self._jobs = [i for i in self._jobs if i.is_active or i.owner != job.owner]
            self._jobs.append(job)
        job.start(self._ingestion_lock)
        return job

    def ingestion_jobs(self, owner: str = LOCAL_OWNER) -> list[IngestionJob]:
        """Return the owner's running jobs and the latest finished one, without dismissed jobs."""
        with self._lock:
            return [i for i in self._jobs if i.owner == owner and not i.is_dismissed]

    def record_results(self, results: Sequence[AddResult], owner: str = LOCAL_OWNER) -> list[AddResult]:
        """Store results of files that were not read, remembering failures as rejected files."""
        return self._store(results, owner)

    def list_rejected(self, owner: str = LOCAL_OWNER, limit: int = 200) -> tuple[list[RejectedFile], int]:
        """Return the owner's rejected files, latest first, and their total number."""
        return rejected_files.list_rejected(self._db, owner, limit)

    def dismiss_rejected(self, owner: str = LOCAL_OWNER, name: str | None = None) -> None:
        """Forget one rejected file of an owner, or all of them."""
        with self._db.transaction() as connection:
            rejected_files.dismiss(connection, owner, name)

    def remove(self, ids: Iterable[int]) -> list[int]:
        """Move own documents to the trash and return the ids of those that existed.

        They can be restored for a week (`trash.RETENTION`). Unknown ids are ignored.
        """
        with self._transaction() as connection:
            trash.purge(connection, expired_only=True)
            return trash.move_to_trash(connection, ids)

    def restore(self, ids: Iterable[int]) -> int:
        """Restore documents from the trash and return their number.

        A document whose name is in use again stays in the trash.
        """
        with self._transaction() as connection:
            restored_count = trash.restore(connection, ids)
        self.scan_reader.start()
        return restored_count

    def list_trashed(self, limit: int = 100) -> tuple[list[trash.TrashedDocument], int]:
        """Return the documents in the trash, latest first, and their total number."""
        return trash.list_trashed(self._db, limit)

    def empty_trash(self) -> int:
        """Delete all documents in the trash for good and return their number."""
        with self._db.transaction() as connection:
            deleted_count = trash.purge(connection)
        self._db.reclaim()
        return deleted_count

    # Scanned pages

    def list_scans(self) -> list[scans.Scan]:
        """Return the documents with scanned pages that have not all been read."""
        return scans.list_unfinished(self._db)

    def retry_failed_pages(self, document_id: int) -> None:
        """Queue the failed pages of a document for another attempt."""
        with self._db.transaction() as connection:
            scans.retry_failed_pages(connection, document_id)
        self.scan_reader.start()

    def page_image(self, document_id: int, page: int) -> bytes:
        """Return the image of a scanned page (JPEG), or b"" if there is none."""
        return scans.page_image(self._db, document_id, page)

    def find_document_with_image(self, name: str, page: int, text: str) -> int | None:
        """Return the id of the named document if it contains `text` and has the page's image."""
        return scans.find_document_with_image(self._db, name, page, text)

    # The sample

    @property
    def is_sample_enabled(self) -> bool:
        """True if the sample documents are part of the library."""
        return self._read_meta("sample", "on") == "on"

    def set_sample_enabled(self, enabled: bool) -> None:
        """Add or remove the sample documents and remember the choice."""
        with self._transaction() as connection:
            connection.execute("insert or replace into meta values('sample', ?)", ("on" if enabled else "off",))
            if not enabled:
                connection.execute("delete from document where sample=1")
        if enabled:
            self._sync_sample()

    def _sync_sample(self) -> None:
        files = load_sample_files()
        current = {
            str(name): str(digest) for name, digest in self._db.read("select name, sha256 from document where sample=1")
        }
        if current == {name: hashlib.sha256(data).hexdigest() for name, data in files}:
            return
        prepared = [prepare_document(name, data, current.get(name, ""), reader=parse_document) for name, data in files]
        removed_names = set(current) - {name for name, _ in files}
        with self._transaction() as connection:
            state = connection.execute("select value from meta where key='sample'").fetchone()
            if state == ("off",):  # another process has disabled the sample meanwhile
                return
            connection.executemany("delete from document where name=?", [(n,) for n in removed_names])
            own_names = {row[0] for row in connection.execute("select name from document where sample=0")}
            for item in prepared:
                if isinstance(item, PreparedDocument) and item.document.name not in own_names:
                    item.store(connection, sample=True)

    def _read_meta(self, key: str, default: str) -> str:
        rows = self._db.read("select value from meta where key=?", (key,))
        return str(rows[0][0]) if rows else default

    # Reading

    def list_all(self) -> list[DocumentEntry]:
        """Return all documents, the analyst's own first, by title."""
        return listing.list_all(self._db)

    def list_page(
        self, query: DocumentQuery, offset: int = 0, limit: int = listing.PAGE_SIZE
    ) -> tuple[list[DocumentEntry], int]:
        """Return one page of the matching documents and the total number of matches."""
        return listing.list_page(self._db, query, offset, limit)

    def list_ids(self, query: DocumentQuery) -> list[int]:
        """Return the ids of all matching documents."""
        return listing.list_ids(self._db, query)

    def count_by_origin(self) -> tuple[int, int]:
        """Return the number of own documents and of sample documents."""
        return listing.count_by_origin(self._db)

    def count_documents(self, sample: bool | None = None) -> DocumentCounts:
        """Count all documents; break down own ones or samples by kind, language and year."""
        return listing.count_documents(self._db, sample)

    def find_entry(self, document_id: int) -> DocumentEntry | None:
        """Return one document, or None if the id is unknown."""
        return listing.find_entry(self._db, document_id)

    def list_excerpts(self, document_id: int, offset: int = 0, limit: int = 30) -> list[Excerpt]:
        """Return some passages of a document, in order."""
        return listing.list_excerpts(self._db, document_id, offset, limit)

    def passage_index(self, document_id: int, start: int) -> int:
        """Return the number of a document's passages that begin before the character offset
        `start`.
        """
        return listing.passage_index(self._db, document_id, start)

    def find_highlights(self, query: str, text: str) -> list[tuple[int, int]]:
        """Return the (start, end) offsets of a query's words in a text."""
        return find_highlights(query, text)

    def document_text(self, document_id: int) -> str:
        """Return the whole text of a document, or "" if the id is unknown."""
        rows = self._db.read("select text from document where id=?", (document_id,))
        return str(rows[0][0]) if rows else ""

    def languages(self) -> frozenset[str]:
        """Return the languages of the library's documents."""
        return frozenset(str(row[0]) for row in self._db.read("select distinct language from document"))

    def search(
        self,
        query: str,
        *,
        subject: Sequence[str] = (),
        limit: int = 8,
        sample: bool | None = None,
        names: Collection[str] | None = None,
    ) -> list[SearchHit]:
        """Return passages by relevance, best first.

        With `subject`, each passage must mention one of these names: the passage, its titles or its
        document's opening must contain all words of the name. `sample` limits the search to samples
        (True) or own documents (False), `names` to documents of these names.
        """
        match = self._build_match(query, subject)
        if not match:
            return []
        names_json = None if names is None else json.dumps([*names])
        rows: list[Any] = self._db.read(
            "select d.id, d.name, d.title, d.url, d.published, d.language, d.sample, p.heading, "
            "p.page, p.start, p.finish, substr(d.text, p.start + 1, p.finish - p.start), found.rank, "
            "(select substr(d.text, q.start + 1, q.finish - q.start) from passage q "
            "where q.document = d.id order by q.id limit 1), exists(select 1 from scan_page s "
            "where s.document = d.id and s.page = p.page) "
            "from (select rowid as id, bm25(words, 3.0, 1.0, 1.0) as rank from words "
            "where words match ?1 and (?2 is null or ?2 = (select s.sample from passage o "
            "join document s on s.id = o.document where o.id = words.rowid)) "
            "and (?4 is null or (select o.document from passage o where o.id = words.rowid) in "
            "(select s.id from document s where s.name in (select value from json_each(?4)))) "
            "order by rank limit ?3) found "
            "join passage p on p.id = found.id join document d on d.id = p.document "
            "order by found.rank, p.id",
            (match, None if sample is None else int(sample), limit, names_json),
        )
        return [
            SearchHit(
                row[0], row[1], row[2], row[3], _parse_date(row[4]), row[5], bool(row[6]), row[7],
                row[8], row[9], row[10], row[11], -row[12], row[13], bool(row[14]),
            )
            for row in rows
        ]  # fmt: skip

    def closest_titles(self, question: str) -> list[str]:
        """Return up to three titles of the documents whose passages match a question best."""
        hits = self.search(question, limit=20)
        return list(dict.fromkeys(hit.title or hit.name for hit in hits))[:3]

    def _build_match(self, query: str, subject: Sequence[str]) -> str:
        subject = [name for name in subject if name.strip()]
        names = [_all_words_query(remove_stop_words(tokenize(name)) or content_characters(name)) for name in subject]
        names = list(dict.fromkeys(name for name in names if name))
        if subject and not names:
            return ""
        subject_tokens = {token for name in subject for token in tokenize(name)}
        words = list(dict.fromkeys(remove_stop_words(tokenize(query))))
        if names:
            words = [t for t in words if t not in subject_tokens]
        subject_tokens |= {c for name in subject for c in content_characters(name)}
        single_characters = [c for c in content_characters(query) if c not in subject_tokens]
        words = self._select_terms(words, single_characters)
        subject_query = "{title_tokens body_tokens opening_tokens} : (" + " OR ".join(names) + ")" if names else ""
        words_query = " OR ".join(_quote_token(t) for t in words)
        if subject_query and words_query:
            return f"({subject_query}) AND ({words_query})"
        return subject_query or words_query

    def _select_terms(self, words: list[str], han_characters: list[str]) -> list[str]:
        """Return the query's words and its rarest characters, limited by their number of
        occurrences.

        Words that nearly every passage contains are dropped, unless there are no others.
        """
        max_frequency = max(COMMON_WORD_SHARE * self._count_passages(), COMMON_WORD_MIN_PASSAGES)
        known_words = [word for word in words if self.frequency(word)]
        rare_words = [word for word in known_words if self.frequency(word) <= max_frequency]
        rare_characters = [c for c in han_characters if 0 < self.frequency(c) <= max_frequency]
        terms = (rare_words or known_words or words) + sorted(rare_characters, key=self.frequency)[:MAX_QUERY_CHARS]
        occurrences = 0
        selected: list[str] = []
        for term in sorted(terms, key=self.frequency):
            occurrences += self.frequency(term)
            if len(selected) < 4 or occurrences <= MAX_OCCURRENCES:
                selected.append(term)
        return selected

    # Statistics, cached until the file changes

    def frequency(self, token: str) -> int:
        """Return the number of passages with a token; a stop word counts as in every passage."""
        total = self._count_passages()
        if token in STOP_WORDS:
            return total
        with self._lock:
            generation, count = self._generation, self._frequencies.get(token)
        if count is None:
            rows: list[Any] = self._db.read("select doc from vocabulary where term=?", (token,))
            count = int(rows[0][0]) if rows else 0
            with self._lock:
                if generation == self._generation:
                    self._frequencies[token] = count
        return count

    def is_absent(self, token: str) -> bool:
        """Return True if no passage contains the token."""
        return self.frequency(token) == 0

    def idf(self, token: str) -> float:
        """Return the inverse document frequency: ln(1 + passages / (1 + passages containing the
        token)).
        """
        return math.log(1 + self._count_passages() / (1 + self.frequency(token)))

    def _count_passages(self) -> int:
        rows: list[Any] = self._db.read("select value from meta where key='generation'")
        generation = int(rows[0][0]) if rows else 0
        with self._lock:
            if generation == self._generation:
                return self._passage_count
        count: list[Any] = self._db.read("select count(*) from passage")
        with self._lock:
            if generation != self._generation:
                self._frequencies = {}
                self._generation = generation
                self._passage_count = int(count[0][0])
            return self._passage_count

    # Names

    def find_names(self, question: str) -> list[str]:
        """Return the titles and aliases known to the library that occur in a question, longest
        first.
        """
        keys = list(dict.fromkeys(candidate_keys(question)))
        if not keys:
            return []
        names: set[str] = set()
        for at in range(0, len(keys), 500):
            batch = keys[at : at + 500]
            marks = ",".join("?" * len(batch))
            for table in ("name", "alias"):
                names |= {
                    str(row[0])
                    for row in self._db.read(
                        f"select distinct name from {table} where key in ({marks})",  # noqa: S608
                        batch,
                    )
                }
        return sorted(names, key=lambda name: (-len(name), name))

    def aliases(self, name: str) -> list[str]:
        """Return other names of the same thing, as stated by documents, nearest first (up to three
        steps).
        """
        seen = {name_key(name): name}
        frontier = [name_key(name)]
        out: list[str] = []
        for _ in range(3):
            marks = ",".join("?" * len(frontier))
            rows = self._db.read(
                f"select distinct other from alias where key in ({marks}) order by other",  # noqa: S608
                frontier,
            )
            frontier = []
            for (other,) in rows:
                key = name_key(str(other))
                if key not in seen:
                    seen[key] = str(other)
                    frontier.append(key)
                    out.append(str(other))
            if not frontier:
                break
        return out

    # Whole library

    @property
    def path(self) -> Path:
        """The library's database file."""
        return self._db.path

    def clear(self) -> int:
        """Delete all documents but the samples, the trash and the rejected files; return how many
        documents.

        The full-text index is rebuilt so that no deleted words remain in it.
        """
        with self._transaction() as connection:
            deleted_count = connection.execute("delete from document where sample=0").rowcount
            connection.execute("delete from bin_document")  # its child rows are deleted by cascade
            connection.execute("delete from unread")
            connection.execute("insert into words(words) values('rebuild')")
        return int(deleted_count)

    def close(self) -> None:
        """Cancel ingestion after the current file, stop reading scans, then close the database."""
        with self._lock:
            jobs = [*self._jobs]
        for job in jobs:
            job.cancel_and_wait()
        self.scan_reader.stop_and_wait()
        self._db.close()


def _batch_files(files: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    batch: list[tuple[str, bytes]] = []
    size = 0
    for name, data in files:
        batch.append((name, data))
        size += len(data)
        if len(batch) == MAX_BATCH_DOCUMENTS or size >= MAX_BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _all_words_query(words: Sequence[str]) -> str:
    return "(" + " AND ".join(_quote_token(w) for w in dict.fromkeys(words)) + ")" if words else ""


def _quote_token(token: str) -> str:
    return '"' + token.replace('"', '""') + '"'


def _parse_date(value: str | None) -> date | None:
    return date.fromisoformat(value) if value else None
