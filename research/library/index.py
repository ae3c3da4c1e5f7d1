"""The library's index: documents, passages and names in one SQLite file with full-text search.

Words are cut by `research.language.text` for the index and for the query alike. A passage is found by its own
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

from research.language.text import STOP, characters, tokens
from research.library import bin, listing, renewal, scans, unread
from research.library.documents import parse, walk
from research.library.intake import Files, Intake
from research.library.listing import Counts, Entry, Excerpt, Wanted
from research.library.marks import marks
from research.library.names import grams, name_key
from research.library.ocr import Recogniser, available
from research.library.prepare import Added, Prepared, prepare, sample_files, significant, storable
from research.library.reading import Reading
from research.library.schema import MIGRATIONS
from research.library.unread import ANYBODY, Unread
from research.storage import Database

COMMON = 0.2  # a word in more than this share of passages is left out of a query with rarer words,
FEW = 500  # unless it is in no more passages than this
CHARACTERS = 12  # single Han characters that a query adds to its words, the rarest
WORK = 30_000  # occurrences that a query looks at: its rarest terms come first, four at least
BATCH = 50  # documents per transaction at most
BATCH_BYTES = 32 * 1024 * 1024  # the files of a transaction are held in memory


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a search found; `text` is the document's text from `start` to `end`. With `ocr` it
    was read from the picture of its page."""

    document: int
    name: str
    title: str
    url: str
    published: date | None
    language: str
    sample: bool
    heading: str
    page: int | None
    start: int
    end: int
    text: str
    score: float
    opening: str = ""
    ocr: bool = False


