"""The library's index: documents, passages and names in one SQLite file with full-text search.

Words are cut by `research.core.text.tokenizer` for the index and for the query alike. A passage is found by its own
words, by those of its title and headings, and by those of its document's opening, which says what
the whole is about. A document is known by its name (a path or an upload's file name): adding it
again replaces it. The sample documents that ship with the package are in the index only while the
analyst leaves them on.
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

COMMON_WORD_SHARE = 0.2  # a word in more than this share of passages is left out of a query with rarer words,
COMMON_WORD_MIN_PASSAGES = 500  # unless it is in no more passages than this
MAX_QUERY_CHARS = 12  # single Han characters that a query adds to its words, the rarest
MAX_OCCURRENCES = 30_000  # occurrences that a query looks at: its rarest terms come first, four at least
MAX_BATCH_DOCUMENTS = 50  # documents per transaction at most
MAX_BATCH_BYTES = 32 * 1024 * 1024  # the files of a transaction are held in memory


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A passage that a search found; `text` is the document's text from `start` to `end`. With `ocr` it
    was read from the picture of its page."""

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
        """Opens or creates the index at `path`; the sample documents come with the first opening. What
        `recogniser` gives reads scanned pages, if it gives anything.

        Raises:
            StoreError: the file cannot be used.
        """
        self._db = SQLiteFile(path, MIGRATIONS)
        self._frequencies: dict[str, int] = {}
        self._generation = -1
        self._passage_count = 0
        self._lock = threading.Lock()
        self._jobs: list[IngestionJob] = []
        self._ingestion_lock = threading.Lock()  # one intake after the other
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
        """A write that makes every process's statistics stale."""
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
        """Adds files given as name and content, yielding what became of each, in order.

        A file that cannot be read changes nothing; the others are added all the same. `reading` is
        told the name of each file before it is read, and ends the whole if it says no. What could
        not be read is remembered for `who`.
        """
        with ThreadPoolExecutor(1, "library-store") as writer:  # stores while the next are read
            storing: list[Future[list[AddResult]]] = []
            for batch in _batch_files(files):
                read = self._prepare_files(batch, should_read)
                storing.append(writer.submit(self._store, read, owner))
                if len(storing) > 1:
                    yield from storing.pop(0).result()
                if len(read) < len(batch):
                    break
            for stored in storing:
                yield from stored.result()

    def add_paths(
        self,
        paths: Iterable[Path],
        *,
        owner: str = LOCAL_OWNER,
        should_read: Callable[[str], bool] = lambda name: True,
    ) -> Iterator[AddResult]:
        """Adds files and whole folders by path."""
        for path in paths:
            for file in (
                find_accepted_files(path, include_pictures=self.scan_reader.is_available) if path.is_dir() else (path,)
            ):
                if not should_read(str(file)):
                    return
                item: AddResult | PreparedDocument
                try:
                    [item] = self._prepare_files([(str(file.absolute()), file.read_bytes())])
                except (OSError, ValueError) as error:  # no path may hold a NUL character
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
            able = self.scan_reader.is_available
            out.append(prepare_document(name, data, self._stored_digest(name, can_ocr=able), keep_scans=able))
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
        """The digest of what the index has under a name; none if more of it could be read now."""
        rows = self._db.read(
            "select sha256 from document d where name=? and not (? and exists(select 1 from "
            "scan_page where document=d.id and state='waiting') and not exists(select 1 from scan "
            "where document=d.id))",
            (name, can_ocr),
        )
        return str(rows[0][0]) if rows else ""

    def start_ingestion(self, files: FileInputs, owner: str = LOCAL_OWNER) -> IngestionJob:
        """Begins to add files in the background; each is its name, its size and what reads it."""
        return self._start_job(IngestionJob(self, owner, files=files))

    def start_path_ingestion(self, paths: Sequence[Path], owner: str = LOCAL_OWNER) -> IngestionJob:
        """Begins to add files and folders of this machine in the background."""
        return self._start_job(IngestionJob(self, owner, paths=paths))

    def _start_job(self, job: IngestionJob) -> IngestionJob:
        with self._lock:
            self._jobs = [i for i in self._jobs if i.is_active or i.owner != job.owner]
            self._jobs.append(job)
        job.start(self._ingestion_lock)
        return job

    def ingestion_jobs(self, owner: str = LOCAL_OWNER) -> list[IngestionJob]:
        """What somebody is adding, and what became of the last; those put away are left out."""
        with self._lock:
            return [i for i in self._jobs if i.owner == owner and not i.is_dismissed]

    def record_results(self, results: Sequence[AddResult], owner: str = LOCAL_OWNER) -> list[AddResult]:
        """Remembers what could not be read."""
        return self._store(results, owner)

    def list_rejected(self, owner: str = LOCAL_OWNER, limit: int = 200) -> tuple[list[RejectedFile], int]:
        """The files of somebody that could not be read, the latest first, and how many in all."""
        return rejected_files.list_rejected(self._db, owner, limit)

    def dismiss_rejected(self, owner: str = LOCAL_OWNER, name: str | None = None) -> None:
        """Puts away what could not be read: one file, or all."""
        with self._db.transaction() as connection:
            rejected_files.dismiss(connection, owner, name)

    def remove(self, ids: Iterable[int]) -> list[int]:
        """Takes own documents out at once, and gives the ids of those that were there. They can be
        put back for some days; unknown ids are ignored."""
        with self._transaction() as connection:
            trash.purge(connection, expired_only=True)
            return trash.move_to_trash(connection, ids)

    def restore(self, ids: Iterable[int]) -> int:
        """Undoes a removal; how many documents are back. One whose name is taken stays out."""
        with self._transaction() as connection:
            back = trash.restore(connection, ids)
        self.scan_reader.start()
        return back

    def list_trashed(self, limit: int = 100) -> tuple[list[trash.TrashedDocument], int]:
        """What can be put back, the latest first, and how many documents in all."""
        return trash.list_trashed(self._db, limit)

    def empty_trash(self) -> int:
        """Deletes what was removed for good; how many documents that were."""
        with self._db.transaction() as connection:
            gone = trash.purge(connection)
        self._db.reclaim()
        return gone

    # Scanned pages

    def list_scans(self) -> list[scans.Scan]:
        """The documents with pages that are pictures and have not all been read."""
        return scans.list_unfinished(self._db)

    def retry_failed_pages(self, document_id: int) -> None:
        """Has pages of a document that could not be read be tried once more."""
        with self._db.transaction() as connection:
            scans.retry_failed_pages(connection, document_id)
        self.scan_reader.start()

    def page_image(self, document_id: int, page: int) -> bytes:
        """The picture of a scanned page (JPEG); nothing if there is none."""
        return scans.page_image(self._db, document_id, page)

    def find_document_with_image(self, name: str, page: int, text: str) -> int | None:
        """The document of a name, if it still has a text and the picture of the page it stands on."""
        return scans.find_document_with_image(self._db, name, page, text)

    # The sample

    @property
    def is_sample_enabled(self) -> bool:
        """Whether the sample documents are part of the library."""
        return self._read_meta("sample", "on") == "on"

    def set_sample_enabled(self, enabled: bool) -> None:
        """Puts the sample documents in or takes them out, at once and lastingly."""
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
        gone = set(current) - {name for name, _ in files}
        with self._transaction() as connection:
            state = connection.execute("select value from meta where key='sample'").fetchone()
            if state == ("off",):  # another process was asked to in the meantime
                return
            connection.executemany("delete from document where name=?", [(n,) for n in gone])
            own = {row[0] for row in connection.execute("select name from document where sample=0")}
            for item in prepared:
                if isinstance(item, PreparedDocument) and item.document.name not in own:
                    item.store(connection, sample=True)

    def _read_meta(self, key: str, default: str) -> str:
        rows = self._db.read("select value from meta where key=?", (key,))
        return str(rows[0][0]) if rows else default

    # Reading

    def list_all(self) -> list[DocumentEntry]:
        """All documents, the analyst's own first, by title."""
        return listing.list_all(self._db)

    def list_page(
        self, query: DocumentQuery, offset: int = 0, limit: int = listing.PAGE_SIZE
    ) -> tuple[list[DocumentEntry], int]:
        """A page of the documents that are wanted, and how many there are in all."""
        return listing.list_page(self._db, query, offset, limit)

    def list_ids(self, query: DocumentQuery) -> list[int]:
        """The ids of all documents that are wanted."""
        return listing.list_ids(self._db, query)

    def count_by_origin(self) -> tuple[int, int]:
        """How many documents are the analyst's own, and how many are samples."""
        return listing.count_by_origin(self._db)

    def count_documents(self, sample: bool | None = None) -> DocumentCounts:
        """How many documents there are; by kind, language and year only own ones or samples."""
        return listing.count_documents(self._db, sample)

    def find_entry(self, document_id: int) -> DocumentEntry | None:
        """One document, or None if there is none of that id."""
        return listing.find_entry(self._db, document_id)

    def list_excerpts(self, document_id: int, offset: int = 0, limit: int = 30) -> list[Excerpt]:
        """A stretch of a document's passages, in order."""
        return listing.list_excerpts(self._db, document_id, offset, limit)

    def passage_index(self, document_id: int, start: int) -> int:
        """How many passages of a document come before the one that begins at a character."""
        return listing.passage_index(self._db, document_id, start)

    def find_highlights(self, query: str, text: str) -> list[tuple[int, int]]:
        """Start and end of the words of a query in a text."""
        return find_highlights(query, text)

    def document_text(self, document_id: int) -> str:
        """The whole text of a document, or "" if there is none of that id."""
        rows = self._db.read("select text from document where id=?", (document_id,))
        return str(rows[0][0]) if rows else ""

    def languages(self) -> frozenset[str]:
        """The languages that the library has documents in."""
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
        """Passages by relevance (best first). With `subject`, each mentions one of those names; with
        `sample`, only the sample's or only others are looked through, with `names`, only the documents
        that have these.

        A name is mentioned by a passage if the passage, the titles above it or the opening of its
        document has all words of the name.
        """
        match = self._build_match(query, subject)
        if not match:
            return []
        named = None if names is None else json.dumps([*names])
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
            (match, None if sample is None else int(sample), limit, named),
        )
        return [
            SearchHit(
                row[0], row[1], row[2], row[3], _parse_date(row[4]), row[5], bool(row[6]), row[7],
                row[8], row[9], row[10], row[11], -row[12], row[13], bool(row[14]),
            )
            for row in rows
        ]  # fmt: skip

    def closest_titles(self, question: str) -> list[str]:
        """The titles of the documents, at most three, whose passages match a question best."""
        hits = self.search(question, limit=20)
        return list(dict.fromkeys(hit.title or hit.name for hit in hits))[:3]

    def _build_match(self, query: str, subject: Sequence[str]) -> str:
        subject = [name for name in subject if name.strip()]
        names = [_all_words_query(remove_stop_words(tokenize(name)) or content_characters(name)) for name in subject]
        names = list(dict.fromkeys(name for name in names if name))
        if subject and not names:
            return ""
        own = {token for name in subject for token in tokenize(name)}
        words = list(dict.fromkeys(remove_stop_words(tokenize(query))))
        if names:
            words = [t for t in words if t not in own]
        own |= {c for name in subject for c in content_characters(name)}
        single = [c for c in content_characters(query) if c not in own]
        words = self._select_terms(words, single)
        about = "{title_tokens body_tokens opening_tokens} : (" + " OR ".join(names) + ")" if names else ""
        wanted = " OR ".join(_quote_token(t) for t in words)
        if about and wanted:
            return f"({about}) AND ({wanted})"
        return about or wanted

    def _select_terms(self, words: list[str], han_characters: list[str]) -> list[str]:
        """The words to look for, and the rarest characters.

        Words that nearly every passage has are left out, unless there are no others.
        """
        most = max(COMMON_WORD_SHARE * self._count_passages(), COMMON_WORD_MIN_PASSAGES)
        known = [word for word in words if self.frequency(word)]
        rare = [word for word in known if self.frequency(word) <= most]
        alone = [c for c in han_characters if 0 < self.frequency(c) <= most]
        terms = (rare or known or words) + sorted(alone, key=self.frequency)[:MAX_QUERY_CHARS]
        work = 0
        kept: list[str] = []
        for term in sorted(terms, key=self.frequency):
            work += self.frequency(term)
            if len(kept) < 4 or work <= MAX_OCCURRENCES:
                kept.append(term)
        return kept

    # Statistics, cached until the file changes

    def frequency(self, token: str) -> int:
        """The number of passages that have a token; of a stop word, all."""
        total = self._count_passages()
        if token in STOP_WORDS:
            return total
        with self._lock:
            generation, known = self._generation, self._frequencies.get(token)
        if known is None:
            rows: list[Any] = self._db.read("select doc from vocabulary where term=?", (token,))
            known = int(rows[0][0]) if rows else 0
            with self._lock:
                if generation == self._generation:
                    self._frequencies[token] = known
        return known

    def is_absent(self, token: str) -> bool:
        """Whether no passage has a token."""
        return self.frequency(token) == 0

    def idf(self, token: str) -> float:
        """How telling a token is: ln(1 + passages / (1 + passages that have it))."""
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
        """Titles and other names known to the library that the question has, longest first."""
        keys = list(dict.fromkeys(candidate_keys(question)))
        if not keys:
            return []
        found: set[str] = set()
        for at in range(0, len(keys), 500):
            some = keys[at : at + 500]
            marks = ",".join("?" * len(some))
            for table in ("name", "alias"):
                found |= {
                    str(row[0])
                    for row in self._db.read(
                        f"select distinct name from {table} where key in ({marks})",  # noqa: S608
                        some,
                    )
                }
        return sorted(found, key=lambda name: (-len(name), name))

    def aliases(self, name: str) -> list[str]:
        """Other names of the same thing, as the documents state them, nearest first."""
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

    # Everything

    @property
    def path(self) -> Path:
        """The file of the library."""
        return self._db.path

    def clear(self) -> int:
        """Removes all documents but the samples, what lies in the bin and what could not be read, and
        their words from the index; how many documents they were."""
        with self._transaction() as connection:
            gone = connection.execute("delete from document where sample=0").rowcount
            connection.execute("delete from bin_document")  # with all that hangs on it
            connection.execute("delete from unread")
            connection.execute("insert into words(words) values('rebuild')")
        return int(gone)

    def close(self) -> None:
        """Ends what is being added after the file at work, then closes the file."""
        with self._lock:
            intakes = [*self._jobs]
        for intake in intakes:
            intake.cancel_and_wait()
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
