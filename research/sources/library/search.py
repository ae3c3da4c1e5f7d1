"""Full-text search in the library's passages, and the names that its documents give to things.

The index and the queries share the tokenizer `research.core.text.tokenizer`.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from research.core.records.evidence import format_page_range
from research.core.text.tokenizer import STOP_WORDS, content_characters, tokenize
from research.sources.library.names import candidate_keys, name_key
from research.sources.library.prepare import remove_stop_words
from research.storage.sqlite_files import SQLiteFile

COMMON_WORD_SHARE = 0.2  # share of passages above which a query with rarer words drops a word,
COMMON_WORD_MIN_PASSAGES = 500  # unless it occurs in at most this many passages
MAX_HAN_CHARACTERS = 12  # rarest single Han characters added to a query's words
MAX_OCCURRENCES = 30_000  # occurrences scanned per query; four terms at least


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
    last_page: int | None = None

    @property
    def page_range(self) -> str:
        """The page, or the first and the last one, as in "3" and "3–4"; "" if unknown."""
        return format_page_range(self.page, self.last_page)


class PassageSearch:
    """Searches the passages and names in one library file. Safe for several threads."""

    def __init__(self, db: SQLiteFile) -> None:
        self._db = db
        self._frequencies: dict[str, int] = {}
        self._generation = -1
        self._passage_count = 0
        self._statistics_lock = threading.Lock()

    def search(
        self,
        query: str,
        *,
        subject: Sequence[str] = (),
        limit: int = 8,
        is_sample: bool | None = None,
        names: Collection[str] | None = None,
    ) -> list[SearchHit]:
        """Return passages by relevance, best first.

        With `subject`, each passage must mention one of these names: the passage, its titles or its
        document's opening must contain all words of the name. `is_sample` limits the search to samples
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
            "where s.document = d.id and s.page = p.page), p.last_page "
            "from (select rowid as id, bm25(words, 3.0, 1.0, 1.0) as rank from words "
            "where words match ?1 and (?2 is null or ?2 = (select s.sample from passage o "
            "join document s on s.id = o.document where o.id = words.rowid)) "
            "and (?4 is null or (select o.document from passage o where o.id = words.rowid) in "
            "(select s.id from document s where s.name in (select value from json_each(?4)))) "
            "order by rank limit ?3) found "
            "join passage p on p.id = found.id join document d on d.id = p.document "
            "order by found.rank, p.id",
            (match, None if is_sample is None else int(is_sample), limit, names_json),
        )
        return [
            SearchHit(
                row[0], row[1], row[2], row[3], _parse_date(row[4]), row[5], bool(row[6]), row[7],
                row[8], row[9], row[10], row[11], -row[12], row[13], bool(row[14]), row[15],
            )
            for row in rows
        ]  # fmt: skip

    def closest_titles(self, question: str) -> list[str]:
        """Return up to three titles of the documents whose passages match a question best."""
        hits = self.search(question, limit=20)
        return list(dict.fromkeys(hit.title or hit.name for hit in hits))[:3]

    def _build_match(self, query: str, subject: Sequence[str]) -> str:
        """Build the full-text expression for a query and its subject; "" if there is nothing to
        search for."""
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
        terms = (rare_words or known_words or words) + sorted(rare_characters, key=self.frequency)[:MAX_HAN_CHARACTERS]
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
        with self._statistics_lock:
            generation, count = self._generation, self._frequencies.get(token)
        if count is None:
            count = int(self._db.read_value("select doc from vocabulary where term=?", (token,), 0))
            with self._statistics_lock:
                if generation == self._generation:
                    self._frequencies[token] = count
        return count

    def idf(self, token: str) -> float:
        """Return the inverse document frequency: ln(1 + passages / (1 + passages containing the
        token)).
        """
        return math.log(1 + self._count_passages() / (1 + self.frequency(token)))

    def _count_passages(self) -> int:
        """Return the number of passages, and discard the cached statistics if the library has changed."""
        generation = int(self._db.read_value("select value from meta where key='generation'", default=0))
        with self._statistics_lock:
            if generation == self._generation:
                return self._passage_count
        count = int(self._db.read_value("select count(*) from passage"))
        with self._statistics_lock:
            if generation != self._generation:
                self._frequencies = {}
                self._generation = generation
                self._passage_count = count
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
        for start in range(0, len(keys), 500):
            batch = keys[start : start + 500]
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


def _all_words_query(words: Sequence[str]) -> str:
    return "(" + " AND ".join(_quote_token(w) for w in dict.fromkeys(words)) + ")" if words else ""


def _quote_token(token: str) -> str:
    return '"' + token.replace('"', '""') + '"'


def _parse_date(value: str | None) -> date | None:
    return date.fromisoformat(value) if value else None