class Library:
    """The documents of one data folder. Safe for several threads and processes."""

    def __init__(self, path: Path, recogniser: Callable[[], Recogniser | None] = available) -> None:
        """Opens or creates the index at `path`; the sample documents come with the first opening. What
        `recogniser` gives reads scanned pages, if it gives anything.

        Raises:
            StoreError: the file cannot be used.
        """
        self._db = Database(path, MIGRATIONS)
        self._frequency: dict[str, int] = {}
        self._generation = -1
        self._passages = 0
        self._lock = threading.Lock()
        self._intakes: list[Intake] = []
        self._turn = threading.Lock()  # one intake after the other
        self.reading = Reading(self._db, self._change, recogniser)
        if bin.due(self._db):
            with self._db.write() as connection:
                bin.empty(connection, old=True)
        if renewal.due(self._db):
            with self._change() as connection:
                renewal.renew(connection)
        if self._meta("sample", "on") == "on":
            self._refresh_sample()

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """A write that makes every process's statistics stale."""
        with self._db.write() as connection:
            yield connection
            connection.execute(
                "insert into meta values('generation', 1) "
                "on conflict(key) do update set value = value + 1"
            )

    # Adding and removing

    def add(
        self,
        files: Iterable[tuple[str, bytes]],
        *,
        who: str = ANYBODY,
        reading: Callable[[str], bool] = lambda name: True,
    ) -> Iterator[Added]:
        """Adds files given as name and content, yielding what became of each, in order.

        A file that cannot be read changes nothing; the others are added all the same. `reading` is
        told the name of each file before it is read, and ends the whole if it says no. What could
        not be read is remembered for `who`.
        """
        with ThreadPoolExecutor(1, "library-store") as writer:  # stores while the next are read
            storing: list[Future[list[Added]]] = []
            for batch in _batches(files):
                read = self._read(batch, reading)
                storing.append(writer.submit(self._store, read, who))
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
        who: str = ANYBODY,
        reading: Callable[[str], bool] = lambda name: True,
    ) -> Iterator[Added]:
        """Adds files and whole folders by path."""
        for path in paths:
            for file in walk(path, pictures=self.reading.able) if path.is_dir() else (path,):
                if not reading(str(file)):
                    return
                item: Added | Prepared
                try:
                    [item] = self._read([(str(file.absolute()), file.read_bytes())])
                except (OSError, ValueError) as error:  # no path may hold a NUL character
                    reason = getattr(error, "strerror", None) or type(error).__name__
                    name = storable(str(file))
                    item = Added(name, "unreadable", detail=f"{storable(file.name)}: {reason}")
                yield from self._store([item], who)

    def _read(
        self,
        files: Sequence[tuple[str, bytes]],
        reading: Callable[[str], bool] = lambda name: True,
    ) -> list[Added | Prepared]:
        out = []
        for name, data in files:
            if not reading(name):
                break
            name = storable(name)
            able = self.reading.able
            out.append(prepare(name, data, self._digest(name, able=able), scans=able))
        return out

    def _store(self, items: Sequence[Added | Prepared], who: str) -> list[Added]:
        out = []
        if any(isinstance(item, Prepared) for item in items):
            with self._change() as connection:
                for item in items:
                    if isinstance(item, Prepared):
                        item = item.store(connection, sample=False)
                    out.append(item)
                unread.note(connection, who, out)
            if any(item.pages for item in out):
                self.reading.begin()
            return out
        out = [item for item in items if isinstance(item, Added)]
        if unread.news(self._db, out):
            with self._db.write() as connection:
                unread.note(connection, who, out)
        return out

    def _digest(self, name: str, *, able: bool) -> str:
        """The digest of what the index has under a name; none if more of it could be read now."""
        rows = self._db.read(
            "select sha256 from document d where name=? and not (? and exists(select 1 from "
            "scan_page where document=d.id and state='waiting') and not exists(select 1 from scan "
            "where document=d.id))",
            (name, able),
        )
        return str(rows[0][0]) if rows else ""

    def take(self, files: Files, who: str = ANYBODY) -> Intake:
        """Begins to add files in the background; each is its name, its size and what reads it."""
        return self._taken(Intake(self, who, files=files))

    def take_paths(self, paths: Sequence[Path], who: str = ANYBODY) -> Intake:
        """Begins to add files and folders of this machine in the background."""
        return self._taken(Intake(self, who, paths=paths))

    def _taken(self, intake: Intake) -> Intake:
        with self._lock:
            self._intakes = [i for i in self._intakes if i.active or i.who != intake.who]
            self._intakes.append(intake)
        intake.begin(self._turn)
        return intake

    def intakes(self, who: str = ANYBODY) -> list[Intake]:
        """What somebody is adding, and what became of the last; those put away are left out."""
        with self._lock:
            return [i for i in self._intakes if i.who == who and not i.dismissed]

    def note(self, items: Sequence[Added], who: str = ANYBODY) -> list[Added]:
        """Remembers what could not be read."""
        return self._store(items, who)

    def unread(self, who: str = ANYBODY, limit: int = 200) -> tuple[list[Unread], int]:
        """The files of somebody that could not be read, the latest first, and how many in all."""
        return unread.listed(self._db, who, limit)

    def dismiss(self, who: str = ANYBODY, name: str | None = None) -> None:
        """Puts away what could not be read: one file, or all."""
        with self._db.write() as connection:
            unread.dismiss(connection, who, name)

    def remove(self, ids: Iterable[int]) -> list[int]:
        """Takes own documents out at once, and gives the ids of those that were there. They can be
        put back for some days; unknown ids are ignored."""
        with self._change() as connection:
            bin.empty(connection, old=True)
            return bin.throw(connection, ids)

    def put_back(self, ids: Iterable[int]) -> int:
        """Undoes a removal; how many documents are back. One whose name is taken stays out."""
        with self._change() as connection:
            back = bin.put_back(connection, ids)
        self.reading.begin()
        return back

    def removed(self, limit: int = 100) -> tuple[list[bin.Removed], int]:
        """What can be put back, the latest first, and how many documents in all."""
        return bin.listed(self._db, limit)

    def empty_bin(self) -> int:
        """Deletes what was removed for good; how many documents that were."""
        with self._db.write() as connection:
            gone = bin.empty(connection)
        self._db.reclaim()
        return gone

    # Scanned pages

    def scans(self) -> list[scans.Scan]:
        """The documents with pages that are pictures and have not all been read."""
        return scans.open_ones(self._db)

    def read_again(self, document: int) -> None:
        """Has pages of a document that could not be read be tried once more."""
        with self._db.write() as connection:
            scans.again(connection, document)
        self.reading.begin()

    def picture(self, document: int, page: int) -> bytes:
        """The picture of a scanned page (JPEG); nothing if there is none."""
        return scans.picture(self._db, document, page)

    def pictured(self, name: str, page: int, text: str) -> int | None:
        """The document of a name, if it still has a text and the picture of the page it stands on."""
        return scans.pictured(self._db, name, page, text)

    # The sample

    @property
    def sample(self) -> bool:
        """Whether the sample documents are part of the library."""
        return self._meta("sample", "on") == "on"

    def use_sample(self, on: bool) -> None:
        """Puts the sample documents in or takes them out, at once and lastingly."""
        with self._change() as connection:
            connection.execute(
                "insert or replace into meta values('sample', ?)", ("on" if on else "off",)
            )
            if not on:
                connection.execute("delete from document where sample=1")
        if on:
            self._refresh_sample()

    def _refresh_sample(self) -> None:
        files = sample_files()
        current = {
            str(name): str(digest)
            for name, digest in self._db.read("select name, sha256 from document where sample=1")
        }
        if current == {name: hashlib.sha256(data).hexdigest() for name, data in files}:
            return
        prepared = [
            prepare(name, data, current.get(name, ""), reader=parse) for name, data in files
        ]
        gone = set(current) - {name for name, _ in files}
        with self._change() as connection:
            state = connection.execute("select value from meta where key='sample'").fetchone()
            if state == ("off",):  # another process was asked to in the meantime
                return
            connection.executemany("delete from document where name=?", [(n,) for n in gone])
            own = {row[0] for row in connection.execute("select name from document where sample=0")}
            for item in prepared:
                if isinstance(item, Prepared) and item.document.name not in own:
                    item.store(connection, sample=True)

    def _meta(self, key: str, default: str) -> str:
        rows = self._db.read("select value from meta where key=?", (key,))
        return str(rows[0][0]) if rows else default

    # Reading

    def entries(self) -> list[Entry]:
        """All documents, the analyst's own first, by title."""
        return listing.everything(self._db)

    def listed(
        self, wanted: Wanted, offset: int = 0, limit: int = listing.PAGE
    ) -> tuple[list[Entry], int]:
        """A page of the documents that are wanted, and how many there are in all."""
        return listing.page(self._db, wanted, offset, limit)

    def ids(self, wanted: Wanted) -> list[int]:
        """The ids of all documents that are wanted."""
        return listing.ids(self._db, wanted)

    def sums(self) -> tuple[int, int]:
        """How many documents are the analyst's own, and how many are samples."""
        return listing.sums(self._db)

    def counts(self, sample: bool | None = None) -> Counts:
        """How many documents there are; by kind, language and year only own ones or samples."""
        return listing.counts(self._db, sample)

    def entry(self, document: int) -> Entry | None:
        """One document, or None if there is none of that id."""
        return listing.entry(self._db, document)

    def excerpts(self, document: int, offset: int = 0, limit: int = 30) -> list[Excerpt]:
        """A stretch of a document's passages, in order."""
        return listing.excerpts(self._db, document, offset, limit)

    def place(self, document: int, start: int) -> int:
        """How many passages of a document come before the one that begins at a character."""
        return listing.place(self._db, document, start)

    def marks(self, query: str, text: str) -> list[tuple[int, int]]:
        """Start and end of the words of a query in a text."""
        return marks(query, text)

    def text(self, document: int) -> str:
        """The whole text of a document, or "" if there is none of that id."""
        rows = self._db.read("select text from document where id=?", (document,))
        return str(rows[0][0]) if rows else ""

    def languages(self) -> frozenset[str]:
        """The languages that the library has documents in."""
        return frozenset(
            str(row[0]) for row in self._db.read("select distinct language from document")
        )

    def search(
        self,
        query: str,
        *,
        subject: Sequence[str] = (),
        limit: int = 8,
        sample: bool | None = None,
        names: Collection[str] | None = None,
    ) -> list[Hit]:
        """Passages by relevance (best first). With `subject`, each mentions one of those names; with
        `sample`, only the sample's or only others are looked through, with `names`, only the documents
        that have these.

        A name is mentioned by a passage if the passage, the titles above it or the opening of its
        document has all words of the name.
        """
        match = self._match(query, subject)
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
            Hit(
                row[0], row[1], row[2], row[3], _date(row[4]), row[5], bool(row[6]), row[7],
                row[8], row[9], row[10], row[11], -row[12], row[13], bool(row[14]),
            )
            for row in rows
        ]  # fmt: skip

    def closest(self, question: str) -> list[str]:
        """The titles of the documents, at most three, whose passages match a question best."""
        hits = self.search(question, limit=20)
        return list(dict.fromkeys(hit.title or hit.name for hit in hits))[:3]

    def _match(self, query: str, subject: Sequence[str]) -> str:
        subject = [name for name in subject if name.strip()]
        names = [_all(significant(tokens(name)) or characters(name)) for name in subject]
        names = list(dict.fromkeys(name for name in names if name))
        if subject and not names:
            return ""
        own = {token for name in subject for token in tokens(name)}
        words = list(dict.fromkeys(significant(tokens(query))))
        if names:
            words = [t for t in words if t not in own]
        own |= {c for name in subject for c in characters(name)}
        single = [c for c in characters(query) if c not in own]
        words = self._worth(words, single)
        about = (
            "{title_tokens body_tokens opening_tokens} : (" + " OR ".join(names) + ")"
            if names
            else ""
        )
        wanted = " OR ".join(_quoted(t) for t in words)
        if about and wanted:
            return f"({about}) AND ({wanted})"
        return about or wanted

    def _worth(self, words: list[str], single: list[str]) -> list[str]:
        """The words to look for, and the rarest characters.

        Words that nearly every passage has are left out, unless there are no others.
        """
        most = max(COMMON * self._total(), FEW)
        known = [word for word in words if self.frequency(word)]
        rare = [word for word in known if self.frequency(word) <= most]
        alone = [c for c in single if 0 < self.frequency(c) <= most]
        terms = (rare or known or words) + sorted(alone, key=self.frequency)[:CHARACTERS]
        work = 0
        kept: list[str] = []
        for term in sorted(terms, key=self.frequency):
            work += self.frequency(term)
            if len(kept) < 4 or work <= WORK:
                kept.append(term)
        return kept

    # Statistics, cached until the file changes

    def frequency(self, token: str) -> int:
        """The number of passages that have a token; of a stop word, all."""
        total = self._total()
        if token in STOP:
            return total
        with self._lock:
            generation, known = self._generation, self._frequency.get(token)
        if known is None:
            rows: list[Any] = self._db.read("select doc from vocabulary where term=?", (token,))
            known = int(rows[0][0]) if rows else 0
            with self._lock:
                if generation == self._generation:
                    self._frequency[token] = known
        return known

    def absent(self, token: str) -> bool:
        """Whether no passage has a token."""
        return self.frequency(token) == 0

    def idf(self, token: str) -> float:
        """How telling a token is: ln(1 + passages / (1 + passages that have it))."""
        return math.log(1 + self._total() / (1 + self.frequency(token)))

    def _total(self) -> int:
        rows: list[Any] = self._db.read("select value from meta where key='generation'")
        generation = int(rows[0][0]) if rows else 0
        with self._lock:
            if generation == self._generation:
                return self._passages
        count: list[Any] = self._db.read("select count(*) from passage")
        with self._lock:
            if generation != self._generation:
                self._frequency = {}
                self._generation = generation
                self._passages = int(count[0][0])
            return self._passages

    # Names

    def names_in(self, question: str) -> list[str]:
        """Titles and other names known to the library that the question has, longest first."""
        keys = list(dict.fromkeys(grams(question)))
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
        with self._change() as connection:
            gone = connection.execute("delete from document where sample=0").rowcount
            connection.execute("delete from bin_document")  # with all that hangs on it
            connection.execute("delete from unread")
            connection.execute("insert into words(words) values('rebuild')")
        return int(gone)

    def close(self) -> None:
        """Ends what is being added after the file at work, then closes the file."""
        with self._lock:
            intakes = [*self._intakes]
        for intake in intakes:
            intake.end()
        self.reading.end()
        self._db.close()


def _batches(files: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    batch: list[tuple[str, bytes]] = []
    size = 0
    for name, data in files:
        batch.append((name, data))
        size += len(data)
        if len(batch) == BATCH or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _all(words: Sequence[str]) -> str:
    return "(" + " AND ".join(_quoted(w) for w in dict.fromkeys(words)) + ")" if words else ""


def _quoted(token: str) -> str:
    return '"' + token.replace('"', '""') + '"'


def _date(value: str | None) -> date | None:
    return date.fromisoformat(value) if value else None
