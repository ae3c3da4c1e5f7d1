"""The analyst's own documents as a source. Works with no key and no network."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from research.citations.registry import evidence_id
from research.core.errors import Trouble
from research.core.records import (
    Evidence,
    EvidenceKind,
    Finding,
    Passage,
    Readiness,
    Reason,
    Say,
    Task,
    fingerprint,
)
from research.sources.library.index import Hit, Library
from research.storage.files import StoreError

KIND: EvidenceKind = "library"


class LibraryRetriever:
    """Searches the library's index; every hit becomes a passage of its document's evidence."""

    name = "library"
    turns = 1

    def __init__(
        self,
        library: Library,
        passages: int = 8,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        notebooks: Callable[[str], Mapping[str, Sequence[str]]] = lambda owner: {},
        owner: str = "",
        notebook: str = "",
    ) -> None:
        """With a `notebook`, one of the `notebooks` of the `owner`, its documents alone are searched."""
        self._library = library
        self._passages = passages
        self._clock = clock
        self._notebooks, self._owner, self._notebook = notebooks, owner, notebook

    def of(self, owner: str) -> LibraryRetriever:
        """The same for the runs of an owner."""
        return self._like(owner, self._notebook)

    def on(self, name: str) -> LibraryRetriever:
        """The same for one of the owner's notebooks, "" for the whole library."""
        return self._like(self._owner, name)

    def _like(self, owner: str, notebook: str) -> LibraryRetriever:
        return LibraryRetriever(
            self._library, self._passages, self._clock,
            notebooks=self._notebooks, owner=owner, notebook=notebook,
        )  # fmt: skip

    def ready(self) -> Readiness:
        own, sample = self._library.sums()
        if own:
            return Readiness(state="live", detail=f"{own}")
        return Readiness(state="sample" if sample else "missing", detail=f"{sample}")

    async def search(self, task: Task, say: Say) -> Finding:
        started, clock = self._clock(), time.monotonic()
        hits: list[Hit] = []
        reason: Reason = "empty"
        message = ""
        try:
            hits = await asyncio.to_thread(self._hits, task)
        except StoreError as error:
            reason, message = "unreachable", str(error)
        return Finding(
            task=task,
            evidence=_evidence(hits, started),
            reason=None if hits else reason,
            message=message,
            started=started,
            seconds=round(time.monotonic() - clock, 4),
        )

    def _hits(self, task: Task) -> list[Hit]:
        names = None
        if self._notebook:
            names = self._notebooks(self._owner).get(self._notebook)
            if names is None:
                raise Trouble("not found", f"There is no notebook {self._notebook!r} any more.")
        return self._library.search(
            task.query, subject=task.subject, limit=self._passages, names=names
        )


def _evidence(hits: list[Hit], retrieved: datetime) -> tuple[Evidence, ...]:
    found: dict[str, Evidence] = {}
    for hit in hits:
        url = "" if hit.sample else hit.url  # a sample was written for this program
        key = evidence_id(KIND, url, hit.name)
        passage = Passage(
            id=fingerprint(hit.name, str(hit.start), hit.text),
            text=hit.text,
            start=hit.start,
            end=hit.end,
            heading=hit.heading,
            page=hit.page,
            title=hit.title,
            ocr=hit.ocr,
        )
        known = found.get(key)
        if known is None:
            found[key] = Evidence(
                id=key,
                kind=KIND,
                title=hit.title,
                url=url,
                also=hit.url if hit.sample else "",
                locator=hit.name,
                language=hit.language,
                retrieved=retrieved,
                published=hit.published,
                sample=hit.sample,
                opening=hit.opening,
                passages=(passage,),
            )
        elif passage.id not in {p.id for p in known.passages}:
            found[key] = known.model_copy(
                update={
                    "passages": (*known.passages, passage),
                    "sample": known.sample or hit.sample,
                }
            )
    return tuple(found.values())
