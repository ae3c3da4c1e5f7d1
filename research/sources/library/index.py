"""The library: documents, passages and names in one SQLite file with full-text search.

A passage is indexed with its own words, those of its title and headings, and those of its document's
opening line. A document is identified by its name (a path or an upload's file name); adding a
document of the same name replaces it. The sample documents are in the library only while they are
enabled.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from research.readers.documents import MAX_BYTES, find_accepted_files, parse_document
from research.sources.library import reindexing, rejected_files, scans, trash
from research.sources.library.attachments import prepare_with_attachments
from research.sources.library.document_pages import DocumentPages, StoredVersion, stored_version
from research.sources.library.highlights import find_highlights
from research.sources.library.ingestion import (
    FileInputs,
    IngestionJob,
    accepted_count,
    count_unsupported,
    select_files,
    too_many_result,
)
from research.sources.library.listing import DocumentList
from research.sources.library.ocr import OCREngine, find_engine
from research.sources.library.prepare import (
    AddResult,
    PreparedDocument,
    ReadFile,
    load_sample_files,
    prepare_document,
    to_storable_name,
)
from research.sources.library.rejected_files import LOCAL_OWNER, RejectedFile
from research.sources.library.scan_reader import ScanReader
from research.sources.library.schema import MIGRATIONS
from research.sources.library.search import PassageSearch
from research.storage.sqlite_files import SQLiteFile

MAX_BATCH_DOCUMENTS = 50  # documents per transaction
MAX_BATCH_BYTES = 32 * 1024 * 1024  # file bytes held in memory per transaction


class Library(PassageSearch, DocumentList):
    """The documents of one data folder. Safe for several threads and processes."""

    find_highlights = staticmethod(find_highlights)

    def __init__(
        self,
        path: Path,
        engine_factory: Callable[[], OCREngine | None] = find_engine,
        max_original_bytes: int = MAX_BYTES,
    ) -> None:
        """Open or create the index at `path`; the first opening adds the sample documents.

        `engine_factory` returns the engine that reads scanned pages, or None if none is installed. Added files
        whose pages can be drawn are kept if they have at most `max_original_bytes`.

        Raises:
            StoreError: the file cannot be used.
        """
        super().__init__(SQLiteFile(path, MIGRATIONS))
        self._jobs: list[IngestionJob] = []
        self._jobs_lock = threading.Lock()
        self._ingestion_lock = threading.Lock()  # ingestion jobs run one at a time
        self._max_original_bytes = max_original_bytes
        self.pages = DocumentPages(self._db)
        self.scan_reader = ScanReader(self._db, self._transaction, engine_factory, max_original_bytes)
        if trash.has_expired(self._db):
            with self._db.transaction() as connection:
                trash.purge(connection, expired_only=True)
        if reindexing.is_outdated(self._db):
            with self._transaction() as connection:
                reindexing.reindex(connection)
        if self.is_sample_enabled:
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

        The results of the files attached to a mail follow that of the mail.

        A file that cannot be read leaves the library unchanged and does not stop the others; it is
        recorded as rejected for `owner`. `should_read` is called with each name before the file is
        read; returning False ends the whole operation.
        """
        with ThreadPoolExecutor(1, "library-store") as writer:  # stores while the next batch is read
            pending: list[Future[list[AddResult]]] = []
            for batch in _batch_files(files):
                prepared, is_complete = self._prepare_files(batch, should_read)
                pending.append(writer.submit(self._store, prepared, owner))
                if len(pending) > 1:
                    yield from pending.pop(0).result()
                if not is_complete:
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
        """Add files and whole folders by path; see `add_files`."""
        for file in self._expand_folders(paths):
            if not should_read(str(file)):
                return
            items: list[ReadFile]
            try:
                items, _ = self._prepare_files([(str(file.absolute()), file.read_bytes())])
            except (OSError, ValueError) as error:  # ValueError: NUL in the path
                reason = getattr(error, "strerror", None) or type(error).__name__
                name = to_storable_name(str(file))
                items = [AddResult(name, "unreadable", detail=f"{to_storable_name(file.name)}: {reason}")]
            yield from self._store(items, owner)

    def _expand_folders(self, paths: Iterable[Path]) -> Iterator[Path]:
        """Yield files unchanged, and for a folder the files in it that can be read."""
        can_ocr = self.scan_reader.is_available
        for path in paths:
            yield from find_accepted_files(path, include_pictures=can_ocr) if path.is_dir() else (path,)

    def _prepare_files(
        self,
        files: Sequence[tuple[str, bytes]],
        should_read: Callable[[str], bool] = lambda name: True,
    ) -> tuple[list[ReadFile], bool]:
        """Read files with their attachments, up to the first file for which `should_read` returns False.

        Returns:
            What was read, and whether that is all.
        """
        can_ocr = self.scan_reader.is_available

        def prepare(name: str, data: bytes) -> ReadFile:
            return prepare_document(
                name,
                data,
                stored_version(self._db, name),
                keep_scans=can_ocr,
                max_original_bytes=self._max_original_bytes,
            )

        out: list[ReadFile] = []
        for name, data in files:
            if not should_read(name):
                return out, False
            out += prepare_with_attachments(
                to_storable_name(name), data, prepare, self._has_rejected_attachments, include_pictures=can_ocr
            )
        return out, True

    def _store(self, results: Sequence[ReadFile], owner: str) -> list[AddResult]:
        """Store the prepared documents of one batch, and record which files were rejected.

        Returns:
            One result per file, in order.
        """
        if not all(isinstance(item, AddResult) for item in results):
            with self._transaction() as connection:
                out = [item if isinstance(item, AddResult) else item.store(connection) for item in results]
                rejected_files.record_results(connection, owner, out)
            if any(item.pages for item in out):
                self.scan_reader.start()
            return out
        out = [item for item in results if isinstance(item, AddResult)]
        if rejected_files.has_changes(self._db, out):
            with self._db.transaction() as connection:
                rejected_files.record_results(connection, owner, out)
        return out

    def _has_rejected_attachments(self, name: str) -> bool:
        """Return True if files attached to the mail of this name could not be read."""
        prefix = f"{name}/"
        statement = "select exists(select 1 from unread where substr(name, 1, ?)=?)"
        return bool(self._db.read_value(statement, (len(prefix), prefix)))

    def start_ingestion(self, files: FileInputs, owner: str = LOCAL_OWNER) -> IngestionJob:
        """Start adding files in the background, each given as (name, size in bytes, reader)."""
        selected = select_files([(name, size) for name, size, _ in files])
        limit = accepted_count([files[index][1] for index, _ in selected])

        def add(job: IngestionJob) -> Iterator[AddResult]:
            contents = job.read_contents((name, files[index][2]) for index, name in selected[:limit])
            yield from self.add_files(contents, owner=owner, should_read=job.should_read)
            yield from self._store([too_many_result(name) for _, name in selected[limit:]], owner)

        return self._start_job(IngestionJob(owner, add, len(selected)))

    def start_path_ingestion(self, paths: Sequence[Path], owner: str = LOCAL_OWNER) -> IngestionJob:
        """Start adding local files and folders in the background."""

        def add(job: IngestionJob) -> Iterator[AddResult]:
            can_ocr = self.scan_reader.is_available
            job.skipped_files = sum(count_unsupported(path, include_pictures=can_ocr) for path in paths)
            files = list(self._expand_folders(paths))
            job.total_files = len(files)
            yield from self.add_paths(files, owner=owner, should_read=job.should_read)

        return self._start_job(IngestionJob(owner, add))

    def _start_job(self, job: IngestionJob) -> IngestionJob:
        """Start a job, and forget the finished jobs of its owner."""
        with self._jobs_lock:
            self._jobs = [i for i in self._jobs if i.is_active or i.owner != job.owner]
            self._jobs.append(job)
        job.start(self._ingestion_lock)
        return job

    def ingestion_jobs(self, owner: str = LOCAL_OWNER) -> list[IngestionJob]:
        """Return the owner's running jobs and the latest finished one, without dismissed jobs."""
        with self._jobs_lock:
            return [i for i in self._jobs if i.owner == owner and not i.is_dismissed]

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
            moved_ids = trash.move_to_trash(connection, ids)
        self.pages.clear_cache()
        return moved_ids

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
        return bool(self._db.read_value("select value from meta where key='sample'", default="on") == "on")

    def set_sample_enabled(self, enabled: bool) -> None:
        """Add or remove the sample documents and remember the choice."""
        with self._transaction() as connection:
            connection.execute("insert or replace into meta values('sample', ?)", ("on" if enabled else "off",))
            if not enabled:
                connection.execute("delete from document where sample=1")
        if enabled:
            self._sync_sample()

    def _sync_sample(self) -> None:
        """Bring the sample documents in the library to those of this version of the package.

        A sample with the name of an own document is left out.
        """
        files = load_sample_files()
        current = {
            str(name): str(digest) for name, digest in self._db.read("select name, sha256 from document where sample=1")
        }
        if current == {name: hashlib.sha256(data).hexdigest() for name, data in files}:
            return
        prepared = [
            prepare_document(name, data, StoredVersion(current.get(name, "")), reader=parse_document)
            for name, data in files
        ]
        removed_names = set(current) - {name for name, _ in files}
        with self._transaction() as connection:
            state = connection.execute("select value from meta where key='sample'").fetchone()
            if state == ("off",):  # another process has disabled the sample meanwhile
                return
            connection.executemany("delete from document where name=?", [(n,) for n in removed_names])
            own_names = {row[0] for row in connection.execute("select name from document where sample=0")}
            for item in prepared:
                if isinstance(item, PreparedDocument) and item.document.name not in own_names:
                    item.store(connection, is_sample=True)

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
        self.pages.clear_cache()
        return int(deleted_count)

    def close(self) -> None:
        """Cancel ingestion after the current file, stop reading scans, then close the database."""
        with self._jobs_lock:
            jobs = [*self._jobs]
        for job in jobs:
            job.cancel_and_wait()
        self.scan_reader.stop_and_wait()
        self._db.close()


def _batch_files(files: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """Group files into batches, each closed at `MAX_BATCH_DOCUMENTS` files or `MAX_BATCH_BYTES` bytes; the
    last one may be empty."""
    batch: list[tuple[str, bytes]] = []
    size = 0
    for name, data in files:
        batch.append((name, data))
        size += len(data)
        if len(batch) == MAX_BATCH_DOCUMENTS or size >= MAX_BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch
