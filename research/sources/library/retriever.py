"""The analyst's own documents as a source. Works with no key and no network."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

from research.evidence.registry import evidence_id
from research.library.index import Hit, Library
from research.records import (
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
from research.storage import StoreError

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
    ) -> None:
        self._library = library
        self._passages = passages
        self._clock = clock

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
            hits = await asyncio.to_thread(
                self._library.search, task.query, subject=task.subject, limit=self._passages
            )
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
