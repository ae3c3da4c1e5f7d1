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
from research.core.errors import Trouble
from research.core.records import (
    Evidence,
    EvidenceKind,
    Finding,
    Language,
    Passage,
    Readiness,
    Say,
    Task,
    fingerprint,
)
from research.core.text.hanzi import simplified
from research.core.text.words import detect_language, has_han
from research.http import mediawiki
from research.http.client import Client
from research.http.mediawiki import mapping, rank
from research.http.plain import legible, rows, shortened, tidy
from research.sources.wikidata.statements import (
    PROPERTIES,
    Labels,
    asked_for,
    named,
    stands,
    stated,
    wanted,
)

KIND: EvidenceKind = "web"
BASE_URL = "https://www.wikidata.org"
PUBLISHER = "Wikidata, CC0"
SWITCH = "SIGHTLINE_OPEN_SOURCES"
LONGEST = 300  # characters of a query
CANDIDATES = 3  # things that a query may mean
THINGS = 2  # of them that are told of
FACTS = 12  # told of a thing at most, those that are asked for first
IDS = 50  # things that one request may name
PUNCTUAL = 0.95  # of the time for a search


class Wikidata:
    """Looks up what is stated of the things that a query names."""

    name = "wikidata"
    turns = 1

    def __init__(
        self,
        client: Client,
        wikis: Mapping[str, Client],
        *,
        enabled: bool,
        deadline: float,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`wikis` are the Wikipedias by language; `deadline` are the seconds of a whole search."""
        self._client = client
        self._wikis = wikis
        self._enabled = enabled
        self._deadline = deadline
        self._clock = clock

    def ready(self) -> Readiness:
        if self._enabled:
            return Readiness(state="live", detail="wikidata.org")
        return Readiness(state="missing", detail=SWITCH)

    async def search(self, task: Task, say: Say) -> Finding:
        if not self._enabled:
            raise Trouble("no key", f"Wikidata is searched only with {SWITCH}=on")
        started, begun = self._clock(), time.monotonic()
        query = tidy(task.query)
        try:
            async with deadline(self._deadline * PUNCTUAL):
                items = await self._found(query, started)
        except TimeoutError:
            raise Trouble("timeout", "Wikidata did not answer in time", again=True) from None
        return Finding(
            task=task,
            evidence=items,
            reason=None if items else "empty",
            started=started,
            seconds=round(time.monotonic() - begun, 4),
            provider=self.name,
        )

    async def close(self) -> None:
        for client in (self._client, *self._wikis.values()):
            await client.close()

    async def _found(self, query: str, retrieved: datetime) -> tuple[Evidence, ...]:
        tongue = detect_language(query)
        for code in sorted(self._wikis, key=lambda code: code != tongue):
            ids = await self._meant(code, query)
            things = await self._entities(ids, "labels|descriptions|aliases|claims", tongue)
            told = [thing for thing in things if _mentioned(thing, query)][:THINGS]
            if told:
                break
        else:
            return ()
        labels = await self._labels(told, tongue)
        made = (_evidence(thing, query, labels, tongue, retrieved) for thing in told)
        return tuple(item for item in made if item)

    async def _meant(self, code: str, query: str) -> list[str]:
        """The things of the articles that a wiki finds for a query, the best first."""
        parameters = {
            "action": "query",
            "generator": "search", "gsrsearch": shortened(query, LONGEST),
            "gsrlimit": str(CANDIDATES), "gsrnamespace": "0",
            "prop": "pageprops", "ppprop": "wikibase_item|disambiguation",
        }  # fmt: skip
        answer = await mediawiki.ask(self._wikis[code], "Wikipedia", parameters)
        pages = rows(mapping(answer.get("query")).get("pages"))
        pages.sort(key=rank)
        props = [mapping(page.get("pageprops")) for page in pages]
        found = [legible(p.get("wikibase_item")) for p in props if "disambiguation" not in p]
        return [one for one in dict.fromkeys(found) if re.fullmatch(r"Q\d{1,12}", one)]

    async def _entities(self, ids: list[str], props: str, tongue: Language) -> list[dict[str, Any]]:
        """Entities in the order of their ids, those that are there."""
        if not ids:
            return []
        parameters = {
            "action": "wbgetentities",
            "ids": "|".join(ids[:IDS]), "props": props,
            "languages": "zh-hans|zh-cn|zh|en" if tongue == "zh" else "en",
        }  # fmt: skip
        answer = await mediawiki.ask(self._client, "Wikidata", parameters)
        entities = answer.get("entities")
        if not isinstance(entities, dict):
            raise Trouble("malformed", "Wikidata: the JSON has no entities", hint="endpoint")
        found = (mapping(entities.get(one)) for one in ids)
        return [one for one in found if one and "missing" not in one]

    async def _labels(self, things: list[dict[str, Any]], tongue: Language) -> Labels:
        """What the things are called that are stated of others, as far as there is room."""
        ids = list(dict.fromkeys(one for thing in things for one in wanted(thing)))
        found = await self._entities(ids[:IDS], "labels", tongue)
        return {str(one.get("id")): name for one in found if (name := named(one, tongue))}


def _mentioned(thing: dict[str, Any], query: str) -> bool:
    """Whether one of a thing's names stands in the query."""
    text = simplified(query).casefold()
    return any(stands(simplified(name).casefold(), text) for name in _names(thing))


def _names(thing: dict[str, Any]) -> list[str]:
    labels = [tidy(one.get("value")) for one in mapping(thing.get("labels")).values()]
    for aliases in mapping(thing.get("aliases")).values():
        labels += [tidy(one.get("value")) for one in rows(aliases)]
    return [name for name in labels if len(name) > 1]


def _evidence(
    thing: dict[str, Any], query: str, labels: Labels, tongue: Language, retrieved: datetime
) -> Evidence | None:
    """A thing with what is stated of it, a passage for each property."""
    name, id_ = named(thing, tongue), str(thing.get("id"))
    asked = asked_for(query)
    facts = [(p, fact) for p in PROPERTIES if (fact := stated(thing, p, name, labels, tongue))]
    facts.sort(key=lambda pair: not asked(pair[0]))
    if not name or not facts:
        return None
    url = f"https://www.wikidata.org/wiki/{id_}"
    return Evidence(
        id=evidence_id(KIND, url, url),
        kind=KIND,
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
                heading=p.called(tongue),
                made=True,
            )
            for p, fact in facts[:FACTS]
        ),
    )
