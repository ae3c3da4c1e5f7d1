"""Open knowledge on this machine: two Wikipedias, Wikidata and OpenAlex over one small corpus, with a
plain search over it, in the services' own formats (https://www.mediawiki.org/wiki/API:Search,
mediawiki-extensions-Wikibase/docs/topics/json.md). The corpus is tests/world/corpus.json.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from research.core.text.tokenizer import word_weights
from tests.servers.papers import inverted, openalex
from tests.servers.search import HANGS, Asked, Service

CORPUS = Path(__file__).resolve().parent.parent / "world" / "corpus.json"


def snak(property_: str, value: Any) -> dict[str, Any]:
    """A snak with a value: an id, (amount, unit), a time with its precision, a point, or text."""
    if isinstance(value, dict):
        kind = "globecoordinate" if "latitude" in value else "time"
        rest = {"timezone": 0, "before": 0, "after": 0} if kind == "time" else {"altitude": None}
        found: Any = rest | value
    elif isinstance(value, list | tuple):
        unit = f"http://www.wikidata.org/entity/{value[1]}" if value[1] else "1"
        kind, found = "quantity", {"amount": value[0], "unit": unit}
    elif re.fullmatch(r"Q\d+", value):
        kind = "wikibase-entityid"
        found = {"entity-type": "item", "numeric-id": int(value[1:]), "id": value}
    else:
        kind, found = "string", value
    return {
        "snaktype": "value", "property": property_, "hash": "0",
        "datavalue": {"value": found, "type": kind},
    }  # fmt: skip


def statement(property_: str, value: Any, **more: Any) -> dict[str, Any]:
    """A statement; `qualifiers` and each of `references` are values by property."""
    made = {
        "mainsnak": snak(property_, value),
        "type": "statement",
        "id": f"{property_}$1",
        "rank": more.get("rank", "normal"),
    }
    if "qualifiers" in more:
        made["qualifiers"] = {p: [snak(p, v)] for p, v in more["qualifiers"].items()}
    made["references"] = [
        {"hash": "0", "snaks": {p: [snak(p, v)] for p, v in one.items()}, "snaks-order": list(one)}
        for one in more.get("references", [])
    ]
    return made


def day(text: str, precision: int = 11) -> dict[str, Any]:
    """A time as Wikidata has it; `text` is +YYYY-MM-DD."""
    calendar = "http://www.wikidata.org/entity/Q1985727"
    return {"time": f"{text}T00:00:00Z", "precision": precision, "calendarmodel": calendar}


def entity(id_: str, labels: dict[str, str], **more: Any) -> dict[str, Any]:
    """An item of Wikidata; `claims` are lists of statements by property."""
    return {
        "type": "item",
        "id": id_,
        "labels": {code: {"language": code, "value": text} for code, text in labels.items()},
        "descriptions": {},
        "aliases": {
            code: [{"language": code, "value": text} for text in texts]
            for code, texts in more.get("aliases", {}).items()
        },
        "claims": more.get("claims", {}),
    }


def _best(query: str, texts: list[tuple[Any, str, str]], most: int) -> list[Any]:
    """What shares most with a query, of (what, title, text): the words of a title count threefold.
    Nothing that has less than half of the weight of the query's words."""
    weights = word_weights(query)
    ranked = []
    for what, title, text in texts:
        head, body = set(word_weights(title)), set(word_weights(f"{title} {text}"))
        shared = sum(w * (3 if word in head else 1) for word, w in weights.items() if word in body)
        ranked.append((shared, what))
    ranked.sort(key=lambda pair: -pair[0])
    enough = sum(weights.values()) / 2
    return [what for shared, what in ranked[:most] if shared and shared >= enough]


