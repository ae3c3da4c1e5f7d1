"""Wikidata as a source: which thing a query names, and what is stated of it.

Wikipedia's search tells which things a query may mean; only those of which a name stands in the query
are told of. Text and API: https://www.wikidata.org/w/api.php?action=help&modules=wbgetentities.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from research.citations.registry import evidence_id
from research.core.deadlines import deadline
from research.core.errors import ServiceError
from research.core.records import (
    EventEmitter,
    Evidence,
    EvidenceKind,
    Finding,
    Language,
    Passage,
    Readiness,
    Task,
    fingerprint,
)
from research.core.text.hanzi import to_simplified
from research.core.text.tokenizer import detect_language, has_han
from research.http import mediawiki
from research.http.client import ServiceClient
from research.http.mediawiki import as_object, search_rank
from research.http.sanitize import keep_objects, remove_control_characters, tidy_text, truncate_text
from research.sources.wikidata.statements import (
    PROPERTIES,
    Labels,
    describe_property,
    entity_label,
    occurs_in,
    referenced_ids,
    requested_properties,
)

EVIDENCE_KIND: EvidenceKind = "web"
BASE_URL = "https://www.wikidata.org"
PUBLISHER = "Wikidata, CC0"
OPEN_SOURCES_SETTING = "SIGHTLINE_OPEN_SOURCES"
MAX_QUERY_CHARS = 300  # characters of a query
MAX_CANDIDATES = 3  # things that a query may mean
MAX_ENTITIES = 2  # of them that are told of
MAX_FACTS = 12  # told of a thing at most, those that are asked for first
MAX_IDS_PER_REQUEST = 50  # things that one request may name
TIMEOUT_FRACTION = 0.95  # of the time for a search


class WikidataRetriever:
    """Looks up what is stated of the things that a query names."""

    name = "wikidata"
    max_sequential_calls = 1

    def __init__(
        self,
        client: ServiceClient,
        wikipedia_clients: Mapping[str, ServiceClient],
        *,
        is_enabled: bool,
        timeout_seconds: float,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`wikis` are the Wikipedias by language; `deadline` are the seconds of a whole search."""
        self._client = client
        self._wikipedia_clients = wikipedia_clients
        self._is_enabled = is_enabled
        self._timeout_seconds = timeout_seconds
        self._clock = clock

    def readiness(self) -> Readiness:
        if self._is_enabled:
            return Readiness(state="live", detail="wikidata.org")
        return Readiness(state="missing", detail=OPEN_SOURCES_SETTING)

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        if not self._is_enabled:
            raise ServiceError("no key", f"Wikidata is searched only with {OPEN_SOURCES_SETTING}=on")
        started, begun = self._clock(), time.monotonic()
        query = tidy_text(task.query)
        try:
            async with deadline(self._timeout_seconds * TIMEOUT_FRACTION):
                items = await self._find_evidence(query, started)
        except TimeoutError:
            raise ServiceError("timeout", "Wikidata did not answer in time", is_retryable=True) from None
        return Finding(
            task=task,
            evidence=items,
            reason=None if items else "empty",
            started=started,
            seconds=round(time.monotonic() - begun, 4),
            provider=self.name,
        )

    async def close(self) -> None:
        for client in (self._client, *self._wikipedia_clients.values()):
            await client.close()

    async def _find_evidence(self, query: str, retrieved: datetime) -> tuple[Evidence, ...]:
        tongue = detect_language(query)
        for code in sorted(self._wikipedia_clients, key=lambda code: code != tongue):
            ids = await self._find_candidate_ids(code, query)
            things = await self._fetch_entities(ids, "labels|descriptions|aliases|claims", tongue)
            told = [thing for thing in things if _is_mentioned(thing, query)][:MAX_ENTITIES]
            if told:
                break
        else:
            return ()
        labels = await self._fetch_labels(told, tongue)
        made = (_entity_evidence(thing, query, labels, tongue, retrieved) for thing in told)
        return tuple(item for item in made if item)

    async def _find_candidate_ids(self, language: str, query: str) -> list[str]:
        """The things of the articles that a wiki finds for a query, the best first."""
        parameters = {
            "action": "query",
            "generator": "search", "gsrsearch": truncate_text(query, MAX_QUERY_CHARS),
            "gsrlimit": str(MAX_CANDIDATES), "gsrnamespace": "0",
            "prop": "pageprops", "ppprop": "wikibase_item|disambiguation",
        }  # fmt: skip
        answer = await mediawiki.query_api(self._wikipedia_clients[language], "Wikipedia", parameters)
        pages = keep_objects(as_object(answer.get("query")).get("pages"))
        pages.sort(key=search_rank)
        props = [as_object(page.get("pageprops")) for page in pages]
        found = [remove_control_characters(p.get("wikibase_item")) for p in props if "disambiguation" not in p]
        return [one for one in dict.fromkeys(found) if re.fullmatch(r"Q\d{1,12}", one)]

    async def _fetch_entities(self, ids: list[str], props: str, language: Language) -> list[dict[str, Any]]:
        """Entities in the order of their ids, those that are there."""
        if not ids:
            return []
        parameters = {
            "action": "wbgetentities",
            "ids": "|".join(ids[:MAX_IDS_PER_REQUEST]), "props": props,
            "languages": "zh-hans|zh-cn|zh|en" if language == "zh" else "en",
        }  # fmt: skip
        answer = await mediawiki.query_api(self._client, "Wikidata", parameters)
        entities = answer.get("entities")
        if not isinstance(entities, dict):
            raise ServiceError("malformed", "Wikidata: the JSON has no entities", hint="endpoint")
        found = (as_object(entities.get(one)) for one in ids)
        return [one for one in found if one and "missing" not in one]

    async def _fetch_labels(self, entities: list[dict[str, Any]], language: Language) -> Labels:
        """What the things are called that are stated of others, as far as there is room."""
        ids = list(dict.fromkeys(one for thing in entities for one in referenced_ids(thing)))
        found = await self._fetch_entities(ids[:MAX_IDS_PER_REQUEST], "labels", language)
        return {str(one.get("id")): name for one in found if (name := entity_label(one, language))}


