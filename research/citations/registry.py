"""Registry of sources: evidence with the same address is merged into one source.

Addresses are compared by `research.core.urls`; citation numbers are assigned in
`research.citations.numbering`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import get_args

from research.core.records import (
    Evidence,
    EvidenceKind,
    Finding,
    Passage,
    PassageReference,
    PublicationNotice,
    fingerprint,
    normalise_query,
)
from research.core.urls import canonical_url, url_identity


def evidence_id(kind: EvidenceKind, url: str, locator: str) -> str:
    """Return the id of a source: from its address if that is usable, else from kind and locator."""
    identity = url_identity(url)
    return "e" + (fingerprint(identity) if identity else fingerprint(kind, locator))


class EvidenceRegistry:
    """All sources, each once, in the order of first registration.

    Ids are recomputed, so that a wrong id can neither split one source nor merge two. Evidence is
    also found by its original id, unless two sources came with that id: then it finds nothing.
    """

    def __init__(self, evidence: Iterable[Evidence] = ()) -> None:
        self._items: dict[str, Evidence] = {}
        self._aliases: dict[str, str] = {}
        self._passages: dict[str, dict[str, Passage]] = {}  # built when a passage is looked up
        for item in evidence:
            self.add(item)

    def add(self, evidence: Evidence) -> Evidence:
        """Register evidence, merging it with what is known of its source, and return the result."""
        # Without address and locator, only the title distinguishes two sources.
        locator = evidence.locator or evidence.url or evidence.title
        key = evidence_id(evidence.kind, evidence.url, locator)
        self._aliases[evidence.id] = key if self._aliases.get(evidence.id, key) == key else ""
        update = {
            "id": key,
            "url": canonical_url(evidence.url),
            "passages": _unique_passages(evidence.passages),
        }
        item = evidence.model_copy(update=update)
        known = self._items.get(key)
        self._items[key] = _merge_evidence(known, item) if known else item
        self._passages.pop(key, None)
        return self._items[key]

    def get(self, evidence_id: str) -> Evidence | None:
        """Return the source with this id, or with evidence that originally had it."""
        return self._items.get(evidence_id) or self._items.get(self._aliases.get(evidence_id, ""))

    def passage(self, evidence_id: str, passage_id: str) -> Passage | None:
        """Return a registered passage; None if the source or the passage is unknown."""
        item = self.get(evidence_id)
        if item is None:
            return None
        if item.id not in self._passages:
            self._passages[item.id] = {passage.id: passage for passage in item.passages}
        return self._passages[item.id].get(passage_id)

    def __iter__(self) -> Iterator[Evidence]:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)


def _unique_passages(passages: Iterable[Passage]) -> tuple[Passage, ...]:
    """Return the passages once each by id, in the order of first occurrence."""
    by_id: dict[str, Passage] = {}
    for passage in passages:
        by_id.setdefault(passage.id, passage)
    return tuple(by_id.values())


def _merge_evidence(first: Evidence, later: Evidence) -> Evidence:
    """Merge two pieces of evidence of one source: earlier values are kept, gaps are filled."""
    dated = later if first.published is None else first
    return first.model_copy(
        update={
            "title": first.title or later.title,
            "publisher": first.publisher or later.publisher,
            "further_url": first.further_url or later.further_url,
            "locator": first.locator or later.locator,
            "language": first.language or later.language,
            "retrieved": min(first.retrieved, later.retrieved),
            "published": dated.published,
            "published_at": dated.published_at,
            "sample": first.sample or later.sample,
            "opening": first.opening or later.opening,
            "place": first.place or later.place,
            "paper": first.paper or later.paper,
            "notice": max(first.notice, later.notice, key=get_args(PublicationNotice).index),
            "passages": _unique_passages((*first.passages, *later.passages)),
        }
    )


def cite_passage(evidence_id: str, passage: Passage) -> PassageReference:
    """Return a citation of a whole passage."""
    return PassageReference(evidence=evidence_id, passage=passage.id, end=len(passage.text))


def cites_by_address(evidence: Iterable[Evidence]) -> dict[str, PassageReference]:
    """Map the identity of each gathered address to a citation of its source's first passage."""
    out: dict[str, PassageReference] = {}
    for item in evidence:
        identity = url_identity(item.url)
        if item.passages and identity:
            out.setdefault(identity, cite_passage(item.id, item.passages[0]))
    return out


def cites_by_title(evidence: Iterable[Evidence]) -> dict[str, PassageReference]:
    """Map the normalised title of each gathered source, with and without its publisher, to a
    citation of the source's first passage.

    A title that two sources share is left out.
    """
    cites_by_name: dict[str, set[PassageReference]] = {}
    for item in evidence:
        if not item.passages or not normalise_query(item.title):
            continue
        cite = cite_passage(item.id, item.passages[0])
        for name in (
            item.title,
            f"{item.title} {item.publisher}",
            f"{item.publisher} {item.title}",
        ):
            cites_by_name.setdefault(normalise_query(name), set()).add(cite)
    return {name: next(iter(cites)) for name, cites in cites_by_name.items() if len(cites) == 1}


def collect_evidence(findings: Iterable[Finding]) -> EvidenceRegistry:
    """Register all evidence of the findings."""
    return EvidenceRegistry(item for finding in findings for item in finding.evidence)
