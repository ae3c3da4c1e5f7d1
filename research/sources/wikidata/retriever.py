"""Wikidata as a source: the entities that a query names, and the statements about them.

Wikipedia's search finds candidates; only entities with a name that occurs in the query are used.
API: https://www.wikidata.org/w/api.php?action=help&modules=wbgetentities.
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
from research.core.events import EventEmitter
from research.core.json_values import as_object, keep_objects
from research.core.records import Evidence, EvidenceKind, Finding, Language, Passage, Readiness, Task, fingerprint
from research.core.text.hanzi import to_simplified
from research.core.text.tokenizer import detect_language, has_han
from research.http import mediawiki
from research.http.client import ServiceClient
from research.http.mediawiki import search_rank
from research.http.sanitize import remove_control_characters, tidy_text, truncate_text
from research.sources.base import OPEN_SOURCES_SETTING, SEARCH_TIMEOUT_FRACTION, configured_readiness
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
MAX_QUERY_CHARS = 300
MAX_CANDIDATES = 3  # entities that a query may denote
MAX_ENTITIES = 2  # entities in a finding
MAX_FACTS = 12  # for one entity, requested properties first
MAX_IDS_PER_REQUEST = 50  # limit of the API


class WikidataRetriever:
    """Looks up statements about the entities that a query names."""

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
        """`wikipedia_clients` are keyed by language; `timeout_seconds` is the deadline of a whole
        search."""
        self._client = client
        self._wikipedia_clients = wikipedia_clients
        self._is_enabled = is_enabled
        self._timeout_seconds = timeout_seconds
        self._clock = clock

    def readiness(self) -> Readiness:
        return configured_readiness(self._is_enabled, OPEN_SOURCES_SETTING, "wikidata.org")

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        if not self._is_enabled:
            raise ServiceError("no key", f"Wikidata is searched only with {OPEN_SOURCES_SETTING}=on")
        started, start_time = self._clock(), time.monotonic()
        query = tidy_text(task.query)
        try:
            async with deadline(self._timeout_seconds * SEARCH_TIMEOUT_FRACTION):
                items = await self._find_evidence(query, started)
        except TimeoutError:
            raise ServiceError("timeout", "Wikidata did not answer in time", is_retryable=True) from None
        return Finding(
            task=task,
            evidence=items,
            reason=None if items else "empty",
            started=started,
            seconds=round(time.monotonic() - start_time, 4),
            provider=self.name,
        )

    async def close(self) -> None:
        for client in (self._client, *self._wikipedia_clients.values()):
            await client.close()

    async def _find_evidence(self, query: str, retrieved: datetime) -> tuple[Evidence, ...]:
        language = detect_language(query)
        for code in sorted(self._wikipedia_clients, key=lambda code: code != language):
            ids = await self._find_candidate_ids(code, query)
            entities = await self._fetch_entities(ids, "labels|descriptions|aliases|claims", language)
            mentioned = [entity for entity in entities if _is_mentioned(entity, query)][:MAX_ENTITIES]
            if mentioned:
                break
        else:
            return ()
        labels = await self._fetch_labels(mentioned, language)
        evidence = (_entity_evidence(entity, query, labels, language, retrieved) for entity in mentioned)
        return tuple(item for item in evidence if item)

    async def _find_candidate_ids(self, language: str, query: str) -> list[str]:
        """Return the entity ids of the articles that a Wikipedia search finds, best first."""
        parameters = {
            "action": "query",
            "generator": "search",
            "gsrsearch": truncate_text(query, MAX_QUERY_CHARS),
            "gsrlimit": str(MAX_CANDIDATES),
            "gsrnamespace": "0",
            "prop": "pageprops",
            "ppprop": "wikibase_item|disambiguation",
        }
        body = await mediawiki.query_api(self._wikipedia_clients[language], "Wikipedia", parameters)
        pages = keep_objects(as_object(body.get("query")).get("pages"))
        pages.sort(key=search_rank)
        props = [as_object(page.get("pageprops")) for page in pages]
        ids = [
            remove_control_characters(page_props.get("wikibase_item"))
            for page_props in props
            if "disambiguation" not in page_props
        ]
        return [entity_id for entity_id in dict.fromkeys(ids) if re.fullmatch(r"Q\d{1,12}", entity_id)]

    async def _fetch_entities(self, ids: list[str], props: str, language: Language) -> list[dict[str, Any]]:
        """Return existing entities in the order of their ids, at most `MAX_IDS_PER_REQUEST`."""
        if not ids:
            return []
        parameters = {
            "action": "wbgetentities",
            "ids": "|".join(ids[:MAX_IDS_PER_REQUEST]),
            "props": props,
            "languages": "zh-hans|zh-cn|zh|en" if language == "zh" else "en",
        }
        body = await mediawiki.query_api(self._client, "Wikidata", parameters)
        entities = body.get("entities")
        if not isinstance(entities, dict):
            raise ServiceError("malformed", "Wikidata: the JSON has no entities", hint="endpoint")
        ordered = (as_object(entities.get(item)) for item in ids)
        return [item for item in ordered if item and "missing" not in item]

    async def _fetch_labels(self, entities: list[dict[str, Any]], language: Language) -> Labels:
        """Return the labels of the entities that statements refer to, at most
        `MAX_IDS_PER_REQUEST`."""
        ids = list(dict.fromkeys(item for entity in entities for item in referenced_ids(entity)))
        labelled = await self._fetch_entities(ids[:MAX_IDS_PER_REQUEST], "labels", language)
        return {str(item.get("id")): name for item in labelled if (name := entity_label(item, language))}


def _is_mentioned(entity: dict[str, Any], query: str) -> bool:
    """Return whether the query contains one of the entity's names."""
    text = to_simplified(query).casefold()
    return any(occurs_in(to_simplified(name).casefold(), text) for name in _entity_names(entity))


def _entity_names(entity: dict[str, Any]) -> list[str]:
    labels = [tidy_text(label.get("value")) for label in as_object(entity.get("labels")).values()]
    for aliases in as_object(entity.get("aliases")).values():
        labels += [tidy_text(label.get("value")) for label in keep_objects(aliases)]
    return [name for name in labels if len(name) > 1]


def _entity_evidence(
    entity: dict[str, Any], query: str, labels: Labels, language: Language, retrieved: datetime
) -> Evidence | None:
    """Return an entity as evidence with one passage for each property, or None if there are no
    facts."""
    name, id_ = entity_label(entity, language), str(entity.get("id"))
    is_requested = requested_properties(query)
    facts = [
        (property_, fact)
        for property_ in PROPERTIES
        if (fact := describe_property(entity, property_, name, labels, language))
    ]
    facts.sort(key=lambda pair: not is_requested(pair[0]))
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
                heading=property_.label(language),
                generated=True,
            )
            for property_, fact in facts[:MAX_FACTS]
        ),
    )