def _is_mentioned(entity: dict[str, Any], query: str) -> bool:
    """Whether one of a thing's names stands in the query."""
    text = to_simplified(query).casefold()
    return any(occurs_in(to_simplified(name).casefold(), text) for name in _entity_names(entity))


def _entity_names(entity: dict[str, Any]) -> list[str]:
    labels = [tidy_text(one.get("value")) for one in as_object(entity.get("labels")).values()]
    for aliases in as_object(entity.get("aliases")).values():
        labels += [tidy_text(one.get("value")) for one in keep_objects(aliases)]
    return [name for name in labels if len(name) > 1]


def _entity_evidence(
    entity: dict[str, Any], query: str, labels: Labels, language: Language, retrieved: datetime
) -> Evidence | None:
    """A thing with what is stated of it, a passage for each property."""
    name, id_ = entity_label(entity, language), str(entity.get("id"))
    asked = requested_properties(query)
    facts = [(p, fact) for p in PROPERTIES if (fact := describe_property(entity, p, name, labels, language))]
    facts.sort(key=lambda pair: not asked(pair[0]))
    if not name or not facts:
        return None
    url = f"https://www.wikidata.org/wiki/{id_}"
    return Evidence(
        id=evidence_id(EVIDENCE_KIND, url, url),
        kind=EVIDENCE_KIND,
        title=f"{name} ({id_})",
        publisher=PUBLISHER,
        url=url,
        language="zh" if has_han(facts[0][1]) else "en",
        retrieved=retrieved,
        passages=tuple(
            Passage(
                id=fingerprint(url, fact),
                text=fact,
                end=len(fact),
                heading=p.label(language),
                made=True,
            )
            for p, fact in facts[:MAX_FACTS]
        ),
    )
