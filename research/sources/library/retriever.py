"""Retriever for the analyst's own documents. Needs no key and no network."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from datetime import UTC, datetime

from research.citations.registry import evidence_id
from research.core.errors import ServiceError
from research.core.events import EventEmitter
from research.core.records import Evidence, FailureReason, Finding, Passage, Readiness, Task, fingerprint
from research.sources.library.document_pages import EVIDENCE_KIND
from research.sources.library.index import Library
from research.sources.library.search import SearchHit
from research.storage.sqlite_files import StoreError


class LibraryRetriever:
    """Searches the library; each hit becomes a passage of its document's evidence."""

    name = "library"
    max_sequential_calls = 1

    def __init__(
        self,
        library: Library,
        max_passages: int = 8,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        notebooks: Callable[[str], Mapping[str, Sequence[str]]] = lambda owner: {},
    ) -> None:
        """Create a retriever that searches the whole library, for no owner.

        `notebooks` returns the notebooks of an owner by name, each as names of its documents.
        `max_passages` limits the passages of a search.
        """
        self._library = library
        self._max_passages = max_passages
        self._clock = clock
        self._notebooks = notebooks
        self._owner = ""
        self._notebook = ""  # name of the notebook to search; "" is the whole library

    def for_owner(self, owner: str) -> LibraryRetriever:
        """Return a copy for the runs of an owner."""
        other = copy(self)
        other._owner = owner
        return other

    def select(self, name: str) -> LibraryRetriever:
        """Return a copy limited to one of the owner's notebooks; "" is the whole library."""
        other = copy(self)
        other._notebook = name
        return other

    def readiness(self) -> Readiness:
        """Return the state of the source: live with own documents, sample or missing without."""
        own_count, sample_count = self._library.count_by_origin()
        if own_count:
            return Readiness(state="live", detail=f"{own_count}")
        return Readiness(state="sample" if sample_count else "missing", detail=f"{sample_count}")

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        """Search the documents for the query of a task.

        Raises:
            ServiceError: the notebook does not exist any more.
        """
        started, clock = self._clock(), time.monotonic()
        hits: list[SearchHit] = []
        reason: FailureReason = "empty"
        message = ""
        try:
            hits = await asyncio.to_thread(self._search_index, task)
        except StoreError as error:
            reason, message = "unreachable", str(error)
        return Finding(
            task=task,
            evidence=_to_evidence(hits, started),
            reason=None if hits else reason,
            message=message,
            started=started,
            seconds=round(time.monotonic() - clock, 4),
        )

    def _search_index(self, task: Task) -> list[SearchHit]:
        names = None
        if self._notebook:
            names = self._notebooks(self._owner).get(self._notebook)
            if names is None:
                raise ServiceError("not found", f"There is no notebook {self._notebook!r} any more.")
        return self._library.search(task.query, subject=task.subject, limit=self._max_passages, names=names)


def _to_evidence(hits: list[SearchHit], retrieved: datetime) -> tuple[Evidence, ...]:
    """Group hits by document: each document becomes one piece of evidence with its passages."""
    evidence_by_id: dict[str, Evidence] = {}
    for hit in hits:
        url = "" if hit.is_sample else hit.url  # samples were written for this program
        key = evidence_id(EVIDENCE_KIND, url, hit.name)
        passage = Passage(
            id=fingerprint(hit.name, str(hit.start), hit.text),
            text=hit.text,
            start=hit.start,
            end=hit.end,
            heading=hit.heading,
            page=hit.page,
            last_page=hit.last_page,
            title=hit.title,
            ocr=hit.is_ocr,
        )
        existing = evidence_by_id.get(key)
        if existing is None:
            evidence_by_id[key] = Evidence(
                id=key,
                kind=EVIDENCE_KIND,
                title=hit.title,
                url=url,
                further_url=hit.url if hit.is_sample else "",
                locator=hit.name,
                language=hit.language,
                retrieved=retrieved,
                published=hit.published,
                sample=hit.is_sample,
                opening=hit.opening,
                passages=(passage,),
            )
        elif passage.id not in {p.id for p in existing.passages}:
            evidence_by_id[key] = existing.model_copy(
                update={
                    "passages": (*existing.passages, passage),
                    "sample": existing.sample or hit.is_sample,
                }
            )
    return tuple(evidence_by_id.values())
