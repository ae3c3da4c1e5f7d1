"""Plain facts with their references from Wikidata, where somebody has turned the open sources on."""

from __future__ import annotations

from research.sources.base import Retriever, Source, Supplies


def _build(supplies: Supplies) -> Retriever:
    from research.http.client import Client
    from research.sources.wikidata.retriever import BASE_URL, Wikidata

    settings = supplies.settings

    def client(url: str) -> Client:
        return Client(url, timeout=settings.search_timeout / 3, contact=settings.contact)

    wikis = {
        code: client(settings.wikipedia_url.replace("{language}", code)) for code in ("zh", "en")
    }
    return Wikidata(
        client(settings.wikidata_url or BASE_URL),
        wikis,
        enabled=settings.opened,
        deadline=settings.search_timeout,
        clock=supplies.clock,
    )


SOURCE = Source(
    name="wikidata",
    kind="web",
    prompt="plain facts of one thing (its population, height, dates, people, coordinates), each "
    "with its reference; name the thing and the fact, in a few words",
    build=_build,
    icon="fact_check",
    usual=lambda standing: standing.state == "live",
    cached=True,
    probe="Mount Everest",
    adds=("", "export SIGHTLINE_OPEN_SOURCES=on"),
)