@dataclass
class FakeWorld(Service):
    """`articles` are the pages of each wiki (title, extract, item), `entities` Wikidata's by id,
    `papers` the works of OpenAlex. What is in `faulty` (wikipedia, wikidata, openalex) has the status,
    the error or the fault that is set; one that is `silent` answers nothing while the others do."""

    articles: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    entities: dict[str, dict[str, Any]] = field(default_factory=dict)
    papers: list[dict[str, Any]] = field(default_factory=list)
    faulty: tuple[str, ...] = ("wikipedia", "wikidata", "openalex")

    @classmethod
    def of_the_corpus(cls) -> FakeWorld:
        """The world of the committed corpus."""
        corpus = json.loads(CORPUS.read_text(encoding="utf-8"))
        made: dict[str, dict[str, Any]] = {}
        for id_, known in corpus["entities"].items():
            claims: dict[str, list[dict[str, Any]]] = {}
            for property_, value, more in known.get("claims", []):
                claims.setdefault(property_, []).append(statement(property_, value, **more))
            made[id_] = entity(id_, known["labels"], aliases=known.get("aliases", {}), claims=claims)
        papers = [
            openalex(
                id=f"https://openalex.org/W{n}", doi=f"https://doi.org/10.5555/world.{n}",
                display_name=one["title"], language=one["language"],
                abstract_inverted_index=inverted(one["abstract"]),
                primary_location={"landing_page_url": None, "pdf_url": None, "source": None},
                best_oa_location=None, publication_year=one["year"],
                publication_date=f"{one['year']}-03-01",
            )
            for n, one in enumerate(corpus["papers"], 1)
        ]  # fmt: skip
        return cls(articles=corpus["articles"], entities=made, papers=papers)

    @property
    def settings(self) -> dict[str, str]:
        """The variables that lead every open source here."""
        return {
            "WIKIPEDIA_URL": f"{self.base_url}/wikipedia/{{language}}",
            "WIKIDATA_URL": f"{self.base_url}/wikidata",
            "OPENALEX_URL": f"{self.base_url}/openalex",
            "CROSSREF_URL": f"{self.base_url}/crossref",
            "ARXIV_URL": f"{self.base_url}/arxiv",
            "PUBMED_URL": f"{self.base_url}/pubmed",
            "GDELT_BASE_URL": f"{self.base_url}/gdelt",
            "NOMINATIM_URL": f"{self.base_url}/nominatim",
            "OVERPASS_URL": f"{self.base_url}/overpass",
        }

    def of(self, service: str) -> list[Asked]:
        """What a service was asked."""
        return [asked for asked in self.log if asked.path.startswith(f"/{service}/")]

    def answer(self, asked: Asked) -> Any:
        service, _, rest = asked.path.removeprefix("/").partition("/")
        if service == "wikipedia":
            return self._wiki(rest.partition("/")[0], asked.query)
        if service == "wikidata":
            return self._entities(asked.query)
        if service == "openalex":
            texts = [(one, one["display_name"], " ".join(one["abstract_inverted_index"])) for one in self.papers]
            found = _best(asked.query.get("search", ""), texts, 5)
            return {"meta": {"count": len(found)}, "results": found, "group_by": []}
        if service == "crossref":
            message = {"total-results": 0, "items": [], "items-per-page": 20}
            return {"status": "ok", "message-type": "work-list", "message": message}
        if service == "pubmed":
            return {"header": {"type": "esearch"}, "esearchresult": {"count": "0", "idlist": []}}
        return {"articles": []}

    def _wiki(self, code: str, query: dict[str, str]) -> Any:
        pages = self.articles.get(code, [])
        texts = [(page, page["title"], page.get("extract", "")) for page in pages]
        found = _best(query["gsrsearch"], texts, int(query["gsrlimit"]))
        if not found:
            return {"batchcomplete": True}
        at, shown = int(query.get("excontinue", 0)), []
        for n, page in enumerate(found):
            url = f"https://{code}.wikipedia.org/wiki/{page['title'].replace(' ', '_')}"
            one = {"pageid": 100 - n, "ns": 0, "title": page["title"], "index": n + 1}
            if "item" in page:
                one["pageprops"] = {"wikibase_item": page["item"]}
            if "extracts" in query["prop"]:
                one |= {"fullurl": url, "canonicalurl": url}
                one |= {"extract": page["extract"]} if n == at else {}
            shown.append(one)
        shown.reverse()
        if "extracts" in query["prop"] and at + 1 < len(found):
            rest = {"excontinue": at + 1, "continue": "||info|pageprops"}
            return {"continue": rest, "query": {"pages": shown}}
        return {"batchcomplete": True, "query": {"pages": shown}}

    def _entities(self, query: dict[str, str]) -> Any:
        languages, props = query["languages"].split("|"), query["props"].split("|")
        found: dict[str, Any] = {}
        for id_ in query["ids"].split("|"):
            known = self.entities.get(id_)
            if known is None:
                found[id_] = {"id": id_, "missing": ""}
                continue
            found[id_] = {"type": "item", "id": id_}
            for prop in props:
                value = known[prop]
                if prop != "claims":
                    value = {code: value[code] for code in languages if code in value}
                found[id_][prop] = value
        return {"entities": found, "success": 1}

    async def _respond(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        service = asked.path.split("/")[1]
        if service in self.faulty and self.fault == "silent":
            await asyncio.sleep(HANGS)
        if service in self.faulty and (self.fault or self.status != 200):
            return await super()._respond(request, asked)
        if service in self.faulty and self.error:
            return web.json_response({"error": self.error})
        if service == "arxiv":
            feed = '<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"></feed>'
            return web.Response(text=feed, content_type="application/atom+xml")
        return web.json_response(self.answer(asked))
